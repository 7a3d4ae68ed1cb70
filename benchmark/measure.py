"""One process of the benchmark: measures one engine on one pinned thread and prints JSON.

    python benchmark/measure.py ttir|ttgir|interpreter|torch [case ...]

A sample is as many launches as take 2 ms. Its wall clock and its CPU time are taken side by side, and a
sample whose wall clock is more than 5 % above its CPU time was interrupted by something else and is thrown
away. On this package's engines the time is the kernel's, from Triton's launch hooks; `call` is the whole
launch from Python.
"""

import json
import os
import pathlib
import sys
import time

SAMPLE_SECONDS = 2e-3
LEAST_SAMPLES, MOST_SAMPLES, SECONDS_A_CASE = 5, 200, 3.0
DISTURBED = 1.05


class KernelClock:
    """Wall and CPU seconds spent between Triton's launch hooks."""

    def __init__(self):
        from triton import knobs

        self.wall = self.cpu = 0.0
        knobs.runtime.launch_enter_hook.add(self.enter)
        knobs.runtime.launch_exit_hook.add(self.leave)

    def enter(self, metadata):
        self.cpu -= time.process_time()
        self.wall -= time.perf_counter()

    def leave(self, metadata):
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


def sample(run, launches: int, clock: KernelClock | None) -> tuple[float, float, float]:
    """Wall and CPU seconds of one launch, and wall seconds of the call, each the mean of `launches`."""
    before = (clock.wall, clock.cpu) if clock else None
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(launches):
        run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    call = wall / launches
    if clock:
        wall, cpu = clock.wall - before[0], clock.cpu - before[1]
    return wall / launches, cpu / launches, call


def measure(run, slow: bool = False, clock: KernelClock | None = None) -> dict:
    """Milliseconds: minimum and median of wall clock and CPU time; the samples kept and thrown away."""
    run()
    launches = 1
    if not slow:
        once = min(sample(run, 1, clock)[2] for _ in range(3))
        launches = max(1, round(SAMPLE_SECONDS / max(once, 1e-7)))
    kept, thrown, disturbed = [], 0, 0
    end = time.perf_counter() + SECONDS_A_CASE
    least = 2 if slow else LEAST_SAMPLES
    while len(kept) + thrown < MOST_SAMPLES and (time.perf_counter() < end or len(kept) < least):
        wall, cpu, call = sample(run, launches, clock)
        if wall > DISTURBED * cpu:
            # A machine that leaves no process alone still gives numbers, which then say so.
            if time.perf_counter() < end + SECONDS_A_CASE:
                thrown += 1
                continue
            disturbed += 1
        kept.append((wall * 1e3, cpu * 1e3, call * 1e3))
    walls, cpus = sorted(k[0] for k in kept), sorted(k[1] for k in kept)
    middle = len(kept) // 2
    return {
        "wall_min": walls[0],
        "wall_median": walls[middle],
        "cpu_min": cpus[0],
        "cpu_median": cpus[middle],
        "call_median": sorted(k[2] for k in kept)[middle],
        "samples": len(kept),
        "thrown_away": thrown,
        "disturbed_but_kept": disturbed,
        "launches_a_sample": launches,
    }


def main() -> None:
    engine, wanted = sys.argv[1], sys.argv[2:]
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
    if engine == "interpreter":
        os.environ["TRITON_INTERPRET"] = "1"
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    if engine in ("ttir", "ttgir"):
        os.environ |= {
            "TRITON_RUNNER_DEVICE": "cpu",
            "TRITON_RUNNER_LEVEL": engine,
            "TRITON_RUNNER_THREADS": "1",
        }
        import triton_runner  # noqa: F401  (makes the CPU Triton's device)
    import kernels
    import torch

    torch.set_num_threads(1)
    clock = KernelClock() if engine in ("ttir", "ttgir") else None
    results = {}
    for name, make in kernels.cases().items():
        if wanted and name not in wanted:
            continue
        case = make()
        entry = {"name": case.name, "size": case.size, "wanted": case.wanted}
        if engine == "torch":
            entry |= measure(case.torch) | {"in": case.torch_type}
        else:
            case.launch()
            difference = (case.out.float() - case.torch().float()).abs().max().item()
            entry |= {"difference": difference, "right": difference <= case.tolerance}
            entry |= measure(case.launch, engine == "interpreter", clock)
        results[name] = entry
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
