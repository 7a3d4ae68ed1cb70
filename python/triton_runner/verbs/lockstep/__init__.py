"""Runs a case at several levels, value by value; _kernel.lockstep does the work."""
