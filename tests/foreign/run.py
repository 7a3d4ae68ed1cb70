"""Test suites of other people's compilers on this package's libcuda.so.1, which are oracles for the engines.

    python tests/foreign/run.py [--only test_array ...] [--limit 900] [--failed] [--write]

Installs numba-cuda with NVIDIA's compilers from the package index into build/foreign, a venv of its own, and
runs the tests of its wheel file by file through `triton-runner cuda`. A file that takes longer than --limit
seconds counts as one that did not end; a run in which no test passed fails. Prints a row a file and what
failed, and keeps rows and outputs in build/foreign, so that a run goes on where the last one of the same
library stopped; --failed runs what did not pass again, whatever library the other rows are of. --write
records the counts in results/foreign.json.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import venv
from xml.etree import ElementTree

import triton_runner

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / "build" / "foreign"
ROWS = PLACE / "rows.json"
sys.path[:0] = [str(HERE.parent)]
from suite import results  # noqa: E402

PACKAGES = [
    *("numba-cuda==0.30.4", "cuda-core==1.2.2", "nvidia-cuda-nvrtc==13.5.37", "nvidia-nvvm==13.5.37"),
    *("nvidia-cuda-runtime==13.5.37", "nvidia-cuda-cccl==13.3.5.0.6"),  # headers that NVRTC's kernels include
]
KEPT = threading.Lock()  # of the rows
RIGHT = ("passed", "skipped", "excluded")
FOR_TESTS = ["pytest", "filecheck", "psutil", "cffi", "ml_dtypes"]


def exclusions() -> list[tuple[str, str]]:
    """(pattern of FILE::TEST, reason) of each line of exclusions.txt."""
    lines = (HERE / "exclusions.txt").read_text().splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]


def environment() -> pathlib.Path:
    """The Python of the venv, which is made where it is not there."""
    python = PLACE / "bin" / "python"
    if not python.exists():
        venv.create(PLACE, with_pip=True)
        words = [python, "-m", "pip", "install", "-q", *PACKAGES, *FOR_TESTS]
        if subprocess.run(words, check=False).returncode:
            shutil.rmtree(PLACE)
            print("the package index does not give numba-cuda and what it needs: 1 skipped")
            sys.exit(0)
    return python


def left_out(name: str) -> list[str]:
    """The tests of a file FOLDER/NAME that do not run: a kernel that is stopped ends its process's context,
    and with it the tests that follow."""
    pairs = (pattern.split("::") for pattern, _ in exclusions())
    found = [test for file, *_, test in pairs if test and f"/{name}".endswith(f"/{file}")]
    return [test for test in found if not set("*?[") & set(test)]


def run_file(python: pathlib.Path, name: str, limit: int) -> dict[str, str]:
    """Runs a file and returns its tests' outcomes by name; its output stands in build/foreign."""
    stem, module = name.rpartition("/")[2], "numba.cuda.tests." + name.replace("/", ".")
    report = PLACE / f"{stem}.xml"
    report.unlink(missing_ok=True)
    words = [sys.executable, "-m", "triton_runner", "cuda", python, "-m", "pytest", "-q", "--tb=short"]
    words += ["-p", "numba_fixture", "-p", "no:cacheprovider", "--import-mode=importlib"]
    words += [f"--junitxml={report}", "--pyargs", module]
    excluded = left_out(name)
    words += ["-k", f"not ({' or '.join(excluded)})"] * bool(excluded)
    with (PLACE / f"{stem}.log").open("w") as out:
        child = subprocess.Popen(
            words,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(HERE)},
            start_new_session=True,
        )
        try:
            child.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # the program, too, which triton-runner started
            child.wait()
            return {"": "did not end"}
    if not report.exists():
        return {"": "did not run"}
    found = {case.get("name"): outcome(case) for case in ElementTree.parse(report).iter("testcase")}
    return found | dict.fromkeys(excluded, "excluded")


def outcome(case: ElementTree.Element) -> str:
    """Returns passed, skipped or failed, as JUnit's element of a test has it."""
    found = {child.tag for child in case}
    return "failed" if found & {"failure", "error"} else "skipped" if "skipped" in found else "passed"


def read_rows(is_failed: bool) -> dict:
    """Rows of the last run by file: all of the same library, or with --failed those without a failure."""
    library = pathlib.Path(triton_runner._core.__file__).parent / "_cuda" / "libcuda.so.1"
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    kept = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    if is_failed:
        files = {k: v for k, v in kept.get("files", {}).items() if set(v.values()) <= set(RIGHT)}
    else:
        files = kept.get("files", {}) if kept.get("library") == digest else {}
    return {"library": digest, "files": files}


def row(name: str, found: dict[str, str], excluded: list) -> collections.Counter:
    """Prints what became of a file's tests, and returns how many of each outcome."""

    def is_excluded(test: str) -> bool:
        return any(fnmatch.fnmatch(f"/{name}::{test}", f"*/{pattern}") for pattern, _ in excluded)

    found = {
        test: "excluded" if how != "passed" and is_excluded(test) else how for test, how in found.items()
    }
    counts = collections.Counter(found.values())
    wrong = [test for test, how in found.items() if how not in RIGHT]
    shown = ", ".join(f"{n} {how}" for how, n in counts.items())
    print(f"{name:<48} {shown}", *wrong, sep="\n  ", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", default=[""], help="files whose FOLDER/NAME has one of these in it"
    )
    parser.add_argument("--limit", type=int, default=900, help="seconds of a file")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument("--failed", action="store_true", help="what did not pass, again")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    python = environment()
    tests = next(python.parents[1].glob("lib/python*/site-packages/numba_cuda/numba/cuda/tests"))
    rows, excluded = read_rows(given.failed), exclusions()
    files = sorted(f"{path.parent.name}/{path.stem}" for path in tests.glob("*/test_*.py"))
    files = [name for name in files if any(part in name for part in given.only)]
    left_out = {pattern.removesuffix("::") for pattern, _ in excluded if pattern.endswith("::")}
    run_here = [name for name in files if not {name, name.partition("/")[2]} & left_out]
    total = collections.Counter({"files left out": len(files) - len(run_here)})

    def run(name: str) -> dict[str, str]:
        if name not in rows["files"]:
            found = run_file(python, name, given.limit)
            with KEPT:
                rows["files"][name] = found
                ROWS.write_text(json.dumps(rows))
        return rows["files"][name]

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for name, found in zip(run_here, pool.map(run, run_here), strict=True):
            total += row(name, found, excluded)
    print("in all:", ", ".join(f"{n} {how}" for how, n in total.items()))
    if given.write:
        results.record("foreign", "numba-cuda", "numba-cuda's own tests", "make foreign", dict(total))
    return int(not total["passed"] or any(how not in (*RIGHT, "files left out") for how in total))


if __name__ == "__main__":
    sys.exit(main())
