"""Bursts of launches from C++, for benchmarks."""

from collections.abc import Sequence

import triton_runner._core


class RawLaunch:
    """A CUDA kernel by cuLaunchKernelEx, its parameters packed before."""

    def __init__(self, image: bytes, name: str, words: Sequence[int], grid: Sequence[int], threads: int, shared: int) -> None:
        """words: the bits of each parameter."""

    def burst(self, launches: int, stream: int = 0) -> float:
        """Seconds of one launch, of so many that are queued one after the other."""

def engine_burst(kernel: triton_runner._core.Kernel, words: Sequence[int], memory: Sequence[tuple[int, int]], grid: Sequence[int], launches: int) -> float:
    """
    Seconds of one launch of a kernel of the CPU on one thread, of so many. words: the bits of each argument; memory: (address, bytes) of what they point to.
    """
