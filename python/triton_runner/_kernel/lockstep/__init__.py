"""Runs one launch at several levels or devices, and finds the first value that differs; and finds the
instruction at which machine code and the PTX that it was assembled from part.

It is described in doc/guide/compare-levels.md, and for machine code in doc/guide/assembler.md."""
