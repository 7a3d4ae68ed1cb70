"""Exports a kernel to a folder from which C++ programs launch it."""
