"""Takes one sample: seconds of a launch, on the host or on the GPU.

Only torch is used, so that another interpreter runs this file too (peer.py)."""

import time

_SLEEP_CYCLES = 600_000  # a third of a millisecond: the host gets ahead of the GPU
_WARM_LAUNCHES = 10
_LEAST_FLUSH = 256 << 20


class Host:
    """Measures what a launch costs the host: a burst of launches that are queued, divided by their number. On
    the CPU each runs to its end."""

    def __init__(self, on_gpu: bool, launches: int):
        self.on_gpu, self.launches = on_gpu, launches

    def __call__(self, run) -> float:
        if self.on_gpu:
            import torch

            torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(self.launches):
            run()
        seconds = (time.perf_counter() - started) / self.launches
        if self.on_gpu:
            torch.cuda.synchronize()
        return seconds


class Events:
    """Measures what a kernel costs the GPU, between two events. warm: its data were read just before, as
    often as they fit the L2; cold: something else was."""

    def __init__(self, is_cold: bool):
        import torch

        self.is_cold, self.torch = is_cold, torch
        size = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "L2_cache_size", 0)
        self.flush = torch.empty(max(_LEAST_FLUSH, 4 * size), dtype=torch.int8, device="cuda")

    def __call__(self, run) -> float:
        torch = self.torch
        launches = 1 if self.is_cold else _WARM_LAUNCHES
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        run()
        if self.is_cold:
            self.flush.zero_()
        if hasattr(torch.cuda, "_sleep"):
            torch.cuda._sleep(_SLEEP_CYCLES)
        start.record()
        for _ in range(launches):
            run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / launches


def timer(kind: str, on_gpu: bool, launches: int = 1):
    """Returns the timer of a kind: "launch" (the host's time), "cold" or "warm" (the kernel's)."""
    if kind == "launch" or not on_gpu:
        return Host(on_gpu, launches)
    return Events(kind == "cold")
