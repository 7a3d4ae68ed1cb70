"""Looks whether a launch is one of those that --given is about: its sizes, and the integers in its memory. An
answer with a declaration that the program's own data go against says nothing about that program."""

from __future__ import annotations

import ast

import numpy

from triton_runner._base.errors import DiagnosticError
from triton_runner.verbs.prove.assumptions import Names, Reading, Tensor, parsed, readable
from triton_runner.verbs.prove.results import Reason
from triton_runner.verbs.prove.sizes import plain
from triton_runner.verbs.prove.terms import FALSE, poly

_FIELDS = {"shape": "shape", "stride": "strides", "strides": "strides"}


class Held:
    """given: the words of --given. broken: what launches go against, once for each of the words."""

    def __init__(self, given: tuple):
        self._nodes = [node for text in given for node in parsed(text, "--given")]
        self._told: set = set()
        self.broken: list[Reason] = []

    def look(self, kernel: str, named: dict) -> None:
        """Looks at a launch, before it runs. What names something that the kernel does not have is passed
        over: that is said where it is taken."""
        launch = _Launch(named) if self._nodes else None
        for node in self._nodes:
            key = (kernel, readable(node))
            if key in self._told:
                continue
            try:
                why = launch.against(node)
            except DiagnosticError:
                continue
            if why:
                self._told.add(key)
                text = f"a launch of {kernel} goes against --given {readable(node)!r}: {why}"
                self.broken.append(Reason(text))


class Integers:
    """The least and the largest integer of each tensor of a launch, which bounds of them can be compared
    with."""

    def __init__(self, named: dict):
        self._names = _Launch(named).names
        self._ends = {name: ends for name, value in named.items() if (ends := _ends(_of_descriptor(value)))}

    def against(self, words: str) -> str:
        """Names what of the launch goes against bounds, as --given has them; "" where nothing does."""
        reading = Reading(self._names, "--given")
        for node in parsed(words, "--given"):
            name, bounds = getattr(node.left, "id", ""), getattr(node.comparators[0], "args", ())
            lo, hi = [reading.number(one).const for one in bounds] if len(bounds) == 2 else (None, None)
            least, largest = self._ends.get(name, (lo, lo))
            if None not in (lo, hi) and not lo <= least <= largest < hi:
                return f"{name} holds {least if least < lo else largest} there, of {lo}..{hi}"
        return ""


class _Launch:
    """The numbers and tensors of a launch."""

    def __init__(self, named: dict):
        named = {name: _of_descriptor(plain(value)) for name, value in named.items()}
        self._values = named
        numbers = {name: int(value) for name, value in named.items() if _is_integer(value)}
        tensors = {name: _tensor(name, value) for name, value in named.items() if hasattr(value, "shape")}
        self.names = Names(numbers, tensors)

    def against(self, node) -> str:
        """Returns the words for what goes against a part of --given; "": nothing does."""
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            return self._outside(node)
        if "numel" not in self.names.numbers and any(
            isinstance(one, ast.Name) and one.id == "numel" for one in ast.walk(node)
        ):
            for name, tensor in self.names.tensors.items():
                names = Names({**self.names.numbers, "numel": tensor.numel.const}, self.names.tensors)
                if Reading(names, "--given").cond(node) is FALSE:
                    return f"{name}.numel = {tensor.numel.const}"
            return ""
        field = self._described(node)
        if field is not None:
            return field
        if any(isinstance(one, ast.Name) and one.id == "grid" for one in ast.walk(node)):
            return ""  # the programs of a launch are those of its grid
        return self._numbers(node) if self._reading.cond(node) is FALSE else ""

    @property
    def _reading(self) -> Reading:
        return Reading(self.names, "--given")

    def _numbers(self, node) -> str:
        """The numbers that a comparison names."""
        parts = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute, ast.Subscript))]
        words = {}
        for one in parts:
            try:
                words[ast.unparse(one)] = self._reading.number(one).const
            except DiagnosticError:
                continue
        return ", ".join(f"{word} = {number}" for word, number in words.items() if number is not None)

    def _described(self, node) -> str | None:
        """The same for x.shape == (...); None: it is something else."""
        left = getattr(node, "left", None)
        if not isinstance(left, ast.Attribute) or not isinstance(left.value, ast.Name):
            return None
        tensor, field = self.names.tensors.get(left.value.id), _FIELDS.get(left.attr)
        if tensor is None or field is None or not isinstance(node.comparators[0], ast.Tuple):
            return None
        own = [one.const for one in getattr(tensor, field)]
        said = [self._reading.number(one).const for one in node.comparators[0].elts]
        other = len(own) != len(said) or any(b not in (a, None) for a, b in zip(own, said, strict=True))
        return f"{ast.unparse(left)} = {tuple(own)}" if other else ""

    def _outside(self, node) -> str:
        """The first integer of a declared argument that lies outside of its bounds."""
        name, bounds = getattr(node.left, "id", ""), getattr(node.comparators[0], "args", ())
        lo, hi = [self._reading.number(one).const for one in bounds] if len(bounds) == 2 else (None, None)
        if None in (lo, hi):  # the bounds are made of the grid, or are none
            return ""
        if name in self.names.numbers:
            number = self.names.numbers[name]
            return "" if lo <= number < hi else f"{name} = {number}"
        value = self._values.get(name)
        if "int" not in str(getattr(value, "dtype", "")):
            return ""
        held = numpy.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        wrong = numpy.argwhere((held < lo) | (held >= hi))
        if not len(wrong):
            return ""
        at = tuple(int(i) for i in wrong[0])
        more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        return f"{name}[{', '.join(map(str, at))}] = {held[at]}{more}, of {lo}..{hi}"


def _of_descriptor(value):
    """The tensor that a descriptor of the host describes; anything else is itself."""
    return value.base if hasattr(value, "block_shape") and hasattr(value, "base") else value


def _ends(value) -> tuple[int, int] | None:
    """The least and the largest integer of a tensor; None: it has none."""
    if "int" not in str(getattr(value, "dtype", "")):
        return None
    held = numpy.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    return (int(held.min()), int(held.max())) if held.size else None


def _is_integer(value) -> bool:
    return isinstance(value, (int, numpy.integer))


def _tensor(name: str, value) -> Tensor:
    shape = [int(one) for one in value.shape]
    tensor = Tensor(name, str(value.dtype), 1)
    steps = value.stride() if callable(getattr(value, "stride", None)) else None
    if steps is None:
        steps = [step // value.itemsize for step in value.strides]
    tensor.set_shape([*map(poly, shape)])
    numel = tensor.numel
    tensor.set_strides([poly(int(step)) for step in steps])
    if 0 in shape or not shape:
        tensor.numel = numel
    return tensor
