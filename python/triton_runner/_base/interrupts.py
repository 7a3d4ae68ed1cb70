"""Handles Ctrl-C for every verb: half a second, one line, status 130, and no process of ours that goes on.

    with interrupts.watching():
        work()

The first signal is a KeyboardInterrupt on the main thread, so that files that were begun are taken back. What
does not come back in time (a compiler at work, a thread that is waited for) is ended with the process: a
thread, to which Python tells each signal at once, sees to that."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
import time

STATUS = 130
GRACE = 0.3  # seconds from the signal until the process is ended
_SOON = 0.01  # seconds after which a signal comes again that a callback has swallowed
_PATIENCE = 1.0  # seconds for a line that nobody reads
_MOMENT = 0.2  # seconds that its end waits for files to be removed
_begun: set[str] = set()  # files that are being written, under their temporary names, and temporary folders
_said = False  # whether the line was written, or is another process's
_saying = threading.RLock()  # held while it is written: whoever else ends the process waits for it


@contextlib.contextmanager
def watching():
    """Within the block Ctrl-C ends this process as this module says; once a signal came, to its end."""
    standing = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or standing is not signal.default_int_handler or sys.stdout is not sys.__stdout__:
        yield  # another handler was set, or the signal is ignored, or a Python program calls this
        return
    global _watch
    watch = _watch = _Watch()
    signal.signal(signal.SIGINT, watch.handle)
    sys.unraisablehook = watch.report
    woken = signal.set_wakeup_fd(watch.written.fileno(), warn_on_full_buffer=False)
    try:
        yield
    except KeyboardInterrupt:
        watch.came = True  # whoever heard the signal: the core, or a process that told of it
        raise
    finally:
        if not watch.came:
            watch.over, _watch = True, None
            signal.set_wakeup_fd(woken)
            watch.written.close()
            if signal.getsignal(signal.SIGINT) == watch.handle:
                signal.signal(signal.SIGINT, standing)
            if sys.unraisablehook == watch.report:
                sys.unraisablehook = watch.reported_by


class _Watch:
    def __init__(self):
        self.gentle = self.came = self.over = False
        self.reported_by = sys.unraisablehook
        self.read, self.written = socket.socketpair()
        self.written.setblocking(False)
        # Signals are the main thread's, which may wait for them.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        threading.Thread(target=self._follow, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def handle(self, number, frame) -> None:
        """On the main thread, between two steps of Python. Those who press twice mean it once."""
        if self.came and not self.gentle:
            return
        self.came = True
        raise KeyboardInterrupt

    def report(self, unraisable) -> None:
        """Is asked before Python prints an error that it cannot raise. A signal that came in a callback (of a
        fork, of a collection) comes once more. An object that the signal cut in the making is passed over:
        its __del__ misses what __init__ never set."""
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            self.came = False
            main = threading.main_thread().ident
            threading.Timer(_SOON, signal.pthread_kill, (main, signal.SIGINT)).start()
            return
        is_del = getattr(unraisable.object, "__name__", "") == "__del__"
        if not (self.came and is_del and issubclass(unraisable.exc_type, AttributeError)):
            self.reported_by(unraisable)

    def _follow(self) -> None:
        with self.read:
            while numbers := self.read.recv(64):
                if signal.SIGINT in numbers:
                    time.sleep(GRACE)
                    if not self.over and not (self.gentle and self.came):
                        end()


_watch: _Watch | None = None


def gently() -> None:
    """From here on a program runs that may handle Ctrl-C: the process is ended only where its main thread
    does not hear of the signal in time."""
    if _watch is not None:
        _watch.gentle = True


def silently() -> None:
    """Another process writes the line."""
    global _said
    _said = True


def _in_child() -> None:
    """A forked process has no such thread, and must not wake that of the process it comes from."""
    global _watch
    if _watch is not None:
        signal.set_wakeup_fd(-1)
        if signal.getsignal(signal.SIGINT) == _watch.handle:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _watch = None


os.register_at_fork(after_in_child=_in_child)


def leave() -> None:
    """Ends this process once KeyboardInterrupt has come through; returns where it is somebody else's. Python
    does not take apart what it has loaded: that alone takes seconds where torch is loaded."""
    if _watch is None:
        say()
        return
    _watch.came, _watch.gentle = True, False  # a second signal changes nothing,
    signal.signal(signal.SIGINT, _watch.handle)  # whoever has set a handler
    atexit._run_exitfuncs()
    end()


def end() -> None:
    """Ends this process and those below it, as after Ctrl-C."""
    end_children()
    if _begun:
        _remove([*_begun])
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    say()
    os._exit(STATUS)


def _remove(paths: list[str]) -> None:
    """Removes files and folders. What takes longer than a moment, a release of torch that was fetched by
    half, goes on in a process that does nothing else."""
    command = ["rm", "-rf", "--", *paths]
    with contextlib.suppress(OSError):
        pid = os.posix_spawnp(command[0], command, os.environ, setsid=True)
        until = time.monotonic() + _MOMENT
        while not os.waitpid(pid, os.WNOHANG)[0] and time.monotonic() < until:
            time.sleep(0.005)


def say() -> None:
    """The one line, written once, and whole."""
    global _said
    is_held = _saying.acquire(timeout=_PATIENCE)
    if not _said:
        _said = True
        with contextlib.suppress(OSError, ValueError):
            os.write(2, b"\x1b[?25h" * os.isatty(2))  # a bar that was cut off hides the cursor
            sys.stderr.write("interrupted\n")
            sys.stderr.flush()
    if is_held:
        _saying.release()


def end_children(of: int = 0) -> None:
    """Ends every process below this one, or below another one of ours, and the groups that those lead: a
    compiler that one of them starts meanwhile is in its group."""
    below: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{int(name)}/stat", encoding="utf-8", errors="replace") as file:
                below.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(name))
    left = [of or os.getpid()]
    while left:
        for child in below.get(left.pop(), ()):
            left.append(child)
            with contextlib.suppress(OSError):
                (os.killpg if os.getpgid(child) == child else os.kill)(child, signal.SIGKILL)


@contextlib.contextmanager
def begun(path: str):
    """While a file stands under a temporary name, or a folder of such files, which an end at once removes."""
    _begun.add(path)
    try:
        yield
    finally:
        _begun.discard(path)
