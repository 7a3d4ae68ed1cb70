"""Runs passes of Triton on a text."""
