"""Makes temporary folders. The process that makes one holds a lock on it for as long as it runs, so that what
a killed process left can be told from what is in use: the next process that makes a folder removes it.

    with scratch.folder("judge") as path:    .../triton-runner-judge-k2x7f1qa.scratch
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
import weakref

from triton_runner._base import interrupts

_PREFIX, _SUFFIX = "triton-runner-", ".scratch"
_cleared: set[str] = set()  # where this process has looked for leftovers


class Folder:
    """A temporary folder, until close() or the end of the process. path: of the folder."""

    def __init__(self, what: str):
        clear_leftovers()
        stack = contextlib.ExitStack()
        self.path, lock = _made(what)
        stack.enter_context(interrupts.begun(self.path))
        self._end = weakref.finalize(self, _remove, self.path, lock, os.getpid(), stack)

    def close(self) -> None:
        self._end()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error) -> None:
        self.close()


def folder(what: str) -> Folder:
    """A temporary folder whose name says what it is for; a context manager of its path."""
    return Folder(what)


def _made(what: str) -> tuple[str, int]:
    """(a new folder, the descriptor that holds its lock)."""
    while True:
        path = tempfile.mkdtemp(prefix=f"{_PREFIX}{what}-", suffix=_SUFFIX)
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process has taken the new folder for a leftover
            os.close(lock)
            continue
        except OSError:  # a file system without locks, on which nobody can take one either
            pass
        if os.path.exists(path):
            return path, lock
        os.close(lock)


def _remove(path: str, lock: int, owner: int, stack) -> None:
    if os.getpid() != owner:  # a process forked from the owner
        return
    until = time.monotonic() + 2  # a process that Ctrl-C has ended may write for a moment still
    with stack:
        shutil.rmtree(path, ignore_errors=True)
        while os.path.exists(path) and time.monotonic() < until:
            time.sleep(0.02)
            shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def clear_leftovers() -> None:
    """Removes the folders of this user's processes that were killed, once a process and place."""
    place = tempfile.gettempdir()
    if place in _cleared:
        return
    _cleared.add(place)
    with contextlib.suppress(OSError), os.scandir(place) as found:
        for entry in found:
            is_ours = entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX)
            if is_ours and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where the owner is there
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
