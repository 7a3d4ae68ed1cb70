"""Converts numbers between constants of the IR and what people write."""

from __future__ import annotations

import math
import re

import numpy

from triton_runner._code.slices import REPEATS

_FLOATS = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}


def is_float(kind: str) -> bool:
    return kind in _FLOATS or kind == "bf16"


def is_integer(kind: str) -> bool:
    return kind in ("i8", "i16", "i32", "i64", "index")


def rounded(number: float, kind: str) -> float:
    """The number that a value of a type has."""
    if kind == "bf16":
        bits = numpy.float32(number).view(numpy.uint32)
        return float(((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(numpy.float32))
    with numpy.errstate(over="ignore"):
        return float(_FLOATS[kind](number)) if kind in _FLOATS else round(number)


def constant(name: str, type_, number: float) -> str:
    """The text of an op that gives a number of a type, in each element."""
    kind = element_of(type_)
    if not is_float(kind):
        literal = str(int(number))
    elif kind == "bf16":
        bits = numpy.float32(rounded(number, kind)).view(numpy.uint32) >> 16
        literal = f"0x{int(bits):04X}"
    else:
        bits = numpy.array(number, _FLOATS[kind]).tobytes()[::-1].hex().upper()
        literal = f"0x{bits}"
    shape = list(type_.shape or ())
    return f"{name} = arith.constant {f'dense<{literal}>' if shape else literal} : {type_}"


def element_of(type_) -> str:
    """The type of the elements, or of the number."""
    return str(type_.element) if type_.shape else str(type_)


def value_of(op) -> float | None:
    """The number that an op gives in each element, through what only repeats it; None: it gives none."""
    while op is not None and op.name in REPEATS:
        op = op.operands[0].op
    if op is None or op.name != "arith.constant":
        return None
    kind = element_of(op.results[0].type)
    if not (is_float(kind) or is_integer(kind)):
        return None
    number = op.attr("value").value
    if isinstance(number, (int, float)):
        return float(number) if is_float(kind) else int(number)
    text = str(op.attr("value")).partition(":")[0].strip().removeprefix("dense<").removesuffix(">")
    try:
        return float(text) if is_float(kind) else int(text)
    except ValueError:
        return _of_bits(text, kind)


def _of_bits(text: str, kind: str) -> float | None:
    if not re.fullmatch("0x[0-9A-Fa-f]+", text) or not is_float(kind):
        return None
    bits = int(text, 16)
    if kind == "bf16":
        return float(numpy.uint32(bits << 16).view(numpy.float32))
    dtype = numpy.dtype(_FLOATS[kind])
    return float(numpy.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)[0])


def shown(number: float) -> str:
    """A number as people write it."""
    if isinstance(number, int) or not math.isfinite(number):
        return str(number)
    return f"{number:.6g}"


def simpler(number: float) -> list[float]:
    """Numbers near to it that are shorter to write, the shortest first."""
    if not math.isfinite(number) or number == 0:
        return []
    found = [float(f"{number:.{digits}g}") for digits in range(1, 7)]
    found += [1 / float(f"{1 / number:.{digits}g}") for digits in range(1, 5)]
    near = [one for one in dict.fromkeys(found) if abs(one - number) <= 2e-2 * abs(number)]
    return sorted(near, key=length)


def length(number: float) -> int:
    """Returns how many digits a number takes, or what is divided by it."""
    if isinstance(number, int) or not math.isfinite(number):
        return 1
    digits = [
        len(f"{one:.6g}".lstrip("-0.").replace(".", "").rstrip("0")) or 1
        for one in (number, 1 / number if number else 0)
    ]
    return min(digits)
