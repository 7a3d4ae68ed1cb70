"""Finds single changes of a kernel's TTIR that make its result the one that it is compared with.

- search: tries them; edits, wider, making: lists and makes them; numbers: the constants that they need
- wording, written: says them as a person would write them, by the kernel's own text

It is tested by tests/python/case/test_changes.py."""
