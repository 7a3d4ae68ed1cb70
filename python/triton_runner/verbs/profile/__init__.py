"""What a launch executes, counted."""
