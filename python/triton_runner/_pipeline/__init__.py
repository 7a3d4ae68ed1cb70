"""Drives Triton's compilation: stops it for the CPU, goes on from an artifact, and does so with every
release."""
