"""A program, or a case."""
