"""Debugs launches: stop, look, step, change, go back."""
