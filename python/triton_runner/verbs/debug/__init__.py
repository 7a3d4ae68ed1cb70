"""A debugger of launches: stop, look, step, change, go back."""
