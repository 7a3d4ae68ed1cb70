"""Random kernels at TTIR, TTGIR and PTX (and on a GPU): the engines, and Triton's passes between the levels,
check each other bit for bit.

    python tests/differential/run.py                          fifty kernels
    python tests/differential/run.py --seeds 100 5000 --limit 600 --target cuda:80 cuda:90 cuda:100
    python tests/differential/run.py --seeds 123 124 --show   one kernel, its source printed

A kernel whose levels differ is left in build/differential/. One that Triton refuses is counted, with the last
line of its error; NaNs are equal whatever their bits.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import itertools
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("TRITON_RUNNER_DEVICE", "cpu")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "0")  # a product and a sum that become one are other bits

import numpy as np
import torch
import triton
import triton_runner
from generate import FLOATS, Kernel, generate
from products import generate_product

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "differential"
LEVELS = ("ttir", "ttgir", "ptx", "gpu")  # the last: compiled by Triton for the GPU of this machine


def contents(dtype: str, count: int, random: np.random.Generator) -> torch.Tensor:
    """Small numbers, any bits, and what a type has at its ends."""
    kind = getattr(torch, dtype)
    if dtype in FLOATS:
        values = torch.from_numpy(random.integers(-64, 65, count) / 8.0)
        ends = [0.0, -0.0, float("inf"), -float("inf"), 1e-7, -6e-8, 65504.0, 3e38, 1e-40, 1.0 + 2**-10]
        places = random.random(count) < 0.2
        values[torch.from_numpy(places)] = torch.tensor(ends, dtype=torch.float64)[
            torch.from_numpy(random.integers(0, len(ends), int(places.sum())))
        ]
        return values.to(kind)
    info = torch.iinfo(kind)
    wide = random.integers(0, 256, count * 8, dtype=np.uint8)
    anything = torch.from_numpy(wide[: count * (info.bits // 8)]).view(kind)
    small = torch.from_numpy(random.integers(0 if info.min == 0 else -16, 17, count)).to(kind)
    chosen = torch.from_numpy(random.random(count))
    # torch.where lacks some unsigned types: through the bytes.
    out = small.clone()
    mine, any_bits = out.view(torch.uint8).view(count, -1), anything.view(torch.uint8).view(count, -1)
    mine[chosen < 0.4] = any_bits[chosen < 0.4]
    ends = torch.tensor([info.min, info.max] if info.bits < 64 else [0, 1], dtype=torch.int64).to(kind)
    mine[chosen > 0.95] = ends.view(torch.uint8).view(2, -1)[1]
    mine[chosen > 0.98] = ends.view(torch.uint8).view(2, -1)[0]
    return out


def small_numbers(dtype: str, count: int, random: np.random.Generator) -> torch.Tensor:
    return torch.from_numpy(random.integers(-3, 4, count)).to(torch.float32).to(getattr(torch, dtype))


def results(kernel: Kernel, function, level: str, target: str, seed: int) -> list[torch.Tensor]:
    random = np.random.default_rng(seed)
    make = small_numbers if kernel.small else contents
    inputs = [make(dtype, kernel.elements, random) for dtype in kernel.inputs]
    outputs = [torch.zeros(size * kernel.programs, dtype=getattr(torch, d)) for d, size in kernel.outputs]
    settings = {"device": "cpu", "level": level, "target": target, "timeout": 60}
    if level == "gpu":
        settings = {"device": "cuda"}
        inputs, outputs = [x.cuda() for x in inputs], [x.cuda() for x in outputs]
    triton.set_allocator(
        lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=inputs[0].device)
    )
    with triton_runner.using(**settings):
        function[(kernel.programs,)](*inputs, *outputs, *kernel.scalars, **kernel.options)
    return [x.cpu() for x in outputs]


def first_difference(a: torch.Tensor, b: torch.Tensor) -> int | None:
    """The first element whose bits differ, where both are no NaN."""
    differs = (a.view(torch.uint8).view(a.numel(), -1) != b.view(torch.uint8).view(b.numel(), -1)).any(1)
    if a.dtype.is_floating_point:
        differs &= ~(a.isnan() & b.isnan())
    return int(differs.nonzero()[0]) if differs.any() else None


def imported(source: str, path: pathlib.Path):
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def difference(kernel: Kernel, function, target: str, seed: int, levels: list[str]) -> str | None:
    """The first element that the levels do not agree on, with what each has there."""
    outputs = {level: results(kernel, function, level, target, seed) for level in levels}
    reference = outputs[levels[0]]
    for i, wanted in enumerate(reference):
        for level in levels[1:]:
            at = first_difference(wanted, outputs[level][i])
            if at is not None:
                return f"out{i}[{at}] is " + ", ".join(f"{outputs[x][i][at].item()} at {x}" for x in levels)
    return None


def examine(seed: int, options: argparse.Namespace) -> tuple[str, str]:
    """What became of one kernel (agrees, differs, refused), and what there is to say of it."""
    kernel = generate_product(seed) if options.products else generate(seed, options.operations)
    target = options.target[seed % len(options.target)]
    if options.show:
        print(kernel.source)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = str(pathlib.Path(folder) / "cache")
        function = imported(kernel.source, pathlib.Path(folder) / f"kernel_{seed}.py")
        try:
            what = difference(kernel, function, target, seed, options.levels)
        except (triton_runner.DiagnosticError, triton_runner.KernelTrap) as error:
            what = f"{type(error).__name__}: {error}"
        except Exception as error:  # Triton's own
            return "refused", f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1][:120]}"
    if what is None:
        return "agrees", ""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"kernel_{seed}.py"
    kept.write_text(kernel.source)
    return "differs", f"seed {seed}, {target}: {what}\n  {kept}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 50), metavar=("FROM", "TO"))
    parser.add_argument("--limit", type=float, default=1e9, help="seconds")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--target", nargs="+", default=["cuda:90"], help="one after the other, by seed")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=list(LEVELS[:3]))
    parser.add_argument("--products", action="store_true", help="loops of dots in place of all operations")
    parser.add_argument("--operations", type=int, default=14)
    parser.add_argument("--show", action="store_true", help="print the kernels")
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    count, refused = collections.Counter(), collections.Counter()
    seeds = iter(range(*options.seeds))
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=spawn) as pool:
        running = {pool.submit(examine, s, options): s for s in itertools.islice(seeds, 2 * options.jobs)}
        while running:
            for future in concurrent.futures.wait(running, return_when="FIRST_COMPLETED").done:
                try:
                    outcome, text = future.result()
                except concurrent.futures.BrokenExecutor:
                    print(f"a process died at one of the seeds {sorted(running.values())}")
                    return 1
                del running[future]
                count[outcome] += 1
                if outcome == "refused":
                    refused[text] += 1
                elif text:
                    print(text, flush=True)
                if time.monotonic() < end:
                    running |= {pool.submit(examine, s, options): s for s in itertools.islice(seeds, 1)}
    for error, times in refused.most_common():
        print(f"{times} refused: {error}")
    print("{agrees} kernels agree, {differs} differ, {refused} were refused".format_map(count))
    return 1 if count["differs"] or not count["agrees"] else 0


if __name__ == "__main__":
    sys.exit(main())
