"""Completes the command line in shells."""
