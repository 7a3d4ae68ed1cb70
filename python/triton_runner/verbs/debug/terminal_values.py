"""Has the commands of the terminal (terminal.py) about values: what one is, shown once or at each stop,
drawn, changed, compared with that of another level."""

from __future__ import annotations

import io
import re

import numpy

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import MLIR
from triton_runner._base.typed import as_json
from triton_runner.verbs.debug import heat, show
from triton_runner.verbs.debug.commands import whole
from triton_runner.verbs.debug.results import Stopped


class ValueCommands:
    """A part of Terminal."""

    width = 0  # of the terminal, in characters; 0: the output is not a terminal
    _displays: dict[int, str]  # expressions by their numbers

    def do_print(self, rest: str):
        """print[/x|/f] EXPRESSION: shows a value as a table, a part of one, or an expression of NumPy. /x are
        the bits of a register, /f is a register as a float"""
        style, rest = _style(rest)
        if style not in ("", "x", "f"):
            raise fail(f"print/{style}: there is no such format", "x: the bits, f: as a float")
        if style and self.session.level in MLIR:
            raise fail(
                f"print/{style} is of registers, at levels ptx, cubin and amdgcn", "print shows the value"
            )
        if not rest:
            raise fail("print: which value?", "as in print acc, print acc[3, :], print %12, print acc.max()")
        self._answer(*self._shown(rest, style))

    def _shown(self, what: str, style: str = "") -> tuple[dict, list[str]]:
        """(JSON, lines) of a value or an expression."""
        state = self.session.state
        array, mask = state.shown(what)
        if isinstance(array, str):  # of a tensor descriptor
            return {"name": what, "descriptor": array}, [f"{what} = {array}"]
        data, here = _data(what, array, mask), self.session.where()
        if here.threads and state.is_named(what) and not state.is_python(what):
            return data, show.lanes(what, array, mask, here, style, self.width)
        if state.gives_pointers(what, array):
            places = state.places_of(array)
            return {**data, "places": places.tolist()}, show.pointers(what, array, places, mask, self.width)
        return data, show.described(what, array, mask, self.width)

    def do_heat(self, rest: str):
        """heat EXPRESSION: draws a value in colours, or in digits where there are none"""
        if not rest:
            raise fail("heat: which value?", "as in heat acc, heat acc[3, :]")
        shown = heat.heat_of(rest, *self.session.state.shown(rest))
        data = {"name": rest, "block": shown.block, "levels": shown.levels.round(4).tolist()}
        data |= {name: (shown.marks == mark).tolist() for name, mark in heat.MARKS.items()}
        pictured = shown.lines(console()) if self.recording else None
        self._answer(data, shown.lines(self._console), pictured)

    def do_whatis(self, rest: str):
        """whatis EXPRESSION: says the type of a value, and what gives it"""
        if not rest:
            raise fail("whatis: of which value?", "as in whatis acc, whatis %12, whatis acc + 1")
        text = self.session.state.whatis(rest)
        self._answer({"name": rest, "type": text}, [f"{rest}: {text}"])

    def do_set(self, rest: str):
        """set VALUE = EXPRESSION: gives acc, acc[3, 5] or acc[3, :] another value"""
        what, equals, value = rest.partition("=")
        if not equals:
            raise fail(f"set {rest}: expected VALUE = EXPRESSION", "as in set acc[3, 5] = 0")
        self.session.set(what.strip(), self.session.evaluate(value.strip()))
        self._answer({"set": what.strip()}, [])

    def do_compare(self, rest: str):
        """compare LEVEL | RELEASE [tolerance 0]: says which values differ from another level or release. It
        compares those that were computed up to here: compare ttgir, compare 3.4.0"""
        head, _, tolerance = rest.partition("tolerance")
        words = head.split()
        release = next((word for word in words if word[0].isdigit()), "")
        level = next((word for word in words if word != release), "")
        result = self.session.compare(level, release, _number(tolerance) if tolerance.strip() else None)
        self._answer(as_json(result), show.compared(result))

    def do_holds(self, rest: str):
        """holds ELEMENT: says which register, lane and warp hold acc[3, 5] (ttgir). Of shared memory it says
        the byte and the bank"""
        holders = self.session.state.holders(rest)
        lines = [", ".join(f"{name} {at}" for name, at in holder.items()) for holder in holders]
        self._answer({"holders": holders}, lines)

    # ---- at each stop

    def do_display(self, rest: str):
        """display [EXPRESSION]: shows an expression now and at each stop; without one: shows all of them"""
        if rest:
            number = max(self._displays, default=0) + 1
            self._displays[number] = rest
        numbers = [number] if rest else [*self._displays]
        data, lines = self._displayed(numbers) if isinstance(self.session.where(), Stopped) else ([], [])
        self._answer(
            {"displays": data}, lines or [f"{n}: {self._displays[n]}" for n in numbers] or ["nothing"]
        )

    def do_undisplay(self, rest: str):
        """undisplay [NUMBER]: no longer shows it at each stop; without a number: none of them"""
        number = whole(rest) if rest else None
        if number is not None and number not in self._displays:
            raise fail(
                f"there is no display {number}", f"displays: {', '.join(map(str, self._displays)) or 'none'}"
            )
        for n in [*self._displays] if number is None else [number]:
            del self._displays[n]
        self._answer({"undisplayed": rest or "all"}, [])

    def _displayed(self, numbers) -> tuple[list, list[str]]:
        """(JSON, lines) of what is displayed, at a stop. What cannot be shown there says why."""
        data, lines = [], []
        for number in numbers:
            what = self._displays[number]
            try:
                shown, own = self._shown(what)
            except DiagnosticError as error:
                shown, own = {"name": what, "error": error.message}, [error.message]
            data.append({"number": number, **shown})
            lines += [f"{number}: {own[0]}", *own[1:]]
        return data, lines

    # ---- info

    def value_info(self) -> dict:
        """Returns what info shows of values, by name."""
        return {
            "args": self._args,
            "locals": self._locals,
            "values": self._values,
            "display": self._all_displays,
        }

    def _args(self) -> None:
        rows = self.session.state.arguments()
        lines = [f"{name:<16} {text}" for name, text in rows.items()]
        self._answer({"args": rows}, lines or ["the kernel has no arguments"])

    def _locals(self) -> None:
        state = self.session.state
        rows: dict[str, str] = {}
        for name, number in state.variables().items():
            if name in state.arguments():
                continue
            if state.takes_long(number):
                rows[name] = f"print {name} finds its registers"
                continue
            try:
                rows[name] = self._shown(name)[1][0].partition(" = ")[2]
            except DiagnosticError as error:
                rows[name] = f"not here: {error.message}"
        self._answer({"locals": rows}, [f"{name:<16} {text}" for name, text in rows.items()] or ["none yet"])

    def _values(self) -> None:
        values = self.session.values()
        lines, seen = [], set()
        for v in values:
            shown = v.variable or v.name
            if shown in seen:
                continue
            seen.add(shown)
            kind = "x".join(map(str, (*v.shape, v.type)))
            lines.append(f"{shown:<16} {kind:<16} {v.name} = {v.op}".rstrip(" ="))
        constants = self.session.constants
        lines += [f"{name:<16} constexpr        {value}" for name, value in constants.items()]
        data = {"values": [as_json(v) for v in values], "constants": constants}
        self._answer(data, lines[:200])

    def _all_displays(self) -> None:
        lines = [f"{number}: {what}" for number, what in self._displays.items()]
        self._answer({"displays": self._displays}, lines or ["nothing is displayed"])


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise fail(f"{text.strip()!r} is not a number") from None


def _style(rest: str) -> tuple[str, str]:
    match = re.match(r"/(\w)\s*(.*)", rest)
    return (match[1], match[2].strip()) if match else ("", rest.strip())


def _data(name: str, array, mask) -> dict:
    array = numpy.asarray(array)
    data = {"name": name, "shape": [*array.shape], "type": str(array.dtype), "value": array.tolist()}
    return data if mask is None else {**data, "mask": numpy.asarray(mask).tolist()}


def console(out=None):
    """A console of rich for a terminal; without one that of a recording, which has all colours."""
    from rich.console import Console  # a pipe does without it

    if out is None:
        return Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=False)
    return Console(file=out, highlight=False)
