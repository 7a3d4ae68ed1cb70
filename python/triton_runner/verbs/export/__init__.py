"""A kernel in a folder from which C++ programs launch it."""
