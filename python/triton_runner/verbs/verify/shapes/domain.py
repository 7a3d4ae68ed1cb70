"""Domain is what a function takes: its arguments, whose sizes are expressions of named sizes. Declarations
(declared.py) and calls that a program made (generalised.py) are both read into this form, and cases are drawn
from it.

    f(x, n) was called with x of [64, 128] and n = 128:   sizes M and N; x is [M, N], n is N"""

from __future__ import annotations

import dataclasses
import functools
import math
import re

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.expression import Expression, parse

LARGEST = (1 << 31) - 1  # of a size of which nobody says more


@dataclasses.dataclass(frozen=True)
class Size:
    """A number that may vary. usual: what the calls had; only: all that it may be, where that is a list;
    declared: somebody said in which range it is."""

    name: str
    usual: int = 64
    low: int = 0
    high: int = LARGEST
    only: tuple = ()
    declared: bool = False

    def takes(self, value: int) -> bool:
        return value in self.only if self.only else self.low <= value <= self.high

    def __str__(self) -> str:
        if len(self.only) == 1:
            return f"{self.name} = {self.only[0]}"
        if self.only:
            return f"{self.name} in {', '.join(map(str, self.only))}"
        if self.declared:
            return f"{self.name} from {self.low} to {self.high}"
        return f"{self.name} ({self.usual} in the program)"


@functools.lru_cache(maxsize=4096)
def expression(text: str) -> Expression:
    """A size as a text: "M", "2 * N + 1", "cdiv(K, 4)"."""
    try:
        return parse(text, "a size")
    except DiagnosticError:
        message = f"{text!r} is not a size: expected a number, a name, or both with + - * // % ( )"
        raise fail(message, 'as in "f32[M, 2 * N]"') from None


def size_of(text: str, sizes: dict):
    """The value of a size. sizes: by name."""
    return expression(text).value(lambda name, of_base: sizes[name])


@dataclasses.dataclass(frozen=True)
class Values:
    """How the elements of a tensor are drawn.

    - `low`, `high`: bounds as texts, of integers without high itself; None: floats around 0, of any sign.
    - `other`: an integer outside of the bounds that some elements are, as -100 of labels that do not count.
    - `order`: of integers. "distinct": no two elements are equal; "distinct in rows": no two of a row are;
      "counting": 0, 1, 2, ...; "offsets": they begin at 0, never fall and end at `high`. `kept`: the offsets
      of the call, which stay as they are as long as their number and their end do.
    """

    low: str | None = None
    high: str | None = None
    scale: float = 1.0
    is_finite: bool = False
    other: int | None = None
    order: str = ""
    kept: object = None


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor argument.

    - `dims`: its sizes as texts. `dtypes`: the types that it may have, the usual one first; arguments of one
      `group` change their type together.
    - `contiguous`, `aligned`: strides are those of the shape; the address is a multiple of 16.
    - `order`: its dimensions from the outermost in memory to the innermost; `spread`: those of stride 0.
    - `inout`: the function is meant to write to it.
    """

    dims: tuple
    dtypes: tuple
    group: str
    values: Values = Values()
    contiguous: bool = False
    aligned: bool = False
    order: tuple = ()
    spread: tuple = ()
    device: str = "cpu"
    library: str = "torch"
    grad: bool = False
    inout: bool = False

    def shape(self, sizes: dict) -> tuple:
        return tuple(int(size_of(dim, sizes)) for dim in self.dims)

    def fits(self, sizes: dict) -> bool:
        """Returns whether no dimension is negative, and integers have numbers to be."""
        shape, values = self.shape(sizes), self.values
        if self.dtypes[0][0] in "iu" and values.high is not None and math.prod(shape) > 0:
            low, high = (size_of(bound, sizes) for bound in (values.low, values.high))
            of_rows = shape[-1] if shape else 1
            needed = {
                "distinct": math.prod(shape),
                "distinct in rows": of_rows,
                "counting": of_rows,
                "offsets": 0,
            }
            if high - low < needed.get(values.order, 1):
                return False
        return all(extent >= 0 for extent in shape)

    def __str__(self) -> str:
        words = f"{'|'.join(self.dtypes)}[{', '.join(self.dims)}]"
        words += " contiguous" * self.contiguous + " aligned" * self.aligned + " inout" * self.inout
        if self.values.high is not None:
            words += f" in {_short(self.values.low)}..{_short(self.values.high)}"
        words += f" or {self.values.other}" * (self.values.other is not None)
        return words + f" {self.values.order}" * bool(self.values.order)


def _short(bound: str) -> str:
    return f"{float(bound):.3g}" if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", bound) else bound


@dataclasses.dataclass(frozen=True)
class Number:
    """A number that follows from the sizes."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Stride:
    """The stride of another argument."""

    of: str
    dim: int

    def __str__(self) -> str:
        return f"{self.of}.stride({self.dim})"


@dataclasses.dataclass(frozen=True)
class Longest:
    """The longest part between two offsets of another argument."""

    of: str

    def __str__(self) -> str:
        return f"the longest part of {self.of}"


@dataclasses.dataclass(frozen=True)
class Kept:
    """A value that every call has."""

    value: object

    def __str__(self) -> str:
        text = repr(self.value)
        return text if len(text) <= 40 else f"{text[:37]}..."


@dataclasses.dataclass(frozen=True)
class Several:
    """A list or tuple of arguments."""

    kind: type
    items: tuple

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@dataclasses.dataclass(frozen=True)
class Domain:
    """One form of the function's calls. arguments: by name, in order; starred: that of *args; keywords: of
    **kwargs. frozen: sizes may not vary, as contents depend on them in a way that nobody knows."""

    arguments: dict
    sizes: dict
    starred: str = ""
    keywords: tuple = ()
    frozen: bool = False

    @property
    def usual(self) -> dict[str, int]:
        return {name: size.usual for name, size in self.sizes.items()}

    @property
    def declared(self) -> bool:
        """Returns whether somebody said in which range each size is that varies."""
        return all(size.declared or len(size.only) == 1 for size in self.sizes.values())

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by their path: "x", "xs[0]"."""
        return dict(_tensors(self.arguments.items()))

    def elements(self, sizes: dict) -> int:
        """The elements of the largest tensor."""
        return max((math.prod(one.shape(sizes)) for one in self.tensors().values()), default=0)

    def fits(self, sizes: dict) -> bool:
        """Returns whether all sizes are in their ranges, and no dimension is negative."""
        if not all(self.sizes[name].takes(value) for name, value in sizes.items()):
            return False
        try:
            return all(one.fits(sizes) for one in self.tensors().values())
        except DiagnosticError:  # a division by zero
            return False

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.arguments.items())


def _tensors(pairs):
    for path, argument in pairs:
        if isinstance(argument, Tensor):
            yield path, argument
        elif isinstance(argument, Several):
            yield from _tensors((f"{path}[{i}]", item) for i, item in enumerate(argument.items))
