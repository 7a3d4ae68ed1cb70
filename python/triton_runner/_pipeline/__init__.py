"""Triton's compilation as this package drives it: where it stops for the CPU, and how it goes on from an
artifact."""
