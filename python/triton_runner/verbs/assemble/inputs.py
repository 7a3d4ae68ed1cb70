"""Makes the inputs on which a PTX is tried: those that the comments at its head describe, or drawn ones, of
random numbers and of the ends of types, since PTX does not say what its pointers point to.

A head has the lines of the project's own cases (tests/README.md): `// grid: 4`, `// arg: f32[64] iota`,
`// arg: i32[128] bits 3`, `// arg: i32 7`, and `// block:`, `// shared:` where the text does not say them."""

from __future__ import annotations

import dataclasses
import re

import numpy

from triton_runner._base.errors import fail
from triton_runner._memory.files import dtype_named, number_of
from triton_runner._worker import elements

BYTES = 1 << 18  # of an array behind a pointer of which nothing is known
_HEAD = re.compile(r"// (\w+): (.*)")
_ARRAY = re.compile(r"(\w+)\[([\d,]+)\]\s*(.*)")
# Numbers at the ends of f32, of pairs of f16 and of integers.
_ENDS = numpy.array(
    [
        0, 0x80000000, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x3F800000, 0xBF800000, 0x00800000, 0x007FFFFF, 0x80000001,
        0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7C007C00, 0xFC003C00, 0x03FF0400, 0x7BFF8001,
        0x00010001, 0xFFFF0000, 0x80008000, 0x0000FFFF, 31, 32, 33, 0x4B000000, 0x4F000000, 0x5F000000,
    ],
    numpy.uint32,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Inputs:
    """name: "head", "random 0", "edge 1"; arguments: arrays and numbers in the order of the parameters."""

    name: str
    arguments: tuple
    grid: tuple = (1, 1, 1)
    block: tuple | None = None
    shared: int | None = None


def _axes(text: str) -> tuple:
    return (*(int(word) for word in text.split()), 1, 1)[:3]


def of_head(ptx: str) -> Inputs | None:
    """The inputs that a text's head describes; None where it describes none. Raises DiagnosticError for words
    that are not known here."""
    values: dict[str, list] = {}
    for line in ptx.splitlines():
        if not line.startswith("//"):
            break
        if match := _HEAD.fullmatch(line.rstrip()):
            values.setdefault(match[1], []).append(match[2])
    if "arg" not in values:
        return None
    arguments = tuple(_argument(text) for text in values["arg"])
    return Inputs(
        "head", arguments, _axes(values.get("grid", ["1"])[0]),
        _axes(values["block"][0]) if "block" in values else None,
        int(values["shared"][0]) if "shared" in values else None,
    )  # fmt: skip


def _argument(text: str):
    kind, _, value = text.partition(" ")
    if text == "null":
        return None
    if match := _ARRAY.fullmatch(text):
        # The bits of an x32 are nothing but bits.
        dtype = numpy.dtype(f"u{int(kind[1:3]) // 8}") if match[1][0] == "x" else dtype_named(match[1])
        shape = tuple(int(n) for n in match[2].split(","))
        return _contents(match[3].strip(), dtype, int(numpy.prod(shape))).reshape(shape)
    if elements.find(kind) and value:
        dtype = dtype_named(kind)
        return number_of(dtype, float(value) if dtype.kind in "fV" else int(value, 0))
    raise fail(f"arg: {text!r} is not an array or a number of a kind that is known here")


def _contents(text: str, dtype, count: int) -> numpy.ndarray:
    words = text.split() or ["zeros"]
    numbers = [float(word) for word in words[1:] if re.fullmatch(r"-?[\d.]+(e-?\d+)?", word)]
    draw = numpy.random.default_rng(abs(int(numbers[0])) if numbers else 0)
    if text.startswith("{"):
        listed = [word.strip() for word in text[1 : text.index("}")].split(",")]
        return numpy.concatenate([_literal(word, dtype) for word in listed])
    if words[0] == "bits":
        return draw.integers(0, 256, count * dtype.itemsize, numpy.uint8).view(dtype)
    is_float = dtype.kind in "fV"
    if words[0] == "random":
        low = 0 if dtype.kind == "u" else -8
        return (draw.integers(-128, 128, count) / 64 if is_float else draw.integers(low, 8, count)).astype(
            dtype
        )
    if words[0] == "iota":
        first, step = (*numbers, *(0.0, 1.0)[len(numbers) :])[:2]
        return (first + step * numpy.arange(count)).astype(dtype)
    if words[0] == "full" and len(words) > 1:
        return numpy.repeat(_literal(words[1], dtype), count)
    if text in ("zeros", "ones"):
        return numpy.full(count, text == "ones").astype(dtype)
    raise fail(f"contents {text!r} are not known here", "iota, zeros, ones, full, random, bits, {a, b}")


def _literal(word: str, dtype) -> numpy.ndarray:
    """An array of one element."""
    if word.startswith("0x"):
        return numpy.array([int(word, 16)], f"u{dtype.itemsize}").view(dtype)
    return numpy.array([float(word) if dtype.kind in "fV" else int(word)]).astype(dtype)


def drawn(params: list[dict], kind: str, seed: int, grid: tuple = (1, 1, 1)) -> list[Inputs]:
    """Inputs for parameters as _core.artifact.describe has them, several ways to choose the numbers among
    them: with sizes that are too large a kernel may leave its arrays, with small ones do nothing. kind:
    "random" or "edge"."""
    draw = numpy.random.default_rng([seed, kind == "edge"])
    arrays = [_array(kind, draw) if _is_pointer(p) else None for p in params]
    numbers = (1024, 128, 1, 0) if kind == "random" else (33, 1, 0)
    several = any(not _is_pointer(p) for p in params)
    return [
        Inputs(
            f"{kind} {seed}",
            tuple(
                array if array is not None else _number(p, number) for p, array in zip(params, arrays,
            strict=True) ),
            grid,
        )
        for number in (numbers if several else numbers[:1])
    ]  # fmt: skip


def _is_pointer(param: dict) -> bool:
    return param["type"] == "ptr" or (param["bytes"] == 8 and "f" not in param["type"])


def _array(kind: str, draw) -> numpy.ndarray:
    """Words: any bits, and small floats; or the ends of types."""
    count = BYTES // 4
    if kind == "edge":
        return _ENDS[draw.integers(0, len(_ENDS), count)]
    words = draw.integers(0, 1 << 32, count, numpy.uint32)
    small = (draw.integers(-64, 65, count) / 8).astype(numpy.float32).view(numpy.uint32)
    return numpy.where(draw.random(count) < 0.5, words, small)


def _number(param: dict, size: int):
    if "f" in param["type"]:
        return {2: numpy.float16, 4: numpy.float32, 8: numpy.float64}[param["bytes"]](size / 8)
    return numpy.dtype(f"i{param['bytes']}").type(size % (1 << (8 * param["bytes"] - 1)))
