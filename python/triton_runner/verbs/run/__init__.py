"""Runs a program, or a case."""
