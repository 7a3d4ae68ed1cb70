"""Measures one kernel on several releases, targets and configurations: the table of `compare` is made of
these cells.

It is described in doc/guide/compare.md."""
