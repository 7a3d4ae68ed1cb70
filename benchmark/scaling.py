"""How the cost of a launch grows: with programs (1 to 10,000) and with elements (1 K to 16 M), on one thread.

    python benchmark/scaling.py [--write] [--quick]

Programs are those of the softmax kernel, all on one row of 781 elements, so that nothing but their number
changes. Elements are added by vector_add, 1,024 a program: past the caches it is the memory that is measured.
--write draws doc/measurements/scaling.svg (with matplotlib) and records the figures in results/bench.json.
"""

import argparse
import os
import pathlib
import sys

import timing

HERE = pathlib.Path(__file__).resolve().parent
PICTURE = HERE.parent / "doc" / "measurements" / "scaling.svg"
sys.path.append(str(HERE.parent / "tests"))
from suite import results  # noqa: E402

COLUMNS = ["programs", "microseconds", "ns a program", "", "elements", "microseconds", "ns an element"]
PROGRAMS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
ELEMENTS = tuple(1 << k for k in range(10, 25))


def microseconds(run, seconds: float) -> float:
    return timing.least(run, seconds, sample=1e-3) * 1e6


def by_programs(seconds: float) -> dict[int, float]:
    import kernels
    import torch

    cols = 781
    x, out = torch.randn(cols), torch.empty(cols)
    compiled = kernels.softmax[(1,)](out, x, 0, 0, cols, BLOCK=1024)
    if not torch.allclose(out, torch.softmax(x, 0)):
        raise SystemExit("the result of softmax is wrong")
    rest = (*(None,) * 6, out, x, 0, 0, cols, 1024)
    return {n: microseconds(lambda n=n: compiled.run(n, 1, 1, *rest), seconds) for n in PROGRAMS}


def by_elements(seconds: float) -> dict[int, float]:
    import kernels
    import torch

    results = {}
    for n in ELEMENTS:
        x, y, out = torch.randn(n), torch.randn(n), torch.empty(n)
        compiled = kernels.vector_add[(n // 1024,)](x, y, out, n, BLOCK=1024)
        if not torch.equal(out, x + y):
            raise SystemExit("the result of vector_add is wrong")
        values = (n // 1024, 1, 1, *(None,) * 6, x, y, out, n, 1024)
        results[n] = microseconds(lambda values=values, run=compiled.run: run(*values), seconds)
    return results


def draw(programs: dict, elements: dict) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "triton-runner"  # the same file for the same numbers
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, (name, times) in zip(
        axes, (("programs (softmax)", programs), ("elements (vector add)", elements)), strict=True
    ):
        sizes = list(times)
        rate = times[sizes[-1]] / sizes[-1]
        axis.loglog(sizes, list(times.values()), "o-", markersize=3, label="measured")
        axis.loglog(sizes, [rate * n for n in sizes], ":", color="gray", label="proportional")
        axis.set_xlabel(name)
        axis.set_ylabel("microseconds")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(PICTURE, metadata={"Date": None})


def table(programs: dict, elements: dict) -> list[list[str]]:
    left = [[f"{n:,}", f"{t:,.1f}", f"{t / n * 1e3:,.0f}"] for n, t in programs.items()]
    right = [[f"{n:,}", f"{t:,.1f}", f"{t / n * 1e3:.3f}"] for n, t in elements.items()][::2]
    right += [["", "", ""]] * (len(left) - len(right))
    return [[*a, "", *b] for a, b in zip(left, right, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="the picture, and results/bench.json")
    parser.add_argument("--quick", action="store_true", help="a twentieth of a second a size")
    options = parser.parse_args()
    timing.pinned(TRITON_RUNNER_LEVEL="ttir", TRITON_RUNNER_THREADS="1")
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    import triton_runner  # noqa: F401  (makes the CPU Triton's device)

    seconds = 0.05 if options.quick else 0.5
    programs, elements = by_programs(seconds), by_elements(seconds)
    rows = table(programs, elements)
    print(results.markdown(COLUMNS, rows))
    if options.write:
        draw(programs, elements)
        ends = [list(times.items())[-1] for times in (programs, elements)]
        a, b = (time / n * 1e3 for n, time in ends)
        results.record(
            "bench", "scaling", "a launch by its programs and by its elements ([drawn](scaling.svg))",
            "make bench ARGS=--plot", {"result": f"{a:.0f} ns a program of softmax, {b:.2f} ns an element of "
            "vector add, at the most of each"}, table={"columns": COLUMNS, "rows": rows},
        )  # fmt: skip


if __name__ == "__main__":
    main()
