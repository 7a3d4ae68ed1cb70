"""Measures what a breakpoint costs whose condition never holds: CPU time of a launch under it, as a multiple
of one without a debugger.

    python benchmark/condition.py [--pairs 7] [--level ttir ...] [--write] [row ...]

Most launches take 100 ms or more, on one thread. Launches with and without take turns in one process;
`control` is the ratio of two launches without, taken in the same turns.
"""

import argparse
import inspect
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
import kernels  # noqa: E402
import torch  # noqa: E402
import triton_runner  # noqa: E402
from suite import results  # noqa: E402

LEVELS = ("ttir", "ttgir", "ptx", "cubin")


def line_of(text: str, kernel) -> str:
    """Returns the place of the first line of a kernel that contains a text."""
    lines, first = inspect.getsourcelines(kernel.fn)
    return f"kernels.py:{next(i for i, line in enumerate(lines, first) if text in line)}"


def attention(level: str):
    heads, length = {"ttir": (32, 1024), "ttgir": (32, 1024)}.get(level, (8, 1024))
    q, k, v = (torch.randn(1, heads, length, 64, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    return lambda: kernels.flash_attention[(length // 64, heads)](
        q, k, v, out, 0.125, length * 64, length, DIM=64, BLOCK_M=64, BLOCK_N=64
    )


def matmul(level: str):
    n = {"ttir": 2048, "ttgir": 2048}.get(level, 1024)
    a, b = torch.randn(2, n, n).half()
    out = torch.empty_like(a)
    return lambda: kernels.matmul[(n // 64 * (n // 64),)](
        a, b, out, n, n, n, n, 1, n, 1, n, 1, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, GROUP_M=8
    )


def softmax(level: str):
    rows = 65536  # 256 MiB are written
    x = torch.randn(rows, 1024)
    out = torch.empty_like(x)
    return lambda: kernels.softmax[(rows,)](out, x, 1024, 1024, 1024, BLOCK=1024)


DOT, TOTAL = (line_of(text, kernels.flash_attention) for text in ("acc = tl.dot", "total = total"))
ROWS = {  # name: (launch, where, condition)
    "attention, max": (attention, TOTAL, "shrink.max() > 1e30"),
    "attention, min": (attention, DOT, "total.min() > 1e30"),
    "attention, nan": (attention, TOTAL, "p.nan()"),
    "attention, any": (attention, DOT, "scores.any() == 7"),
    "attention, element": (attention, TOTAL, "scores[3, 5] > 1e30"),
    "matmul, max": (matmul, line_of("a_ptrs += BLOCK_K", kernels.matmul), "total.max() > 1e30"),
    "softmax, max": (softmax, line_of("tl.store", kernels.softmax), "powers.max() > 1e30"),
    "softmax, element": (softmax, line_of("tl.store", kernels.softmax), "powers[3] > 1e30"),
}


class NotThere(Exception):
    """The level does not have the value at that line."""


class Launch:
    """Seconds of CPU that a launch takes, under a debugger or not."""

    def __init__(self, launch, level: str, where: str, condition: str):
        self.launch, self.level, self.where, self.condition = launch, level, where, condition
        self.taken = 0.0

    def run(self) -> None:
        start = time.process_time()
        self.launch()
        self.taken = time.process_time() - start

    def without(self) -> float:
        with triton_runner.using(device="cpu", level=self.level, threads=1):
            self.run()
        return self.taken

    def under(self) -> float:
        with triton_runner.debug(self.run, level=self.level) as session:
            breakpoint_ = session.break_at(self.where, self.condition)
            event = session.resume()
            if event.status or not breakpoint_.found:
                raise NotThere(event.error or "the line has no code")
        return self.taken


def measured(launch: Launch, pairs: int) -> tuple[list, list, list]:
    """Seconds without, under, and without again, in turn."""
    launch.without(), launch.under()
    return tuple(
        zip(*((launch.without(), launch.under(), launch.without()) for _ in range(pairs)), strict=True)
    )


def ratio(those: list, base: list) -> str:
    """Returns the ratio of the least times, and in brackets the median of the pairs."""
    pairs = statistics.median(x / y for x, y in zip(those, base, strict=True))
    return f"{min(those) / min(base):.2f} ({pairs:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--level", nargs="*", default=LEVELS)
    parser.add_argument("--write", action="store_true", help="into results/debug.json")
    parser.add_argument("row", nargs="*")
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    rows = {name: row for name, row in ROWS.items() if not args.row or any(w in name for w in args.row)}
    shown: dict[str, list[str]] = {name: [] for name in rows}
    for name, (make, where, condition) in rows.items():
        for level in args.level:
            with triton_runner.using(target=None if level == "ttir" else "cuda:90"):
                try:
                    plain, under, again = measured(Launch(make(level), level, where, condition), args.pairs)
                except NotThere as error:
                    print(f"{name}, {level}: {error}", flush=True)
                    continue
            shown[name].append(f"{level} {ratio(under, plain)}")
            control = ratio(again, plain)
            print(
                f"{name}, {level}: {min(plain) * 1e3:.0f} ms, {ratio(under, plain)}, control {control}",
                flush=True,
            )
    if args.write:
        what = (
            "a launch under a condition that never holds, of one without a debugger: least (median of pairs)"
        )
        text = "; ".join(f"{name}: {', '.join(cells)}" for name, cells in shown.items() if cells)
        some = "" if list(args.level) == list(LEVELS) else "-".join(args.level)
        command = "python benchmark/condition.py --write" + (some and f" --level {' '.join(args.level)}")
        what += some and f", at {' and '.join(args.level)}"
        results.record("debug", f"condition-{some}".rstrip("-"), what, command, {"result": text})


if __name__ == "__main__":
    main()
