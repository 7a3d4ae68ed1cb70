"""Finds which values of a TTIR module depend on which, through loops and branches: to tell a difference that
matters from one that nothing shows; and which values a loop that waits for others leaves to chance. Only the
ops that reach one argument are in slices.py, one element of a value in chain.py."""

from __future__ import annotations

from triton_runner._code.carried import CARRYING, carried_to
from triton_runner._code.walk import reached
from triton_runner._core import ir, probe


class Flow:
    """The data flow of a kernel's text at TTIR or TTGIR. Values go by the names that dumps give them
    (`Site.value`), each of which is one value."""

    def __init__(self, text: str, kernel: str):
        self._module = ir.parse(text)
        named = probe.values(self._module, kernel)
        self._values = dict(named)
        self._names = {value: name for name, value in named}

    def readers(self, name: str, compared) -> tuple[set, bool]:
        """The nearest values after `name` that are in `compared`, and whether it reaches memory without
        one."""
        start = self._values.get(name)
        if start is None:
            return set(), True

        def after(value):
            ends = value is None or (value != start and self._names.get(value) in compared)
            return () if ends else _next(value)

        found = {*reached([start], after)} - {start}
        return {self._names[value] for value in found if self._names.get(value) in compared}, None in found

    def polled(self) -> set:
        """The values that the number of turns of a loop that waits decides, which is another in each run:
        those in an scf.while that does nothing but look at memory that others write, what it gives, and what
        was looked at before it for its first turn."""
        stored_values: set = set()
        for op in self._module.walk():
            if op.name != "scf.while" or any(_writes(inner) for inner in op.walk()):
                continue
            inside = _inside(op)
            condition = op.regions[0].blocks[0].ops[-1].operands[0]
            if not any(_looks(value) and value in inside for value in _before(condition)):
                continue
            stored_values |= inside | {*op.results}
            for first in op.operands:
                stored_values |= {value for value in _before(first) if any(map(_looks, _before(value)))}
        return {self._names[value] for value in stored_values if value in self._names}


def _looks(value) -> bool:
    """Returns whether a value is what memory held that others may write at the time."""
    op = value.op
    if op is None:
        return False
    volatile = op.attr("isVolatile")
    return op.does("atomics") or bool(volatile is not None and volatile.value)


def _writes(op) -> bool:
    """Returns whether an op may leave something in memory; atomics aside, which locks are taken by."""
    return op.does("stores") or op.does("buffer_writes") or op.name == "tt.call"


def _inside(loop) -> set:
    """The values of a loop's regions."""
    reached = set()
    for op in loop.walk():
        reached |= {*op.results} if op != loop else set()
        for region in op.regions:
            for block in region.blocks:
                reached |= {*block.args}
    return reached


def _before(value) -> set:
    """A value and what it is computed from, as far back as to what was looked at in memory."""
    return {*reached([value], lambda one: () if _looks(one) else _sources(one))}


def _sources(value):
    """Yields a value's sources: its op's operands, and what is given to a loop or branch that carries it."""
    op = value.op
    if op is None or op.name in CARRYING:
        yield from carried_to(value)
    if op is not None and op.name != "scf.while":
        yield from op.operands


def _next(value):
    """Yields what a value goes into: other values; None for memory."""
    for op, operand in value.uses:
        parent = op.parent
        if op.name == "scf.yield":
            if parent.name == "scf.for":
                yield parent.results[operand]
                yield parent.regions[0].blocks[0].args[operand + 1]
            elif parent.name == "scf.while":
                yield parent.regions[0].blocks[0].args[operand]
            else:
                yield from parent.results[operand : operand + 1]
        elif op.name == "scf.condition":
            if operand == 0:
                yield from parent.results
            else:
                yield parent.results[operand - 1]
                yield parent.regions[1].blocks[0].args[operand - 1]
        elif op.name == "scf.for":
            args = op.regions[0].blocks[0].args
            if operand < 3:
                yield args[0]
                yield from op.results
            else:
                yield args[operand - 2]
                yield op.results[operand - 3]
        elif op.name == "scf.while":
            yield op.regions[0].blocks[0].args[operand]
        elif op.results:
            yield from op.results
        elif op.does("ends") and parent.results:  # of the function that a reduction or scan applies
            yield from parent.results
        else:
            yield None
