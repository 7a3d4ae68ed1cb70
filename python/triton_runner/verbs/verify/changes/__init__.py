"""Finds single changes of a kernel's TTIR that make its result the one that it is compared with.

It is tested by tests/python/case/test_changes.py."""
