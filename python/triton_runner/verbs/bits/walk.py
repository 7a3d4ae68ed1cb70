"""Finds where two launches part: their values are walked side by side, from the element that differs back
through the TTGIR of both, to the first op whose operands have equal bits and whose result has not."""

from __future__ import annotations

import dataclasses

import numpy

from triton_runner._code.chain import Node, adds, is_carried, is_permuted, settled, sources
from triton_runner.verbs.bits.element import Element

_DEPTH = 20_000  # pairs of values that are looked at


@dataclasses.dataclass(frozen=True)
class Origin:
    """A pair of values that differ although all that they are made of is equal.

    - `kind`: "value"; "turns": a loop that adds in another number of turns; "ops", "type": made by other ops,
      of another type.
    - `turns`: how often each side's loop ran; `numbers`: of the first element that differs.
    """

    x: Node
    y: Node
    kind: str
    iteration: tuple = ()
    numbers: tuple = ()
    turns: tuple = ()
    program: tuple = ()


class Walk:
    """programs: the program of each side."""

    def __init__(self, x: Element, y: Element, programs: tuple):
        self.x, self.y, self._programs = x, y, programs
        self._pairs: dict = {}  # (x, y): its state
        self._links: dict = {}  # (x, y): the pairs that it is made of
        self._others: list[Origin] = []
        self._odd: set = set()  # the pairs of those

    def origins(self, x: Node, y: Node) -> list[Origin]:
        """In the order of the first side's text."""
        self._collect(settled(x), settled(y))
        found = [*self._others]
        for pair, state in self._pairs.items():
            if pair in self._odd or not state.differs or is_carried(pair[0]):
                continue
            if not self._is_after(pair, state.at):
                found.append(Origin(*pair, "value", state.at, state.numbers))
        found = [dataclasses.replace(one, program=self._programs[0]) for one in found]
        return sorted(found, key=lambda origin: _line(origin.x))

    def _collect(self, x: Node, y: Node) -> None:
        waiting = [(x, y)]
        while waiting and len(self._pairs) < _DEPTH:
            pair = waiting.pop()
            if pair in self._pairs:
                continue
            state = self._pairs[pair] = self._compare(*pair)
            self._links[pair] = []
            if state.equal:
                continue
            below = self._below(*pair, state)
            self._links[pair] = below
            waiting += below

    def _below(self, x: Node, y: Node, state: _State) -> list:
        """The pairs that a pair is made of."""
        if (x.op is None) != (y.op is None) or (x.op is not None and _name(x) != _name(y)):
            if state.differs:
                self._odd.add((x, y))
                x, y, kind = _without_casts(x, y)
                self._others.append(Origin(x, y, kind, state.at, state.numbers))
            return []
        mine, theirs = sources(x), sources(y)
        if len(mine) != len(theirs):
            return []
        if x.op is not None and x.op.name == "scf.for" and adds(x):
            turns = self._turns(mine[-1], theirs[-1])
            if turns[0] != turns[1]:
                self._odd.add((x, y))
                self._others.append(Origin(x, y, "turns", (), state.numbers, turns))
                mine, theirs = mine[:1], theirs[:1]
        return [(settled(a), settled(b)) for a, b in zip(mine, theirs, strict=True)]

    def _turns(self, x: Node, y: Node) -> tuple:
        """Returns how often each side came to what a loop hands on."""
        counts = []
        for side, node, program in zip((self.x, self.y), (x, y), self._programs, strict=True):
            records = side.records(settled(node), program) or side.records(node, program)
            counts.append(len(records or ()))
        return tuple(counts)

    def _compare(self, x: Node, y: Node) -> _State:
        a, b = self.x.records(x, self._programs[0]), self.y.records(y, self._programs[1])
        if a is None or b is None:
            return _State()
        if is_permuted(x) and is_permuted(y):
            a, b = ({turn: numpy.sort(numpy.ravel(v)) for turn, v in one.items()} for one in (a, b))
        if a.keys() != b.keys():  # loops of other lengths: what is left in the end
            last = max(a)
            return _state(a[last], b[max(b)], last)
        for turn, value in a.items():
            state = _state(value, b[turn], turn)
            if not state.equal:
                return state
        return _State(equal=True)

    def _is_after(self, pair, turn: tuple, seen=None) -> bool:
        """Returns whether something that a pair is made of differed already in that turn."""
        seen = set() if seen is None else seen
        for below in self._links[pair]:
            if below in seen:
                continue
            seen.add(below)
            state = self._pairs.get(below)
            if state is None or state.equal:
                continue
            if state.differs and self._differs_in(below, turn):
                return True
            if not state.differs and self._is_after(below, turn, seen):
                return True
        return any(below in self._odd for below in self._links[pair])

    def _differs_in(self, pair, turn: tuple) -> bool:
        a = self.x.records(pair[0], self._programs[0])
        b = self.y.records(pair[1], self._programs[1])
        for length in range(len(turn), -1, -1):
            if turn[:length] in a and turn[:length] in b:
                return not _state(a[turn[:length]], b[turn[:length]], turn).equal
        return True


@dataclasses.dataclass(frozen=True)
class _State:
    """equal, differs, or neither: it cannot be said. at: the first iteration that differs."""

    equal: bool = False
    differs: bool = False
    at: tuple = ()
    numbers: tuple = ()


def _state(a, b, turn: tuple) -> _State:
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.shape != b.shape:
        return _State()
    if a.dtype != b.dtype:
        return _State(differs=True, at=turn)
    if a.tobytes() == b.tobytes():
        return _State(equal=True)
    differs = _bits(a) != _bits(b)
    at = tuple(numpy.argwhere(differs)[0]) if a.shape else ()
    return _State(differs=True, at=turn, numbers=(float(a[at]), float(b[at])))


def _bits(array):
    flat = numpy.ascontiguousarray(array)
    return flat.view(f"u{flat.dtype.itemsize}").reshape(array.shape)


def _without_casts(x: Node, y: Node) -> tuple:
    """The pair before what only makes another type of one side, if that is all; and the kind of origin."""
    plain = [settled(sources(node)[0]) if _is_cast(node) else node for node in (x, y)]
    if all(node.op is not None for node in plain) and _name(plain[0]) == _name(plain[1]):
        return (*plain, "type")
    return x, y, "ops"


def _is_cast(node: Node) -> bool:
    return node.op is not None and node.op.name in ("arith.extf", "arith.truncf", "tt.fp_to_fp")


def _name(node: Node) -> str:
    return node.op.name.replace("triton_nvidia_gpu.", "ttng.").replace("triton_gpu.", "ttg.")


def _line(node: Node) -> int:
    op = node.op if node.op is not None else node.value.block.parent
    return op.line
