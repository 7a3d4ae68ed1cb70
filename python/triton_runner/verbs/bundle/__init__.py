"""One launch of a program as a case."""
