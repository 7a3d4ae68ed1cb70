"""Runs one launch at several levels or devices, and finds the first value that differs.

It is described in doc/guide/compare-levels.md."""
