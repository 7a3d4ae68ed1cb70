"""Runs all of Triton's Gluon tests, at every level and target asked for, and goes on where it stopped.

    python tests/conformance/whole.py build/gluon-tests/gluon --releases 3.9.0 next --jobs 16 --limit 3600
    python tests/conformance/whole.py build/gluon-tests/gluon --cost    # runs nothing: done and left

A results file of run.py stands in --results for each release, level and target. PTX comes before cubin, which
takes over its LLIR. The table says how many tests there are, how many have an outcome, and what the rest will
take, by what the same function's took so far.
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import time

import report

HERE = pathlib.Path(__file__).resolve().parent
FILES = "test_core,test_lowerings"


def seconds_left(results: report.Results) -> float:
    """CPU seconds, about, that the tests without an outcome take."""
    took, left = collections.defaultdict(list), collections.Counter()
    for test, record in results.tests.items():
        if record["outcome"] == "not run":
            left[report.function_of(test)] += 1
        else:
            took[report.function_of(test)].append(record.get("seconds", 0))
    known = [one for each in took.values() for one in each]
    return sum(
        count * (sum(of) / len(of) if (of := took.get(function) or known) else 0)
        for function, count in left.items()
    )


def row(name: str, path: pathlib.Path) -> str:
    if not path.exists():
        return f"{name:28} not begun"
    results = report.Results(path)
    counts = sum(results.counts(report.file_of).values(), collections.Counter())
    spent = sum(record.get("seconds", 0) for record in results.tests.values())
    failed = counts["failed"] + counts["crashed"]
    return (
        f"{name:28} {sum(counts.values()):6} tests, {counts['passed']:6} passed, {failed:4} failed, "
        f"{counts['skipped']:6} skipped, {counts['not run']:6} left: {spent:7.0f} s so far, "
        f"{seconds_left(results):7.0f} s to come"
    )


def by_function(path: pathlib.Path) -> list[str]:
    """One line a function: its parametrisations, those that ran, seconds a test."""
    if not path.exists():
        return []
    groups = collections.defaultdict(list)
    for test, record in report.Results(path).tests.items():
        groups[report.function_of(test)].append(record)
    lines = []
    for function, records in sorted(groups.items(), key=lambda item: -len(item[1])):
        ran = [r.get("seconds", 0) for r in records if r["outcome"] in ("passed", "failed")]
        mean = f"{sum(ran) / len(ran):8.2f} s" if ran else " " * 10
        lines.append(f"  {len(records):6} {len(ran):6} {mean}  {function}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="what gluon_tests.py wrote")
    parser.add_argument("--releases", nargs="+", default=["3.9.0", "next"])
    parser.add_argument("--targets", nargs="+", default=["cuda:90", "cuda:100"])
    parser.add_argument("--levels", nargs="+", default=["ttgir", "ptx", "cubin"])
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--limit", type=float, default=3600, help="seconds in all")
    parser.add_argument("--results", type=pathlib.Path, default=HERE.parents[1] / "build/gluon-results")
    parser.add_argument(
        "--cost", action="store_true", help="show counts and seconds of each function, run nothing"
    )
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    until, failed, rows = time.time() + options.limit, False, []
    for release in options.releases:
        # gluon_tests.py wrote a copy without what the next release has no more.
        folder = options.folder.parent / "next" / "gluon" if release == "next" else options.folder
        for target in options.targets:
            for level in options.levels:
                name = f"{release}-{level}-{target.replace(':', '-')}"
                path = options.results / f"{name}.jsonl"
                seconds = until - time.time()
                if not options.cost and seconds > 30:
                    command = [sys.executable, HERE / "run.py", folder, "--all", "--level", level]
                    command += ["--target", target, "--files", FILES]
                    command += ["--jobs", options.jobs, "--limit", seconds, "--results", path]
                    command += ["--kept", options.results / f"llir-{release}-{target.replace(':', '-')}"]
                    command += [] if release == report.version("triton") else ["--release", release]
                    failed |= (
                        subprocess.run(
                            [*map(str, command)], stdout=subprocess.DEVNULL, check=False
                        ).returncode
                        != 0
                    )
                rows.append(row(name, path))
                print("\n".join([rows[-1], *(by_function(path) if options.cost else [])]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
