"""The CUDA runtime's few functions that torch and programs call, and the ranges of its profilers."""

from __future__ import annotations

import threading


class Runtime:
    """torch.cuda.cudart(): the few functions that torch and programs call."""

    def __init__(self, memory):
        self._memory = memory

    class cudaError(int):
        success = 0

    def cudaMemGetInfo(self, device=0):
        return self._memory()

    def cudaGetErrorString(self, error):
        return "no error" if error == 0 else f"error {int(error)}"

    def __getattr__(self, name):
        if name.startswith("cuda"):  # cudaProfilerStart, cudaHostRegister, cudaStreamCreate ...
            return lambda *args: 0
        raise AttributeError(name)


class Ranges:
    """torch.cuda.nvtx: ranges are counted as they nest, and shown nowhere."""

    def __init__(self):
        self.depth = threading.local()

    def rangePushA(self, message):
        depth = getattr(self.depth, "now", 0)
        self.depth.now = depth + 1
        return depth

    def rangePop(self):
        self.depth.now = getattr(self.depth, "now", 0) - 1
        return self.depth.now

    def rangeStartA(self, message):
        return 0

    def rangeEnd(self, handle):
        pass

    def markA(self, message):
        pass

    def deviceRangeStart(self, *args):
        return 0

    def deviceRangeEnd(self, *args):
        pass
