"""Searches for counter-examples: launches of a kernel that the engine runs, in which something goes
wrong."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import os
from types import SimpleNamespace

import numpy

from triton_runner import _settings
from triton_runner._artifact import loading
from triton_runner._base.errors import DiagnosticError, KernelTrap, with_source
from triton_runner._base.metadata import jsonable
from triton_runner._launch.launchers import unseen
from triton_runner._memory.arrays import wrap
from triton_runner._memory.files import dtype_named, number_of
from triton_runner._memory.ghost_memory import Ghost
from triton_runner.verbs.prove import refine
from triton_runner.verbs.prove.facts import program, programs
from triton_runner.verbs.prove.limit import now
from triton_runner.verbs.prove.results import CounterExample
from triton_runner.verbs.prove.solver import Solver
from triton_runner.verbs.prove.subject import Subject
from triton_runner.verbs.prove.terms import Substitution, atoms_of, ge, le, poly, symbol

# The check that shows what is wrong, and the kind of its report.
CHECKS = {
    "bounds": ("view", "out of bounds"),  # also where the address lies in another argument
    "overflow": ("overflow", "integer overflow"),
    "disjoint": ("race", "data race"),
    "division": ("zerodiv", "division by zero"),
}
# The largest size and number of a program that are tried one after the other: what is small reads better, and
# an overflow needs what is large.
_FAR = 1 << 31  # beyond all programs
_TIERS = (
    (40, 40), (300, 100), (5000, 2000), (1 << 20, 1 << 12), (1 << 40, 1 << 12), (1 << 40, 1 << 20),
    (1 << 40, _FAR),
)  # fmt: skip
_FILL = 0x55  # of each byte of an output
_MOST_PROGRAMS = 1 << 21  # that a counter-example may run
_OF_ONE = ("bounds", "overflow", "division")  # what one program does wrong by itself
_SECONDS = 5  # that a counter-example may take
_MOST_ELEMENTS = 1 << 22  # of outputs that are looked through for what nobody wrote


class Refuter:
    """Finds launches that go wrong. seconds: that Z3 may take for each try."""

    def __init__(self, subject: Subject, solver: Solver, seconds: float, accesses: list):
        self._subject, self._solver, self._seconds, self._accesses = subject, solver, seconds, accesses
        memory = {name: tensor.memory for name, tensor in subject.tensors.items()}
        read = {memory.get(one.base) for one in accesses if one.kind != "stores"}
        written = {one.base for one in accesses if one.kind == "stores" and one.base}
        self._outputs = {name for name in written if memory[name] not in read}
        self._places: set = set()  # of the accesses that are looked at
        self._others = {"covered": self.uncovered, "refines": self._beyond}

    def refute(self, name: str, goals) -> CounterExample | None:
        """A launch in which a property does not hold; None: no such launch was found."""
        self._places = {_line(goal.reason) for goal in goals}
        tries = {**{one: functools.partial(self._run, one) for one in CHECKS}, **self._others}
        if name not in tries:
            return None
        deadline = now() + self._seconds * 3
        # Nobody launches so many programs where nothing says how many there are.
        may_be_far = name in _OF_ONE and self._subject.grid is not None
        for goal, (high, last) in itertools.product(goals[:3], _TIERS):
            if (name == "covered" and high > 1 << 20) or (last == _FAR and not may_be_far):
                continue
            left = deadline - now()
            if left <= 0:
                break
            model = self._solver.model(
                *goal.conds, *self._sizes(high, last, name), seconds=min(left, self._seconds)
            )
            if model is None:
                continue
            found = tries[name](model)
            if found is not None:
                return found
        return None

    def small(self, conds) -> tuple | None:
        """A launch of small sizes under which conditions hold, as made() gives it."""
        model = self._solver.model(*conds, *self._sizes(5000, 100, ""), seconds=self._seconds)
        return model and self.made(model)

    def _sizes(self, high: int, last: int, name: str) -> list:
        """The sizes of a launch are at most `high`, and so are its programs."""
        conds = [one.cond for one in (*self._subject.ties, *self._subject.alike)]
        conds += [cond for number in self._numbers() for cond in (le(number, high), ge(number, -1))]
        for i in range(3):
            conds += [le(one, last) for one in _programs(i)]
        if high <= 5000 or name == "covered":
            conds += [le(tensor.numel, _MOST_ELEMENTS // 4) for tensor in self._subject.tensors.values()]
        if name == "covered" or high <= 300:
            conds += [le(programs(i), (4096, 64, 16)[i]) for i in range(3)]
        elif high > 5000 and last < _FAR:  # the first programs are run, of which those of y and z come late
            conds += [le(one, 64 if last > 1 << 12 else 0) for i in (1, 2) for one in _programs(i)]
        return conds

    def uncovered(self, model: dict) -> CounterExample | None:
        """Runs the launch with two fillings: an element that keeps both was not written."""
        left, launch = None, None
        for fill in (_FILL, 0xAA):
            made = self.made(model, fill)
            if made is None or math.prod(made[0].grid) > 1 << 14:
                return None
            launch = made[0]
            if sum(value.size for _, value in launch.named if hasattr(value, "size")) > _MOST_ELEMENTS:
                return None
            if launch.run() is not None:
                return None
            same = {name: self._untouched(name, value, fill, model) for name, value in launch.outputs()}
            left = same if left is None else {name: left[name] & same[name] for name in same}
        for name, untouched in left.items():
            if untouched.any():
                first = [int(i) for i in numpy.argwhere(untouched)[0]]
                access = next(op for op in self._accesses if op.kind == "stores" and op.base == name)
                where = first if len(first) != 1 else first[0]
                text = (
                    f"{int(untouched.sum()):,} of {untouched.size:,} elements of {name} are never written, "
                    f"the first is {where}; {access.op} at {access.place} writes to it"
                )
                return CounterExample(
                    launch.shown, list(launch.grid), text, access.place.file, access.place.line
                )
        return None

    def _untouched(self, name: str, value, fill: int, model: dict):
        """Which elements of a tensor hold the fill."""
        tensor = self._subject.tensors[name]
        change = _change(model)
        places = [(_number(change, a, 0), _number(change, b, 0)) for a, b in tensor.places()]
        size = value.dtype.itemsize
        raw = value.view(numpy.uint8).reshape(-1, size)
        is_same = (raw == fill).all(axis=1)
        shape, strides = zip(*places, strict=True)
        return numpy.lib.stride_tricks.as_strided(is_same, shape, strides)

    def _numbers(self) -> list:
        terms = [tensor.numel for tensor in self._subject.tensors.values()]
        terms += list(self._subject.integers.values())
        return [poly(atom) for atom in sorted(atoms_of(*terms)) if atom.kind == "sym"]

    def launch(self, model: dict, fill: int = 0, differs: bool = False) -> tuple | None:
        """(the launch, how many of its first programs are needed) of a model's numbers. differs: what memory
        holds differs from one argument to the other, and is not 0, integers too."""
        change = _change(model)
        grid = tuple(_number(change, programs(i), 1) for i in range(3))
        shown, named, memory, longest = {}, [], {}, {}
        for tensor in self._subject.tensors.values():
            count = max(_number(change, tensor.numel, 0), 0) * tensor.bytes
            longest[tensor.memory] = max(count, longest.get(tensor.memory, 0))
        descriptors: dict = {}
        kernel_arguments = self._subject.function.regions[0].blocks[0].args
        for argument in kernel_arguments:
            name = argument.name.removeprefix("%")
            if name.partition(".")[0] in descriptors:  # the launch takes it from the descriptor
                continue
            if name in self._subject.tensors:
                tensor = self._subject.tensors[name]
                count = max(_number(change, tensor.numel, 0), -(-longest[tensor.memory] // tensor.bytes))
                if tensor.memory not in memory:
                    is_output = name in self._outputs
                    array = memory[tensor.memory] = _array(tensor, count, fill if is_output else 0)
                    is_filled = array.dtype.kind == "f" or (differs and array.dtype.kind in "iu")
                    if is_filled and not is_output and count <= _MOST_ELEMENTS:
                        # Two programs that write sums write different ones.
                        array[:] = (numpy.arange(count) + differs * 7 * len(memory)) % 61 + differs
                    if name in self._subject.declared and count <= _MOST_ELEMENTS:
                        array[:] = _held(_number(change, self._subject.declared[name][1], 1) - 1, array.dtype)
                shown[name] = f"{tensor.element}[{count}]"
                named.append((name, memory[tensor.memory]))
                if name in self._subject.described:
                    fields = descriptors[name] = _described(tensor, argument.type, change)
                    shown[name] += f" as {tuple(fields['shape'])} with the strides {tuple(fields['strides'])}"
            elif name in self._subject.integers:
                value = _number(change, self._subject.integers[name], 1)
                shown[name] = value
                dtype = dtype_named(str(argument.type)) if str(argument.type) != "i1" else numpy.dtype(bool)
                named.append((name, dtype.type(_held(value, dtype))))
            elif argument.type.kind == "float":
                named.append((name, number_of(dtype_named(str(argument.type)), 1.0)))
            else:
                return None
        first = _place(change)
        launch = Launch(self._subject, grid, named, shown, self._outputs, descriptors, first)
        return launch, _needed(change, grid)

    def _run(self, name: str, model: dict) -> CounterExample | None:
        """Runs a launch. A number that is stored where it was is not seen to be a write, so that two programs
        that meet run over several contents, of which integers may be indices."""
        if name != "disjoint":
            return self._ran(name, self.made(model))
        return self._ran(name, self.made(model, _FILL)) or self._ran(name, self.made(model, _FILL, True))

    def _ran(self, name: str, made: tuple | None) -> CounterExample | None:
        if made is None:
            return None
        launch, needed = made
        checks, kind = CHECKS[name]
        if needed <= _MOST_PROGRAMS:
            trap = launch.run(checks, programs=needed)
        elif name in _OF_ONE:
            trap = launch.run(checks, program=",".join(map(str, launch.first)))
        else:
            return None
        if trap is None or not trap.kind.startswith(kind):
            return None
        if name == "bounds" and _line(trap) not in self._places:
            return None  # another access went wrong, of which a launch says nothing
        return CounterExample(launch.shown, list(launch.grid), with_source(trap), trap.file, trap.line)

    def _beyond(self, model: dict) -> CounterExample | None:
        made = self.made(model)
        if made is None or made[1] > _MOST_PROGRAMS:
            return None
        launch, programs = made
        tensors = self._subject.tensors
        writes = [one.base for one in self._accesses if one.kind != "loads"]
        written = {None if name is None else tensors[name].memory for name in writes}
        arrays = [(name, value) for name, value in launch.named if name in tensors]
        large = {name for name, value in arrays if value.size > _MOST_ELEMENTS}
        if large and (None in written or any(tensors[name].memory in written for name in large)):
            return None
        before = {name: value.copy() for name, value in arrays if name not in large}

        def restore() -> None:
            for name, value in arrays:
                if name in before:
                    value[:] = before[name]

        found = refine.beyond(launch, programs, restore)
        if found is None:
            return None
        text, file, line = found
        return CounterExample(launch.shown, list(launch.grid), text, file, line)

    def made(self, model: dict, fill: int = 0, differs: bool = False) -> tuple | None:
        try:
            return self.launch(model, fill, differs)
        except (DiagnosticError, MemoryError, OverflowError, OSError, ValueError):
            return None  # this machine has no room for it


@dataclasses.dataclass
class Launch:
    """A launch of the kernel. named: (name, value) of its arguments; shown: those for people; descriptors:
    {name: the fields} of those that get a descriptor of their array; first: the program that goes wrong."""

    subject: Subject
    grid: tuple
    named: list
    shown: dict
    written: set
    descriptors: dict
    first: list

    def _passed(self, name: str, value):
        """A value as launches take it."""
        value = wrap(name, value)
        fields = self.descriptors.get(name)
        return value if fields is None else SimpleNamespace(base=value, **fields)

    def outputs(self) -> list:
        return [(name, value) for name, value in self.named if name in self.written]

    def run(self, checks: str | None = None, level: str = "", **settings) -> KernelTrap | None:
        """The fault in it, at a level of the CPU, by default the one of its subject; settings: programs,
        timing, and what else using() takes."""
        subject = self.subject
        level = level or subject.level
        text, metadata = (subject.text, subject.metadata) if level == subject.level else subject.ttgir
        fixed = {"device": "cpu", "level": level, "target": subject.target, "threads": 1}
        # Settings of the environment do not reach it: a launch of few programs leaves outputs unwritten.
        plain = {"programs": 0, "program": "", "oob": "trap", "check": checks or "", "timeout": _SECONDS}
        settings = {**plain, **settings}
        with unseen(), _settings.using(**fixed, **settings):
            kernel = loading.load(
                text, json.dumps(metadata, default=jsonable), "cpu", name=subject.name,
                target=subject.target, level=level,
            )  # fmt: skip
            named = [(name, self._passed(name, value)) for name, value in self.named]
            try:
                kernel.launch(self.grid, named)
            except KernelTrap as trap:
                return trap
            except DiagnosticError:
                return None
        return None


def _described(tensor, type_, change: Substitution) -> dict:
    """The fields of a descriptor of a tensor."""
    shape = [_number(change, one, 1) for one in tensor.shape]
    strides = [_number(change, one, 1) for one in tensor.strides]
    block = list(type_.shape or type_.element.shape) if type_.kind == "tensordesc" else [1] * len(shape)
    same = {"padding": "zero", "round_f32_to_tf32": False}
    return {"shape": shape, "strides": strides, "block_shape": block, **same}


def _line(place) -> tuple:
    return os.path.basename(place.file), place.line


def _held(value: int, dtype) -> int:
    """A number without a sign as TTIR has it, with one."""
    bits = 8 * dtype.itemsize
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) == 1 else value


def _change(model: dict) -> Substitution:
    return Substitution({atom: poly(value) for atom, value in model.items() if atom.kind == "sym"})


def _number(change: Substitution, term, otherwise: int) -> int:
    value = change.poly(poly(term)).const
    return otherwise if value is None else value


def _programs(dimension: int) -> list:
    """The numbers of the program, and of the other one of two."""
    atom = program(dimension).atom
    return [poly(atom), symbol(atom.args[0] + "'", atom.lo, atom.hi)]


def _place(change: Substitution, which: int = 0) -> list[int]:
    """The program that a model names, or the other one of two."""
    return [_number(change, _programs(i)[which], 0) for i in range(3)]


def _needed(change: Substitution, grid: tuple) -> int:
    """How many of the first programs contain those that the model names."""
    last = 0
    for which in range(2):
        x, y, z = _place(change, which)
        last = max(last, (z * grid[1] + y) * grid[0] + x)
    return min(last + 1, math.prod(grid))


def _array(tensor, count: int, fill: int):
    """Memory of so many elements, of which only what is written takes any."""
    element = "i8" if tensor.element == "i1" else tensor.element
    dtype = dtype_named(element if not element.startswith("!") else "i64")
    if fill and count * dtype.itemsize <= 1 << 26:
        return numpy.full(max(count * dtype.itemsize, 1), fill, numpy.uint8)[: count * dtype.itemsize].view(
            dtype
        )
    if count * dtype.itemsize <= 1 << 24:
        return numpy.zeros(count, dtype)
    return Ghost((count,), dtype).array
