"""Tells what the text of a kernel says, read from the graph that our parser makes of it, in the broker: an
answer's process has sent the text, and a text that cannot be read is refused as any other step."""

from __future__ import annotations

import hashlib

from triton_runner import ir
from triton_runner._code.summation import is_product, product_of

_NARROW = ("f16", "bf16")


def facts_of(text: str) -> dict:
    """Returns as JSON has it: `tf32`, whether a product rounds f32 operands to tf32; `narrow`, whether a
    value has a narrower type of floats than f32; `pointers`, whether it makes pointers of integers;
    `numbers`, how many numbers each op has in its attributes, by what it is. Raises DiagnosticError."""
    found: dict = {"tf32": False, "narrow": False, "pointers": False, "numbers": {}}
    for op in ir.parse(text).walk():
        values = [*op.results, *op.operands]
        values += [value for region in op.regions for block in region.blocks for value in block.args]
        found["narrow"] = found["narrow"] or any(_is_narrow(_scalar(value.type)) for value in values)
        found["pointers"] = found["pointers"] or op.name == "tt.int_to_ptr"
        if is_product(op) and op.results and product_of(op).get("precision") == "tf32":
            found["tf32"] = True
        if count := sum(map(_numbers, op.attrs.values())):
            types = [str(value.type) for value in op.results]
            what = repr((op.name, sorted((name, str(a)) for name, a in op.attrs.items()), types))
            found["numbers"][hashlib.sha256(what.encode()).hexdigest()[:16]] = count
    return found


def _scalar(type_) -> str:
    while type_.element is not None:
        type_ = type_.element
    return str(type_)


def _is_narrow(scalar: str) -> bool:
    return scalar in _NARROW or scalar.startswith("f8")


def _numbers(attribute) -> int:
    """How many numbers an attribute holds."""
    if attribute.elements:
        return sum(map(_numbers, attribute.elements))
    value = attribute.value
    if isinstance(value, (list, tuple)):
        return len(value)
    return int(isinstance(value, (int, float)) and not isinstance(value, bool))
