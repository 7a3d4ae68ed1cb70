"""Measures a launch on CPU tensors before the kernel's first op: empty kernels of 0, 5 and 19 arguments.

    python benchmark/launch.py [--json] [--quick]

Microseconds, the least of many rounds (and their median): through the core's launcher (what a compiled kernel
calls with its arguments), through the compiled kernel as Triton calls it, through triton.jit and through
triton_runner.jit.
"""

import argparse
import json
import statistics
import sys
import time

import timing

ROUNDS, LAUNCHES = 60, 200


def times(ways: dict, rounds: int) -> dict:
    """Microseconds of one call of each, a number a round, in turn; by the CPU's clock, which others do not
    disturb."""
    taken = {name: [] for name in ways}
    for run in ways.values():
        run()
    for _ in range(rounds):
        for name, run in ways.items():
            start = time.process_time()
            for _ in range(LAUNCHES):
                run()
            taken[name].append((time.process_time() - start) / LAUNCHES * 1e6)
    return taken


def cost(arguments: int, kernel, args: tuple, meta: dict, rounds: int) -> dict:
    """Microseconds of one launch, by the way that it goes."""
    import triton_runner

    ours = triton_runner.jit(kernel.fn)
    compiled = kernel[(1,)](*args, **meta)
    values, unused = (*args, *meta.values()), (None,) * 6
    ways = {
        "launcher": lambda: compiled.run(1, 1, 1, *unused, *values),
        "compiled": lambda: compiled[(1, 1, 1)](*values),
        "triton.jit": lambda: kernel[(1,)](*args, **meta),
        "triton_runner.jit": lambda: ours[(1,)](*args, **meta),
    }
    taken = times(ways, rounds)
    medians = {name: statistics.median(samples) for name, samples in taken.items()}
    return {"arguments": arguments, **{name: min(s) for name, s in taken.items()}, "medians": medians}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rounds = 5 if options.quick else ROUNDS
    timing.pinned(TRITON_RUNNER_PROD="1")
    import kernels
    import torch
    import triton_runner  # noqa: F401  (makes the CPU Triton's device)

    tensors = tuple(torch.zeros(1024) for _ in range(5))
    numbers, constants = (7, 100, 13, 1000, 10, 100, 20, 200, 30), {f"C{i}": 32 for i in range(5)}
    cases = [
        (0, kernels.empty, (), {"BLOCK": 32}),
        (5, kernels.empty_5, (*tensors[:3], 100, 200), {}),
        (19, kernels.empty_19, (*tensors, *numbers), constants),
    ]
    results = [cost(*case, rounds) for case in cases]
    if options.json:
        json.dump(results, sys.stdout)
        return
    for result in results:
        arguments, medians = result.pop("arguments"), result.pop("medians")
        said = (f"{name} {least:.2f} ({medians[name]:.2f})" for name, least in result.items())
        print(f"{arguments:2d} arguments", *said, sep="  ")


if __name__ == "__main__":
    main()
