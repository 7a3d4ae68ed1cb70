"""Shared memory and registers of a kernel, by who takes them."""
