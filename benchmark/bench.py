"""Kernel times on one CPU thread: the engines at TTIR and TTGIR, Triton's interpreter, and torch, in one run.

    python benchmark/bench.py [--write] [--json FILE] [case ...]

Each engine is measured by a process of its own (measure.py), one after the other, pinned to one core. The
exit status is 1 if a result is wrong or a speed-up that a case names is not reached.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "doc" / "performance.md"
BEGIN, END = "<!-- begin: make bench ARGS=--write -->", "<!-- end -->"
ENGINES = ("interpreter", "torch", "ttir", "ttgir")


def measured(engine: str, cases: list[str]) -> dict:
    """What measure.py reports for one engine."""
    done = subprocess.run(
        [sys.executable, str(HERE / "measure.py"), engine, *cases],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
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


def table(results: dict[str, dict]) -> list[list[str]]:
    """Rows of text, the heading first; times are medians of wall clock, with the minimum in brackets."""
    rows = [["kernel", "size", *ENGINES, "ttir / interpreter", "ttgir / interpreter", "wanted"]]
    for name, base in results[ENGINES[0]].items():
        times = {engine: results[engine][name] for engine in ENGINES}
        cells = [f"{milliseconds(t['wall_median'])} ({milliseconds(t['wall_min'])})" for t in times.values()]
        ratios = [times["interpreter"]["wall_min"] / times[level]["wall_min"] for level in ("ttir", "ttgir")]
        wanted = f"{base['wanted']}x" if base["wanted"] else ""
        rows.append([base["name"], base["size"], *cells, *(f"{ratio:,.0f}x" for ratio in ratios), wanted])
    return rows


def failures(results: dict[str, dict]) -> list[str]:
    """What is wrong or slower than wanted."""
    found = []
    for name, base in results["interpreter"].items():
        for engine in ("interpreter", "ttir", "ttgir"):
            entry = results[engine][name]
            if not entry["right"]:
                found.append(f"{name} at {engine}: off by {entry['difference']:g}")
        ratio = base["wall_min"] / results["ttir"][name]["wall_min"]
        if base["wanted"] and ratio < base["wanted"]:
            found.append(f"{name}: {ratio:,.0f} times faster than the interpreter, {base['wanted']} wanted")
    return found


def write_page(rows: list[list[str]]) -> None:
    """Replaces the part of doc/performance.md between the markers."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    tail = rest.split(END, 1)[1]
    note = f"Milliseconds, median (minimum), one pinned thread of {processor()}, {datetime.date.today()}."
    PAGE.write_text(head + BEGIN + "\n" + note + "\n\n" + "\n".join(lines) + "\n" + END + tail)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the table into doc/performance.md")
    parser.add_argument("--json", type=pathlib.Path, default=HERE.parent / "build" / "bench.json")
    parser.add_argument(
        "cases", nargs="*", help="add, softmax, matmul-512, matmul-1024, layer-norm, attention"
    )
    options = parser.parse_args()
    results = {}
    for engine in ENGINES:
        print(f"measuring {engine} ...", file=sys.stderr)
        results[engine] = measured(engine, options.cases)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"processor": processor(), "milliseconds": results}, indent=1) + "\n")
    rows = table(results)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    print("milliseconds of wall clock on one thread, median (minimum); torch computes in f32")
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    thrown = sum(entry["thrown_away"] for engine in results.values() for entry in engine.values())
    print(f"{thrown} samples were disturbed and thrown away; all numbers: {options.json}")
    disturbed = sum(entry["disturbed_but_kept"] for engine in results.values() for entry in engine.values())
    if disturbed:
        print(
            f"{disturbed} disturbed samples had to be kept: something else uses this machine, measure again"
        )
    if options.write:
        write_page(rows)
    problems = failures(results)
    print("\n".join(problems) if problems else "every result is right, and every speed-up wanted is reached")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
