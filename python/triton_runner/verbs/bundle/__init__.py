"""Writes one launch of a program as a case."""
