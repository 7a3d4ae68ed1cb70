"""Judges whether a kernel that somebody or something wrote answers a task."""
