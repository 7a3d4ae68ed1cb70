"""Random kernels at TTIR, TTGIR and PTX or AMDGCN (and on a GPU): the engines, and Triton's passes between
the levels, check each other bit for bit. On the CPU each runs once more with some of its values dumped:
looking changes nothing.

    python tests/differential/run.py                          fifty kernels
    python tests/differential/run.py --seeds 100 5000 --limit 600 --target cuda:80 cuda:90 cuda:100
    python tests/differential/run.py --kind products --seeds 123 124 --show   one kernel, its source printed
    python tests/differential/run.py --levels ttgir amdgcn hsaco --target hip:gfx942 hip:gfx1201

A kernel whose levels differ is left in build/differential/. One that Triton refuses is counted, with the last
line of its error; NaNs are equal whatever their bits.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import itertools
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import time
from collections.abc import Iterator

if __name__ == "__main__":  # a test that imports this keeps its own
    os.environ.setdefault("TRITON_RUNNER_DEVICE", "cpu")
    os.environ.setdefault("TRITON_RUNNER_PROD", "1")  # says nothing of the kernels that it compiles
    os.environ.setdefault(
        "TRITON_DEFAULT_FP_FUSION", "0"
    )  # a product and a sum that become one are other bits

import numpy as np
import torch
import triton
import triton_runner
from addresses import generate_addresses
from composed import generate_composed
from generate import FLOATS, Kernel, generate
from products import generate_product

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from suite import loaded, results  # noqa: E402

KEPT = ROOT / "build" / "differential"
# The last: compiled by Triton for the GPU of this machine.
LEVELS = ("ttir", "ttgir", "ptx", "amdgcn", "hsaco", "gpu")
KINDS = {
    "operations": generate, "addresses": generate_addresses, "products": generate_product,
    "composed": generate_composed,
}  # fmt: skip
# A dump can name these, by level.
DEFINED = re.compile(r"^ *(%\w+)(?::\d+)? = (?!.*(?:token|tensor_?desc|async_|to_local))", re.M)
NAMES = {"ttir": DEFINED, "ttgir": DEFINED}
NAMES["ptx"] = re.compile(r"^\s+[a-z][\w.]*\s+(%(?:r|rd|rs|f|fd|p)\d+), ", re.M)


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


@dataclasses.dataclass
class Outcome:
    """The outcome of a launch: the arrays, the kind and place of its trap; its text, for what to look at."""

    outputs: list[torch.Tensor]
    trap: tuple | None
    text: str = ""


def launch(kernel: Kernel, function, level: str, target: str, seed: int, looked_at=()) -> Outcome:
    random = np.random.default_rng(seed)
    make = small_numbers if kernel.small else contents
    inputs = [make(dtype, kernel.elements, random) for dtype in kernel.inputs]
    outputs = [torch.zeros(size * kernel.programs, dtype=getattr(torch, d)) for d, size in kernel.outputs]
    settings = {"device": "cpu", "level": level, "target": target, "timeout": 60}
    if level == "gpu":
        settings = {"device": "cuda"}
        inputs, outputs = [x.cuda() for x in inputs], [x.cuda() for x in outputs]
    triton.set_allocator(
        lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=outputs[0].device)
    )
    trap, compiled = None, None
    looking = triton_runner.dumping(function, *looked_at) if looked_at else contextlib.nullcontext()
    with triton_runner.using(**settings), looking:
        try:
            compiled = function[(kernel.programs,)](*inputs, *outputs, *kernel.scalars, **kernel.options)
        except triton_runner.KernelTrap as error:
            trap = (error.kind, error.op, error.line, error.program, error.element)
    text = compiled.asm.get(level, "") if compiled is not None and level in NAMES else ""
    return Outcome([x.cpu() for x in outputs], trap, text)


def first_difference(a: torch.Tensor, b: torch.Tensor) -> int | None:
    """The first element whose bits differ, where both are no NaN."""
    differs = (a.view(torch.uint8).view(a.numel(), -1) != b.view(torch.uint8).view(b.numel(), -1)).any(1)
    if a.dtype.is_floating_point:
        differs &= ~(a.isnan() & b.isnan())
    return int(differs.nonzero()[0]) if differs.any() else None


def imported(source: str, path: pathlib.Path):
    path.write_text(source)
    return triton_runner.jit(loaded(path).kernel)


def compared(outcomes: dict[str, Outcome]) -> str | None:
    """The first element that outcomes do not agree on with the first of them, with what each has there."""
    reference, *others = outcomes.values()
    for i, wanted in enumerate(reference.outputs):
        for other in others:
            at = first_difference(wanted, other.outputs[i])
            if at is not None:
                here = (f"{o.outputs[i][at].item()} at {name}" for name, o in outcomes.items())
                return f"out{i}[{at}] is {', '.join(here)}"
    return None


def names_to_look_at(text: str, level: str, seed: int) -> list[str]:
    """Everything, or a few of what the text defines."""
    random = np.random.default_rng([seed, LEVELS.index(level)])
    if level == "ptx":  # the registers of functions that it calls have no name
        text = text.partition(".entry")[2].partition(".func")[0]
    names = sorted(set(NAMES[level].findall(text)))
    if level != "ptx" and (not names or random.random() < 0.3):
        return ["*"]
    return [str(name) for name in random.choice(names, min(len(names), 6), replace=False)] or ["ld.global"]


def difference(kernel: Kernel, function, target: str, seed: int, levels: list[str]) -> str | None:
    """Says where levels do not agree, or a level with itself when some of its values are dumped."""
    if kernel.traps:  # would end the use of a GPU
        levels = [level for level in levels if level != "gpu"]
        if target.startswith("hip"):  # their passes keep 32 bits of an offset, as tt.pointer_range allows
            levels = ["ttir"]
    outcomes = {level: launch(kernel, function, level, target, seed) for level in levels}
    for level, outcome in outcomes.items():
        if (outcome.trap is not None) != kernel.traps:
            return f"{outcome.trap or 'no trap'} at {level}"
        if outcome.trap and outcome.trap[0] != outcomes[levels[0]].trap[0]:
            return f"{outcomes[levels[0]].trap} at {levels[0]}, {outcome.trap} at {level}"
    # The values that a trapped launch wrote before depend on the order of its stores.
    found = None if kernel.traps else compared(outcomes)
    for level in levels:
        if found or level not in NAMES:
            continue
        names = names_to_look_at(outcomes[level].text, level, seed)
        looked = launch(kernel, function, level, target, seed, names)
        label = f"{level} looked at ({', '.join(names)})"
        if looked.trap != outcomes[level].trap:
            return f"{outcomes[level].trap} at {level}, {looked.trap} at {label}"
        found = compared({level: outcomes[level], label: looked})
    return found


def examine(seed: int, options: argparse.Namespace) -> tuple[str, str]:
    """Returns what became of one kernel (agrees, differs, refused), and what there is to say of it."""
    kernel = KINDS[options.kind[seed % len(options.kind)]](seed)
    target = options.target[seed % len(options.target)]
    if options.show:
        print(kernel.source)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = str(pathlib.Path(folder) / "cache")
        function = imported(kernel.source, pathlib.Path(folder) / f"kernel_{seed}.py")
        try:
            what = difference(kernel, function, target, seed, options.levels)
        except triton_runner.DiagnosticError as error:
            what = f"{type(error).__name__}: {error}"
        except torch.AcceleratorError as error:  # every later launch of this process would fail
            if not options.is_alone:
                os._exit(1)
            what = f"a fault at gpu, none at the other levels: {str(error).splitlines()[0]}"
        except Exception as error:  # Triton's own
            return "refused", f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1][:120]}"
    if what is None:
        return "agrees", ""
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"kernel_{seed}.py"
    kept.write_text(kernel.source)
    return "differs", f"seed {seed}, {target}: {what}\n  {kept}"


def pool_of(jobs: int) -> concurrent.futures.ProcessPoolExecutor:
    return concurrent.futures.ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))


def alone(seed: int, options: argparse.Namespace) -> tuple[str, str]:
    """In a process of its own, which may die (Triton aborts here and there, a GPU's fault ends its use)."""
    options = argparse.Namespace(**(vars(options) | {"is_alone": True}))
    with pool_of(1) as pool:
        try:
            return pool.submit(examine, seed, options).result()
        except concurrent.futures.BrokenExecutor:
            return "died", f"seed {seed}: the process died"


def examined(options: argparse.Namespace, end: float) -> Iterator[tuple[str, str]]:
    """Yields the end of each kernel. Where a process dies, those that were at work run again one by one."""
    seeds = iter(range(*options.seeds))
    again: list[int] = []
    while first := list(itertools.islice(seeds, 2 * options.jobs)):
        with pool_of(options.jobs) as pool:
            running = {pool.submit(examine, s, options): s for s in first}
            try:
                while running:
                    for future in concurrent.futures.wait(running, return_when="FIRST_COMPLETED").done:
                        yield future.result()
                        del running[future]
                        if time.monotonic() < end:
                            running |= {
                                pool.submit(examine, s, options): s for s in itertools.islice(seeds, 1)
                            }
            except concurrent.futures.BrokenExecutor:
                again = list(running.values())
        for seed in again:
            yield alone(seed, options)
        if not again or time.monotonic() > end:
            return
        again = []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 50), metavar=("FROM", "TO"))
    parser.add_argument("--limit", type=float, default=1e9, help="seconds")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--target", nargs="+", default=["cuda:90"], help="one after the other, by seed")
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=list(LEVELS[:3]))
    parser.add_argument(
        "--kind", nargs="+", choices=KINDS, default=["operations", "addresses"], help="by seed"
    )
    parser.add_argument("--write", metavar="KEY", help="a row of results/differential.json")
    parser.add_argument("--show", action="store_true", help="print the kernels")
    options = parser.parse_args()
    # Processes side by side share the cores; two threads, so that programs of a grid still meet.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TRITON_RUNNER_THREADS", "2" if options.jobs > 1 else "0")
    end = time.monotonic() + options.limit
    count, refused = collections.Counter(), collections.Counter()
    options.is_alone = False  # other kernels come after one in its process
    for outcome, text in examined(options, end):
        count[outcome] += 1
        if outcome == "refused":
            refused[text] += 1
        elif text:
            print(text, flush=True)
    for error, times in refused.most_common():
        print(f"{times} refused: {error}")
    died = f", {count['died']} ended their process" if count["died"] else ""
    print("{agrees} kernels agree, {differs} differ, {refused} were refused".format_map(count) + died)
    if options.write:
        what = f"{', '.join(options.kind)}; {', '.join(options.levels)}; {', '.join(options.target)}"
        figures = {"agree": count["agrees"], "differ": count["differs"], "refused": count["refused"]}
        results.record("differential", options.write, what, "make differential", figures)
    return 1 if count["differs"] or count["died"] or not count["agrees"] else 0


if __name__ == "__main__":
    sys.exit(main())
