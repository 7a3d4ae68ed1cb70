"""Tells whether a kernel has operations that go on beside its program, so that it matters when they take
effect: copies, products of a warp group or of the tensor core, stores and reductions that an mbarrier
counts."""

import re

_BESIDE = {
    "ptx": re.compile(r"[._]async\b|tcgen05\."),
    "amdgcn": re.compile(r"^\s*\w+_load_(?:async_to_)?lds_|^\s*buffer_load_\w+ .*\blds$", re.M),
}
LEVELS = ("ttgir", *_BESIDE)  # whose code is_asynchronous() and timings() read


def is_asynchronous(level: str, text: str) -> bool:
    """Returns whether the code of a kernel at one of LEVELS has such operations."""
    if level in _BESIDE:
        return _BESIDE[level].search(text) is not None
    return bool(_beside(text))


def timings(level: str, text: str) -> tuple[str, ...]:
    """The timings at which the code of a kernel at one of LEVELS may give something else than by itself. By
    themselves copies to shared memory are as late as they can be, and TTGIR's stores to global memory and
    products as early (doc/reference/experiments.md)."""
    if level in _BESIDE:
        return ("eager",) * is_asynchronous(level, text)
    beside = _beside(text)
    stores = [op for op in beside if op.does("stores")]
    copies = [op for op in beside if not (op.does("stores") or op.does("tensor_core"))]
    return ("eager",) * bool(copies) + ("late",) * bool(stores)


def _beside(text: str) -> list:
    """The ops of a TTGIR that go on beside its program. AMD's data mover is followed where it loads."""
    from triton_runner import ir  # not where a worker has another environment than that of its request

    return [op for op in ir.parse(text).walk() if op.does("async") or (op.does("mover") and op.does("loads"))]
