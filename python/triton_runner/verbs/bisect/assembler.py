"""Finds the ptxas of a release, and makes another release use it."""

from __future__ import annotations

import importlib.util
import os
import re

from triton_runner._base.releases import release_of
from triton_runner.verbs.bisect.runs import Release

PLAIN = {"DISABLE_PTXAS_OPT": "1"}  # without optimisation


def ptxas(release: Release) -> str | None:
    """The path of the ptxas that a release includes and uses for the target."""
    triton = os.path.join(release.folder, "triton")
    if not release.folder and (installed := importlib.util.find_spec("triton")) is not None:
        triton = os.path.dirname(installed.origin)
    folder = os.path.join(triton, "backends", "nvidia", "bin")
    number = int(re.search(r"\d+", release.program.target)[0])
    is_second = number >= release_of(release.version).second_ptxas
    names = ("ptxas-blackwell", "ptxas") if is_second else ("ptxas",)
    return next((path for name in names if os.path.isfile(path := os.path.join(folder, name))), None)


def instead(path: str) -> dict:
    """The environment variables that make any release use this ptxas for any target."""
    return {f"TRITON_{name}_PATH": path for name in ("PTXAS", "PTXAS_BLACKWELL", "PTXAS-BLACKWELL")}
