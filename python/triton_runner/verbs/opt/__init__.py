"""Passes of Triton on a text."""
