"""Run Triton's own Python tests (say, a checkout's python/test/unit/language) on the CPU engines.

The tests run unmodified, each file in a process of its own, on CPU tensors. Prints passed, failed and
skipped for each test function, the commonest reasons, and a closing line; the exit status says whether any
failed.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
OUTCOMES = ("passed", "failed", "skipped", "crashed", "not run")


def conftest_root(folder: pathlib.Path) -> pathlib.Path:
    """The highest folder above the tests that still has a conftest.py."""
    root = folder if folder.is_dir() else folder.parent
    while (root.parent / "conftest.py").exists():
        root = root.parent
    return root


def whole_file(path: pathlib.Path, outcome: str, why: str) -> dict:
    """A record for a file of which no test could be told."""
    return {"group": path.name, "test": path.name, "outcome": outcome, "why": why}


def run_file(
    path: pathlib.Path, options: argparse.Namespace, until: float, scratch: pathlib.Path
) -> list[dict]:
    """The last record of each test of one file; a test that took the process down is 'crashed'."""
    results = scratch / (path.stem + ".jsonl")
    records: dict[str, dict] = {}
    deselect: list[str] = []
    while time.time() < until:
        results.unlink(missing_ok=True)
        environment = os.environ | {
            "CONFORMANCE_RESULTS": str(results),
            "CONFORMANCE_EACH": str(options.each),
            "CONFORMANCE_UNTIL": str(until),
            "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TRITON_RUNNER_PROD": "1",
            "TRITON_RUNNER_DEVICE": "cpu",
            "TRITON_RUNNER_LEVEL": options.level,
            "TRITON_RUNNER_TARGET": options.target,
            "TRITON_CACHE_DIR": str(scratch / "cache"),
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "plugin",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
            "--rootdir",
            str(conftest_root(path)),
            "--confcutdir",
            str(conftest_root(path)),
            "--tb=no",
            "-o",
            f"timeout={options.timeout}",
            "-c",
            os.devnull,
            "--device",
            "cpu",
        ]
        command += [] if options.all else ["-m", "interpreter"]
        command += ["-k", options.keyword] if options.keyword else []
        command += [part for name in deselect for part in ("--deselect", name)]
        log = scratch / (path.stem + ".log")
        with log.open("w") as out:
            status = subprocess.run(
                [*command, str(path)],
                env=environment,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
        lines = results.read_text().splitlines() if results.exists() else []
        records |= {(record := json.loads(line))["test"]: record for line in lines}
        # 0 to 5 are pytest's own; else the process died, and the tests behind the crash still want to run.
        if 0 <= status <= 5:
            if status in (2, 3, 4):
                print(f"{path.name}: pytest could not run it:\n{log.read_text()[-2000:]}")
                records[path.name] = whole_file(path, "failed", "collection")
            break
        started = [record for record in records.values() if record["outcome"] == "started"]
        if not started:
            records[path.name] = whole_file(path, "crashed", f"status {status}")
            break
        for record in started:
            record.update(outcome="crashed", why=f"the process ended with status {status}")
        deselect = list(records)
    return list(records.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="a folder of tests, or one test file")
    parser.add_argument("--level", default="ttir", choices=["ttir", "ttgir"])
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--limit", type=float, default=900, help="seconds in all")
    parser.add_argument("--each", type=int, default=8, help="parametrisations of each test function; 0: all")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a test")
    parser.add_argument("--all", action="store_true", help="also tests without Triton's marker 'interpreter'")
    parser.add_argument("--keyword", "-k", default="", help="as pytest -k")
    parser.add_argument("--json", type=pathlib.Path, help="write every test's outcome here")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if not folder.exists():
        parser.error(f"{options.folder} is not there")
    files = sorted(folder.rglob("test_*.py")) if folder.is_dir() else [folder]
    if not files:
        parser.error(f"{options.folder} holds no test_*.py")

    until = time.time() + options.limit
    with tempfile.TemporaryDirectory() as scratch:
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            jobs = [pool.submit(run_file, path, options, until, pathlib.Path(scratch)) for path in files]
            records = [record for job in jobs for record in job.result()]

    groups: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for record in records:
        groups[record["group"]][record["outcome"]] += 1
    print("".join(f"{outcome:>9}" for outcome in OUTCOMES) + "  test")
    for group, counts in sorted(groups.items()):
        print("".join(f"{counts[outcome] or '':>9}" for outcome in OUTCOMES) + f"  {group}")
    for outcome in ("failed", "crashed", "skipped"):
        reasons = collections.Counter(record["why"] for record in records if record["outcome"] == outcome)
        if reasons:
            print(f"{outcome}, the commonest reasons:")
            print("\n".join(f"{n:9}  {why}" for why, n in reasons.most_common(12)))
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n")
    total = collections.Counter(record["outcome"] for record in records)
    failed = total["failed"] + total["crashed"]
    if total["not run"]:
        print(f"{total['not run']} were not run: the limit of {options.limit:g} s")
    print(f"{total['passed']} passed, {failed} failed, {total['skipped']} skipped")
    return 1 if failed or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
