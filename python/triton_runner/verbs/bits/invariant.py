"""Judges batch invariance: whether the first rows of a result have the same bits in batches of other sizes.

A function that launches kernels, or a kernel, is called with the first rows of what it was called with, and
the rows that both calls have are compared, in what it returns and in its arguments."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import time
from collections.abc import Callable

import numpy

from triton_runner import _settings
from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._base.errors import KernelTrap, fail, package_folders
from triton_runner._launch.launchers import observing
from triton_runner._memory.arguments import host
from triton_runner._programs import intercept
from triton_runner._programs.intercept import InterceptedLaunch
from triton_runner.verbs.bits import compare, why
from triton_runner.verbs.bits.compare import Variant
from triton_runner.verbs.bits.results import Launch, Origin, Row

_SIZES = (1, 2, 3, 7, 16, 33, 64, 100, 128, 257, 512)
_MOST = 8  # sizes


@dataclasses.dataclass(eq=False)
class Call:
    """A call of a function: its arguments by name, and what is cut: axes by argument, and arguments that hold
    the size."""

    name: str
    function: Callable
    arguments: dict
    size: int
    axes: dict
    sizes: tuple = ()

    def cut(self, rows: int) -> dict:
        """The arguments of a batch of so many rows, in memory of their own."""
        found = {}
        for name, value in self.arguments.items():
            if name in self.sizes:
                value = rows
            elif hasattr(value, "shape") and len(value.shape):
                index = [
                    slice(rows if axis in self.axes.get(name, ()) else None)
                    for axis in range(len(value.shape))
                ]
                value = _copied(value[tuple(index)])
            found[name] = value
        return found


def call_of(name: str, function, arguments: dict, invariant: str, known: dict) -> Call:
    """A call whose size is named: "M", a number among the arguments or in `known`; or "x.0", dimensions of
    arguments, separated by commas."""
    axes: dict = {}
    shapes = {key: tuple(value.shape) for key, value in arguments.items() if getattr(value, "shape", ())}
    if "." in invariant:
        for part in invariant.split(","):
            argument, _, axis = part.strip().partition(".")
            if argument not in shapes or not axis.isdigit() or int(axis) >= len(shapes[argument]):
                raise fail(
                    f"--invariant {part.strip()}: {name} has no such dimension",
                    f"its arrays: {', '.join(f'{k} {list(v)}' for k, v in shapes.items()) or 'none'}",
                )
            axes.setdefault(argument, []).append(int(axis))
        size = min(shapes[argument][axis] for argument, held in axes.items() for axis in held)
        return Call(name, function, arguments, size, axes)
    size = {**known, **arguments}.get(invariant)
    if isinstance(size, bool) or not isinstance(size, int):
        numbers = [
            k for k, v in {**known, **arguments}.items() if isinstance(v, int) and not isinstance(v, bool)
        ]
        raise fail(
            f"--invariant {invariant}: {name} has no number of that name",
            f"its numbers: {', '.join(numbers) or 'none'}; a dimension is named as x.0",
        )
    for argument, shape in shapes.items():
        held = [axis for axis, n in enumerate(shape) if n == size]
        if len(held) > 1:
            raise fail(
                f"--invariant {invariant}: {argument} has {len(held)} dimensions of {size}",
                f"name the dimensions, as in --invariant {argument}.0, or let the sizes differ",
            )
        if held:
            axes[argument] = held
    if not axes:
        raise fail(f"--invariant {invariant}: no array of {name} has a dimension of {size}")
    return Call(name, function, arguments, size, axes, (invariant,))


class Catching(intercept.Interceptor):
    """Runs a program and catches the first call that launches a kernel: of the function `name`, or of the one
    whose code does the launch."""

    def __init__(self, invariant: str, name: str = ""):
        super().__init__()
        self._invariant, self._name = invariant, name
        self.call: Call | None = None

    def seen(self, launch: InterceptedLaunch) -> None:
        if self.call is None and (frame := _frame(self._name)) is not None:
            code, values = frame.f_code, dict(frame.f_locals)
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            arguments = {name: values[name] for name in names if name in values}
            call = call_of(code.co_name, _function(frame), arguments, self._invariant, values)
            self.call = dataclasses.replace(call, arguments=call.cut(call.size))


def _frame(name: str):
    """The frame of the function that launches: of that name, or the innermost of the program."""
    frame = sys._getframe()
    while frame is not None:
        code = frame.f_code
        own = code.co_filename.startswith((*package_folders(), "<"))
        if not own and (code.co_name == name if name else True):
            if code.co_name == "<module>":
                raise fail(
                    "--invariant: the program launches the kernel itself, outside of any function",
                    "put the launch into a function, or give kernel.py:name with --arg and --grid",
                )
            return frame
        frame = frame.f_back
    return None


def _function(frame):
    """The function of a frame, as its module names it."""
    function = frame.f_globals.get(frame.f_code.co_name)
    plain_function = inspect.unwrap(function) if callable(function) else None
    if getattr(plain_function, "__code__", None) is not frame.f_code:
        raise fail(
            f"--invariant: {frame.f_code.co_name} is no function of its module, and cannot be called again",
            "name one that is: program.py:function",
        )
    return function


class _Fixed(intercept.Interceptor):
    """Autotuners take one of their configurations, so that no time decides. tuned: their configurations."""

    def __init__(self, chosen: int):
        super().__init__()
        self._chosen, self.tuned = chosen, {}

    def seen(self, launch: InterceptedLaunch) -> tuple | None:
        if not launch.is_tuned:
            return None
        self.tuned[launch.name] = [options for options, _ in launch.configs]
        return launch.configs[self._chosen % len(launch.configs)]


@dataclasses.dataclass(eq=False)
class _Result:
    """A call's result: arrays by name, and its launches."""

    options: dict
    arrays: dict
    launches: list[Relaunch]
    seconds: float
    tuned: dict


def judge(call: Call, level: str, say=lambda text: None) -> Launch:
    """The sizes in classes of equal rows; of autotuned kernels under each configuration."""
    started = time.perf_counter()
    results: list[_Result] = []
    failed: list[Row] = []
    chosen, count = 0, 1
    while chosen < count:
        for rows in sizes(call.size):
            say(f"{call.name}: {rows} rows")
            try:
                results.append(_called(call, rows, chosen, level))
            except KernelTrap as trap:
                options = {"rows": rows}
                failed.append(Row(options, _label(options), state="trap", text=str(trap).splitlines()[0]))
        count = max([count, *(len(configs) for one in results for configs in one.tuned.values())])
        chosen += 1
    return _classified(call, level, results, failed, started, say)


def sizes(whole: int) -> list[int]:
    """The whole batch first, then smaller ones."""
    smaller = sorted({n for n in (*_SIZES, whole // 2, whole - 1) if 0 < n < whole})
    kept = smaller if len(smaller) < _MOST else [*smaller[: _MOST - 3], *smaller[-2:]]
    return [whole, *kept]


def _called(call: Call, rows: int, chosen: int, level: str) -> _Result:
    arguments, launches = call.cut(rows), []

    def observe(launched, go):
        launches.append(of_call(launched))
        go()

    watching = _Fixed(chosen)
    started = time.perf_counter()
    with _settings.using(level=level or "ptx", threads=1), watching.watching(), observing(observe):
        returned = call.function(**arguments)
    seconds = time.perf_counter() - started
    arrays = {f"result{name}": host(value) for name, value in _arrays(returned)}
    arrays |= {name: host(value) for name, value in arguments.items() if getattr(value, "shape", ())}
    options = {"rows": rows}
    for configs in watching.tuned.values():
        options |= configs[chosen % len(configs)]
    return _Result(options, arrays, launches, seconds, watching.tuned)


def _arrays(value, name: str = ""):
    """(place, array) of what a function returns."""
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        yield name, value
    elif isinstance(value, (tuple, list)):
        for i, one in enumerate(value):
            yield from _arrays(one, f"{name}[{i}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _arrays(one, f"{name}[{key!r}]")


def _classified(call: Call, level: str, results: list, failed: list, started: float, say) -> Launch:
    groups: list[list[_Result]] = []
    for one in results:
        group = next(
            (group for group in groups if compare.first_difference(group[0].arrays, one.arrays) is None), None
        )
        groups.append([one]) if group is None else group.append(one)
    letters = {id(one): compare.letters(i) for i, group in enumerate(groups) for one in group}
    rows = [
        Row(one.options, _label(one.options), letters[id(one)], seconds=round(one.seconds, 4))
        for one in results
    ]
    partings = []
    for i, group in enumerate(groups[1 : 1 + compare.MOST_PARTINGS], 1):
        mine = [(j, other) for j in range(i) for other in groups[j]]
        one = group[0]
        j, other = min(mine, key=lambda pair: compare.distance(pair[1], one))
        say(f"where {_label(other.options)} and {_label(one.options)} part")
        names, labels = [compare.letters(j), compare.letters(i)], [_label(other.options), _label(one.options)]
        found = compare.first_difference(other.arrays, one.arrays)
        partings.append(compare.parted(names, labels, found, functools.partial(_origins, other, one)))
    launches = results[0].launches if results else []
    target = launches[0].target if launches else ""
    level = level or (launches[0].levels[-1] if launches else "")
    seconds = round(time.perf_counter() - started, 3)
    grid = list(launches[-1].grid) if launches else []
    return Launch(call.name, 0, grid, target, level, [*rows, *failed], partings, [], seconds)


def _label(options: dict) -> str:
    return Variant(options).label


def _origins(a: _Result, b: _Result, argument: str, element: tuple) -> list[Origin]:
    """Explains the first launch whose results differ in the rows that both have."""
    kernels = [[launch.name for launch in one.launches] for one in (a, b)]
    if kernels[0] != kernels[1]:
        return [Origin("operations", f"launches {', '.join(kernels[0])} | {', '.join(kernels[1])}")]
    for x, y in zip(a.launches, b.launches, strict=True):
        level = x.levels[-1]
        found = compare.first_difference(*(one.run(level).arrays for one in (x, y)))
        if found is not None:
            at = compare.first_element(*found[1:])
            return why.origins(why.Side(x, level, {}), why.Side(y, level, {}), found[0], at)
    return [Origin(why.UNEXPLAINED, "no launch differs: what torch computes between launches does")]


def _copied(value):
    if hasattr(value, "detach"):
        return value.detach().contiguous().clone()
    return numpy.ascontiguousarray(value).copy()
