"""A kernel from any level to any other."""
