"""Checks places of files, tells whether a file is a program, and writes files whole or not at all."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from pathlib import Path

from triton_runner._base import commands, interrupts, scratch
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import level_of_name

_parts = itertools.count()  # of files that are being written


def get_file_dir(file: str) -> str:
    """Returns the absolute path of the folder that contains `file`: get_file_dir(__file__) is the folder of
    the calling script."""
    return os.path.dirname(os.path.abspath(os.fspath(file)))


def check_program(file: str) -> None:
    """Refuses what is no Python program: a file that is not there, one that holds a kernel's level, a folder
    without a __main__.py."""
    if os.path.isdir(file):
        if not os.path.isfile(os.path.join(file, "__main__.py")):
            raise fail(f"{file} is a folder without a __main__.py", "name the program in it")
        return
    check_there(file)
    if level_of_name(file):
        raise fail(
            f"{file} holds a level of a kernel and is not a Python program",
            f"to run it: `{commands.shell('exec', '--grid', 'GRID', file)}`, or load() in Python",
        )


def check_there(path) -> None:
    """Refuses a file that is not there, or is a folder."""
    if os.path.isdir(path):
        raise fail(f"{os.fspath(path)} is a folder, and should be a file", "name a file in it")
    if os.path.exists(path):
        return
    file, _, name = os.fspath(path).rpartition(":")
    if file.endswith(".py") and name.isidentifier() and os.path.isfile(file):
        raise fail(f"{os.fspath(path)} is a function of a file, and the file is needed", f"name {file}")
    raise fail(f"no such file: {os.fspath(path)}")


def no_level(path, endings) -> DiagnosticError:
    """Returns the error of a file whose name says no level of a kernel; the caller raises it."""
    path = os.fspath(path)
    file, _, _ = path.rpartition(":")
    if file.endswith(".py"):
        levels = commands.shell("compile", path, "--save", "FOLDER")
        return fail(f"{path} is a kernel in Python, and a level of one is needed", f"`{levels}` writes them")
    check_there(path)
    if path.endswith(".py"):
        run = commands.shell("run", path)
        return fail(f"{path} is Python, and a level of a kernel is needed", f"`{run}` runs the program")
    return fail(f"{path}: its name does not say a level", f"it should end in .{', .'.join(endings)}")


def check_name(path) -> None:
    """Refuses a name that is not UTF-8, which neither the core nor Triton takes."""
    shown = os.fspath(path).encode(errors="backslashreplace").decode()
    if shown != os.fspath(path):
        raise fail(f"cannot read {shown}: its name is not UTF-8", "rename it")


def read_text(path) -> str:
    """The text of a file. Raises DiagnosticError."""
    path = os.fspath(path)
    check_name(path)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise fail(f"{path} is not a text file: byte {error.start} is not UTF-8") from None


def read_json(path, *notes: str):
    """Returns what a file of JSON holds. Raises DiagnosticError, with notes where it is not JSON."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        if isinstance(error, DiagnosticError):
            raise
        raise fail(f"{os.fspath(path)} is not JSON: {error}", *notes) from None


@contextlib.contextmanager
def in_a_file(content: str | bytes, name: str):
    """The path of a file with the content, which is gone after the block."""
    with scratch.folder("file") as folder:
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        yield path


def check_output(path, is_folder: bool = False) -> None:
    """Refuses a place that cannot be written to, before the work whose result it is to hold. A file's folder
    has to be there; a folder's is made when it is written."""
    path = os.fspath(path)
    if os.path.exists(path):
        if os.path.isdir(path) != is_folder:
            has, asked = ("file", "folder") if is_folder else ("folder", "file")
            raise fail(f"cannot write {path}: it is a {has}, and should be a {asked}", "name another place")
        above = path
    else:
        above = os.path.dirname(os.path.abspath(path))
        while is_folder and not os.path.lexists(above):
            above = os.path.dirname(above)
        if not os.path.isdir(above):
            raise fail(f"cannot write {path}: there is no such folder as {above}", "make it, or name another")
    if not os.access(above, os.W_OK):
        raise fail(f"cannot write {path}: {above} may not be written to", "name another place")


@contextlib.contextmanager
def written_whole(path):
    """A binary file that is there whole after the block, or not at all; a device or a pipe (/dev/stdout) is
    written to as it is. Raises DiagnosticError."""
    path = os.fspath(path)
    is_device = path.startswith("/dev/") or (os.path.exists(path) and not os.path.isfile(path))
    place = path if is_device else os.path.realpath(path)  # behind a link is the file that is meant
    part = f"{os.path.dirname(place)}/.{os.getpid()}-{next(_parts)}.part" if not is_device else place
    try:
        with interrupts.begun(part) if not is_device else contextlib.nullcontext():
            with open(part, "wb") as file:
                yield file
            if not is_device:
                os.replace(part, place)
    except OSError as error:
        raise fail(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if not is_device:
            with contextlib.suppress(OSError):
                os.unlink(part)


def write_file(path, content: str | bytes) -> None:
    """Writes a file whole or not at all. Raises DiagnosticError."""
    with written_whole(path) as file:
        file.write(content if isinstance(content, bytes) else content.encode(errors="surrogateescape"))


def cache_folder(name: str, variable: str = "") -> Path:
    """Returns where this package keeps something: what an environment variable says, else
    ${XDG_CACHE_HOME:-~/.cache}/triton-runner/NAME."""
    if chosen := os.environ.get(variable):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triton-runner" / name


def make_folder(folder) -> None:
    """Makes a folder and those above it, where they are not there. Raises DiagnosticError."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        why = "it is a file" if isinstance(error, FileExistsError) else error.strerror or error
        raise fail(f"cannot make folder {os.fspath(folder)}: {why}", "name another folder") from None
