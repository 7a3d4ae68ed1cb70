"""How the cost of a launch grows: with its programs, its elements, the trips of a loop, warps and threads.

    python benchmark/scaling.py [--write] [--quick] [--only programs trips ...]
    python benchmark/scaling.py --draw                   the picture again, of results/bench.json

Each engine has a process of its own (in_turn.py), and those that are left take turns at each size: an engine
leaves an axis where a launch takes longer than LONGEST seconds. Programs are those of softmax, all on one row
of 128, so that nothing but their number changes; elements are added, 1,024 a program; trips are those of
layer norm's loops, 1,024 elements each, in one program; warps are those that softmax has for a row of 8,192;
threads those of this process, for a product of 1,024 (wall clock, no interpreter). PTX and machine code are
for cuda:80, products fast.
--write records the figures in results/bench.json and draws doc/measurements/scaling.svg (with matplotlib).
"""

import argparse
import math
import os
import pathlib

import in_turn

HERE = pathlib.Path(__file__).resolve().parent
PICTURE = HERE.parent / "doc" / "measurements" / "scaling.svg"
ENGINES = ("interpreter", "torch", "ttir", "ttgir", "ptx-fast", "cubin-fast")
AXES = {
    "programs": [10**k for k in range(7)],
    "elements": [1 << k for k in range(10, 25, 2)],
    "trips": [1 << k for k in range(0, 13, 2)],
    "warps": [1, 2, 4, 8, 16, 32],
    "threads": [1 << k for k in range(len(os.sched_getaffinity(0)).bit_length())],
}
LONGEST = 2.0
LONG = 0.2  # seconds of a launch, beyond which one turn is enough
STRAIGHT = 0.15  # a line is straight where its slope in logarithms is 1 up to this


def by_size(axis: str, engines, rounds: int) -> dict[str, list]:
    """Milliseconds of each engine at each size, the least; None where it was left out."""
    sizes = AXES[axis]
    found: dict[str, list] = {engine: [None] * len(sizes) for engine in engines}
    workers = {engine: in_turn.Worker(engine, "best", "cuda:80") for engine in engines}
    for place, size in enumerate(sizes):
        if place == 0 and "interpreter" in workers:  # which some versions of NumPy stop
            try:
                workers["interpreter"].ask(f"case {axis}:{size}")
            except SystemExit as ended:
                print(f"left out: {ended}")
                workers.pop("interpreter")
        asked = list(workers.values())
        growth = size / sizes[max(place - 1, 0)]
        expected = max(found[worker.title][max(place - 1, 0)] or 0 for worker in asked) * growth
        _, samples = in_turn.measured(asked, f"{axis}:{size}", 1 if expected > LONG * 1e3 else rounds)
        for worker, times in zip(asked, samples, strict=True):
            found[worker.title][place] = times[0]
        following = sizes[min(place + 1, len(sizes) - 1)] / size
        for engine in [one for one in workers if found[one][place] * following > LONGEST * 1e3]:
            workers.pop(engine).close()
    for worker in workers.values():
        worker.close()
    return found


def by_threads(engines, rounds: int) -> dict[str, list]:
    found: dict[str, list] = {engine: [] for engine in engines if engine != "interpreter"}
    for cores in AXES["threads"]:
        workers = [in_turn.Worker(engine, "best", "cuda:80", cores=cores) for engine in found]
        _, samples = in_turn.measured(workers, "matmul-1024-large", rounds)
        for worker, times in zip(workers, samples, strict=True):
            found[worker.title].append(times[0])
            worker.close()
    return found


def straight(sizes: list[int], times: list) -> tuple[int, int, float] | None:
    """The first and the last size of the longest stretch that grows as its sizes do, and the nanoseconds of
    one more there; None without a stretch of three sizes."""
    known = [(n, t) for n, t in zip(sizes, times, strict=True) if t is not None]
    best, begin = None, 0
    for k in range(1, len(known)):
        (n, t), (m, u) = known[k - 1], known[k]
        if abs(math.log(u / t) / math.log(m / n) - 1) > STRAIGHT:
            begin = k
        elif k - begin >= 2 and (best is None or k - begin > best[1] - best[0]):
            best = begin, k
    if best is None:
        return None
    (n, t), (m, u) = known[best[0]], known[best[1]]
    return n, m, (u - t) / (m - n) * 1e6


def described(axis: str, times: list) -> str:
    """A cell of the table: what one more costs on the straight stretch; of threads how much quicker all
    are."""
    if axis == "threads":
        return f"{times[0] / times[-1]:.1f} times on {AXES[axis][len(times) - 1]}"
    if axis == "warps":
        known = [one for one in times if one is not None]
        return f"{known[0]:.3g} to {known[-1]:.3g} ms" if known else ""
    line = straight(AXES[axis], times)
    return f"{line[2]:,.3g} ns, {line[0]:,} to {line[1]:,}" if line else "no straight stretch"


def draw(data: dict[str, dict]) -> None:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    matplotlib.rcParams["svg.hashsalt"] = "triton-runner"  # the same file for the same numbers
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(12, 7), layout="constrained")
    colors = dict(zip(ENGINES, ("gray", "black", "C0", "C2", "C1", "C3"), strict=True))
    for panel, (axis, found) in zip(axes.flat, data.items(), strict=False):
        for engine, times in found["milliseconds"].items():
            known = [(n, t) for n, t in zip(found["sizes"], times, strict=True) if t is not None]
            if known:
                line = zip(*known, strict=True)
                panel.loglog(*line, "o-", markersize=3, color=colors[engine], label=engine)
        panel.set_xlabel(axis)
        panel.set_ylabel("milliseconds")
        panel.grid(alpha=0.3)
    axes.flat[0].legend()
    for panel in axes.flat[len(data) :]:
        panel.set_axis_off()
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="results/bench.json and the picture")
    parser.add_argument("--draw", action="store_true", help="the picture of what was recorded, and no more")
    parser.add_argument("--quick", action="store_true", help="a single turn a size")
    parser.add_argument("--only", nargs="+", choices=AXES, default=list(AXES), metavar="AXIS")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES, metavar="ENGINE")
    options = parser.parse_args()
    if options.draw:
        return draw(in_turn.kept.read("bench")["scaling"]["data"])
    rounds, data, rows = 1 if options.quick else 5, {}, []
    print("| grows with | " + " | ".join(options.engines) + " |\n|" + "---|" * (len(options.engines) + 1))
    for axis in options.only:
        if axis == "threads":
            found = by_threads(options.engines, rounds)
        else:
            found = by_size(axis, options.engines, rounds)
        data[axis] = {"sizes": AXES[axis], "milliseconds": found}
        rows.append([axis, *(described(axis, found[one]) if one in found else "" for one in options.engines)])
        print("| " + " | ".join(rows[-1]) + " |", flush=True)
    if options.write:
        in_turn.kept.record(
            "bench", "scaling", "What one more costs where the line is straight, and where that is",
            "make bench ARGS=--plot", {}, data=data,
            table={"columns": ["grows with", *options.engines], "rows": rows},
        )  # fmt: skip
        draw(data)


if __name__ == "__main__":
    main()
