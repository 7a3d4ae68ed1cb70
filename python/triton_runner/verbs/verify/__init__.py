"""Gives one verdict on a launch or a program; _kernel.cases judges each launch.

- run, program, ci, pytest_plugin: the verdict, the launches of a program, CI, tests
- comparisons, source_checks, mismatch, references: what the program itself compares, and what it finds wrong
- element, patterns, overlap, unwritten: what a launch does to one element, how a result is wrong, what nobody
  wrote
- changes: single edits of the kernel that would make it right; shapes: the same function with other arguments
"""
