"""One launch of a file."""
