"""Knows the memory of launches: what is in it, to whom it belongs, and what nobody has written."""
