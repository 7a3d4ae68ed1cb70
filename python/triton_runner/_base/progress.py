"""Shows progress: work that takes more than a second tells on a terminal how far it is, in a line or a bar
that goes away at the end. Work that is done sooner shows nothing, and so does a pipe, unless lines are asked
for:

    scan: run 7 of 16: ptx, check race      after three seconds, and then every ten at most
"""

from __future__ import annotations

import contextlib
import sys
import time

DELAY = 1.0  # seconds before anything is shown
# For lines in a pipe: seconds before the first, and between two.
LINES_DELAY, LINES_EVERY = 3.0, 10.0


@contextlib.contextmanager
def telling(title: str = "", wanted: bool = True, bar: bool = False, lines: bool = False):
    """Gives told(text=None, done=None, total=None): what is being done, and how many of how many. lines: in a
    pipe too."""
    rich = _rich() if wanted and sys.stderr.isatty() else None
    if rich is None:
        # A stream that was put in the place of the process's own collects what is said.
        yield _lines() if wanted and lines and sys.stderr is sys.__stderr__ else _nothing
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

    with Late(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=None)

        def told(text: str | None = None, done: int | None = None, total: int | None = None) -> None:
            line = text.partition("\n")[0][:70] if text is not None else None
            shown.update(task, description=line, completed=done, total=total)

        yield told


def _nothing(text: str | None = None, done: int | None = None, total: int | None = None) -> None:
    pass


def _lines():
    global _due
    _due = time.monotonic() + LINES_DELAY

    def told(text: str | None = None, done: int | None = None, total: int | None = None) -> None:
        global _due
        if text is not None and time.monotonic() >= _due:
            _due = time.monotonic() + LINES_EVERY
            with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
                print(text.partition("\n")[0], file=sys.stderr, flush=True)

    return told


_due = 0.0  # when the next line may be


def anew() -> None:
    """Other work begins: it tells after three seconds, whenever the last line was."""
    global _due
    _due = min(_due, time.monotonic() + LINES_DELAY)


def _rich():
    """None on a machine that runs kernels and has no more than they need."""
    try:
        import rich.progress
    except ImportError:
        return None
    return rich.progress
