"""Faults of the assembler: programs that are right down to PTX, and wrong as machine code on a GPU.

Two means confirm it: the assembler without optimisation, and that of a right release.
"""

from __future__ import annotations

import importlib.util
import os
import re

from triton_runner._bisect import evidence, order
from triton_runner._bisect.runs import Outcome, Release
from triton_runner._pipeline.versions import release_of

_PLAIN = {"DISABLE_PTXAS_OPT": "1"}


class Assembled:
    """A release that is right at PTX and wrong as machine code, as evidence() looks at it."""

    wrong_at = "cubin"
    rights: tuple = ()  # what it is compared with is the release itself, at PTX

    def __init__(self, release: Release):
        self.release, self.program = release, release.program
        choices = release.at(self.program.lowest).choices
        self.more = {"choices": choices} if choices else {}
        self.orders = order.Orders()
        self.found = {
            "verdict": "assembler", "level": "cubin", "stage": "make_cubin", "pass": None,
            "confirmed_by": ["execution"], "levels": {"ptx": "right", "cubin": "wrong"},
            "notes": ["right down to PTX, wrong as machine code on this machine's GPU"],
        }  # fmt: skip

    def at(self, level: str, plan: dict | None = None, **more) -> Outcome:
        return self.release.at(level, plan, **self.more, **more)

    def note(self, text: str) -> None:
        self.found["notes"].append(text)


def fault(run: list[str], releases: dict, judged: dict, printed: list[str]) -> dict:
    """The fault of consecutive releases, judged in the newest of them."""
    it = Assembled(releases[run[-1]])
    if it.at("cubin", variables=_PLAIN).verdict == "right":
        it.found["confirmed_by"].append("leave-out")
        it.note("right with ptxas -O0 (DISABLE_PTXAS_OPT=1)")
    for version in reversed([version for version, outcome in judged.items() if outcome.verdict == "right"]):
        path = ptxas(releases[version])
        if path and it.at("cubin", variables=instead(path)).verdict == "right":
            it.found["confirmed_by"].append("splice")
            it.found["spliced_with"] = version
            it.note(f"right with the ptxas of Triton {version} (TRITON_PTXAS_PATH)")
            break
    return {**it.found, "evidence": evidence.evidence(it, printed)}


def ptxas(release: Release) -> str | None:
    """The assembler that a release brings, of the two the one that it takes for the target."""
    triton = os.path.join(release.folder, "triton")
    if not release.folder and (installed := importlib.util.find_spec("triton")) is not None:
        triton = os.path.dirname(installed.origin)
    folder = os.path.join(triton, "backends", "nvidia", "bin")
    number = int(re.search(r"\d+", release.program.target)[0])
    is_second = number >= release_of(release.version).second_ptxas
    names = ("ptxas-blackwell", "ptxas") if is_second else ("ptxas",)
    return next((path for name in names if os.path.isfile(path := os.path.join(folder, name))), None)


def instead(path: str) -> dict:
    """The variables by which any release takes this assembler for any target."""
    return {f"TRITON_{name}_PATH": path for name in ("PTXAS", "PTXAS_BLACKWELL", "PTXAS-BLACKWELL")}
