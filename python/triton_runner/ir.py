"""Triton's IR as a graph: `parse(text)` gives a Module whose ops, values and types can be walked."""

from triton_runner._core.ir import (
    Attr,
    Block,
    Location,
    Module,
    Op,
    Region,
    Type,
    Value,
    op_table,
    parse,
    parse_file,
)

__all__ = [
    "Attr",
    "Block",
    "Location",
    "Module",
    "Op",
    "Region",
    "Type",
    "Value",
    "op_table",
    "parse",
    "parse_file",
]
