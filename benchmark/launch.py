"""What a launch on CPU tensors costs before the kernel's first op: empty kernels of 0, 5 and 19 arguments.

    python benchmark/launch.py [--json] [--quick]

Microseconds, the least of many rounds: through the core's launcher (what a compiled kernel calls with its
arguments), through the compiled kernel as Triton calls it, through triton.jit and through triton_runner.jit.
"""

import argparse
import json
import os
import pathlib
import sys
import time

ROUNDS, LAUNCHES = 60, 200


def least(run, rounds: int) -> float:
    """Microseconds of one call: the best round, by the CPU's clock, which others do not disturb."""
    run()
    best = 1e9
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(LAUNCHES):
            run()
        best = min(best, (time.process_time() - start) / LAUNCHES)
    return best * 1e6


def cost(arguments: int, kernel, args: tuple, meta: dict, rounds: int) -> dict:
    """Microseconds of one launch, by the way that it goes."""
    import triton_runner

    ours = triton_runner.jit(kernel.fn)
    compiled = kernel[(1,)](*args, **meta)
    values, unused = (*args, *meta.values()), (None,) * 6
    return {
        "arguments": arguments,
        "launcher": least(lambda: compiled.run(1, 1, 1, *unused, *values), rounds),
        "compiled": least(lambda: compiled[(1, 1, 1)](*values), rounds),
        "triton.jit": least(lambda: kernel[(1,)](*args, **meta), rounds),
        "triton_runner.jit": least(lambda: ours[(1,)](*args, **meta), rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rounds = 5 if options.quick else ROUNDS
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ |= {"TRITON_RUNNER_DEVICE": "cpu", "TRITON_RUNNER_PROD": "1"}
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
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
        print("  ".join(f"{key} {value:.2f}" if key != "arguments" else f"{value:2d} arguments"
                        for key, value in result.items()))  # fmt: skip


if __name__ == "__main__":
    main()
