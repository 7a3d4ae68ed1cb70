"""Finds and fetches releases of torch beside the installed one, each in a folder of the cache
(versions.folder()/torch): torch for CPUs where the package index has it, which runs with the Triton that is
installed; else torch as the index has it, with all that it needs, its own Triton among them (5 GiB)."""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from pathlib import Path

from triton_runner._base.errors import fail
from triton_runner._pipeline import versions
from triton_runner._worker.spelling import option

_MOST_NAMED = 5  # releases of the index that a message names
# The index of torch for CPUs; the Makefile has it too.
_INDEX = os.environ.get("TORCH_INDEX", "https://download.pytorch.org/whl/cpu")


def installed() -> str | None:
    """The version of the torch that this interpreter imports, without importing it: "2.13.0"."""
    try:
        return importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def expand(text: str | None) -> list[str]:
    """The releases of "2.13.0,2.14.1", as they are written; by default the installed one."""
    if not text:
        own = installed()
        if own is None:
            raise fail(
                "there is no torch here whose torch.compile could be judged",
                f"install one, or name releases to fetch: {option('torch_versions', '2.13.0')}",
            )
        return [own]
    chosen = [part.strip() for part in text.split(",")]
    for version in chosen:
        if not re.fullmatch(r"\d+\.\d+\.\d+", version):
            raise fail(f"{version!r} is no release of torch", "releases are named as in 2.13.0,2.14.1")
    return list(dict.fromkeys(chosen))


def _place(version: str) -> Path:
    return versions.folder() / "torch" / f"{version}-{versions.tag()}"


def find(version: str) -> tuple[str, str] | None:
    """(folder, interpreter) of a release; ("", this one) of the installed, None of one that is not there."""
    if version == installed():
        return "", sys.executable
    place = _place(version)
    return (str(place), sys.executable) if (place / "torch" / "__init__.py").exists() else None


def ensure(version: str) -> tuple[str, str]:
    """find(), which fetches the release first where it is not there."""
    return find(version) or versions.fetch(
        _place(version), f"torch {version}", lambda: find(version), lambda scratch: _install(version, scratch)
    )


def triton_of(folder: str) -> str | None:
    """The version of Triton in a folder; None where that is the installed one."""
    found = next(Path(folder).glob("triton-*.dist-info"), None) if folder else None
    return found.name.removeprefix("triton-").removesuffix(".dist-info") if found else None


def _install(version: str, target: Path) -> str:
    alone = ("--no-deps", "--extra-index-url", _INDEX, "--retries", "0")
    reason = versions.pip(target, *alone, f"torch=={version}+cpu")
    if reason is not None:
        reason = versions.pip(target, f"torch=={version}")
    if reason is None:
        return sys.executable
    if versions.is_unanswered(reason):
        raise fail(f"torch {version} could not be fetched: the package index did not answer")
    if "ResolutionImpossible" in reason:
        raise fail(
            f"torch {version} could not be fetched: a constraint of pip here does not allow it",
            "name another release, or take the constraint away (pip config list, PIP_CONSTRAINT)",
        )
    if "No matching distribution" in reason:
        has = re.search(r"from versions: ([^)]*)\)", reason)
        raise fail(
            f"the package index has no torch {version} for Python {'.'.join(map(str, sys.version_info[:2]))}",
            *([f"the newest that it has: {', '.join(has[1].split(', ')[-_MOST_NAMED:])}"] if has else []),
        )
    raise fail(f"torch {version} could not be fetched: {reason.strip().splitlines()[-1]}")
