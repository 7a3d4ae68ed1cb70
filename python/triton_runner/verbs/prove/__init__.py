"""Proves properties of a kernel for every size, and finds counter-examples that run."""
