"""Answers requests about what stands: threads, frames, scopes, variables, expressions."""

from __future__ import annotations

import ast

import numpy

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import MLIR
from triton_runner.verbs.debug import parts, show
from triton_runner.verbs.debug.dap import console, texts
from triton_runner.verbs.debug.dap.variables import Children, row, text_of


def threads(adapter, arguments) -> dict:
    return {"threads": adapter.events.threads()}


def stack(adapter, arguments) -> dict:
    """The lines of the program, innermost first, and below them the line of the level's text."""
    stopped = adapter.standing()
    client = adapter.client
    frames = []
    for at in stopped.frames:
        name, source = at.function or stopped.kernel, texts.of_file(at.file)
        frames.append(_frame(client, name, source, at.line, at.column))
    name = f"{stopped.kernel}.{stopped.level}: {stopped.op}"
    frames.append(_frame(client, name, texts.of_launch(adapter), stopped.at))
    for number, frame in enumerate(frames):
        frame["id"] = number + 1
        frame["instructionPointerReference"] = texts.reference(stopped.place)
    start, levels = arguments.number("startFrame", 0, least=0), arguments.number("levels", 0, least=0)
    return {"stackFrames": frames[start : start + levels if levels else None], "totalFrames": len(frames)}


def _frame(client, name: str, source: dict, line: int, column: int = 1) -> dict:
    return {"name": name, "source": source, "line": client.line(line), "column": client.column(column)}


def scopes(adapter, arguments) -> dict:
    """Python variables, values of the IR or registers, shared memory, and the launch itself."""
    arguments.number("frameId")
    state = adapter.session.state
    names = state.variables()
    sites: dict[str, int] = {}
    for number, site in enumerate(state.sites):
        sites.setdefault(site.value, number)  # the nearest of a name
    rows = [_values_scope(adapter, "Variables", names, "locals")] if names else []
    if adapter.standing().level in MLIR:
        rows.append(_values_scope(adapter, "IR values", sites))
        if state.buffers():
            rows.append(_scope(adapter, "Shared memory", Children(lambda _: _machine(state))))
    else:
        rows.append(_values_scope(adapter, "Registers", sites, "registers"))
        if state.shared():
            rows.append(_scope(adapter, "Shared memory", Children(lambda _: _shared(state))))
    rows.append(_scope(adapter, "Launch", Children(lambda _: _launch(adapter))))
    return {"scopes": rows}


def _scope(adapter, name: str, children: Children, **more) -> dict:
    reference = adapter.variables.add(children)
    return {"name": name, "variablesReference": reference, "expensive": False, **more}


def _values_scope(adapter, name: str, numbers: dict[str, int], hint: str = "") -> dict:
    """A scope of values by their names."""
    state = adapter.session.state

    def rows(as_hex: bool) -> list[dict]:
        return [_value(adapter, state, value, number, as_hex) for value, number in numbers.items()]

    more = {"presentationHint": hint} if hint else {}
    children = Children(rows, name_of=lambda child: child)
    is_long = name != "Variables"  # an editor opens it when it is asked to
    return _scope(adapter, name, children, namedVariables=len(numbers), **{**more, "expensive": is_long})


def _value(adapter, state, name: str, number, as_hex: bool, is_asked: bool = False) -> dict:
    """The row of a value, by the number that the state has for it. is_asked: for this value alone."""
    if not is_asked and state.takes_long(number):  # an editor shows a button, and asks for its child
        children = Children(lambda as_hex: [_value(adapter, state, name, number, as_hex, True)])
        hint = {"presentationHint": {"lazy": True}}
        return row(name, "...", evaluateName=name, **hint) | {
            "variablesReference": adapter.variables.add(children)
        }
    site = state.site(number)
    try:
        array, _ = state.read(number)
        mask = state.mask(number)
    except DiagnosticError as error:
        return row(name, error.message, site.type)
    out = adapter.variables.value(name, array, name, mask, as_hex)
    if state.is_pointer(name):
        out["value"] = show.pointers(name, array, state.places_of(array), mask)[0].partition(" = ")[2]
    if adapter.standing().level in MLIR:
        out["type"] = f"{'x'.join(map(str, array.shape))} {site.type}".strip()
    if array.ndim:
        out["memoryReference"] = texts.value_reference(name)
    return out


def _shared(state) -> list[dict]:
    rows = [row("memory", f"{len(state.shared())} bytes", memoryReference=texts.SHARED)]
    return rows + _machine(state)


def _machine(state) -> list[dict]:
    """Barriers, buffers, copies and descriptors."""
    rows = [row(f"mbarrier {b.at:#x}", show.barrier(b)) for b in state.barriers()]
    rows += [row(b.name, f"{b.space} {b.at:#x}, {b.bytes} bytes") for b in state.buffers()]
    rows += [row(f"under way {i}", text) for i, text in enumerate(state.copies())]
    return rows + [row(name, text) for name, text in state.descriptors()]


def _launch(adapter) -> list[dict]:
    stopped = adapter.standing()
    rows = {
        "kernel": stopped.kernel, "level": stopped.level, "launch": str(stopped.launch),
        "standing": show.standing(stopped), "moment": str(stopped.moment), "next": stopped.text.strip(),
        "trap": stopped.trap or "",
    }  # fmt: skip
    out = [row(name, text) for name, text in rows.items() if text]
    out += [row(f"constexpr {name}", str(value)) for name, value in adapter.session.constants.items()]
    if stopped.threads or stopped.task:
        out += [row(f"path {i}", text) for i, text in enumerate(adapter.session.state.paths())]
    return out


def variables(adapter, arguments) -> dict:
    rows = adapter.variables.page(
        arguments.number("variablesReference"), arguments.text("filter", ""),
        arguments.number("start", 0, least=0), arguments.number("count", 0, least=0), _as_hex(arguments),
    )  # fmt: skip
    return {"variables": rows}


def _as_hex(arguments) -> bool:
    return arguments.within("format", {}).flag("hex")


# ---- changing


def set_variable(adapter, arguments) -> dict:
    """Gives a value, or an element of one, another value, with which the launch goes on."""
    name = arguments.text("name")
    what = adapter.variables[arguments.number("variablesReference")].name_of(name)
    if not what:
        raise fail(f"{name} cannot be changed")
    return _changed(adapter, what, arguments.text("value"))


def set_expression(adapter, arguments) -> dict:
    return _changed(adapter, arguments.text("expression"), arguments.text("value"))


def _changed(adapter, what: str, value: str) -> dict:
    session = adapter.session
    session.set(what, _evaluated(session, value))
    adapter.tell("invalidated", areas=["variables"])
    shown = adapter.variables.value(what, session.evaluate(what), what)
    return {key: shown[key] for key in _SHOWN if key in shown}


_SHOWN = ("value", "type", "variablesReference", "namedVariables", "indexedVariables")


def _evaluated(session, text: str):
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return session.evaluate(text)


# ---- expressions


def evaluate(adapter, arguments) -> dict:
    """An expression of NumPy over the values. The console has commands of the terminal, too (console.py)."""
    text, context = arguments.text("expression"), arguments.text("context", "")
    as_hex = _as_hex(arguments)
    if context == "repl" and (name := console.command_of(text)):
        return {"result": console.answered(adapter, name, text.strip()), "variablesReference": 0}
    if context == "repl":
        with console.hinted(text):
            return _of_expression(adapter, text.lstrip().removeprefix("!"), context, as_hex)
    return _of_expression(adapter, text, context, as_hex)


def _of_expression(adapter, text: str, context: str, as_hex: bool) -> dict:
    session = adapter.session
    if context == "repl" and (assigned := parts.assignment(text)):
        changed = _changed(adapter, *assigned)
        return {"result": changed.pop("value"), **changed}
    state, name = session.state, text.strip()
    value = state.evaluate(text)
    if context == "clipboard":
        return {"result": _whole(value), "variablesReference": 0}
    if state.is_named(name):
        shown = _value(adapter, state, name, state.number(name), as_hex, True)
    elif isinstance(value, (numpy.ndarray, numpy.generic, int, float)):
        part = parts.part_of(text)
        part = text if part and part.is_element else ""
        shown = adapter.variables.value(text, value, part, as_hex=as_hex)
    else:
        return {"result": str(value), "variablesReference": 0}
    out = {key: shown[key] for key in (*_SHOWN, "memoryReference") if key in shown}
    return {"result": out.pop("value"), **out}


def _whole(value) -> str:
    """All elements of a value, up to a size."""
    array = numpy.asarray(value)
    return numpy.array2string(array, threshold=1 << 16) if array.ndim else text_of(array)


def completions(adapter, arguments) -> dict:
    """Commands of the console, and the values here, that begin as the last word does."""
    text, column = arguments.text("text"), arguments.number("column")
    text = text[: max(column - adapter.client.first_column, 0)]
    return {
        "targets": [
            {"label": label, "type": kind, "start": start, "length": len(text) - start}
            for label, kind, start in console.completions(adapter.session, text)[:200]
        ]
    }


def exception_info(adapter, arguments) -> dict:
    """The trap that the launch ran into, whole."""
    stopped = adapter.standing()
    trap = stopped.trap
    if trap is None:
        raise fail("the launch does not stand at a trap")
    return {
        "exceptionId": stopped.trap_kind, "description": trap, "breakMode": "always",
        "details": {"message": trap, "typeName": "KernelTrap"},
    }  # fmt: skip
