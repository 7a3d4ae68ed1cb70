"""Runs one launch in several configurations, puts them into classes of equal bits, and says how two classes
part."""

from __future__ import annotations

import dataclasses
import hashlib
import string
from collections.abc import Callable

import numpy

from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.cases.noise import number
from triton_runner._memory.difference import difference, plain, same_bits, tolerance
from triton_runner._memory.files import kind_of
from triton_runner.verbs.bits import why
from triton_runner.verbs.bits.results import Origin, Parting, Row

MOST_PARTINGS = 8  # pairs of classes that are explained


@dataclasses.dataclass(eq=False)
class Variant:
    """A configuration of a launch. options: by which it differs from others; launch: None where it does not
    come to one, and state and text say why; settings: of Relaunch.run(); hook: the autotuner's, before it
    launches; hidden: options that all configurations have, which its label leaves out."""

    options: dict
    launch: Relaunch | None = None
    settings: dict = dataclasses.field(default_factory=dict)
    state: str = ""
    text: str = ""
    hook: Callable | None = None
    hidden: frozenset = frozenset()
    outcome: Outcome | None = None
    seconds: float = 0.0

    @property
    def label(self) -> str:
        shown = [f"{name}={value}" for name, value in self.options.items() if name not in self.hidden]
        return " ".join(shown) or "as launched"

    def run(self, level: str) -> None:
        """Runs it. A trap, or what cannot be run, becomes its state."""
        if self.launch is None or self.outcome is not None:
            return
        if level not in self.launch.levels:
            self.state, self.text = "not run", f"{self.launch.target} has no level {level}"
            return
        try:
            outcome = self.launch.run(level, **self.settings)
        except DiagnosticError as error:
            self.state, self.text = "not run", error.message
            return
        if outcome.trap is not None:
            self.state, self.text = "trap", str(outcome.trap).splitlines()[0]
        else:
            self.outcome, self.seconds = outcome, round(outcome.seconds, 4)

    def row(self, bits: str | None = None, code: int | None = None) -> Row:
        return Row(self.options, self.label, bits, code, self.state, self.text, self.seconds)

    def side(self, level: str) -> why.Side:
        return why.Side(self.launch, level, self.settings)


def classes(variants: list[Variant], level: str, say=lambda text: None) -> dict[str, list[Variant]]:
    """Runs the variants. Returns those that ran to their end by class: "A" is that of the first."""
    by_bits: dict = {}
    for variant in variants:
        say(variant.label)
        variant.run(level)
        if variant.outcome is not None:
            members = by_bits.setdefault(_digest(variant.outcome.arrays), [])
            members.append(variant)
            variant.outcome = members[0].outcome  # the same bits are kept once
    return {letters(i): members for i, members in enumerate(by_bits.values())}


def _digest(arrays: dict) -> tuple:
    return tuple(
        (name, str(array.dtype), array.shape, hashlib.sha256(array.tobytes()).digest())
        for name, array in arrays.items()
    )


def letters(number: int) -> str:
    """The name of a class: A, B, ... Z, AA."""
    more, last = divmod(number, 26)
    return (letters(more - 1) if more else "") + string.ascii_uppercase[last]


def partings(by_class: dict, level: str, say=lambda text: None) -> list[Parting]:
    """How each class but the first parts from an earlier one: that with the most similar configuration."""
    found = []
    names = list(by_class)
    for at, name in enumerate(names[1:], 1):
        pairs = [(other, a, b) for other in names[:at] for a in by_class[other] for b in by_class[name]]
        other, a, b = min(pairs, key=lambda pair: distance(pair[1], pair[2]))
        say(f"where {a.label} and {b.label} part")
        is_shown = at <= MOST_PARTINGS
        found += [parting([other, name], a, b, level)] if is_shown else []
    return found


def distance(a, b) -> int:
    """Returns how many options two results differ in."""
    return sum(a.options.get(name) != b.options.get(name) for name in {*a.options, *b.options})


def parting(names: list[str], a: Variant, b: Variant, level: str) -> Parting:
    found = first_difference(a.outcome.arrays, b.outcome.arrays)

    def origins(argument: str, at: tuple) -> list[Origin]:
        return why.origins(a.side(level), b.side(level), argument, at)

    return parted(names, [a.label, b.label], found, origins)


def first_difference(a: dict, b: dict) -> tuple | None:
    """(name, both) of the first array whose bits differ in the elements that both have; None: none does."""
    for name in a:
        if name not in b:
            continue
        x, y = (numpy.ascontiguousarray(part) for part in why.common((a[name], b[name])))
        if x.shape == y.shape and x.dtype == y.dtype and x.tobytes() != y.tobytes():
            return name, x, y
    return None


def first_element(x: numpy.ndarray, y: numpy.ndarray) -> tuple:
    """The index of the first element whose bits differ."""
    return tuple(int(i) for i in numpy.argwhere(~same_bits(x, y))[0])


def parted(names: list[str], labels: list[str], found: tuple, origins) -> Parting:
    """found: of first_difference(); origins(argument, element): where it begins."""
    argument, x, y = found
    at, wrong, far = first_element(x, y), ~same_bits(x, y), difference(x, y)
    return Parting(
        names, labels, argument, list(at), [number(plain(x[at])), number(plain(y[at]))],
        int(wrong.sum()), wrong.size, number(far.max_error),
        far.size <= tolerance(kind_of(x.dtype)), origins(argument, at),
    )  # fmt: skip
