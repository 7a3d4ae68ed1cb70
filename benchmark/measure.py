"""One process of the benchmark: measures one engine on one pinned thread (or two) and prints JSON.

    python benchmark/measure.py ttir|ttgir|ptx|ptx-fast|interpreter|torch|ttir-2 [--quick] [case ...]

A sample is as many launches as take 2 ms. Its wall clock and its CPU time are taken side by side, and a
sample whose wall clock is more than 5 % above its CPU time was interrupted by something else and is thrown
away. On this package's engines a launch is one call of the compiled kernel's launcher with tensors; `call` is
a launch as a person writes it, through triton.jit. PTX is that for sm_80, with exact sums of tensor cores
(ptx) or sums in f32 (ptx-fast).
"""

import argparse
import contextlib
import glob
import json
import os
import pathlib
import sys
import time

SAMPLE_SECONDS = 2e-3
LEAST_SAMPLES, MOST_SAMPLES, SECONDS_A_CASE = 5, 300, 3.0
DISTURBED = 1.05


def waited() -> float:
    """Seconds for which threads of this process could have run and others ran instead."""
    total = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        with contextlib.suppress(OSError):
            total += int(pathlib.Path(path).read_text().split()[1])
    return total * 1e-9


class Clock:
    """Wall and CPU seconds of a piece of work, and whether something else disturbed it."""

    def __init__(self, threads: int = 1):
        self.threads = threads

    def time(self, run, launches: int) -> tuple[float, float, bool]:
        before = waited() if self.threads > 1 else 0.0
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(launches):
            run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        # Several threads wait for each other: their CPU time says nothing, the scheduler's own books do.
        lost = waited() - before if self.threads > 1 else wall - cpu
        return wall / launches, cpu / launches, lost > (DISTURBED - 1) * wall


def measure(run, clock: Clock, slow: bool = False, seconds: float = SECONDS_A_CASE) -> dict:
    """Milliseconds: minimum and median of wall clock and CPU time; the samples kept and thrown away."""
    launches = 1
    if not slow:
        run()
        once = min(clock.time(run, 1)[0] for _ in range(3))
        launches = max(1, round(SAMPLE_SECONDS / max(once, 1e-7)))
    kept, thrown, disturbed = [], 0, 0
    end = time.perf_counter() + seconds
    least = 1 if slow and seconds < 1 else 2 if slow else LEAST_SAMPLES
    while len(kept) + thrown < MOST_SAMPLES and (time.perf_counter() < end or len(kept) < least):
        wall, cpu, bad = clock.time(run, launches)
        if bad:
            # A machine that leaves no process alone still gives numbers, which then say so.
            if time.perf_counter() < end + seconds:
                thrown += 1
                continue
            disturbed += 1
        kept.append((wall * 1e3, cpu * 1e3))
    if not kept:
        return measure(run, clock, slow, seconds)
    walls, cpus = sorted(k[0] for k in kept), sorted(k[1] for k in kept)
    middle = len(kept) // 2
    return {
        "wall_min": walls[0],
        "wall_median": walls[middle],
        "cpu_min": cpus[0],
        "cpu_median": cpus[middle],
        "samples": len(kept),
        "thrown_away": thrown,
        "disturbed_but_kept": disturbed,
        "launches_a_sample": launches,
    }


def difference_of(case) -> dict:
    """How far the kernel's result is from torch's."""
    difference = (case.out.float() - case.torch().float()).abs().max().item()
    return {"difference": difference, "right": difference <= case.tolerance}


def on_interpreter(case, seconds: float) -> dict:
    case.launch()
    return difference_of(case) | measure(case.launch, Clock(), slow=True, seconds=seconds)


def on_engine(case, threads: int, seconds: float, mma: str) -> dict:
    import triton_runner

    with triton_runner.using(mma=mma):
        compiled = case.launch()
        entry = difference_of(case)
        # As Triton does: grid, stream, function, two kinds of metadata, two hooks, arguments.
        arguments = (*(*case.grid, 1, 1)[:3], *(None,) * 6, *case.values)
        clock = Clock(threads)
        if threads > 1:  # the pool has pinned its threads; this one keeps to the first core
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        entry |= measure(lambda: compiled.run(*arguments), clock, seconds=seconds)
        entry["call_median"] = measure(case.launch, clock, seconds=min(seconds, 0.5))["wall_median"]
    if case.flops:
        entry["gflops"] = case.flops / entry["wall_min"] * 1e-6
    return entry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    engines = ("ttir", "ttgir", "ptx", "ptx-fast", "interpreter", "torch", "ttir-2")
    parser.add_argument("engine", choices=engines)
    parser.add_argument("--quick", action="store_true", help="a tenth of a second a case")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_intermixed_args()
    seconds = 0.1 if options.quick else SECONDS_A_CASE
    engine, _, variant = options.engine.partition("-")
    threads = int(variant) if variant.isdigit() else 1
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, set(cores[-threads:]))
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
    if engine == "interpreter":
        os.environ["TRITON_INTERPRET"] = "1"
    if engine in ("ttir", "ttgir", "ptx"):
        os.environ |= {"TRITON_RUNNER_TARGET": "cuda:80"} if engine == "ptx" else {}
        os.environ |= {
            "TRITON_RUNNER_DEVICE": "cpu",
            "TRITON_RUNNER_LEVEL": engine,
            "TRITON_RUNNER_THREADS": str(threads),
        }
        import triton_runner  # noqa: F401  (makes the CPU Triton's device)
    import cases
    import torch

    torch.set_num_threads(1)
    results = {}
    for name, make in cases.cases().items():
        if options.cases and name not in options.cases:
            continue
        case = make()
        if threads > 1 and not case.two_threads:
            continue
        if engine == "ptx" and case.mma == "fast":
            continue  # the same kernel again: PTX has a variant of its own for it
        entry = {"name": case.name, "size": case.size, "faster": case.faster, "share": case.share}
        if engine == "torch":
            entry |= measure(case.torch, Clock(), seconds=seconds) | {"in": case.torch_type}
        elif engine == "interpreter":
            entry |= on_interpreter(case, seconds)
        else:
            mma = case.mma if engine != "ptx" else variant or "exact"
            entry |= on_engine(case, threads, seconds, mma)
        results[name] = entry
        print(f"  {options.engine} {name}", file=sys.stderr)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
