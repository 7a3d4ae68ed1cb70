"""A golden case as text: header, IR, and the output that the oracle expects, in case_tool's format
(tests/README.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .formats import F64, FLOATS, INF, NAN, signed

COLUMNS, SHOWN, SHOWN_OF_LONG = 110, 1024, 64


def width_of(element: str) -> int:
    """Bits of storage of an array's element type: i32, u8, x16 (bits shown in hex), f8E4M3FN, ..."""
    if element == "i1":
        return 8
    return FLOATS[element].bits if element in FLOATS else int(element[1:])


@dataclass
class Array:
    """An argument: element type, shape, the codes (unsigned bits) before the run and after it."""

    element: str
    shape: tuple[int, ...]
    before: list[int] | None = None  # None: zeros
    after: list[int] | None = None  # None: the kernel does not change it
    descriptor: bool = False
    mode: str = ""  # of a descriptor: "lower -1,-1 upper 0,0"

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def name(self) -> str:
        return f"{self.element}[{','.join(map(str, self.shape))}]"

    def header(self) -> str:
        prefix = "desc " if self.descriptor else ""
        if self.before is None:
            return f"// arg: {prefix}{self.name} zeros{self.suffix()}"
        assert len(self.before) == self.size, (self.name, len(self.before))
        words = [literal(self.element, code) for code in self.before]
        return f"// arg: {prefix}{self.name} {{{', '.join(words)}}}{self.suffix()}"

    def suffix(self) -> str:
        return f" {self.mode}" if self.mode else ""

    def changed(self) -> bool:
        return self.after is not None and self.after != (self.before or [0] * self.size)

    def lines(self, index: int) -> list[str]:
        assert len(self.after) == self.size, (self.name, len(self.after))
        out = [f"arg{index} {self.name}:"]
        texts = [shown(self.element, code) for code in self.after]
        if self.size > SHOWN:
            data = b"".join(code.to_bytes(width_of(self.element) // 8, "little") for code in self.after)
            return [
                *out,
                *wrapped(texts[:SHOWN_OF_LONG]),
                f"  ... {self.size} elements, fnv1a {fnv1a(data):016x}",
            ]
        row = self.shape[-1]
        for begin in range(0, self.size, row):
            out += wrapped(texts[begin : begin + row])
        return out


@dataclass
class Scalar:
    """A scalar argument as the header writes it: "i32 5"."""

    text: str

    def header(self) -> str:
        return f"// arg: {self.text}"


@dataclass
class Case:
    """One file under tests/cases; `body` is the module's text, `ops` what it is there to test."""

    path: str  # "op/arith.addi.ttir"
    about: str
    args: list[Array | Scalar]
    body: str
    header: list[str] = field(default_factory=list)  # further "grid: 2" lines
    output: str | None = None  # the whole output, where it is a diagnostic or a trap

    def text(self) -> str:
        lines = [f"// {self.about}", "// tool: tile", *(f"// {line}" for line in self.header)]
        lines += [argument.header() for argument in self.args]
        return "\n".join(lines) + "\n" + self.body.strip("\n") + "\n// ---- expected\n" + self.expected()

    def expected(self) -> str:
        lines = [self.output] if self.output is not None else []
        for index, array in enumerate(self.args):
            if isinstance(array, Array) and array.changed():
                lines += array.lines(index)
        return "\n".join(lines or ["no array changed"]) + "\n"


Cases = Iterator[Case]


def literal(element: str, code: int) -> str:
    """Codes as the header reads them: decimal integers, everything else as bits."""
    if element[0] in "iu" and element != "i1":
        return str(signed(code, width_of(element)) if element[0] == "i" else code)
    return f"0x{code:x}" if code else "0"


def shown(element: str, code: int) -> str:
    if element[0] == "x":
        return f"0x{code:0{width_of(element) // 4}x}"
    if element[0] in "iu":
        return str(signed(code, width_of(element)) if element[0] == "i" and element != "i1" else code)
    form = FLOATS[element]
    sign, magnitude = form.decode(code)
    if magnitude == NAN:
        return "nan"
    minus = "-" if sign else ""
    if magnitude == INF:
        return minus + "inf"
    return minus + shortest(magnitude, np.float64 if form is F64 else np.float32)


def shortest(magnitude, precision) -> str:
    """C++'s std::to_chars: the fewest digits that read back, fixed or scientific, whichever is shorter."""
    if magnitude == 0:
        return "0"
    exact = precision(float(magnitude))
    assert float(exact) == magnitude or magnitude.denominator > 2**1000
    digits, exponent = np.format_float_scientific(exact, unique=True, trim="-", exp_digits=1).split("e")
    exponent = int(exponent)
    plain = digits.replace(".", "")
    scientific = f"{digits}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent >= len(plain) - 1:
        fixed_length = exponent + 1
    elif exponent >= 0:
        fixed_length = len(plain) + 1
    else:
        fixed_length = len(plain) + 1 - exponent
    if fixed_length > len(scientific):
        return scientific
    if exponent >= len(plain) - 1:
        return str(int(magnitude))
    return np.format_float_positional(exact, unique=True, trim="-")


def wrapped(texts: list[str]) -> list[str]:
    """case_tool's lines: runs of four and more counted, broken at 110 columns."""
    lines, line, i = [], " ", 0
    while i < len(texts):
        end = i + 1
        while end < len(texts) and texts[end] == texts[i]:
            end += 1
        word = texts[i]
        if end - i < 4:
            end = i + 1
        else:
            word += f" x{end - i}"
        if len(line) + 1 + len(word) > COLUMNS:
            lines.append(line)
            line = " "
        line += " " + word
        i = end
    return [*lines, line]


def fnv1a(data: bytes) -> int:
    hash_ = 0xCBF29CE484222325
    for byte in data:
        hash_ = ((hash_ ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return hash_


def codes(array, element: str | None = None) -> list[int]:
    """The unsigned bits of a NumPy array's elements, in row-major order."""
    array = np.ascontiguousarray(array)
    return [int(x) for x in array.view(f"u{array.dtype.itemsize}").ravel()]


def number_to_float(number) -> float:
    sign, magnitude = number
    if magnitude == NAN:
        return float("nan")
    if magnitude == INF:
        return float("-inf") if sign else float("inf")
    return -float(magnitude) if sign else float(magnitude)
