"""Counter-examples: launches of a kernel that the engine runs, in which something goes wrong."""

from __future__ import annotations

import itertools
import math

import numpy

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError, KernelTrap, with_source
from triton_runner._memory.arguments import Arguments
from triton_runner._memory.files import dtype_named, number_of
from triton_runner._memory.ghost_memory import Ghost
from triton_runner.verbs.prove.model import program, programs
from triton_runner.verbs.prove.results import CounterExample
from triton_runner.verbs.prove.solver import Solver
from triton_runner.verbs.prove.subject import Subject
from triton_runner.verbs.prove.terms import Substitution, atoms_of, both, ge, le, poly

# The check that shows what is wrong, and the kind of its report.
CHECKS = {
    "bounds": (None, "out of bounds"),
    "overflow": ("overflow", "integer overflow"),
    "disjoint": ("race", "data race"),
    "division": ("zerodiv", "division by zero"),
}
_TIERS = ((1, 40), (1, 300), (0, 5000), (0, 1 << 20), (0, 1 << 40))
_MOST_PROGRAMS = 1 << 22  # that a counter-example may run
_SECONDS = 10  # that a counter-example may take


class Refuter:
    """Finds launches that go wrong. seconds: that Z3 may take for each try."""

    def __init__(self, subject: Subject, solver: Solver, seconds: float):
        self._subject, self._solver, self._seconds = subject, solver, seconds
        self._tried: dict = {}

    def refute(self, name: str, goals) -> CounterExample | None:
        """A launch in which a property does not hold; None: no such launch was found."""
        for goal in goals[:6]:
            if name == "covered" or not goal.conds:
                continue
            for low, high in _TIERS:
                model = self._solver.model(*goal.conds, *self._sizes(low, high), seconds=self._seconds)
                if model is None:
                    continue
                found = self._run(name, model)
                if found is not None:
                    return found
        return None

    def uncovered(self, seed: int = 0) -> CounterExample | None:
        """A small launch after which elements of an output are as they were."""
        return None

    def _sizes(self, low: int, high: int) -> list:
        """The sizes of a launch lie between; so that small ones are found first."""
        conds = []
        for number in self._numbers():
            conds += [le(number, high), ge(number, low)] if low else [le(number, high), ge(number, -1)]
        if high <= 5000:
            conds += [le(programs(i), 4096 if i == 0 else 64) for i in range(3)]
        return conds

    def _numbers(self) -> list:
        terms = [tensor.numel for tensor in self._subject.tensors.values()]
        terms += list(self._subject.integers.values())
        return [poly(atom) for atom in sorted(atoms_of(*terms)) if atom.kind == "sym"]

    def launch(self, model: dict, fill: int = 0) -> tuple | None:
        """(the launch, numbers by argument, how many programs are needed) of a model's numbers."""
        change = Substitution({atom: poly(value) for atom, value in model.items() if atom.kind == "sym"})
        grid = tuple(self._number(change, programs(i), 1) for i in range(3))
        shown, named, memory = {}, [], {}
        kernel_arguments = self._subject.function.regions[0].blocks[0].args
        for argument in kernel_arguments:
            name = argument.name.removeprefix("%")
            if name in self._subject.tensors:
                tensor = self._subject.tensors[name]
                count = max(self._number(change, tensor.numel, 0), 0)
                if tensor.memory not in memory:
                    memory[tensor.memory] = _array(tensor, count, fill)
                shown[name] = f"{tensor.element}[{count}]"
                named.append((name, memory[tensor.memory]))
            elif name in self._subject.integers:
                value = self._number(change, self._subject.integers[name], 1)
                shown[name] = value
                dtype = dtype_named(str(argument.type)) if str(argument.type) != "i1" else numpy.dtype(bool)
                named.append((name, dtype.type(value)))
            elif argument.type.kind == "float":
                named.append((name, number_of(dtype_named(str(argument.type)), 1.0)))
            else:
                return None
        metadata = self._subject.metadata
        relaunch = Relaunch(
            self._subject.name, self._subject.target, {"ttir": self._subject.text}, lambda: metadata, "ttir",
            grid, Arguments(named, []),
        )  # fmt: skip
        needed = self._needed(change, grid)
        return relaunch, shown, needed

    @staticmethod
    def _needed(change: Substitution, grid: tuple) -> int:
        """How many of the first programs contain those that the model names."""
        last = 0
        for suffix in ("", "'"):
            place = []
            for i in range(3):
                atom = program(i).atom
                named = poly(type(atom)("sym", atom.args[0] + suffix, lo=atom.lo, hi=atom.hi))
                place.append(change.poly(named).const or 0)
            last = max(last, (place[2] * grid[1] + place[1]) * grid[0] + place[0])
        return min(last + 1, math.prod(grid))

    @staticmethod
    def _number(change: Substitution, term, otherwise: int) -> int:
        value = change.poly(poly(term)).const
        return otherwise if value is None else value

    def _run(self, name: str, model: dict) -> CounterExample | None:
        try:
            made = self.launch(model)
        except (DiagnosticError, MemoryError, OverflowError, OSError):
            return None
        if made is None or made[2] > _MOST_PROGRAMS:
            return None
        relaunch, shown, needed = made
        checks, kind = CHECKS.get(name, (None, ""))
        try:
            outcome = relaunch.run("ttir", checks=checks, programs=needed, timeout=_SECONDS)
        except DiagnosticError:
            return None
        trap = outcome.trap
        if not isinstance(trap, KernelTrap) or not trap.kind.startswith(kind):
            return None
        return CounterExample(shown, list(relaunch.grid), with_source(trap), trap.file, trap.line)


def _array(tensor, count: int, fill: int):
    """Memory of so many elements, of which only what is written takes any."""
    element = "i8" if tensor.element == "i1" else tensor.element
    dtype = dtype_named(element if not element.startswith("!") else "i64")
    if fill and count * dtype.itemsize <= 1 << 26:
        return numpy.full(max(count * dtype.itemsize, 1), fill, numpy.uint8)[: count * dtype.itemsize].view(dtype)
    return Ghost((count,), dtype).array


__all__ = ["CHECKS", "Refuter", "both", "itertools"]
