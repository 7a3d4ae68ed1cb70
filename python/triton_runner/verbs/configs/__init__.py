"""Judges every configuration of a launch."""
