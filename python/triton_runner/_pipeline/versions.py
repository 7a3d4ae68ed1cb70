"""The known releases of Triton, and how they differ where this package touches them: rows of the core's
releases.def, whose columns are attributes here."""

from __future__ import annotations

import functools

from triton_runner import _core

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
    """The row for the Triton that is installed."""
    import triton

    return release_of(triton.__version__)
