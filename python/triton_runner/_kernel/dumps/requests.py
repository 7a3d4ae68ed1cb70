"""Keeps what is wanted of a launch's values (Request), which dumping() is in force, and what launches left
for dumps().

A launch is dumped where its values live. At ttir and ttgir on the CPU the tile engine hands them over, and
nothing changes in the program. PTX on the CPU is asked for registers (registers.py); a GPU runs a kernel with
stores put into its TTGIR (instrument.py) or PTX (register_stores.py), or cuda-gdb stops it (cuda_gdb.py).
"""

from __future__ import annotations

import ast
import collections
import contextlib
import contextvars
import dataclasses
import inspect
import os
import textwrap
import types

from triton_runner import _core, _settings
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._code.names import answers_to, stands_on
from triton_runner._kernel.dumps.axes import programs_of
from triton_runner._kernel.dumps.records import Dump
from triton_runner._worker.spelling import option

MAX_BYTES = 1 << 30
_KEPT = 64  # dumps that wait to be asked for


@dataclasses.dataclass(frozen=True)
class Request:
    """The request says what to record of a launch: selectors as texts, each with the source lines that assign
    a variable of that name; whether every iteration; programs as (x, y, z), -1 for any, none for all; the
    statements dl.dump too; and at most so many bytes. level: "" for the one that executes."""

    selectors: tuple = ()  # ((text, ("kernel.py:42", ...)), ...)
    every_iteration: bool = False
    programs: tuple = ()
    max_bytes: int = MAX_BYTES
    markers: bool = False
    level: str = ""
    lenient: bool = False  # values that cannot be recorded are a note, not an error
    ttgir: str = ""  # of PTX that was given as text: the TTGIR that it was compiled from, if it is known

    def recorder(self, kernels=()) -> _core.probe.Recorder:
        """Returns what records it on the tile engine; kernels: their names, none for all."""
        return _core.probe.Recorder(
            [(text, list(lines)) for text, lines in self.selectors],
            markers=self.markers,
            every_iteration=self.every_iteration,
            programs=list(self.programs),
            max_bytes=self.max_bytes,
            kernels=list(kernels),
        )

    def dump(self, recording, changes=None) -> Dump:
        """The recording as a person reads it."""
        return Dump(recording, self.selections(recording), changes)

    def selections(self, recording) -> dict:
        """The names of the values that each selector chose, by its text."""
        sites = [series.site for series in recording.series if not series.site.marker]
        named = {site.variable for site in sites}
        chosen = {}
        for text, lines in self.selectors:
            is_line = ":" in text and not text.startswith("%")
            places = [text] if is_line else [] if text in named else lines
            chosen[text] = tuple(
                site.value
                for site in sites
                if text in ("*", site.op, site.variable)
                or answers_to(site, text)
                or any(stands_on(site, place) for place in places)
                or site.op.startswith(f"{text}.")  # an opcode of PTX, with what follows left out
            )
        return chosen


def names_value(ttgir: str | None, kernel: str, text: str, lines) -> bool:
    """Whether a selector names a value of the kernel's TTGIR; None: the TTGIR is not known."""
    if ttgir is None:
        return False
    try:
        _core.probe.select(_core.ir.parse(ttgir, f"{kernel}.ttgir"), kernel, [(text, list(lines))])
    except DiagnosticError:
        return False
    return True


def request(
    selectors, kernel=None, every_iteration=False, programs=None, max_bytes=None, markers=False, level=""
) -> Request:
    """A Request from what a person gives; kernel: the function whose source tells where variables are set."""
    for text in selectors:
        if not isinstance(text, str) or not text:
            raise fail(f"{text!r} names no value", 'as in "%13", "acc", "tt.dot", "kernel.py:42", "*"')
    limit = MAX_BYTES if max_bytes is None else max_bytes
    if not isinstance(limit, int) or limit <= 0:
        raise fail(
            f"{option('max_bytes', str(max_bytes), repr(max_bytes))}: expected a positive number of bytes"
        )
    return Request(
        tuple((text, assignments(kernel, text)) for text in selectors),
        bool(every_iteration),
        programs_of(programs),
        limit,
        markers,
        level or "",
    )


def assignments(kernel, name: str) -> tuple:
    """Returns where the source of a kernel (and of the functions of Triton that it calls) assigns a variable:
    "file.py:42"."""
    if not name.isidentifier() or kernel is None:
        return ()
    functions, seen, waiting = [], set(), [kernel]
    while waiting:
        named = waiting.pop()
        function = None if isinstance(named, types.ModuleType) else getattr(named, "fn", None)
        while hasattr(function, "fn"):
            function = function.fn
        if function is None or id(function) in seen:
            continue
        seen.add(id(function))
        try:
            lines, first = inspect.getsourcelines(function)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, SyntaxError, TypeError):
            continue
        file = os.path.basename(inspect.getsourcefile(function) or "")
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
                if name in names:
                    functions.append(f"{file}:{first + node.lineno - 1}")
            elif isinstance(node, ast.Name):
                waiting.append(function.__globals__.get(node.id))
    return tuple(functions)


# ---- sessions

active: contextvars.ContextVar = contextvars.ContextVar("triton_runner_dump", default=None)


def for_launch(name: str):
    """The dump in force, if it is of a kernel of this name."""
    session = active.get()
    return session if session is not None and session.wants(name) else None


@contextlib.contextmanager
def suspended():
    """Launches inside of the block belong to a dump that is being taken, and are not recorded themselves."""
    token = active.set(None)
    try:
        yield
    finally:
        active.reset(token)


@contextlib.contextmanager
def kept_of_traps(request: Request, keep_dump):
    """Hands over what was recorded of a launch that traps inside of the block."""
    try:
        yield
    except KernelTrap as trap:
        if hasattr(trap, "recorded"):
            keep_dump(request.dump(*trap.recorded))
        raise


@contextlib.contextmanager
def recording(request: Request, kernel_name: str):
    """Launches of a kernel on the tile engine inside of the block: appends a Dump of each to the list that it
    gives."""
    recorder = request.recorder((kernel_name,))
    dumps: list[Dump] = []
    try:
        with _settings.using(recorder=recorder):
            yield dumps
    finally:
        dumps += [request.dump(recorded) for recorded in recorder.take()]


# ---- what launches left that nobody waits for

_dumps: collections.deque = collections.deque(maxlen=_KEPT)


def keep(dump: Dump) -> None:
    """A dump that was asked for by a keyword or a statement without a tensor: for dumps()."""
    _dumps.append(dump)


def dumps() -> list[Dump]:
    """Returns the dumps of launches that used dump_value= or dl.dump without dump_tensor=, oldest first. Each
    dump is returned once. The last 64 are kept."""
    taken = list(_dumps)
    _dumps.clear()
    return taken
