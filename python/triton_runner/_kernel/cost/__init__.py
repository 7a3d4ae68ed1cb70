"""What a launch executes, counted in its machine code, and the least time that it can take."""
