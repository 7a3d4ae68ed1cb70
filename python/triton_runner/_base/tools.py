"""Finds the programs of NVIDIA's toolkit, and asks nvdisasm about a cubin. It takes half a second for a large
kernel, so that its answers are kept in files, named by the hash of what was asked. Triton's wheels bring
these programs: each release that was fetched adds its own, which know other architectures."""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

from triton_runner._base import commands
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.paths import cache_folder, in_a_file, write_file

_IN_TRITON = "backends/nvidia/bin"
KEPT = 32 << 20  # bytes of kept answers; beyond them the one that was used longest ago goes


def folders() -> list[tuple[str, str]]:
    """(folder, who brings it) of NVIDIA's programs: the installed Triton's first, then those of the releases
    that were fetched, the newest first, then toolkits'."""
    places, spec = [], importlib.util.find_spec("triton")
    if spec is not None and spec.origin:
        places.append((os.path.join(os.path.dirname(spec.origin), _IN_TRITON), "the installed Triton"))
    fetched = cache_folder("versions", "TRITON_RUNNER_VERSIONS").glob("*-cp*")
    for place in sorted(fetched, key=lambda one: [*map(int, re.findall(r"\d+", one.name))], reverse=True):
        places.append((str(place / "triton" / _IN_TRITON), f"Triton {place.name.rpartition('-')[0]}"))
    return places + [(place, place) for place in sorted(glob.glob("/usr/local/cuda*/bin"), reverse=True)]


def programs(name: str) -> list[tuple[str, str]]:
    """(path, who brings it) of each program of that name, in the order of folders(); one on $PATH before
    toolkits' own folders."""
    paths = [(os.path.join(place, name), origin) for place, origin in folders()]
    first = sum("Triton" in origin for _, origin in paths)
    if on_path := shutil.which(name):
        paths.insert(first, (on_path, "$PATH"))
    return [(path, origin) for path, origin in paths if os.access(path, os.X_OK)]


def toolkit(name: str) -> str | None:
    """The path of a program of NVIDIA's toolkit: Triton's own, else this machine's; or None."""
    return next((path for path, _ in programs(name)), None)


def version_of(path: str) -> str:
    """ "12.9.86" of a program of NVIDIA's toolkit; "" where it does not run."""
    about = os.stat(path)
    return _version_of(path, about.st_size, about.st_mtime_ns)


@functools.cache
def _version_of(path: str, size: int, changed: int) -> str:
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return ""
    match = re.search(r"\bV(\d+\.\d+\.\d+)", text)
    return match[1] if match else ""


def disassembly(cubin: bytes, *options: str) -> str:
    """Returns what `nvdisasm -c` prints of a cubin: that of the installed Triton, or of whichever knows its
    architecture. Raises DiagnosticError: no nvdisasm that does, or no cubin."""
    paths = [path for path, _ in programs("nvdisasm")]
    for program in paths:
        if (kept := _kept(folder() / _key(program, cubin, options))) is not None:
            return kept
    reason, read = "", None
    with in_a_file(cubin, "kernel.cubin") as path:
        for program in paths:
            done = subprocess.run([program, *options, "-c", path], capture_output=True, text=True)
            # One of another CUDA may warn, and leaves out what it infers: better one that does not.
            if done.returncode == 0 and (read is None or not done.stderr):
                read = program, done.stdout
            if done.returncode == 0 and not done.stderr:
                break
            reason = reason or done.stderr.strip()[:300]
    if read is not None:
        _keep(folder() / _key(read[0], cubin, options), read[1])
        return read[1]
    if reason and "architecture" not in reason:
        raise fail(f"nvdisasm cannot read the cubin: {reason}")
    raise fail(
        "this machine has no nvdisasm that reads this cubin" if reason else
        "this machine has no nvdisasm, which reads cubins",
        *([f"{paths[0]}: {reason}"] if reason else []),
        "Triton's wheels bring one, those from 3.7 on for every architecture from sm_75 to sm_121: "
        f"`{commands.shell('versions', 'add', '3.9.0')}` fetches it; NVIDIA's CUDA toolkit has it too",
    )  # fmt: skip


# --- answers that are kept


def listing(cubin: bytes) -> str:
    """The disassembly that the engine reads: encodings, the lines of the PTX and of the program."""
    return disassembly(cubin, "-hex", "-gi", "-gp")


def folder() -> Path:
    return cache_folder("sass")


def _key(program: str, cubin: bytes, options: tuple) -> str:
    """Another nvdisasm may say something else."""
    about = os.stat(program)
    asked = repr((program, about.st_size, about.st_mtime_ns, options)).encode()
    return hashlib.sha256(asked + b"\0" + cubin).hexdigest()


def _kept(place: Path) -> str | None:
    """The answer in a file; None where there is none, or none that is whole."""
    try:
        text = zlib.decompress(place.read_bytes()).decode()
        os.utime(place)
    except (OSError, ValueError, zlib.error):
        return None
    return text


def _keep(place: Path, text: str) -> None:
    """Writes a file whole or not at all; where that cannot be done, the next one asks nvdisasm again."""
    with contextlib.suppress(OSError, DiagnosticError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_file(place, zlib.compress(text.encode(), 1))
        files = [(one.stat().st_mtime_ns, one.stat().st_size, one) for one in place.parent.iterdir()]
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= KEPT:
                break
            path.unlink()
            total -= size
