"""Drives Triton's compilation: stops it for the CPU, continues from an artifact, and does so with every
release."""
