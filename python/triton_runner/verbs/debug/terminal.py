"""Terminal is a thin front of a Session. A command is a method whose docstring is its help (commands.py has
their groups); an empty line repeats the last one. Commands about values are in terminal_values.py, about the
machine in terminal_machine.py."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import re
import shutil
import sys

from triton_runner._base import interrupts
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.typed import as_json
from triton_runner.verbs.debug import commands, completion, greeting, show, stage
from triton_runner.verbs.debug.commands import MOVES, whole
from triton_runner.verbs.debug.results import Exited, Frame, Stopped
from triton_runner.verbs.debug.session import Session
from triton_runner.verbs.debug.terminal_machine import MachineCommands
from triton_runner.verbs.debug.terminal_values import ValueCommands, console

PROMPT = "(tri) "
_REPEATED = {"step", "next", "op", "continue", "reverse-step", "reverse-next", "reverse-op", "iteration"}


class Terminal(MachineCommands, ValueCommands):
    """Runs commands on a session, and prints what they answer: text, or a line of JSON each."""

    def __init__(
        self, session: Session, write, as_json: bool = False, console=None, recording=None, width=0,
        on_error=None,
    ):  # fmt: skip
        """on_error(DiagnosticError): takes what a command raises, in place of an answer."""
        self.session, self.write, self.as_json, self.recording = session, write, as_json, recording
        self._console = console  # of rich, where lines may have colours
        self.width = width  # of the terminal; 0: the output is not a terminal
        self.status = 0
        self._on_error = on_error
        self.has_failed = False  # a command
        self.is_typed = False  # by a person, who goes on after Ctrl-C
        self._last = self._typed = ""
        self._displays = {}
        self._frame = (0, 0)  # (the stop, the frame chosen there)
        own = {name: getattr(self, name) for name in dir(self) if name.startswith("do_")}
        self._commands = {name[3:].replace("_", "-"): run for name, run in own.items()}
        texts = {name: run.__doc__ for name, run in self._commands.items()}
        for move, text in MOVES.items():
            name, _, count = text.partition(":")[0].partition(" ")
            self._commands[name], texts[name] = functools.partial(self._go, move, bool(count)), text
        self._help = commands.described(texts)

    def run(self, lines, ends_early: bool = False) -> int:
        """Runs commands until there are none, or one is "quit". Returns the exit status. ends_early: one that
        fails before the program has begun is the last."""
        has_any = False
        for line in lines:
            has_any = True
            if self.recording:
                self.recording.command(f"{PROMPT}{line.rstrip()}")
            if self.command(line) is False or (
                ends_early and self.has_failed and self.session.where() is None
            ):
                break
        if not has_any and not (sys.stdin and sys.stdin.isatty()):
            raise fail(
                "standard input ended before the first command, so that nothing was run",
                "-ex COMMAND or --command FILE give commands: -ex 'break 42' -ex run -ex 'print acc'",
            )
        return self.status

    def command(self, line: str):
        """Runs one command; False: it was "quit"."""
        self._typed = line.lstrip().partition(" ")[2]  # with the blanks at its end
        line = line.split("#")[0].strip() if line.lstrip().startswith("#") else line.strip()
        line = line or self._last
        word, _, rest = line.partition(" ")
        word, _, style = word.partition("/")
        self._last = ""
        if not word:
            return None
        try:
            name = commands.named(word, self._commands)
            self._last = line if name in _REPEATED else ""
            with stage.at_work(self.session, self.is_typed):
                return self._commands[name](f"/{style} {rest}" if style else rest.strip())
        except DiagnosticError as error:
            self.has_failed = True
            if self._on_error is not None:
                self._on_error(error)
                return None
            self._answer({"error": error.message, "notes": error.notes}, str(error).split("\n"))
        except KeyboardInterrupt:
            if not self.is_typed:
                interrupts.end()
            self._answer({"error": "interrupted"}, ["interrupted"])
        return None

    def name_of(self, line: str) -> str:
        """The command of a line. Raises DiagnosticError where there is none."""
        return commands.named(line.split()[0].partition("/")[0], self._commands)

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
            return
        moved = [b for b in self.session.breakpoints if b.number in event.breakpoints and b.moved_to]
        lines += [
            f"  line {b.where} has no code: breakpoint {b.number} stops at {b.moved_to}"
            for b in moved
            if b.hits == 1
        ]
        if self._displays:
            answer["displays"], shown = self._displayed(self._displays)
            lines += shown
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
        """last-write VALUE: goes back to after the op that gave acc or acc[3, 5] its value"""
        self._event(self.session.last_write(rest))

    def _go(self, move: str, is_counted: bool, rest: str) -> None:
        move = getattr(self.session, move)
        self._event(repeated(move, whole(rest or "1") if is_counted else 1))

    # ---- where it stops

    def do_break(self, rest: str, temporary: bool = False):
        """break WHERE [program 3,0] [iteration 2] [skip N] [if CONDITION]: stops at 42, kernel.py:42, tt.dot,
        %12, or a function. @57 is a line of the text at the level; a condition is an expression of NumPy"""
        where, condition, how = _break(rest)
        self._added(self.session.break_at(where, condition, temporary=temporary, **how))

    def do_tbreak(self, rest: str):
        """tbreak WHERE ...: sets a breakpoint that goes after its first stop"""
        self.do_break(rest, temporary=True)

    def do_watch(self, rest: str):
        """watch VALUE [program 3,0] [if CONDITION]: stops after an op that changes acc or acc[3, 5]. Memory
        is *x_ptr + 40 [bytes 8] or shared 0x40, the phase of an mbarrier is barrier full"""
        what, condition, how = _break(rest)
        self._added(self.session.watch(what, condition, **how))

    def _added(self, breakpoint_) -> None:
        info = breakpoint_.info()
        notes = []
        is_standing = isinstance(self.session.where(), Stopped)
        if breakpoint_.moved_to:
            notes = [f"  line {breakpoint_.where} has no code: it stops at {breakpoint_.moved_to}"]
        elif is_standing and not info.places and not breakpoint_.watch:
            notes = ["  this launch has no such place: it waits for one that has"]
        elif breakpoint_.note and not is_standing:
            notes = [f"  {breakpoint_.note}"]
        self._answer(as_json(info), [f"breakpoint {info.number}: {_described(info)}", *notes])

    def do_delete(self, rest: str):
        """delete [NUMBER]: deletes a breakpoint, or all of them"""
        self.session.delete(whole(rest) if rest else None)
        self._answer({"deleted": rest or "all"}, [])

    def info(self) -> dict:
        """Returns what info shows, by name."""
        return {
            "breakpoints": self._breakpoints, **self.value_info(), "launches": self._launches,
            **self.machine_info(),
        }  # fmt: skip

    def do_info(self, rest: str):
        """info SUBJECT: shows breakpoints, args, locals, and more. Subjects: breakpoints, args, locals,
        values, display, launches, barriers, paths (threads, warps, waves), copies, descriptors, shared,
        focus, registers [NAME]"""
        name, _, which = rest.strip().partition(" ")
        name = name or "breakpoints"
        run = self.info()
        own = "paths" if name in ("threads", "warps", "waves", "wavefronts") else name
        matching = [n for n in run if n.startswith(own)]
        if not matching or (which and matching[0] != "registers"):
            raise fail(f"info has no {rest.strip()!r}", f"it has: {', '.join(run)}")
        if which:
            return self.do_print(which.strip())
        run[matching[0]]()

    def _breakpoints(self) -> None:
        infos = [b.info() for b in self.session.breakpoints]
        lines = [f"{i.number}  {_described(i)}, hit {_times(i.hits)}" for i in infos] or ["no breakpoints"]
        self._answer({"breakpoints": [as_json(i) for i in infos]}, lines)

    def _launches(self) -> None:
        launches = self.session.launches
        runs = [(name, len([*run])) for name, run in itertools.groupby(launches)]  # autotuning has many
        lines = [name if n == 1 else f"{name}, {_times(n)}" for name, n in runs]
        self._answer({"launches": launches}, lines or ["no launch yet"])

    # ---- where it stands

    def do_where(self, rest: str):
        """where: shows the lines that it stands on, innermost first"""
        event = self._standing()
        self._answer(as_json(event), [show.standing(event), *show.frames(event)])

    def _standing(self) -> Stopped:
        event = self.session.where()
        if not isinstance(event, Stopped):
            raise (
                fail("the program has ended")
                if event
                else fail("the program has not started", "run starts it")
            )
        return event

    def _chosen(self) -> int:
        """The number of the frame that was chosen at this stop."""
        stop, number = self._frame
        return number if stop == self.session.stops and number < len(self._standing().frames) else 0

    def do_up(self, rest: str):
        """up [COUNT]: chooses the line that called the one chosen, which `list` then shows"""
        self._choose(self._chosen() + whole(rest or "1"), "the kernel is called by no other line")

    def do_down(self, rest: str):
        """down [COUNT]: chooses the line that was called from the one chosen"""
        self._choose(self._chosen() - whole(rest or "1"), "this is the innermost line")

    def do_frame(self, rest: str):
        """frame [NUMBER]: chooses a line of those that `where` shows, or shows the one chosen"""
        self._choose(whole(rest) if rest else self._chosen(), f"there is no frame {rest}")

    def _choose(self, number: int, without: str) -> None:
        event = self._standing()
        frames = event.frames or [Frame("", "", 0)]
        if not 0 <= number < len(frames):
            raise fail(without, f"frames: 0 to {len(frames) - 1}, which where shows")
        self._frame = (self.session.stops, number)
        lines = [show.frames(event)[number], show.source_line(frames[number])]
        self._answer({"frame": number, **as_json(frames[number])}, [line for line in lines if line])

    def do_list(self, rest: str):
        """list: shows the source around the line"""
        lines = show.listing(self._standing(), self._chosen())
        self._answer({"lines": lines}, lines)

    def do_text(self, rest: str):
        """text: shows the ops or instructions around the next one"""
        self.session.frames()
        here, places = self.session.where().place, self.session.places.all
        lines = [
            f"{'->' if i == here else '  '} {places[i].at:>5}  {self.session.places.text(i)}"
            for i in range(max(here - 5, 0), min(here + 6, len(places)))
        ]
        self._answer({"lines": lines}, lines)

    # ---- the debugger

    def do_help(self, rest: str):
        """help [COMMAND]: lists the commands, or says how one is written"""
        if rest:
            one = self._help[commands.named(rest, self._commands)]
            return self._answer(as_json(one), one.lines())
        every = {"commands": [as_json(one) for one in self._help.values()]}
        self._answer(every, commands.listed(self._help))

    def do_complete(self, rest: str):
        """complete TEXT: shows what Tab would offer after a text"""
        found = self.completions(self._typed)[1]
        self._answer({"completions": found}, found or ["nothing"])

    def completions(self, text: str) -> tuple[int, list[str]]:
        """(where its last word begins, what may stand there) of the begin of a command."""
        return completion.of(text, self.session, [*self._help], [*self.info()], [*self._displays])

    def do_quit(self, rest: str):
        """quit: ends the program and the debugger"""
        return False


def repeated(command, count: int) -> Stopped | Exited:
    """Returns where a command comes to that goes on, so many times; something else than its end ends it."""
    for _ in range(max(count, 1)):
        event = command()
        if isinstance(event, Exited) or event.reason not in ("step", "breakpoint", "moment"):
            break
    return event


def check(session: Session, lines: list[str]) -> None:
    """Raises DiagnosticError for a line of a script that no command begins."""
    terminal = Terminal(session, lambda line: None)
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            terminal.name_of(line)


def read_lines(prompt: str, read, terminal: Terminal):
    """Yields what a person types, until he ends the input. read(prompt): a line, None at the end."""
    with contextlib.suppress(ImportError):
        completion.on_tab(terminal.completions)
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


def _plain(value):
    return value.item() if hasattr(value, "item") else str(value)


def main(session: Session, script: list[str], out, as_json: bool, read, recording=None) -> int:
    """Runs a terminal on a file: with a script its commands alone, else what is typed, by read(prompt).
    Returns the status; 2 where that is 0 and a command of a script has failed."""

    def write(line: str) -> None:
        print(line, file=out, flush=True)

    is_screen = out.isatty() and not as_json
    width = shutil.get_terminal_size().columns if is_screen else 0
    terminal = Terminal(session, write, as_json, console(out) if is_screen else None, recording, width)
    check(session, script)
    with session, recording.written() if recording else contextlib.nullcontext():
        if script:
            status = terminal.run(script if as_json else echoed(script, write), ends_early=True)
            return status or (2 if terminal.has_failed else 0)
        terminal.is_typed = True
        is_shown = sys.stdin is not None and sys.stdin.isatty() and not as_json
        for line in greeting.lines(session) if is_shown else ():
            write(line)
        prompt = PROMPT if is_shown else ""
        return terminal.run(read_lines(prompt, lambda shown: read(shown, session), terminal))
