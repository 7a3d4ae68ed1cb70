"""How the benchmarks take the time of a call: CPU time, on one core of this process."""

from __future__ import annotations

import os
import time


def pinned(**variables: str) -> None:
    """From here on this process keeps to one core, and launches of its to the CPU, with these variables."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ |= {"TRITON_RUNNER_DEVICE": "cpu", **variables}


def least(run, seconds: float, sample: float = 0.0) -> float:
    """Seconds of CPU time of one call: the best of as many samples as fit, each of so many calls as take
    `sample` seconds."""
    run()
    launches, best = 1, float("inf")
    if sample:
        start = time.process_time()
        run()
        launches = max(1, round(sample / max(time.process_time() - start, 1e-7)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        start = time.process_time()
        for _ in range(launches):
            run()
        best = min(best, (time.process_time() - start) / launches)
    return best
