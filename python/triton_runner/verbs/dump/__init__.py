"""Values of a running kernel as a table."""
