"""What a line pays for besides its work, in words: bank conflicts, sectors that nobody asked for, spills."""

from __future__ import annotations

from collections.abc import Iterator

from triton_runner._profile.results import Collision


def causes(counts: dict[str, int], collision: Collision | None) -> Iterator[str]:
    """What a line with these counts pays for."""
    wavefronts, least = counts.get("shared_wavefronts", 0), counts.get("shared_least", 0)
    if wavefronts > least:
        yield f"bank conflicts: {wavefronts:,} wavefronts of shared memory, {least:,} without"
        if collision:
            yield _said(collision)
    sectors, requested = counts.get("global_sectors", 0), counts.get("global_bytes", 0)
    if sectors * 32 > 2 * requested and requested:
        yield f"{sectors:,} sectors ({sectors * 32:,} bytes) for {requested:,} bytes of global memory"
    if spilled := counts.get("local_requests", 0):
        yield f"spills: {spilled:,} requests to local memory, {counts.get('local_sectors', 0):,} sectors"
    if divergent := counts.get("divergent", 0):
        yield f"{divergent:,} times the guard held for some threads of a warp only"


def _said(collision: Collision) -> str:
    a, b = collision.threads
    left, right = collision.offsets
    return (
        f"the worst: {collision.ways}-way, threads {a} and {b} of program {collision.program} at shared "
        f"{left:#x} and {right:#x}, bank {collision.bank}"
    )
