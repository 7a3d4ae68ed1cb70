"""Shows values of a running kernel as a table, a file or a picture; _kernel.dumps records them."""
