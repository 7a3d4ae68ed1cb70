"""Launches a file once."""
