"""Runs somebody's program in a process of its own, and decides what to say in another one: the program may
end its process, hand it to another program or be killed, and may print what it likes.

watched(): the process that runs the program tells of its steps through a pipe. What it tells last is the
Report, or Next for work in another process; where it ends without either, the process that waits makes the
report of what was told until then.

in_own_process: the process that waits speaks only where a compiler has ended the other one."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pickle
import select
import signal
import struct
import sys
import traceback
from collections.abc import Callable

import click

from triton_runner._base import interrupts, progress
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.paths import write_file
from triton_runner._worker.child import die_by, end_with_parent

_HEAD = struct.Struct("<Q")
_NO_VERDICT = 125
_PATIENCE = 0.05  # seconds between looks whether a process has ended whose pipe another one keeps open
_HANDED_ON = {
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
}  # fmt: skip
STARTED = "started"  # is told before the program runs


@dataclasses.dataclass(frozen=True)
class Report:
    """The output of a command, printed and written. text: for stdout; files: contents by path; lines: for CI,
    which go to stderr where stdout is for JSON alone."""

    status: int
    text: str
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    lines: tuple[str, ...] = ()
    is_json: bool = False

    def write(self) -> int:
        click.echo(self.text)
        for path, content in self.files.items():
            write_file(path, content)
        for line in self.lines:
            click.echo(line, err=self.is_json)
        return self.status


@dataclasses.dataclass(frozen=True)
class Next:
    """More work in another process, before there is a report: what watched() takes."""

    work: Callable
    unfinished: Callable
    status: int = 0


@dataclasses.dataclass(frozen=True)
class End:
    """How a process ended that made no report."""

    status: int
    signal: str = ""

    @classmethod
    def of(cls, code: int) -> End:
        """code: as os.waitstatus_to_exitcode() has it."""
        return cls(code) if code >= 0 else cls(128 - code, signal.Signals(-code).name)


def watched(work, unfinished) -> int:
    """Writes the Report that work(tell) makes in a process of its own, and returns its status.
    unfinished(told, end): the Report where that process ended by itself after it told STARTED; told: what it
    told beside that. Either may give Next in place of a Report."""
    if _is_within():
        return _written(work(lambda what: None))
    return _forked_work(work, unfinished)


def _is_within() -> bool:
    """Returns whether another Python program made the call, whose threads no fork would keep."""
    return sys.stdout is not sys.__stdout__


def _written(report: Report | Next) -> int:
    """Writes a Report, that of the next process where there is one."""
    return _forked_work(report.work, report.unfinished) if isinstance(report, Next) else report.write()


def _forked_work(work, unfinished) -> int:
    """As watched(), always in a process of its own."""
    read, write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(read)
        end_with_parent()
        progress.go_on()
        status = _working(work, write)
        return os._exit(status) if _is_within() else status
    os.close(write)
    with progress.silent():
        told, end, heard = _waited(child, read)
    # A second signal may come before that process has told of the first.
    is_interrupted = signal.SIGINT in heard and end.status == interrupts.STATUS
    if is_interrupted or (told and isinstance(told[-1], Interrupted)):
        raise KeyboardInterrupt
    if told and isinstance(told[-1], (Report, Next)):
        return _written(told[-1])
    if STARTED not in told or isinstance(told[-1], Failed):
        return end.status
    return _written(unfinished([what for what in told if what != STARTED], end))


def in_own_process(command):
    """A command that runs somebody's program does so in a process of its own and ends as that one does. Where
    a compiler ended it (an assertion of LLVM), the answer is the kernel and the stage, with status 1."""

    @functools.wraps(command)
    def run(*args, **options):
        from triton_runner._pipeline import stages

        notes = stages.Notes()
        if (end := _forked()) is not None:
            if not (lines := lines_of_compiler(end, notes)):
                return die_by(signal.Signals[end.signal]) if end.signal else end.status
            click.echo("\n".join(lines), err=True)
            return 1
        with notes.taken(), interrupts.watching():
            return command(*args, **options)

    return run


def lines_of_compiler(end: End, notes) -> list[str]:
    """The error of a compiler that ended the process whose compilations were noted; empty: none was at
    work."""
    from triton_runner._kernel.compiling import failures
    from triton_runner._pretend import running

    error = notes.failure(end.signal) if end.signal in running.CRASHES else None
    if error is None:
        return []
    first, *rest = failures.explained(error)
    return [f"error: {first}", *rest]


def _forked() -> End | None:
    """Goes on in a process of its own: None there. The process that waits gets how that one ended; what it is
    sent by kill goes to the other one, which has what comes from the terminal itself."""
    if _is_within():
        return None
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDED_ON | {signal.SIGCHLD})
    child = os.fork()
    if child == 0:
        end_with_parent()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        progress.go_on()
        return None
    done = status = 0
    with progress.silent():
        while not done:
            sent = signal.sigwaitinfo(_HANDED_ON | {signal.SIGCHLD})
            if sent.si_signo == signal.SIGCHLD:
                done, status = os.waitpid(child, os.WNOHANG)
            elif sent.si_code <= 0:  # of a process
                os.kill(child, sent.si_signo)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return End.of(os.waitstatus_to_exitcode(status))


def _working(work, write: int):
    """Does the work in the process that was made for it. Returns its status; its report is told."""
    process = os.getpid()

    def tell(what) -> None:
        if os.getpid() == process:
            data = pickle.dumps(what)
            _write(write, _HEAD.pack(len(data)) + data)

    interrupts.silently()  # the process that waits says it
    try:
        with interrupts.watching():
            report = work(tell)
    except (DiagnosticError, click.ClickException, click.exceptions.Exit, ImportError, OSError):
        if os.getpid() != process:
            os._exit(1)
        tell(Failed())
        raise
    except KeyboardInterrupt:
        tell(Interrupted())
        interrupts.leave()
        return interrupts.STATUS
    except BaseException:
        traceback.print_exc()
        report = None
    if os.getpid() != process:  # a process that the program forked, and that came back here
        os._exit(0 if report is None else report.status)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    tell(Failed() if report is None else report)
    return _NO_VERDICT if report is None else report.status


class Interrupted:
    """Is told after Ctrl-C."""


class Failed:
    """Is told where the command itself fails, which says why on stderr."""


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _waited(child: int, read: int) -> tuple[list, End, set[int]]:
    """Returns what a process told until it ended, how it ended, and the signals that came; they are handed on
    to it."""
    came = set()

    def hand_on(number, frame) -> None:
        came.add(number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    handled = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, hand_on) for number in handled}
    os.set_blocking(read, False)
    data, is_open, done = bytearray(), True, 0
    try:
        while not done:
            if is_open:
                select.select([read], [], [], _PATIENCE)
            # Its end comes before what is read last. Other processes may keep the pipe open.
            done, status = os.waitpid(child, os.WNOHANG if is_open else 0)
            while is_open:
                try:
                    more = os.read(read, 1 << 20)
                except BlockingIOError:
                    break
                data += more
                is_open = bool(more)
    finally:
        os.close(read)
        for number, handler in before.items():
            signal.signal(number, handler)
    return [*_parts(bytes(data))], End.of(os.waitstatus_to_exitcode(status)), came


def _parts(data: bytes):
    """Yields what was told whole."""
    at = 0
    while at + _HEAD.size <= len(data):
        end = at + _HEAD.size + _HEAD.unpack_from(data, at)[0]
        if end <= len(data):
            yield pickle.loads(data[at + _HEAD.size : end])
        at = end
