"""make coverage: which lines and conditions of the files in files.txt no test reaches. Each has a reason in
unreached.txt, or this fails.

    python tests/coverage/run.py                      everything: builds, runs, reports
    python tests/coverage/run.py --parts cases        runs these only; counts add up until --fresh
    python tests/coverage/run.py --parts              reports what was counted

Counting is compiled into those files alone, unoptimised, so that each line is itself; all else is as in a
release.
"""

import argparse
import collections
import fnmatch
import os
import pathlib
import subprocess
import sys

from gcov import Line, counted

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from suite import results  # noqa: E402
from suite.run import Case, execute  # noqa: E402
from suite.site import package_site  # noqa: E402

BUILD = ROOT / "build" / "coverage"
CPU_LIMIT = 36_000  # seconds of one command
SITE = BUILD / "site"
PYTHON_TESTS = ["-q", "-p", "no:cacheprovider", "--deselect", "tests/python/package/test_packaging.py"]
KERNELS = ["--jobs", "2", "--kind", "operations", "addresses", "addresses", "products"]
KERNELS += ["--target", "cuda:80", "cuda:90", "cuda:100"]

PARTS = {
    "unit": [[str(BUILD / "tile_test")], [str(BUILD / "simt_test")]],
    "cases": [
        [sys.executable, "tests/run_cases.py", "--tool", str(BUILD / "tests/tools/case_tool")],
        [sys.executable, "tests/run_cases.py", "--tool", str(BUILD / "tests/tools/case_tool"),
         "--checks", "oob,nan,uninit,race"],
    ],
    "differential": [[sys.executable, "tests/differential/run.py", *KERNELS, "--seeds", "0", "200"]],
    "conformance": [
        [sys.executable, "-m", "pytest", *PYTHON_TESTS, "tests/python/package/test_conformance.py"]
    ],
    "python": [[sys.executable, "-m", "pytest", *PYTHON_TESTS, "tests/python"]],
}  # fmt: skip


def build(jobs: int) -> None:
    definitions = [f"-D{name}=ON" for name in ("TRITON_RUNNER_TESTS", "TRITON_RUNNER_COVERAGE")]
    log = BUILD / "build.log"
    BUILD.mkdir(parents=True, exist_ok=True)
    commands = [
        [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            ".",
            "-B",
            str(BUILD),
            f"-DPython_EXECUTABLE={sys.executable}",
            *definitions,
        ],
        ["ninja", "-C", str(BUILD), "-j", str(jobs), "_core", "case_tool", "tile_test", "simt_test"],
    ]
    # This environment's cmake: another one orders flags differently, and ccache finds nothing.
    path = os.pathsep.join((str(pathlib.Path(sys.executable).parent), os.environ["PATH"]))
    with log.open("w") as out:
        for command in commands:
            done = subprocess.run(
                command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, check=False,
                env=os.environ | {"PATH": path},
            )  # fmt: skip
            if done.returncode:
                sys.exit(f"the build failed: {log}")
    package_site(ROOT, BUILD, SITE)


def run(part: str) -> bool:
    """Its output goes to build/coverage/<part>.log, its last line here."""
    log, good = BUILD / f"{part}.log", True
    with log.open("w") as out:
        for command in PARTS[part]:
            done = execute(Case(part, command, {"PYTHONPATH": str(SITE)}, ROOT, CPU_LIMIT))
            out.write(done.output + done.errors)
            good &= not done.how
    last = (log.read_text().strip().splitlines() or [""])[-1]
    print(f"{part}: {last}" + ("" if good else f" ({log.relative_to(ROOT)})"), flush=True)
    return good


def read_reasons(path: pathlib.Path) -> dict[tuple[str, str], str]:
    """By file and text of a line: `file: reason`, then indented lines as they stand in the file. One that
    begins with `open: ` says what a test would have to do."""
    reasons, file, reason = {}, "", ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            reasons[file, line.strip()] = reason
            continue
        file, _, reason = line.partition(": ")
        if not reason:
            sys.exit(f"{path}:{number}: expected `file: reason`")
    return reasons


def report(files: dict[str, dict[int, Line]], reasons: dict[tuple[str, str], str], write: bool) -> int:
    """Prints a row a file and every line that nothing reaches and nobody explained; the number of these."""
    patterns = [p for p in (HERE / "files.txt").read_text().splitlines() if p.startswith("src")]
    totals, missing, used, rows = collections.Counter(), [], set(), []
    print(f"{'file':34}{'lines':>7}{'unreached':>11}{'ways':>7}{'unreached':>11}")
    for file in sorted(f for f in files if any(fnmatch.fnmatch(f, p) for p in patterns)):
        text, lines = (ROOT / file).read_text().splitlines(), files[file]
        row = [
            len(lines), sum(x.count == 0 for x in lines.values()),
            sum(len(x.ways) for x in lines.values()), sum(x.ways.count(0) for x in lines.values()),
        ]  # fmt: skip
        totals.update(dict(enumerate(row)))
        rows.append([file, *row])
        print(f"{file:34}{row[0]:7}{row[1]:11}{row[2]:7}{row[3]:11}")
        explained = False  # the line before: what follows it and never runs has its reason
        for number, line in sorted(lines.items()):
            written = text[number - 1].strip()
            if not line.unreached() or written in ("}", "{"):
                explained = False
                continue
            explained = (file, written) in reasons or (explained and line.count == 0)
            if explained:
                used.add((file, written))
                continue
            which = (
                "never runs" if line.count == 0 else f"ways {[i for i, n in enumerate(line.ways) if not n]}"
            )
            missing.append(f"{file}:{number}: {which} of {len(line.ways)}: {written}")
    print(f"{'':34}{totals[0]:7}{totals[1]:11}{totals[2]:7}{totals[3]:11}")
    for file, written in reasons:
        if written not in (ROOT / file).read_text():
            print(f"unreached.txt: {file} has no line {written!r}: take it out")
    still_open = sum(reasons.get(line, "").startswith("open: ") for line in used)
    if write:
        said = f"{totals[1]} of {totals[0]:,} lines and {totals[3]} of {totals[2]:,} ways; of these places "
        said += f"{len(used)} have their reason in `tests/coverage/unreached.txt`, {len(missing)} have none"
        results.record(
            "coverage",
            "engines",
            "lines and ways out of conditions that unit tests, golden cases and 200 random kernels miss",
            "make coverage", {"result": said},
            table={"columns": ["file", "lines", "unreached", "ways", "unreached"], "rows": rows},
        )  # fmt: skip
    print(f"{len(used)} lines are explained in unreached.txt, {still_open} of them as open")
    print("\n".join(missing))
    return len(missing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=[p for p in PARTS if p != "conformance"])
    parser.add_argument("--fresh", action="store_true", help="forget what was counted before")
    parser.add_argument("--write", action="store_true", help="into results/coverage.json")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    build(options.jobs)
    if options.fresh:
        for counts in BUILD.rglob("*.gcda"):
            counts.unlink()
    failed = [part for part in options.parts if not run(part)]
    missing = report(counted(BUILD, ROOT), read_reasons(HERE / "unreached.txt"), options.write)
    if missing:
        print(f"{missing} lines are unreached without a reason: add a case, take them out, or say why")
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())
