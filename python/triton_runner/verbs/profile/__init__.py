"""Counts what a launch executes."""
