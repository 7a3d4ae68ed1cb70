"""The debugger's terminal: a thin front of a Session. A command is a method whose docstring is its help; an
empty line repeats the last one."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import json
import re
import sys

import numpy

from triton_runner._base import interrupts
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.typed import as_json
from triton_runner.verbs.debug import heat, show, stage
from triton_runner.verbs.debug.results import Exited, Stopped
from triton_runner.verbs.debug.session import Session
from triton_runner.verbs.debug.terminal_machine import MachineCommands, whole

PROMPT = "(tri) "
_REPEATED = {"step", "next", "op", "continue", "reverse-step", "reverse-next", "reverse-op", "iteration"}
# People of other debuggers type these.
ALIASES = {
    "b": "break", "tb": "tbreak", "c": "continue", "r": "run", "s": "step", "n": "next", "ni": "op",
    "si": "op", "stepi": "op", "nexti": "op", "p": "print", "l": "list", "bt": "where", "w": "where",
    "backtrace": "where", "d": "delete", "q": "quit", "exit": "quit", "i": "info", "h": "help", "rs":
    "reverse-step",
    "rn": "reverse-next", "rc": "reverse-continue", "rsi": "reverse-op", "fin": "finish", "up": "out", "u":
    "until",
}  # fmt: skip
# Commands that are a method of the session each: its name, and the help.
_MOVES = {
    "start": "start: goes to the first place of the next launch",
    "resume": "continue: goes on to the next breakpoint",
    "step": "step [COUNT]: to the next line of Python, into functions",
    "next": "next [COUNT]: to the next line of Python, over functions",
    "next_op": "op [COUNT]: to the next op or instruction",
    "out": "out: to the line after the call of this function",
    "next_iteration": "iteration [COUNT]: to this place in the next iteration",
    "next_program": "program: to the first place of the next program",
    "finish": "finish: to the end of this program of the grid",
    "reverse_step": "reverse-step [COUNT]: back to the line of Python before this one",
    "reverse_next": "reverse-next [COUNT]: the same, over functions",
    "reverse_op": "reverse-op [COUNT]: back to the op or instruction before this one",
    "reverse_resume": "reverse-continue: back to the last stop at a breakpoint",
}


class Terminal(MachineCommands):
    """Runs commands on a session, and prints what they answer: text, or a line of JSON each."""

    def __init__(self, session: Session, write, as_json: bool = False, console=None, recording=None):
        self.session, self.write, self.as_json, self.recording = session, write, as_json, recording
        self._console = console  # of rich, where lines may have colours
        self.status = 0
        self.is_typed = False  # by a person, who goes on after Ctrl-C
        self._last = ""
        own = {name: getattr(self, name) for name in dir(self) if name.startswith("do_")}
        self._commands = {name[3:].replace("_", "-"): run for name, run in own.items()}
        self._help = [" ".join((run.__doc__ or "").split()) for run in own.values()] + [*_MOVES.values()]
        for move, text in _MOVES.items():
            name, _, count = text.partition(":")[0].partition(" ")
            self._commands[name] = functools.partial(self._go, move, bool(count))

    def run(self, lines) -> int:
        """Runs commands until there are none, or one is "quit". Returns the exit status."""
        has_any = False
        for line in lines:
            has_any = True
            if self.recording:
                self.recording.command(f"{PROMPT}{line.rstrip()}")
            if self.command(line) is False:
                break
        if not has_any and not (sys.stdin and sys.stdin.isatty()):
            raise fail(
                "standard input ended before the first command, so that nothing was run",
                "-ex COMMAND or --command FILE give commands: -ex 'break 42' -ex run -ex 'print acc'",
            )
        return self.status

    def command(self, line: str):
        """Runs one command; False: it was "quit"."""
        line = line.split("#")[0].strip() if line.lstrip().startswith("#") else line.strip()
        line = line or self._last
        name, _, rest = line.partition(" ")
        name, _, style = name.partition("/")
        self._last = line if ALIASES.get(name, name) in _REPEATED else ""
        if not name:
            return None
        try:
            with stage.at_work(self.session):
                run = self._commands[self.named(name)]
                return run(f"/{style} {rest}" if style else rest.strip())
        except DiagnosticError as error:
            self._answer({"error": error.message, "notes": error.notes}, str(error).split("\n"))
        except KeyboardInterrupt:
            if not self.is_typed:
                interrupts.end()
            self._answer({"error": "interrupted"}, ["interrupted"])
        return None

    def named(self, name: str) -> str:
        """The command of a name, of another debugger's name for it, or the only one that begins so."""
        if (own := ALIASES.get(name, name)) in self._commands:
            return own
        named = sorted(n for n in self._commands if n.startswith(name))
        if len(named) == 1:
            return named[0]
        if named:
            raise fail(f"{name!r} may be any of {', '.join(named)}")
        raise fail(f"there is no command {name!r}", "help lists them")

    def _answer(self, data, lines: list[str], pictured: list[str] | None = None) -> None:
        """Prints what a command answers. pictured: its lines in a recording."""
        if self.recording:
            self.recording.answer(lines if pictured is None else pictured)
        if self.as_json:
            self.write(json.dumps(data, default=_plain))
        else:
            for line in lines:
                self.write(line)

    def _event(self, event: Stopped | Exited) -> None:
        answer, lines = as_json(event), show.where(event)
        if isinstance(event, Exited):
            self.status = event.status
            never = [b for b in self.session.breakpoints if b.enabled and not b.hits]
            answer |= {"never_hit": [b.number for b in never]} if never else {}
            lines += [*show.without_launches(self.session)]
            lines += [show.never_hit(b, self.session) for b in never]
        self._answer(answer, lines)

    # ---- going on

    def do_run(self, rest: str):
        """run: starts the program, and stops at the first breakpoint"""
        if self.session.where() is not None:
            raise fail("the program runs already", "continue goes on")
        self._event(self.session.resume())

    def do_until(self, rest: str):
        """until WHERE [if CONDITION]: goes on to a place"""
        where, condition, _ = _break(rest)
        self._event(self.session.run_until(where, condition))

    def do_last_write(self, rest: str):
        """last-write VALUE: back to after the op that gave acc or acc[3, 5] its value"""
        self._event(self.session.last_write(rest))

    def _go(self, move: str, is_counted: bool, rest: str) -> None:
        move = getattr(self.session, move)
        self._times(rest, move) if is_counted else self._event(move())

    def _times(self, rest: str, command) -> None:
        for _ in range(whole(rest or "1")):
            event = command()
            if isinstance(event, Exited) or event.reason not in ("step", "breakpoint", "moment"):
                break
        self._event(event)

    # ---- where it stops

    def do_break(self, rest: str, temporary: bool = False):
        """break WHERE [program 3,0] [iteration 2] [skip N] [if CONDITION]: 42, kernel.py:42, tt.dot, %12,
        @57, a function"""
        where, condition, how = _break(rest)
        self._added(self.session.break_at(where, condition, temporary=temporary, **how))

    def do_tbreak(self, rest: str):
        """tbreak WHERE ...: a breakpoint that goes after its first stop"""
        self.do_break(rest, temporary=True)

    def do_watch(self, rest: str):
        """watch VALUE [program 3,0] [if CONDITION]: stops after an op that changes acc or acc[3, 5]; memory:
        *x_ptr + 40 [bytes 8], shared 0x40; the phase of an mbarrier: barrier full"""
        what, condition, how = _break(rest)
        self._added(self.session.watch(what, condition, **how))

    def _added(self, breakpoint_) -> None:
        info = breakpoint_.info()
        notes = []
        if breakpoint_.moved_to:
            notes = [f"  line {breakpoint_.where} has no code: it stops at {breakpoint_.moved_to}"]
        elif isinstance(self.session.where(), Stopped) and not info.places and not breakpoint_.watch:
            notes = ["  this launch has no such place: it waits for one that has"]
        self._answer(as_json(info), [f"breakpoint {info.number}: {_described(info)}", *notes])

    def do_delete(self, rest: str):
        """delete [NUMBER]: takes a breakpoint away, or all"""
        self.session.delete(whole(rest) if rest else None)
        self._answer({"deleted": rest or "all"}, [])

    def do_info(self, rest: str):
        """info breakpoints | values | launches | barriers | paths | copies | descriptors | shared | focus:
        what there is"""
        name = rest.strip() or "breakpoints"
        run = {
            "breakpoints": self._breakpoints, "values": self._values, "variables": self._values,
            "locals": self._values, "launches": self._launches, **self.machine_info(),
        }  # fmt: skip
        matching = [n for n in run if n.startswith(name)]
        if not matching:
            raise fail(f"info has no {name!r}", f"it has: {', '.join(run)}")
        run[matching[0]]()

    def _breakpoints(self) -> None:
        infos = [b.info() for b in self.session.breakpoints]
        lines = [f"{i.number}  {_described(i)}, hit {_times(i.hits)}" for i in infos] or ["no breakpoints"]
        self._answer({"breakpoints": [as_json(i) for i in infos]}, lines)

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

    def _launches(self) -> None:
        launches = self.session.launches
        runs = [(name, len([*run])) for name, run in itertools.groupby(launches)]  # autotuning has many
        lines = [name if n == 1 else f"{name}, {_times(n)}" for name, n in runs]
        self._answer({"launches": launches}, lines or ["no launch yet"])

    # ---- what stands

    def do_print(self, rest: str):
        """print[/x|/f] EXPRESSION: a value as a table with its mask, acc[3, :], an expression of NumPy"""
        style, rest = _style(rest)
        if style not in ("", "x", "f"):
            raise fail(f"print/{style}: there is no such format", "x: the bits, f: as a float")
        if style and self.session.level not in ("ptx", "cubin"):
            raise fail(f"print/{style} is of registers, at levels ptx and cubin", "print shows the value")
        if not rest:
            raise fail("print: which value?", "as in print acc, print acc[3, :], print %12, print acc.max()")
        state = self.session.state
        array, mask = state.shown(rest)
        if isinstance(array, str):  # of a tensor descriptor
            return self._answer({"name": rest, "descriptor": array}, [f"{rest} = {array}"])
        threads = self.session.where().threads
        if threads and state.is_named(rest) and not state.is_python(rest):
            lines = show.lanes(rest, array, mask, threads[1], style)
        else:
            lines = show.described(rest, array, mask)
        self._answer(_data(rest, array, mask), lines)

    def do_heat(self, rest: str):
        """heat EXPRESSION: a value as a map of colours, or of digits where there are none"""
        if not rest:
            raise fail("heat: which value?", "as in heat acc, heat acc[3, :]")
        shown = heat.heat_of(rest, *self.session.state.shown(rest))
        data = {"name": rest, "block": shown.block, "levels": shown.levels.round(4).tolist()}
        data |= {"nan": shown.nan.tolist(), "masked": shown.masked.tolist()}
        pictured = shown.lines(_console()) if self.recording else None
        self._answer(data, shown.lines(self._console), pictured)

    def do_compare(self, rest: str):
        """compare LEVEL | RELEASE [tolerance 0]: which values differ, up to here, from another level, or from
        what another release compiles: compare ttgir, compare 3.4.0"""
        head, _, tolerance = rest.partition("tolerance")
        words = head.split()
        release = next((word for word in words if word[0].isdigit()), "")
        level = next((word for word in words if word != release), "")
        result = self.session.compare(level, release, _number(tolerance) if tolerance.strip() else None)
        self._answer(as_json(result), show.compared(result))

    def do_set(self, rest: str):
        """set VALUE = EXPRESSION: gives acc, acc[3, 5] or acc[3, :] another value"""
        what, equals, value = rest.partition("=")
        if not equals:
            raise fail(f"set {rest}: expected VALUE = EXPRESSION", "as in set acc[3, 5] = 0")
        self.session.set(what.strip(), self.session.evaluate(value.strip()))
        self._answer({"set": what.strip()}, [])

    def do_holds(self, rest: str):
        """holds ELEMENT: who holds acc[3, 5]: register, lane, warp, or byte and bank of shared memory
        (ttgir)"""
        holders = self.session.state.holders(rest)
        lines = [", ".join(f"{name} {at}" for name, at in holder.items()) for holder in holders]
        self._answer({"holders": holders}, lines)

    def do_where(self, rest: str):
        """where: the lines that it stands on"""
        event = self.session.where()
        if not isinstance(event, Stopped):
            raise fail("the program has ended" if event else "the program has not started", "run starts it")
        self._answer(as_json(event), [show.standing(event), *show.frames(event)])

    def do_list(self, rest: str):
        """list: the source around the line"""
        self.session.frames()
        lines = show.listing(self.session.where())
        self._answer({"lines": lines}, lines)

    def do_text(self, rest: str):
        """text: the ops or instructions around the next one"""
        self.session.frames()
        here, places = self.session.where().place, self.session.places.all
        lines = [
            f"{'->' if i == here else '  '} {places[i].at:>5}  {self.session.places.text(i)}"
            for i in range(max(here - 5, 0), min(here + 6, len(places)))
        ]
        self._answer({"lines": lines}, lines)

    def do_help(self, rest: str):
        """help: this list"""
        lines = sorted(self._help)
        self._answer({"commands": lines}, lines)

    def do_quit(self, rest: str):
        """quit: ends the program and the debugger"""
        return False


# Commands that an editor's console runs, too: those that only look, and those that choose which threads run.
LOOKS = ("compare", "heat", "help", "holds", "info", "list", "print", "text", "where", "x")
STEERS = ("focus", "freeze", "thaw")


def in_console(session: Session, line: str) -> tuple[list[str], bool]:
    """(what a command answers, whether it only looks) in an editor's console."""
    lines: list[str] = []
    terminal = Terminal(session, lines.append)
    name = terminal.named(line.partition(" ")[0].partition("/")[0])
    if name not in LOOKS + STEERS:
        there = ", ".join(sorted(LOOKS + STEERS))
        raise fail(f"{name} is not a command of the console", f"those that are: {there}")
    terminal.command(line)
    return lines, name in LOOKS


def read_lines(prompt: str, read):
    """Yields what a person types, until he ends the input. read(prompt): a line, None at the end."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 (it gives input() its history)
    while (line := read(prompt)) is not None:
        yield line


def echoed(lines, write):
    """Commands of a script, each shown before it runs, as at a prompt."""
    for line in lines:
        write(f"{PROMPT}{line.rstrip()}")
        yield line


def _break(rest: str) -> tuple[str, str, dict]:
    """("kernel.py:42", "acc.max() > 1", {"program": [3, 0]}) of the arguments of break."""
    head, condition = rest, ""
    if match := re.search(r"(?:^|\s)if\s+(.*)$", rest):
        head, condition = rest[: match.start()], match[1].strip()
    how: dict = {}
    for name, value in re.findall(r"\b(program|iteration|skip|task)\s+([-\d,]+)", head):
        how[name] = value if name == "program" else whole(value)
    where = re.sub(r"\b(program|iteration|skip|task)\s+[-\d,]+", "", head).strip()
    if not where:
        raise fail("where is it to stop?", "as in break 42, break kernel.py:42 if acc.max() > 1e4")
    return where, condition, how


def _described(info) -> str:
    parts = [info.where or "everywhere"]
    parts += [f"program {','.join(map(str, info.program))}"] if info.program else []
    parts += [f"skip {info.skip}"] if info.skip else []
    parts += ["temporary"] if info.temporary else []
    return ", ".join(parts) + (f" if {info.condition}" if info.condition else "")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


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


def _plain(value):
    return value.item() if hasattr(value, "item") else str(value)


def _console(out=None):
    """A console of rich for a terminal; without one that of a recording, which has all colours."""
    from rich.console import Console  # a pipe does without it

    if out is None:
        return Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=False)
    return Console(file=out, highlight=False)


def main(session: Session, commands: list[str], out, as_json: bool, read, recording=None) -> int:
    """Runs a terminal on a file: with commands those alone, else what is typed, by read(prompt). Returns the
    status."""

    def write(line: str) -> None:
        print(line, file=out, flush=True)

    terminal = Terminal(session, write, as_json, _console(out) if out.isatty() else None, recording)
    with session, recording.written() if recording else contextlib.nullcontext():
        if commands:
            return terminal.run(commands if as_json else echoed(commands, write))
        terminal.is_typed = True
        is_shown = sys.stdin is not None and sys.stdin.isatty()
        prompt = PROMPT if is_shown and not as_json else ""
        return terminal.run(read_lines(prompt, lambda shown: read(shown, session)))
