"""PTX as a graph: `parse(text)` gives a Module whose functions, variables and instructions can be read."""

from triton_runner._core.ptx import (
    Function,
    Instruction,
    Module,
    Variable,
    opcode_table,
    parse,
    parse_file,
)

__all__ = ["Function", "Instruction", "Module", "Variable", "opcode_table", "parse", "parse_file"]
