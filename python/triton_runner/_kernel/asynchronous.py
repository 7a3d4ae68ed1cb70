"""Tells whether a kernel has operations that go on beside its program, so that it matters when they take
effect: copies, products of a warp group or of the tensor core, stores and reductions that an mbarrier
counts."""

import re

_BESIDE = {
    "ptx": re.compile(r"[._]async\b|tcgen05\."),
    "amdgcn": re.compile(r"^\s*\w+_load_(?:async_to_)?lds_|^\s*buffer_load_\w+ .*\blds$", re.M),
}
LEVELS = ("ttgir", *_BESIDE)  # whose code is_asynchronous() reads


def is_asynchronous(level: str, text: str) -> bool:
    """Returns whether the code of a kernel at one of LEVELS has such operations."""
    if level in _BESIDE:
        return _BESIDE[level].search(text) is not None
    from triton_runner import ir  # not where a worker has another environment than that of its request

    return any(op.does("async") for op in ir.parse(text).walk())
