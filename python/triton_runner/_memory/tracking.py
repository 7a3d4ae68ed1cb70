"""Implements track_empty(): follows memory that nobody has written, in a block of a program or for all of
it."""

from __future__ import annotations

import contextlib

from triton_runner._memory import uninit, uninit_numpy, uninit_torch


class track_empty:
    """Inside the block, launches with check="uninit" treat the memory of torch.empty, of its relatives
    (empty_like, new_empty, torch.Tensor(n), what resize_ adds, ...) and of np.empty as uninitialised, byte by
    byte, until a kernel, torch or the host writes it. `triton-runner run --check=uninit`, `verify` and
    `pytest --triton` do this for the whole program.

    Such memory is filled with numbers that nobody writes by chance, or with the byte `byte`."""

    def __init__(self, byte: int | None = None):
        self._byte = byte

    def __enter__(self):
        self._left = contextlib.ExitStack()
        is_first = uninit.opened(self._byte)
        self._left.callback(uninit.closed)
        if is_first:
            self._left.enter_context(uninit_torch.followed())
            self._left.enter_context(uninit_numpy.followed())
        return self

    def __exit__(self, *error):
        self._left.close()
        return False


@contextlib.contextmanager
def following(left):
    """Inside, these bytes count as never written, and so do those that launches and torch's operators make of
    them: what a result of the block depends on is seen. left: (a storage, the flag of each of its bytes)."""
    with track_empty(), uninit.following():
        for storage, flags in left:
            uninit.add_left(storage, flags)
        yield
        uninit.finish(ends=False)  # it reports nothing: the caller asks
