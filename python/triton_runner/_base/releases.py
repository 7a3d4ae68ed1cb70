"""The known releases of Triton, and how they differ where this package touches them: rows of the core's
releases.def, whose columns are attributes here."""

from __future__ import annotations

import functools
import importlib.util

from triton_runner import _core
from triton_runner._base.errors import fail

RELEASES = {row.version: row for row in _core.ir.releases()}  # (3, 4): its row; oldest first
Release = _core.ir.ReleaseInfo


def parse_version(text: str) -> tuple[int, int]:
    """(3, 4) of "3.4.0+git123"."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def release_of(version: str) -> Release:
    """The row for a version; an unknown newer one is treated as the newest known."""
    key = parse_version(version)
    return RELEASES.get(key) or RELEASES[max(RELEASES) if key > max(RELEASES) else min(RELEASES)]


@functools.cache
def installed() -> Release:
    """The row for the Triton that is installed. Raises DiagnosticError for one older than all rows."""
    import triton

    if not is_known() and (reason := unusable()):
        raise fail(*reason)
    return release_of(triton.__version__)


def is_known() -> bool:
    """Whether the Triton that is installed has a row."""
    import triton

    return parse_version(getattr(triton, "__version__", "0.0")) in RELEASES


def unusable(why: str = "") -> tuple[str, str] | None:
    """Why the installed Triton cannot be used, and what to do: there is none, or it is older than all rows;
    or, where something failed (why), it is newer. None where it should do."""
    first, last = (".".join(map(str, pick(RELEASES))) for pick in (min, max))
    advice = f"pip install triton=={last}.0; any release from {first} to {last} does"
    if importlib.util.find_spec("triton") is None:
        return "this needs Triton, which is not installed", advice
    import triton

    version = getattr(triton, "__version__", "0.0")
    if parse_version(version) < min(RELEASES):
        return f"Triton {version} is installed, which is too old: {first} is the oldest that works", advice
    if why and parse_version(version) > max(RELEASES):
        return f"Triton {version} is installed, which is newer than what is known here: {why}", advice
    return None


def missing(error: ImportError | AttributeError) -> tuple[str, str] | None:
    """Returns what to say of an error that a Triton or torch that is not here, or an unknown one, gives."""
    package = (getattr(error, "name", None) or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if package == "torch":
        return "this needs PyTorch, which is not installed", "pip install torch"
    if package == "triton" or importlib.util.find_spec("triton") is not None:
        return unusable(f"{type(error).__name__}: {error}")
    return None
