"""Run Triton's own Python tests (say, a checkout's python/test/unit/language) on the CPU engines.

The tests run unmodified, on CPU tensors, in processes of their own: one that dies or does not end costs the
test that it was at. Outcomes go to a results file, one JSON line a test, and a run that finds such a file
goes on from there. Prints what passed, failed, was skipped, crashed and was not run, by file, by function and
by reason (report.py); the exit status says whether anything failed.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import report

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from suite.run import Case, execute

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NO_LIMIT = 10**6  # seconds


def conftest_root(folder: pathlib.Path) -> pathlib.Path:
    """The highest folder above the tests that has a conftest.py; folders between may have none."""
    root = folder if folder.is_dir() else folder.parent
    return next((place for place in reversed(root.parents) if (place / "conftest.py").exists()), root)


def commit() -> str:
    """Returns what the working tree is at, for the record of the run."""
    git = lambda *words: subprocess.run(  # noqa: E731
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "-uno") else "")


def environment(options: argparse.Namespace, settings: dict, scratch: pathlib.Path) -> dict[str, str]:
    cores = max(1, len(os.sched_getaffinity(0)) // options.jobs)
    place = scratch / f"settings-{settings['shard'][0]}.json"
    place.write_text(json.dumps(settings))  # thousands of tests' names are too long for a variable
    names = os.environ | {
        "CONFORMANCE": str(place),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [str(HERE), options.site, os.environ.get("PYTHONPATH", "")])
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": str(cores),
        "TRITON_CACHE_DIR": str(options.cache or scratch / "cache"),
    }
    if options.interpreter:
        return names | {"TRITON_INTERPRET": "1"}
    if options.driver:
        from triton_runner._programs import cuda_device

        names |= cuda_device.own_driver_environment(options.target)
    return names | {
        "TRITON_RUNNER_PROD": "1",
        "TRITON_RUNNER_DEVICE": "cpu",
        "TRITON_RUNNER_LEVEL": options.level,
        "TRITON_RUNNER_TARGET": options.target,
        "TRITON_RUNNER_THREADS": os.environ.get("TRITON_RUNNER_THREADS", str(cores)),
        "TRITON_RUNNER_TIMEOUT": str(options.timeout * 0.8),
    }


def last_of(results: pathlib.Path, worker: int, begin: int) -> tuple[dict | None, bool]:
    """The test that the worker has open, and whether it came to its end, by the records from byte `begin`."""
    started, ended = None, False
    with results.open("rb") as file:
        file.seek(begin)
        for line in file:
            record = json.loads(line)
            if record.get("worker") != worker:
                continue
            ended = ended or "ended" in record
            if record.get("outcome") == "started":
                started = record
            elif "test" in record:
                started = None
    return started, ended


def how_it_ended(status: int, seconds: float, options: argparse.Namespace) -> str:
    if seconds >= options.timeout:
        return f"no end within {options.timeout:g} s"
    if status < 0:
        return f"the process was ended by {signal.Signals(-status).name}"
    return f"the process ended with status {status}"


def worker(number: int, options: argparse.Namespace, files: list, scratch: pathlib.Path) -> bool:
    """Run one share of the tests, restarting behind each crash. False: pytest itself could not run."""
    settings = {
        "results": str(options.results), "shard": [number, options.jobs], "each": options.each,
        "only": str(options.only.absolute()) if options.only else "",
        "again": ["started"], "until": options.until, "timeout": options.timeout,
        "interpreter": options.interpreter, "pretend_cuda": options.device == "cuda",
        "site": options.site, "module": options.module,
        "kept": str(options.kept.absolute()) if options.kept else "",
    }  # fmt: skip
    root = str(conftest_root(options.folder))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "plugin", "-p", "no:cacheprovider"]
    command += ["-p", "no:timeout", "-W", "ignore", "--rootdir", root, "--confcutdir", root, "-c", os.devnull]
    command += ["--continue-on-collection-errors", "--device", options.device]
    command += ["-m", "interpreter"] if options.marked else []
    command += ["-k", options.keyword] if options.keyword else []
    command += map(str, files)
    # The plug-in ends a test that takes too long: the process has no limit of its own.
    case = Case(f"worker {number}", command, environment(options, settings, scratch), scratch, NO_LIMIT,
                options.memory)  # fmt: skip
    while time.time() < options.until:
        begin = options.results.stat().st_size
        done = execute(case)
        started, ended = last_of(options.results, number, begin)
        if started:
            why = how_it_ended(done.status, time.time() - started["at"], options)
            record = {"test": started["test"], "outcome": "crashed", "why": why}
            with options.results.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(f"{started['test']}: {why}", flush=True)
        elif ended:
            return True
        else:
            print(f"pytest could not run ({done.how}):\n{(done.output + done.errors)[-3000:]}", flush=True)
            return False
    return True


def choose_release(options: argparse.Namespace) -> None:
    """Sets the folder and the module of the Triton of the tests; "" and "triton": the one at hand."""
    options.site, options.module = "", "triton"
    if options.release:
        from triton_runner._base import releases
        from triton_runner._pipeline import versions

        [options.release] = versions.expand(options.release)
        options.site = versions.ensure(options.release)[0] or ""
        row = releases.distribution_of(options.release)
        options.module = row.module if row else "triton"


def run(options: argparse.Namespace, files: list[pathlib.Path]) -> bool:
    header = {
        "commit": commit(), "level": "interpreter" if options.interpreter else options.level,
        "target": "" if options.interpreter else options.target, "device": options.device,
        "triton": options.release or report.version("triton"), "torch": report.version("torch"),
        "each": options.each, "marked": options.marked,
        "at": datetime.datetime.now().isoformat(timespec="seconds"),
    }  # fmt: skip
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with options.results.open("a") as file:
        file.write(json.dumps({"run": header}) + "\n")
    with (
        tempfile.TemporaryDirectory() as scratch,
        concurrent.futures.ThreadPoolExecutor(options.jobs) as pool,
    ):
        jobs = [
            pool.submit(worker, number, options, files, pathlib.Path(scratch))
            for number in range(options.jobs)
        ]
        could = [job.result() for job in jobs]  # waits for all of them
    return all(could)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="a folder of tests, or one test file")
    parser.add_argument(
        "--level", default="ttir", choices=["ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn"]
    )
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument(
        "--release", default="", help="with this Triton, as `versions add` takes it: 3.8.0, next"
    )
    parser.add_argument("--files", default="", help="of a folder only these: test_core,test_random")
    parser.add_argument("--limit", type=float, default=900, help="seconds in all")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--each", type=int, default=8, help="parametrisations of each test function; 0: all")
    parser.add_argument("--timeout", type=float, default=120, help="seconds a test")
    parser.add_argument("--memory", type=float, default=12, help="GiB a process")
    parser.add_argument("--marked", action="store_true", help="only tests with Triton's marker 'interpreter'")
    parser.add_argument("--all", action="store_true", help="every parametrisation: --each 0")
    parser.add_argument("--keyword", "-k", default="", help="as pytest -k")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"],
                        help="what the tests are told: cuda, and CPU tensors say so; or cpu")  # fmt: skip
    parser.add_argument(
        "--driver", action="store_true", help="Triton's own driver and launcher, on our libcuda"
    )
    parser.add_argument("--interpreter", action="store_true", help="TRITON_INTERPRET=1 instead, to compare")
    parser.add_argument("--results", type=pathlib.Path, help="one JSON line a test; a run goes on from it")
    parser.add_argument("--again", default="", help="outcomes to run again, for instance failed,crashed")
    parser.add_argument("--only", type=pathlib.Path, help="a file of test names, one a line")
    parser.add_argument("--cache", type=pathlib.Path, help="keep Triton's compiled kernels there")
    parser.add_argument(
        "--kept", type=pathlib.Path, help="keep the LLIR of each TTGIR there, for another level"
    )
    parser.add_argument("--json", type=pathlib.Path, help="write every test's outcome and category here")
    parser.add_argument(
        "--categories", type=pathlib.Path, default=report.CATEGORIES, help="the list of causes"
    )
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if not options.folder.exists():
        parser.error(f"{options.folder} is not there")
    files = sorted(options.folder.rglob("test_*.py")) if options.folder.is_dir() else [options.folder]
    if options.files:
        files = [path for path in files if path.stem in options.files.split(",")]
    if not files:
        parser.error(f"{options.folder} holds no such test_*.py")
    options.each = 0 if options.all else options.each
    options.device = "cpu" if options.interpreter else options.device
    choose_release(options)
    options.until = time.time() + options.limit

    with tempfile.TemporaryDirectory() as folder:
        options.results = (options.results or pathlib.Path(folder) / "results.jsonl").absolute()
        if options.again and options.results.exists():
            report.forget(options.results, options.again.split(","))
        could = run(options, files)
        results = report.Results(options.results, options.categories)
    report.show(results)
    if options.json:
        options.json.write_text(json.dumps(list(results.tests.values()), indent=1) + "\n")
    total = collections.Counter(record["outcome"] for record in results.tests.values())
    failed = total["failed"] + total["crashed"] + (not could)
    return 1 if failed or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
