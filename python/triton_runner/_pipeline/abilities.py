"""Says before trying what a Triton release cannot compile: a table of releases, targets and levels.

A row holds for releases before `until`. doc/measurements/releases.md has the measured table, which
tools/compile_table.py writes.
"""

from __future__ import annotations

import dataclasses
import os
import re

from triton_runner._pipeline.versions import key


@dataclasses.dataclass(frozen=True)
class Gap:
    """Releases before `until` cannot compile for targets that match, to the levels named (all: empty)."""

    until: tuple[int, int]
    target: str
    why: str
    levels: tuple = ()
    unless: object = None  # () -> bool: what the machine may have that closes the gap
    instead: str = ""


def _has_lld() -> bool:
    places = (os.environ.get("TRITON_HIP_LLD_PATH", ""), "/opt/rocm/llvm/bin/ld.lld", "/usr/bin/ld.lld")
    return any(os.path.isfile(place) for place in places)


GAPS = (
    Gap((3, 3), r"cuda:(1\d\d)", "its LLVM and ptxas do not know sm_{arch}"),
    Gap((3, 2), r"hip:gfx950$", "its AMD backend does not know gfx950"),
    Gap(
        (3, 5),
        r"hip:",
        "it links hsaco with ROCm's ld.lld, which is not on this machine",
        ("hsaco",),
        _has_lld,
        'stop at amdgcn (to="amdgcn"), or set TRITON_HIP_LLD_PATH',
    ),
)


def gap(version: str, target: str, to: str | None) -> tuple[str, str] | None:
    """Why a release cannot compile for a target down to a level, in a sentence, and what to do; None if it
    can."""
    to = to or ("hsaco" if target.startswith("hip:") else "cubin")
    for row in GAPS:
        match = re.match(row.target, target)
        if key(version)[:2] >= row.until or not match or (row.levels and to not in row.levels):
            continue
        if row.unless is not None and row.unless():
            continue
        first = ".".join(map(str, row.until))
        why = row.why.replace("{arch}", target.split(":")[1])
        return (
            f"Triton {version} does not compile for {target}"
            + (f" to {to}" if row.levels else "")
            + f": {why}",
            row.instead or f"the first release that does is {first}",
        )
    return None
