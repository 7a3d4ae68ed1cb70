"""Kernels whose classes of equal bits, and what parts them, are known: does `bits` say so?

    python tests/planted/bits.py [TEXT ...] [--write]
    python tests/planted/bits.py --programs [--write]      programs of tests/right: what `bits` says of each

A row is a launch of bits_kernels.py, what is varied, the classes that it must have in the order of the
configurations ("AAB"), and the cause of each parting. What is known comes from the kernels: adding whole
numbers is exact, the layout of a reduction over 4 warps is another one than over 1, and so on.
"""

import argparse
import collections
import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
RIGHT = HERE.parent / "right" / "programs"
sys.path[:0] = [str(HERE), str(HERE.parent)]
import bits_kernels as kernels  # noqa: E402
from suite import results  # noqa: E402

WARPS = "num_warps=1,2,4,8"
REDUCTION, LOOP = "order of a reduction", "order of a loop"


@dataclasses.dataclass(frozen=True)
class Planted:
    """launch: a function of bits_kernels and its keywords; configs, and the other axes, as the command takes
    them; classes, causes: what is right."""

    name: str
    launch: tuple
    axes: dict
    classes: str
    causes: tuple = ()


def _row(name, launch, classes, causes=(), more=None, **axes):
    return Planted(
        name, (launch, more or {}), axes, classes, (causes,) if isinstance(causes, str) else causes
    )


E, R, P = kernels.launch_elementwise, kernels.launch_rows, kernels.launch_product
HALF, SINGLE = {"dtype": torch.float16}, {"dtype": torch.float32}
ROWS = [
    _row("sum of two, by warps", E, "AAAA", configs=WARPS),
    _row("sum of two, by block", E, "AAAA", configs="BLOCK=64,128,512,1024"),
    _row("sum of two, by fusion", E, "AA", fusion=True),
    _row("sum of two, by order", E, "AAA", orders=2, configs="num_warps=4"),
    _row("product of two, by fusion", E, "AA", more={"KIND": "product"}, fusion=True),
    _row("larger of two, by fusion", E, "AA", more={"KIND": "larger"}, fusion=True),
    _row("axpy, by fusion", E, "AB", "contraction", more={"KIND": "axpy"}, fusion=True),
    _row("axpy, by warps", E, "AAAA", more={"KIND": "axpy"}, configs=WARPS),
    _row("polynomial, by fusion", E, "AB", "contraction", more={"KIND": "polynomial"}, fusion=True),
    _row("polynomial, by block", E, "AAA", more={"KIND": "polynomial"}, configs="BLOCK=64,256,1024"),
    _row("exp, by target", E, "AA", more={"KIND": "exp"}, targets="cuda:80,cuda:90"),
    _row("exp, by warps", E, "AAAA", more={"KIND": "exp"}, configs=WARPS),
    _row("division, by warps and block", E, "AAAA", more={"KIND": "divided"},
         configs="num_warps=1,4;BLOCK=128,512"),
    _row("rounded product, by fusion", E, "AA", more={"KIND": "product, then rounded"}, fusion=True),
    _row("random numbers, by block", E, "AAA", more={"KIND": "random"}, configs="BLOCK=64,256,1024"),
    _row("associated otherwise", E, "AB", "operations", configs="KIND=left,right"),
    _row("rounded division or not", E, "AB", "operations", configs="KIND=divided,precise"),
    _row("f32 or f16", E, "AB", "type", configs="KIND=add,narrow"),
    _row("row sum, by warps", R, "ABCD", (REDUCTION,) * 3, configs=WARPS),
    _row("row sum, by stages", R, "AAA", configs="num_stages=1,2,3"),
    _row("row sum, by order", R, "AAA", orders=2, configs="num_warps=4"),
    _row("row sum, by fusion", R, "AA", fusion=True),
    _row("row sum without an axis, by warps", R, "ABCD", (REDUCTION,) * 3, more={"KIND": "sum of all"},
         configs=WARPS),
    _row("row of squares, by fusion", R, "AB", "contraction", more={"KIND": "squares"}, fusion=True),
    _row("row maximum, by warps", R, "AAAA", more={"KIND": "max"}, configs=WARPS),
    _row("row maximum of a function, by warps", R, "AAAA", more={"KIND": "larger"}, configs=WARPS),
    _row("row sum of integers, by warps", R, "AAAA", more={"KIND": "whole numbers"}, configs=WARPS),
    _row("row sum of whole floats, by warps", R, "AAAA", more={"KIND": "exact"}, configs=WARPS),
    _row("cumsum, by warps", R, "AAAA", more={"KIND": "cumsum"}, configs=WARPS),
    _row("cumsum, by layout", kernels.launch_columns, "AB", "order of a scan", configs="TURNED=False,True"),
    _row("sort, by warps", R, "AAA", more={"KIND": "sort"}, configs="num_warps=1,2,4"),
    _row("softmax, by warps", R, "ABCD", (REDUCTION,) * 3, more={"KIND": "softmax"}, configs=WARPS),
    _row("Welford, by warps", R, "ABC", (REDUCTION,) * 2, more={"KIND": "welford"},
         configs="num_warps=1,2,4"),
    _row("layer norm, by warps", R, "ABCD", (REDUCTION,) * 3, more={"KIND": "norm"}, configs=WARPS),
    _row("sums stored by TMA, by warps", kernels.launch_boxes, "AB", REDUCTION, configs="num_warps=2,8"),
    _row("sums stored by TMA, by fusion", kernels.launch_boxes, "AB", "contraction", fusion=True),
    _row("loop, by block", kernels.launch_looped, "ABC", (LOOP,) * 2, configs="BLOCK=128,256,512"),
    _row("loop, by stages", kernels.launch_looped, "AAA", configs="num_stages=1,2,4"),
    _row("scalar loop, by step", kernels.launch_chain, "AB", LOOP, configs="STEP=1,2"),
    _row("f16 product, by warps", P, "AAA", more=HALF, configs="num_warps=2,4,8"),
    _row("f16 product, by K", P, "AAA", more=HALF, configs="BK=16,32,64"),
    _row("f16 product, by tile", P, "AAAA", more=HALF, configs="BM=32,64;BN=32,64"),
    _row("f16 product, by stages", P, "AAA", more=HALF, configs="num_stages=1,2,4"),
    _row("f16 product, by swizzle", P, "AA", more=HALF, configs="GROUP=1,2"),
    _row("f32 product, by precision", P, "AB", "tf32", more=SINGLE, configs="PRECISION=tf32,ieee"),
    _row("f32 product in three parts", P, "AB", "operations", more=SINGLE, configs="PRECISION=tf32,tf32x3"),
    _row("f32 product, ieee, by K", P, "AA", more={**SINGLE, "PRECISION": "ieee"}, configs="BK=16,32"),
    _row("split product", P, "ABC", ("atomics",) * 2, more=HALF, configs="SPLIT=1,2,4"),
    _row("split product, by order", P, "ABC", ("atomics",) * 2, more={**HALF, "SPLIT": 4}, orders=2,
         configs="BM=32"),
    _row("split product, by warps", P, "AAA", more={**HALF, "SPLIT": 2}, configs="num_warps=2,4,8"),
    _row("atomic sums, by order", kernels.launch_counted, "AB", "atomics", orders=1, configs="num_warps=4"),
    _row("atomic maxima, by order", kernels.launch_counted, "AA", more={"KIND": "max"}, orders=1,
         configs="num_warps=4"),
    _row("atomic whole numbers, by order", kernels.launch_counted, "AA", more={"KIND": "exact"}, orders=1,
         configs="num_warps=4"),
    _row("sums under a lock, by order", kernels.launch_locked, "AB", "atomics", orders=1,
         configs="num_warps=4"),
]  # fmt: skip


def measured(planted: Planted):
    """The Launch of a row, as `bits` gives it."""
    from triton_runner import _settings
    from triton_runner._kernel.cells.cells import parse_configs
    from triton_runner._pipeline.constants import constant
    from triton_runner.verbs.bits.program import WatchedBits
    from triton_runner.verbs.bits.variants import Axes

    axes = dict(planted.axes)
    configs = tuple(parse_configs(axes.pop("configs"), constant)) if "configs" in axes else ()
    targets = tuple(axes.pop("targets").split(",")) if "targets" in axes else ()
    comparing = WatchedBits(Axes(configs, targets=targets, **axes))
    with _settings.using(device="cpu", threads=1), comparing.watching():
        planted.launch[0](**planted.launch[1])
    return comparing.result(0).launches[0]


def judged(planted: Planted, launch) -> str:
    """Returns what is wrong; "" where all is right."""
    classes = "".join(row.bits or "-" for row in launch.rows)
    if classes != planted.classes:
        return f"classes {classes}, not {planted.classes}"
    causes = tuple(parting.origins[0].cause for parting in launch.partings)
    if causes != planted.causes:
        return f"causes {causes}, not {planted.causes}"
    return f"contradicted: {launch.contradictions}" if launch.contradictions else ""


TIMED = ("axpy, by warps", "layer norm, by warps", "softmax, by warps", "f16 product, by tile")
FOLDERS = ("attention", "layers", "masked", "products", "sums")
EACH = 3  # programs of a folder
LIMIT = 120  # seconds


def time_of(row: Planted, launch) -> list:
    plain, whole = launch.rows[0].seconds, launch.seconds
    return [row.name, len(launch.rows), len(launch.partings), f"{plain:.3f}", f"{whole:.1f}"]


def programs(write: bool) -> int:
    """Tries what `bits` says of right programs: classes that it parts, and how many of these it explains."""
    launches, causes, odd = 0, collections.Counter(), []
    paths = [path for name in FOLDERS for path in sorted((RIGHT / name).glob("*.py"))[:EACH]]
    for path in paths:
        command = [sys.executable, "-m", "triton_runner", "bits", "--json", "--pretend-cuda"]
        try:
            done = subprocess.run(
                [*command, "--launches", "2", str(path)], capture_output=True, text=True, timeout=LIMIT
            )
            found = json.loads(done.stdout)["launches"] if done.returncode in (0, 1) else []
        except subprocess.TimeoutExpired:
            found = []
        if not found:
            odd.append(f"{path.stem}: nothing in {LIMIT} s, or an error")
        launches += len(found)
        for launch in found:
            causes.update(parting["origins"][0]["cause"] for parting in launch["partings"])
            odd += [f"{launch['kernel']}: {labels}" for labels in launch["contradictions"]]
        print(
            path.stem, [(one["kernel"], len(one["rows"]), len(one["partings"])) for one in found], flush=True
        )
    said = ", ".join(f"{n} {cause}" for cause, n in causes.most_common())
    result = f"{launches} launches of {len(paths)} programs; two classes part: {said or 'never'}"
    print(result, *odd, sep="\n")
    if write:
        what = (
            f"right programs, {len(odd)} odd" if odd else "right programs; no static class was contradicted"
        )
        results.record(
            "bits", "programs", f"{what}, each launch in six configurations",
            "python tests/planted/bits.py --programs --write", {"result": result},
        )  # fmt: skip
    return int(bool(odd))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="rows whose name has one of these")
    parser.add_argument("--write", action="store_true", help="into results/bits.json")
    parser.add_argument("--show", action="store_true", help="what parts the classes")
    parser.add_argument("--programs", action="store_true", help="right programs instead")
    given = parser.parse_args()
    if given.programs:
        return programs(given.write)
    rows = [row for row in ROWS if not given.names or any(text in row.name for text in given.names)]
    wrong, table, times = 0, [], []
    for row in rows:
        started = time.perf_counter()
        launch = measured(row)
        said, seconds = judged(row, launch), time.perf_counter() - started
        wrong += bool(said)
        print(
            f"{'wrong' if said else 'right'}  {row.name}: {said or row.classes} ({seconds:.1f} s)", flush=True
        )
        for parting in launch.partings if given.show or said else ():
            for origin in parting.origins:
                print(
                    f"         {parting.labels} {origin.op}:{origin.line} {origin.cause}: {origin.evidence}"
                )
        times += [time_of(row, launch)] if row.name in TIMED else []
        table.append([row.name, row.classes, ", ".join(dict.fromkeys(row.causes)), said])
    print(f"{len(rows) - wrong} of {len(rows)} right")
    if given.write and not given.names:
        results.record(
            "bits", "planted", "kernels whose classes and causes are known, told so by `bits`",
            "python tests/planted/bits.py --write", {"result": f"{len(rows) - wrong} of {len(rows)}"},
            table={"columns": ["kernel and what varies", "classes", "cause", "wrong"], "rows": table},
        )  # fmt: skip
    if given.write and len(times) == len(TIMED):
        results.record(
            "bits", "time", "`bits` beside one plain launch at PTX, in seconds, while other work was running",
            "python tests/planted/bits.py --write", {"result": f"{len(times)} kernels"},
            table={"columns": ["kernel", "configurations", "partings", "a launch", "bits"], "rows": times},
        )  # fmt: skip
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
