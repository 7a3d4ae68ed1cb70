"""Holds what is known of one kernel, a folder for each kind of knowledge."""
