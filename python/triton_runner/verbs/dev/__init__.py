"""Prints recipes for a checkout of Triton."""
