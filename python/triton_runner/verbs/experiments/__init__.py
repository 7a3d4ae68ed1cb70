"""Runs a wrong program with one feature of the compiler switched off at a time."""
