"""Which launches are dumped and how: dumping() around them, dumps() after them.

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

from triton_runner import _core, _settings
from triton_runner._dump.records import Dump, Values
from triton_runner._errors import KernelTrap, fail

MAX_BYTES = 1 << 30
_KEPT = 64  # dumps that wait to be asked for


@dataclasses.dataclass(frozen=True)
class Request:
    """What to record of a launch: selectors as texts, each with the source lines that assign a variable of
    that name; whether every iteration; programs as (x, y, z), -1 for any, none for all; the statements
    dl.dump too; and at most so many bytes. level: "" for the one that executes."""

    selectors: tuple = ()  # ((text, ("kernel.py:42", ...)), ...)
    every_iteration: bool = False
    programs: tuple = ()
    max_bytes: int = MAX_BYTES
    markers: bool = False
    level: str = ""
    lenient: bool = False  # values that cannot be recorded are a note, not an error
    ttgir: str = ""  # of PTX that was given as text: the TTGIR that it was compiled from, if it is known

    def recorder(self, kernels=()) -> _core.probe.Recorder:
        """What records it on the tile engine; kernels: their names, none for all."""
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
            places = [text] if ":" in text else [] if text in named else lines
            chosen[text] = tuple(
                site.value
                for site in sites
                if text in ("*", site.value, site.value.partition("#")[0], site.op, site.variable)
                or any(
                    f"{os.path.basename(place)}:" in f"{at}:"
                    for place in places
                    for at in (site.stack, site.location)
                )
                or site.op.startswith(f"{text}.")  # an opcode of PTX, with what follows left out
            )
        return chosen


def request(
    selectors, kernel=None, every_iteration=False, programs=None, max_bytes=None, markers=False, level=""
) -> Request:
    """A Request from what a person gives; kernel: the function whose source tells where variables are set."""
    for text in selectors:
        if not isinstance(text, str) or not text:
            raise fail(f"{text!r} names no value", 'as in "%13", "acc", "tt.dot", "kernel.py:42", "*"')
    given = MAX_BYTES if max_bytes is None else max_bytes
    if not isinstance(given, int) or given <= 0:
        raise fail(f"max_bytes={max_bytes!r}: expected a positive number of bytes")
    return Request(
        tuple((text, assignments(kernel, text)) for text in selectors),
        bool(every_iteration),
        _programs(programs),
        given,
        markers,
        level or "",
    )


def _programs(given) -> tuple:
    """(x, y, z) of each: from a number, a tuple of one program, or a list of them; missing axes are 0."""
    if given is None:
        return ()
    listed = list(given) if isinstance(given, (list, range, set)) else [given]
    result = []
    for program in listed:
        axes = tuple(program) if isinstance(program, (tuple, list)) else (program,)
        if not 1 <= len(axes) <= 3 or not all(isinstance(a, int) and a >= -1 for a in axes):
            raise fail(
                f"programs={given!r}: {program!r} is no program",
                "a program is a number or a tuple, as in programs=[(0, 1), (2, 0)]; -1 is any",
            )
        result.append((*axes, 0, 0)[:3])
    return tuple(result)


def assignments(kernel, name: str) -> tuple:
    """Where the source of a kernel (and of the functions of Triton that it calls) assigns a variable:
    "file.py:42"."""
    if not name.isidentifier() or kernel is None:
        return ()
    found, seen, waiting = [], set(), [kernel]
    while waiting:
        function = getattr(waiting.pop(), "fn", None)
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
                    found.append(f"{file}:{first + node.lineno - 1}")
            elif isinstance(node, ast.Name):
                waiting.append(function.__globals__.get(node.id))
    return tuple(found)


# ---- sessions

_active: contextvars.ContextVar[dumping | None] = contextvars.ContextVar("triton_runner_dump", default=None)


def for_launch(name: str) -> dumping | None:
    """The dump in force, if it is of a kernel of this name."""
    session = _active.get()
    return session if session is not None and session.wants(name) else None


@contextlib.contextmanager
def suspended():
    """Launches inside of the block are of a dump that is being taken: none of their own."""
    token = _active.set(None)
    try:
        yield
    finally:
        _active.reset(token)


@contextlib.contextmanager
def kept_of_traps(request: Request, keep_dump):
    """Hands over what was recorded of a launch that traps inside of the block."""
    try:
        yield
    except KernelTrap as trap:
        if hasattr(trap, "recorded"):
            keep_dump(request.dump(*trap.recorded))
        raise


def launch_artifact(kernel, grid, named, launch) -> None:
    """A launch of a loaded artifact (an ArtifactKernel) under dumping(), off the tile engine; launch: what
    runs it plainly."""
    session = for_launch(kernel.name)
    if session is None or (kernel.level in ("ttir", "ttgir") and kernel.device == "cpu"):
        return launch()
    from triton_runner._dump import instrument, registers

    with suspended(), kept_of_traps(session.request, session.add):
        if kernel.device == "cpu":
            _, recording, changes = registers.run_kernel(session.request, kernel, launch)
        else:
            recording, changes = instrument.run_kernel(session.request, kernel, grid, named)
    session.add(session.request.dump(recording, changes))


class dumping:
    """Records values of the launches inside of the block:

        with triton_runner.dumping(kernel, "acc", "%54", every_iteration=True) as d:
            kernel[grid](...)
        d["acc"][program, iteration]

    kernel: a kernel, its name, or None for all that are launched. Selectors: an SSA name or register
    ("%54", "%5#1", "%arg7"), an op ("tt.dot"), a line ("kernel.py:42"), a Python variable ("acc"), "*" for
    all. every_iteration: of values in loops keep each iteration, else the last. programs: a program or a
    list of them, (x, y, z) or x, -1 for any; None for all. level: the level whose values are meant, the one
    that executes if left out. max_bytes: of all records of a launch (1 GiB).

    d is the Dump of the last launch; d.launches has all of them. Raises DiagnosticError at the launch for a
    value that is not there.
    """

    def __init__(
        self, kernel=None, *selectors, every_iteration=False, programs=None, level=None, max_bytes=None
    ):
        if isinstance(kernel, str) and not selectors:
            kernel, selectors = None, (kernel,)
        if not selectors:
            raise fail(
                "dumping() was not told what to record", 'as in dumping(kernel, "acc"); "*" is everything'
            )
        if level is not None and level not in ("ttir", "ttgir", "llir", "ptx", "cubin"):
            raise fail(f"values cannot be dumped at level {level!r}", "levels: ttir, ttgir, llir, ptx, cubin")
        name = (
            kernel if isinstance(kernel, str) else getattr(kernel, "__name__", getattr(kernel, "name", None))
        )
        if kernel is not None and name is None:
            raise fail(f"dumping({kernel!r}): expected a kernel, its name, or None for all")
        self.kernel = name
        self.request = request(
            selectors, None if isinstance(kernel, str) else kernel, every_iteration, programs, max_bytes,
            level=level or "",
        )  # fmt: skip
        self._launches: list[Dump] = []
        self._recorder = None

    def adapt(self, **changes) -> None:
        """Changes fields of the request of the launches to come."""
        self.request = dataclasses.replace(self.request, **changes)

    def wants(self, name: str) -> bool:
        """Whether launches of this kernel are recorded."""
        return self.kernel is None or self.kernel == name

    @property
    def launches(self) -> list[Dump]:
        """The Dump of each launch so far."""
        self._drain()
        return self._launches

    def add(self, dump: Dump) -> None:
        """A launch that was recorded elsewhere than on the tile engine."""
        self._drain()
        self._launches.append(dump)

    def _drain(self) -> None:
        if self._recorder is not None:
            self._launches += [self.request.dump(recording) for recording in self._recorder.take()]

    def __enter__(self):
        self._recorder = self.request.recorder(() if self.kernel is None else (self.kernel,))
        # The CPU executes the level whose values are asked for; a cubin is a GPU's.
        level = self.request.level if self.request.level != "cubin" else None
        on_gpu = level and _on_gpu()
        self._contexts = contextlib.ExitStack()
        self._contexts.enter_context(
            _settings.using(recorder=self._recorder, level=None if on_gpu else level or None)
        )
        self._contexts.callback(_active.reset, _active.set(self))
        return self

    def __exit__(self, *error):
        self._contexts.close()
        self._drain()
        return False

    @property
    def last(self) -> Dump:
        """The Dump of the last launch."""
        launches = self.launches
        if not launches:
            of = f"of kernel '{self.kernel}' " if self.kernel else ""
            raise fail(
                f"no launch {of}was recorded in this dump",
                "launch it inside of the with block; a kernel of plain triton.jit is recorded on the CPU at "
                "ttir and ttgir, elsewhere it needs triton_runner.jit",
            )
        return launches[-1]

    def __getitem__(self, name: str) -> Values:
        return self.last[name]

    def __contains__(self, name: str) -> bool:
        return name in self.last

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.last, name)

    def __iter__(self):
        return iter(self.last)

    def __len__(self):
        return len(self.last)

    def __repr__(self):
        return repr(self.launches[-1]) if self.launches else "<dump without a launch>"


def _on_gpu() -> bool:
    from triton_runner import _driver

    return _driver.resolved_device() != "cpu"


@contextlib.contextmanager
def recording(wanted: Request, kernel_name: str):
    """Launches of a kernel on the tile engine inside of the block: appends a Dump of each to the list that it
    gives."""
    recorder = wanted.recorder((kernel_name,))
    dumps: list[Dump] = []
    try:
        with _settings.using(recorder=recorder):
            yield dumps
    finally:
        dumps += [wanted.dump(found) for found in recorder.take()]


# ---- what launches left that nobody waits for

_dumps: collections.deque = collections.deque(maxlen=_KEPT)


def keep(dump: Dump) -> None:
    """A dump that was asked for by a keyword or a statement without a tensor: for dumps()."""
    _dumps.append(dump)


def dumps() -> list[Dump]:
    """The dumps of launches with dump_value= or dl.dump and without dump_tensor=, oldest first; each is given
    once. The last 64 are kept."""
    found = list(_dumps)
    _dumps.clear()
    return found
