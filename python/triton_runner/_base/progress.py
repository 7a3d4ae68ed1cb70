"""Shows progress: work that takes more than a second tells on a terminal how far it is, in a line or a bar
that goes away at the end. In a pipe, and of work that has nothing to count, it tells a line on stderr after
three seconds, and then every ten:

    ... verify: scan: run 7 of 16: ptx, check race, 13 s

Work that is done sooner shows nothing. A program that somebody runs speaks for itself: there a line comes
only while Triton is at work for three seconds without a break, and each next one after twice as long."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time

DELAY = 1.0  # seconds before anything is shown on a terminal
LINES_DELAY, LINES_EVERY = 3.0, 10.0  # seconds before the first line, and between two
_MARGIN = 1.0  # seconds before, of a process that loads torch: that lets no thread speak on a busy machine

_under_way: list = []  # who tells of the work, the innermost last, which alone does


class _Lines:
    """A thread that writes what was last told, whether or not the work has got further."""

    written = float("-inf")  # when the last line of the process was

    def __init__(self, title: str, since: float | None = None):
        self.title, self._text, self._count, self._began = title, "", "", since or time.monotonic()
        outer = next(filter(_is_lines, _under_way[-1:]), None)
        self.due = self._began + LINES_DELAY  # when the next line is written
        if outer is not None:
            self.due = outer.due
        elif since:  # another one that began with the process may have written a line
            self.due = max(self.due - _MARGIN, _Lines.written + LINES_EVERY)
        self._ended = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def begin_again(self) -> None:
        """In a forked process: a thread that is gone may have held the event's lock."""
        self._ended = threading.Event()
        self.start()

    def told(self, text: str | None = None, done: int | None = None, total: int | None = None) -> None:
        self._text = self._text if text is None else text.partition("\n")[0]
        self._count = f"{done} of {total}" if done is not None and total else self._count

    def stop(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(max(0.0, self.due - time.monotonic())):
            if time.monotonic() < self.due:  # another line was written meanwhile
                continue
            self.due = time.monotonic() + LINES_EVERY
            if _under_way[-1:] != [self]:
                continue
            self._write()
            for one in filter(_is_lines, [*_under_way]):  # it stands for the work around this one too
                one.due = self.due

    def _write(self) -> None:
        _Lines.written = time.monotonic()
        words = ": ".join(filter(None, (self.title, self._text)))
        passed = ", ".join(filter(None, (words, self._count, f"{time.monotonic() - self._began:.0f} s")))
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            print(f"... {passed}", file=sys.stderr, flush=True)


class _Looks(_Lines):
    """Looks every second at what a program does."""

    def __init__(self, title: str, look):
        super().__init__(title)
        self._look = look

    def _run(self) -> None:
        wanted, told = LINES_DELAY, 0.0
        while not self._ended.wait(min(1.0, LINES_DELAY)):
            text = self._look()
            if text is None:
                self._began, told = time.monotonic(), 0.0
                continue
            self.told(text)
            passed = time.monotonic() - self._began
            if passed - told >= wanted and _under_way[-1:] == [self]:
                self._write()
                told, wanted = passed, max(LINES_EVERY, 2 * wanted)


def _is_lines(who) -> bool:
    return isinstance(who, _Lines)


def begin_of_process() -> float:
    """The time.monotonic() of this process's begin, before Python has loaded anything, which a busy machine
    takes seconds for."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return time.monotonic() - age
    return time.monotonic()


@contextlib.contextmanager
def lines(title: str, since: float | None = None, look=None):
    """Gives told() as telling() does, in lines, on a terminal too. A stream that was put in the place of the
    process's own collects what is said, and so does a test: these get no lines. since: when the work began,
    by time.monotonic(); now by default. look(): what a program that this process runs is doing, or None where
    it is nothing of ours."""
    if sys.stderr is not sys.__stderr__ or "PYTEST_CURRENT_TEST" in os.environ:
        yield _nothing
        return
    outer = next((one.title for one in _under_way if isinstance(one, _Lines)), "")
    told = _Looks(title or outer, look) if look else _Lines(title or outer, since)
    try:
        with _telling(told):
            told.start()
            yield told.told
    finally:
        told.stop()


@contextlib.contextmanager
def _telling(who):
    _under_way.append(who)
    try:
        yield
    finally:
        _under_way.remove(who)


@contextlib.contextmanager
def telling(title: str = "", bar: bool = False):
    """Gives told(text=None, done=None, total=None): what is being done, and how many of how many."""
    rich = _rich() if sys.stderr.isatty() else None
    if rich is None:
        with lines(title) as told:
            yield told
        return
    began = time.monotonic()

    # It is there from the beginning, so that what the work prints stands above it, but empty for a while.
    class Late(rich.Progress):
        def get_renderables(self):
            return super().get_renderables() if time.monotonic() - began >= DELAY else ()

    class Elapsed(rich.TimeElapsedColumn):  # goes on while work does that comes after the last of the parts
        def render(self, task):
            task.finished_time = None
            return super().render(task)

    description = rich.TextColumn("{task.description}", markup=False)
    columns = (description, rich.BarColumn(), rich.MofNCompleteColumn(), Elapsed())
    if not bar:
        columns = (rich.SpinnerColumn(), description, Elapsed())
    from rich.console import Console

    with Late(*columns, console=Console(stderr=True), transient=True) as shown, _telling(shown):
        task = shown.add_task(title, total=None)

        def told(text: str | None = None, done: int | None = None, total: int | None = None) -> None:
            line = text.partition("\n")[0][:70] if text is not None else None
            shown.update(task, description=line, completed=done, total=total)

        yield told


@contextlib.contextmanager
def silent():
    """Inside, this process tells of nothing: it waits for another one, which does (go_on())."""
    with _telling(None):
        yield


def go_on() -> None:
    """Tells of the work that was under way when this process was forked, which kept none of the threads."""
    for one in filter(_is_lines, _under_way):
        one.begin_again()


def _nothing(text: str | None = None, done: int | None = None, total: int | None = None) -> None:
    pass


def _rich():
    """None on a machine that runs kernels and has no more than they need."""
    try:
        import rich.progress
    except ImportError:
        return None
    return rich.progress
