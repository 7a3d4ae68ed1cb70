"""Finds NVIDIA's assemblers on this machine, those of Triton's releases and of CUDA toolkits, and runs one on
a PTX.

Several releases bring the same ptxas: an assembler is named by its version ("12.9.86"), and counts once.
_base/tools.py finds the files of programs; verbs/bisect/assembler.py has the ptxas of one release."""

from __future__ import annotations

import os
import re
import subprocess
from typing import NamedTuple

from triton_runner._base import commands, scratch, tools
from triton_runner._base.errors import fail
from triton_runner._pipeline import versions

OPTIMIZATION = (0, 1, 2, 3)
_PTX_VERSION = re.compile(r"^(\s*\.version\s+)(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^(\s*\.target\s+)(sm_\w+)", re.MULTILINE)


class Assembler(NamedTuple):
    """A ptxas, its version ("12.9.86"), and what brings it (origin: "Triton 3.9.0")."""

    path: str
    version: str
    origin: str

    @property
    def key(self) -> tuple:
        return versions.key(self.version)

    @property
    def ptx_version(self) -> tuple[int, int]:
        """The newest PTX that it reads: CUDA 12.4 has PTX 8.4, 12.6 to 12.9 have 8.5 to 8.8, 13.4 has 9.4."""
        major, minor = self.key[:2]
        return major - 4, minor - (major == 12 and minor >= 6)


def assemblers(more: tuple = ()) -> list[Assembler]:
    """Returns each version of ptxas that this machine has, the newest first. more: (folder, who brings it) of
    folders to look in besides, which tests/sass gives for assemblers that are not installed."""
    result: dict[str, Assembler] = {}
    for name in ("ptxas", "ptxas-blackwell"):
        there = [*tools.programs(name), *((os.path.join(place, name), origin) for place, origin in more)]
        for path, origin in there:
            if os.access(path, os.X_OK) and (version := tools.version_of(path)):
                result.setdefault(version, Assembler(path, version, origin))
    return sorted(result.values(), key=lambda one: one.key, reverse=True)


def find(text: str) -> Assembler:
    """Finds an assembler by a path, or by the beginning of a version ("12.9"). Raises DiagnosticError."""
    if os.sep in text or os.path.isfile(text):
        if not os.access(text, os.X_OK) or not (version := tools.version_of(text)):
            raise fail(f"{text} is not an assembler that runs here")
        return Assembler(os.path.abspath(text), version, text)
    available = assemblers()
    for assembler in available:
        if assembler.version == text or assembler.version.startswith(text + "."):
            return assembler
    raise fail(
        f"this machine has no ptxas {text}",
        f"it has {', '.join(f'{one.version} ({one.origin})' for one in available) or 'none'}",
        f"`{commands.shell('versions', 'add', 'RELEASE')}` fetches a Triton release, which brings its own",
    )


def default() -> Assembler:
    """Returns the newest assembler. Raises DiagnosticError where there is none."""
    available = assemblers()
    if not available:
        raise fail(
            "this machine has no ptxas, which assembles PTX",
            "it comes with Triton's wheels and with NVIDIA's CUDA toolkit",
        )
    return available[0]


def target_of(ptx: str) -> str:
    """Reads the target of a PTX text ("sm_90a"); "" where it does not say."""
    match = _TARGET.search(ptx)
    return match[2] if match else ""


def retargeted(ptx: str, target: str, assembler: Assembler) -> str:
    """Returns a PTX text with another target ("": its own), in a version of PTX that the assembler reads: a
    newer version becomes the newest that it knows. It then refuses an instruction that came later. Lines stay
    in place."""

    def version(found) -> str:
        version = int(found[2]), int(found[3])
        return found[1] + ".".join(map(str, min(version, assembler.ptx_version)))

    ptx = _PTX_VERSION.sub(version, ptx, count=1)
    return _TARGET.sub(lambda found: found[1] + target, ptx, count=1) if target else ptx


def assemble(
    ptx: str, assembler: Assembler, target: str = "", opt: int | None = None, *options: str
) -> bytes:
    """Assembles a PTX text to a cubin that has the lines of the PTX. target: "sm_90a"; "": the text's own.
    Raises DiagnosticError with what ptxas says."""
    target = target or target_of(ptx)
    cubin, log = attempt(ptx, assembler, target, opt, *options)
    if cubin is None:
        raise fail(f"ptxas {assembler.version} does not assemble this for {target}", *log[:6])
    return cubin


def attempt(
    ptx: str, assembler: Assembler, target: str, opt: int | None = None, *options: str
) -> tuple[bytes | None, list[str]]:
    """Assembles as assemble() does, and returns the cubin, or None where ptxas makes none, and the lines that
    ptxas prints."""
    with scratch.folder("assemble") as folder:
        source, cubin = os.path.join(folder, "kernel.ptx"), os.path.join(folder, "kernel.cubin")
        with open(source, "w") as file:
            file.write(retargeted(ptx, target, assembler))
        command = [assembler.path, f"-arch={target}", "-lineinfo", *options, source, "-o", cubin]
        command += [f"-O{opt}"] if opt is not None else []
        done = subprocess.run(command, capture_output=True, text=True)
        log = (done.stderr or done.stdout).strip().replace(source, "kernel.ptx").splitlines()
        if done.returncode or not os.path.isfile(cubin):
            return None, log or [f"it ended with status {done.returncode}"]
        with open(cubin, "rb") as file:
            return file.read(), log
