"""Keeps the key of Triton's own files, which is part of the key of every kernel in its cache. Triton reads
and hashes its library of 500 MB for it, once a process. Here a file keeps the key as long as those files stay
what they are: same names, sizes, times and places on the disk."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys

from triton_runner._base.errors import DiagnosticError
from triton_runner._base.paths import cache_folder, make_folder, write_file

_MODULES = ("triton.runtime.cache", "triton.compiler.compiler")  # by release


def install() -> None:
    """Puts a kept key in the place of Triton's function; once."""
    import triton

    for name in _MODULES:
        own = getattr(sys.modules.get(name), "triton_key", None)
        if own is not None and not hasattr(own, "runner_own"):
            ours = functools.cache(functools.partial(key, os.path.dirname(triton.__file__), own))
            ours.runner_own = own
            sys.modules[name].triton_key = ours


def key(folder: str, own) -> str:
    """own(), the key of what is in a folder, or what it gave for the same files before."""
    place = cache_folder("keys") / stamp(folder)
    with contextlib.suppress(OSError):
        return place.read_text()
    text = own()
    with contextlib.suppress(OSError, DiagnosticError):  # the next process hashes again
        make_folder(place.parent)
        write_file(place, text)
    return text


def stamp(folder: str) -> str:
    """A hash of the names, sizes, times and places of all files in a folder."""
    found, waiting = [folder], [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    waiting += [entry.path] * (entry.name != "__pycache__")
                    continue
                found.append(f"{entry.path} {_about(entry)}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def _about(entry: os.DirEntry) -> tuple:
    try:
        about = entry.stat()
    except OSError:  # a link to nowhere
        return ()
    return about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino
