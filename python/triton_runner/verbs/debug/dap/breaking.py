"""Answers requests that say where to stop: lines, functions, instructions, values that change, what checks
report. What was set is kept in points.py."""

from __future__ import annotations

import os

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import level_of_name
from triton_runner._settings import CHECKS
from triton_runner.verbs.debug import machine
from triton_runner.verbs.debug.dap import texts
from triton_runner.verbs.debug.dap.points import Point


def source(adapter, arguments) -> dict:
    """Lines of a file of Python, of a kernel's file, or of a text that `source` shows."""
    where = arguments.within("source")
    path = where.text("path", "")
    reference = where.number("sourceReference", 0)
    if not path and not reference:
        raise fail("'source' of the request 'setBreakpoints' has neither a path nor a sourceReference")
    is_text = bool(reference) or bool(level_of_name(path))
    named = {"path": path} if path else {"sourceReference": reference, "name": where.text("name", "")}
    points = []
    for each in arguments.each("breakpoints", []):
        line = adapter.client.line_of(each.number("line"))
        at = f"@{line}" if is_text else f"{os.path.abspath(path)}:{line}"
        points.append(_point("source", at, each, each.text("logMessage", ""), named, line))
    return _set(adapter, ("source", path or reference), points)


def function(adapter, arguments) -> dict:
    """Kernels and functions by name, launched already or not yet; ops by name, too."""
    points = [_point("function", each.text("name"), each) for each in arguments.each("breakpoints")]
    return _set(adapter, ("function",), points)


def instruction(adapter, arguments) -> dict:
    """Ops and instructions, by their addresses in `disassemble`."""
    points = []
    for each in arguments.each("breakpoints"):
        place = texts.place_of(adapter, each.text("instructionReference")) + each.number("offset", 0)
        places = adapter.session.places.all
        if not 0 <= place < len(places):
            raise fail(f"there is no instruction at {place:#x}: this launch has {len(places)}")
        points.append(_point("instruction", f"@{places[place].at}", each))
    return _set(adapter, ("instruction",), points)


def data(adapter, arguments) -> dict:
    """Values and elements that are watched: a stop after what changes them."""
    points = [_point("data", each.text("dataId"), each) for each in arguments.each("breakpoints")]
    return _set(adapter, ("data",), points)


def _point(kind: str, at: str, each, *more) -> Point:
    return Point(kind, at, each.text("condition", ""), each.text("hitCondition", ""), *more)


def _set(adapter, name: tuple, points: list[Point]) -> dict:
    points = adapter.points.replace(name, points)
    adapter.change()
    session, line = adapter.session, adapter.client.line
    return {"breakpoints": [adapter.points.described(point, session, line) for point in points]}


def data_info(adapter, arguments) -> dict:
    """Returns whether a value can be watched, and under which name."""
    name = arguments.text("name")
    parent = arguments.number("variablesReference", 0)
    what = adapter.variables[parent].name_of(name) if parent else name
    if not parent and (memory := _memory(arguments, name)):
        try:
            adapter.session.state.watched(memory)
        except DiagnosticError as error:
            return {"dataId": None, "description": error.message}
        return {"dataId": memory, "description": f"{memory} changes", "accessTypes": ["write"]}
    base = what.partition("[")[0].strip()
    if not base or not adapter.session.state.is_named(base):
        return {"dataId": None, "description": f"{name} is not a value of the launch that can be watched"}
    return {"dataId": what, "description": f"{what} changes", "accessTypes": ["write"], "canPersist": True}


def _memory(arguments, name: str) -> str:
    """The memory that a data breakpoint is of, as watch takes it; "" where it is of a value."""
    if arguments.flag("asAddress"):
        return f"*{name} bytes {arguments.number('bytes', 4, least=1)}"
    return name.strip() if machine.is_memory(name.strip()) else ""


def exception(adapter, arguments) -> dict:
    """Returns which checks look, and whether a trap stops. Checks are those of the whole run of the
    program."""
    filters = arguments.texts("filters")
    unknown = [name for name in filters if name not in ("trap", *CHECKS)]
    if unknown:
        raise fail(f"there is no exception filter {unknown[0]!r}", f"filters: trap, {', '.join(CHECKS)}")
    checks = [name for name in filters if name != "trap"]
    adapter.events.traps = "trap" in filters
    if not adapter.has_begun:
        adapter.filters = checks
    added = [name for name in checks if name not in (*adapter.checks, *adapter.filters)]
    why = "checks are chosen when the program starts: start it again"
    return {"breakpoints": [{"verified": name not in added, **({"message": why} if name in added else {})}
                            for name in filters]}  # fmt: skip


def locations(adapter, arguments) -> dict:
    """The lines of a file at which a launch can stop, among those that are asked for."""
    path = arguments.within("source").text("path", "")
    first = adapter.client.line_of(arguments.number("line"))
    last = adapter.client.line_of(arguments.number("endLine", arguments.number("line")))
    if adapter.stopped is None or not path:
        return {"breakpoints": []}
    places = adapter.session.places
    if level_of_name(path):
        lines = {place.at for place in places.all}
    else:
        lines = {
            f[0].line for f in places.frames if f and os.path.abspath(f[0].file) == os.path.abspath(path)
        }
    return {"breakpoints": [{"line": adapter.client.line(n)} for n in sorted(lines) if first <= n <= last]}
