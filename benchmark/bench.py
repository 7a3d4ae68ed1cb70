"""Kernel times on one CPU thread: TTIR, TTGIR and PTX, Triton's interpreter, and torch, in one run.

    python benchmark/bench.py [--write] [--json FILE] [case ...]
    python benchmark/bench.py --reuse --cpu [case ...]     while working on the engine, on a busy machine
    python benchmark/bench.py --plot                       how cost grows (scaling.py)

Each engine is measured by a process of its own (measure.py), one after the other, pinned to one core (two for
the rows of two threads). The exit status is 1 if a result is wrong or slower than what its case asks for.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests"))
from suite import results as kept  # noqa: E402

REFERENCES = ("interpreter", "torch")
ENGINES = (*REFERENCES, "ttir", "ttgir", "ttir-2", "ptx", "ptx-fast")
LEVEL_RATIO, TWO_THREADS = 1.5, 1.8  # wanted
LAUNCH_MICROSECONDS = 5  # wanted
PTX_MILLISECONDS = {"add": 0.08, "matmul-512": 10, "attention": 60}  # wanted of ptx-fast
EXACT_RATIO = 3  # wanted: exact sums of tensor cores take at most so many times as long as fast ones
# glibc then keeps freed blocks: torch's new results of 37 MB cost no page faults.
WARM_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}


def reported(script: str, *words: str, **environment):
    """Runs a script of this folder and returns what it prints as JSON."""
    command = [sys.executable, str(HERE / script), *words]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment
    )
    return json.loads(done.stdout)


def processor() -> str:
    """The CPU's name and its widest vectors."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    flags = fields.get("flags", "").split()
    vectors = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "SSE2"
    return f"{fields.get('model name', 'unknown CPU')}, {vectors}"


def milliseconds(value: float) -> str:
    return f"{value:,.1f}" if value >= 100 else f"{value:.3g}"


def bold(text: str, is_missed: bool) -> str:
    """A figure, in bold where it misses what is wanted."""
    return f"**{text}**" if is_missed else text


def against(ratio: float | None, wanted: float, at_least: bool) -> str:
    """The ratio, if there is one, with what is wanted."""
    if not ratio:
        return ""
    text = f"{ratio:,.0f}x" if at_least else f"{ratio:.2f}"
    text = bold(text, ratio < wanted if at_least else ratio > wanted)
    return f"{text} ({wanted:,.0f})" if at_least else f"{text} ({wanted:.3g})"


def times(entry: dict | None, clock: str) -> str:
    return (
        f"{milliseconds(entry[clock + '_median'])} ({milliseconds(entry[clock + '_min'])})" if entry else ""
    )


class Ratios:
    """The quotients of one row, by the minima."""

    def __init__(self, results: dict, name: str, clock: str):
        def least(engine):
            return results.get(engine, {}).get(name, {}).get(clock + "_min")

        ttir, torch, interpreter = least("ttir"), least("torch"), least("interpreter")
        self.faster = interpreter and ttir and interpreter / ttir
        self.share = torch and ttir and ttir / torch
        self.levels = least("ttgir") and ttir and least("ttgir") / ttir


def table(results: dict, clock: str) -> list[list[str]]:
    """Rows of text, the heading first; times are medians of `clock`, with the minimum in brackets."""
    heading = ["kernel", "size", "interpreter", "torch (its type)", "ttir", "ttir CPU", "ttgir"]
    rows = [[*heading, "ttir against interpreter", "of torch's time", "ttgir of ttir's"]]
    for name, base in results["ttir"].items():
        found = {engine: results.get(engine, {}).get(name) for engine in ENGINES}
        ratios = Ratios(results, name, clock)
        torch = times(found["torch"], clock)
        rows.append([
            base["name"], base["size"], times(found["interpreter"], clock),
            f"{torch} {found['torch']['in']}" if torch else "", times(found["ttir"], clock),
            times(found["ttir"], "cpu"), times(found["ttgir"], clock),
            against(ratios.faster, base["faster"], True), against(ratios.share, base["share"], False),
            against(ratios.levels, LEVEL_RATIO, False),
        ])  # fmt: skip
    return rows


def thread_table(results: dict) -> list[list[str]]:
    """The compute-bound kernels on one and two threads, by wall clock."""
    rows = [["kernel", "size", "one thread", "two threads", "faster", "GFLOP/s of one thread"]]
    for name, two in results.get("ttir-2", {}).items():
        one = results["ttir"].get(name)
        if one is None:
            continue
        ratio = one["wall_min"] / two["wall_min"]
        text = bold(f"{ratio:.2f}", ratio < TWO_THREADS)
        both = times(one, "wall"), times(two, "wall")
        rows.append([two["name"], two["size"], *both, f"{text} ({TWO_THREADS})", f"{one['gflops']:.0f}"])
    return rows


def ptx_table(results: dict, clock: str) -> list[list[str]]:
    """The kernels as PTX for sm_80: tensor cores bit for bit (exact) and summed in f32 (fast)."""
    rows = [["kernel", "size", "interpreter", "exact", "fast", "fast against interpreter", "exact of fast's"]]
    for name, fast in results.get("ptx-fast", {}).items():
        exact = results.get("ptx", {}).get(name)
        interpreter = results.get("interpreter", {}).get(name)
        wanted = PTX_MILLISECONDS.get(name)
        text = times(fast, clock)
        if wanted:
            text = f"{bold(text, fast[clock + '_min'] > wanted)} [{wanted:g}]"
        ratio = exact and exact[clock + "_min"] / fast[clock + "_min"]
        faster = f"{interpreter[clock + '_min'] / fast[clock + '_min']:,.0f}x" if interpreter else ""
        others = times(interpreter, clock), times(exact, clock)
        rows.append([fast["name"], fast["size"], *others, text, faster, against(ratio, EXACT_RATIO, False)])
    return rows


def lane_table(rates: list[dict]) -> list[list[str]]:
    rows = [["code", "G lane-instructions/s", "wanted"]]
    for row in rates:
        text = bold(f"{row['rate'] / 1e9:.1f}", row["rate"] < row["wanted"])
        rows.append([row["code"], text, f"{row['wanted'] / 1e9:g}"])
    return rows


def launch_table(costs: list[dict]) -> list[list[str]]:
    rows = [["empty kernel", "before the first op", "compiled kernel", "triton.jit", "triton_runner.jit"]]
    for cost in costs:
        first = bold(f"{cost['launcher']:.2f}", cost["launcher"] > LAUNCH_MICROSECONDS)
        others = (f"{cost[name]:.2f}" for name in ("compiled", "triton.jit", "triton_runner.jit"))
        rows.append([f"{cost['arguments']} arguments", f"{first} ({LAUNCH_MICROSECONDS})", *others])
    return rows


def failures(results: dict, clock: str) -> list[str]:
    """Returns what is wrong or slower than wanted."""
    found = []
    for name, base in results["ttir"].items():
        for engine in ("ttir", "ttgir", "ttir-2", "ptx", "ptx-fast"):
            entry = results.get(engine, {}).get(name)
            if entry and not entry["right"]:
                found.append(f"{name} at {engine}: off by {entry['difference']:g}")
        ratios = Ratios(results, name, clock)
        if ratios.faster and ratios.faster < base["faster"]:
            found.append(
                f"{name}: {ratios.faster:,.0f} times faster than the interpreter, {base['faster']} wanted"
            )
        if ratios.share and ratios.share > base["share"]:
            found.append(f"{name}: {ratios.share:.2f} of torch's time, at most {base['share']:.3g} wanted")
        if ratios.levels and ratios.levels > LEVEL_RATIO:
            found.append(
                f"{name}: TTGIR takes {ratios.levels:.2f} of TTIR's time, at most {LEVEL_RATIO} wanted"
            )
        two = results.get("ttir-2", {}).get(name)
        if two and base["wall_min"] / two["wall_min"] < TWO_THREADS:
            found.append(f"{name}: {base['wall_min'] / two['wall_min']:.2f} times faster on two threads")
    for name, fast in results.get("ptx-fast", {}).items():
        wanted = PTX_MILLISECONDS.get(name)
        if wanted and fast[clock + "_min"] > wanted:
            found.append(f"{name} as PTX: {fast[clock + '_min']:.3g} ms, at most {wanted:g} wanted")
        exact = results.get("ptx", {}).get(name)
        if exact and exact[clock + "_min"] > EXACT_RATIO * fast[clock + "_min"]:
            found.append(
                f"{name} as PTX: exact takes {exact[clock + '_min'] / fast[clock + '_min']:.1f} times"
            )
    for row in results.get("lanes", []):
        if row["rate"] < row["wanted"]:
            found.append(f"{row['code']}: {row['rate'] / 1e9:.1f} G lane-instructions/s")
    for cost in results.get("launch", []):
        if cost["launcher"] > LAUNCH_MICROSECONDS:
            found.append(
                f"a launch with {cost['arguments']} arguments takes {cost['launcher']:.2f} microseconds"
            )
    return found


def least(text: str) -> str:
    """Returns the minimum of "median (minimum)", with the text before and after both."""
    return re.sub(r"[\d.,]+ \(([\d.,]+)\)", r"\1", text)


def record(results: dict, clock: str) -> None:
    """results/bench.json: the minima, and the quotients; bold: missed."""
    ptx = {tuple(row[:2]): row for row in ptx_table(results, clock)[1:]}
    two = {tuple(row[:2]): row for row in thread_table(results)[1:]}
    rows = []
    for row in table(results, clock)[1:]:
        other, threads = ptx.get(tuple(row[:2])), two.get(tuple(row[:2]))
        quotients = [cell.split(" (")[0] for cell in row[7:9]]
        rows.append([
            f"{row[0]}, {row[1]}", *map(least, (row[2], row[3], row[4], row[6])), *quotients,
            *((least(other[3]), least(other[4]).split(" [")[0]) if other else (None, None)),
            threads[4].split(" (")[0] if threads else None,
        ])  # fmt: skip
    columns = ["kernel", "interpreter", "torch (its type)", "TTIR", "TTGIR", "TTIR against interpreter"]
    columns += ["TTIR of torch's time", "PTX exact", "PTX fast", "faster on two threads"]
    what = "Milliseconds of one pinned thread, the least; bold: less than was asked for"
    what += "" if clock == "wall" else "; CPU time, as other work shared the machine"
    kept.record("bench", "kernels", what, "make bench ARGS=--write", {}, machine=processor(),
                table={"columns": columns, "rows": rows})  # fmt: skip
    if "lanes" in results:
        said = ", ".join(f"{row['code']} {row['rate'] / 1e9:.1f}" for row in results["lanes"])
        what = "instructions of a thread at PTX a second, one core (10^9)"
        kept.record(
            "bench", "lanes", what, "python benchmark/lanes.py", {"result": said}, machine=processor()
        )


def show(rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="into results/bench.json")
    parser.add_argument("--json", type=pathlib.Path, default=HERE.parent / "build" / "bench.json")
    parser.add_argument("--quick", action="store_true", help="a tenth of a second a case")
    parser.add_argument("--reuse", action="store_true", help="interpreter and torch as in the JSON file")
    parser.add_argument("--cpu", action="store_true", help="compare CPU times: for a machine that others use")
    parser.add_argument("--only", nargs="+", choices=ENGINES, metavar="ENGINE", help=" ".join(ENGINES))
    parser.add_argument(
        "--plot", action="store_true", help="measure and draw how cost grows"
    )
    parser.add_argument("cases", nargs="*", help="add, softmax, matmul-512, ... (see cases.py)")
    options = parser.parse_intermixed_args()
    if options.plot:
        return subprocess.run([sys.executable, str(HERE / "scaling.py"), "--write"]).returncode
    clock = "cpu" if options.cpu else "wall"
    kept = json.loads(options.json.read_text())["milliseconds"] if options.json.exists() else {}
    results, quick = {}, ["--quick"] * options.quick
    for engine in options.only or ENGINES:
        known = kept.get(engine, {})
        if options.reuse and engine in REFERENCES and all(c in known for c in options.cases or kept["ttir"]):
            results[engine] = {name: known[name] for name in options.cases or known}
            continue
        print(f"measuring {engine} ...", file=sys.stderr)
        results[engine] = reported("measure.py", engine, *quick, *options.cases, **WARM_ALLOCATOR)
    if not options.cases and not options.only:
        results["launch"] = reported("launch.py", "--json", *quick)
    if "ptx-fast" in results:
        results["lanes"] = reported("lanes.py", "--json", *quick)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    merged = dict(kept)
    for engine, entries in results.items():
        merged[engine] = {**kept.get(engine, {}), **entries} if isinstance(entries, dict) else entries
    options.json.write_text(json.dumps({"processor": processor(), "milliseconds": merged}, indent=1) + "\n")
    if "ttir" not in results:
        results = {**results, "ttir": merged["ttir"]}
    kernels, threads = table(results, clock), thread_table(results)
    print(f"milliseconds of {clock} time on one thread, median (minimum); quotients of minima (wanted)")
    if not options.only or {"ttir", "ttgir"} & set(options.only):
        show(kernels)
    if len(threads) > 1:
        show(threads)
    ptx = ptx_table(results, clock)
    if len(ptx) > 1:
        print("PTX of sm_80 on the SIMT engine")
        show(ptx)
    if "lanes" in results:
        show(lane_table(results["lanes"]))
    if "launch" in results:
        print("microseconds a launch")
        show(launch_table(results["launch"]))
    entries = [e for engine in results.values() if isinstance(engine, dict) for e in engine.values()]
    thrown = sum(e["thrown_away"] for e in entries)
    print(f"{thrown} samples were disturbed and thrown away; all numbers: {options.json}")
    if disturbed := sum(e["disturbed_but_kept"] for e in entries):
        print(
            f"{disturbed} disturbed samples had to be kept: something else uses this machine, measure again"
        )
    if options.write:
        if "launch" not in results or options.only or options.reuse or options.cpu or options.quick:
            parser.error("--write wants everything measured in one run")
        record(results, clock)
    problems = failures(results, clock)
    print("\n".join(problems) if problems else "every result is right, and all that is wanted is reached")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
