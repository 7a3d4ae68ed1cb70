"""Calls a Python function that launches kernels with other sizes, strides, types and values (`verify
--shapes`).

It is described in doc/guide/shapes.md."""
