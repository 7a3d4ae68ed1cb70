"""Test suites of other people's compilers on this package's libcuda.so.1, which are oracles for the engines.

    python tests/foreign/run.py [--only test_array] [--limit 900] [--write]

Installs numba-cuda with NVIDIA's compilers from the package index into build/foreign, a venv of its own, and
runs the tests of its wheel file by file through `triton-runner cuda`. A file that takes longer than --limit
seconds counts as one that did not end. Prints a row a file and what failed; --write records the counts in
results/foreign.json.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent)]
from suite import results  # noqa: E402

PACKAGES = ["numba-cuda==0.30.4", "cuda-core==1.2.2", "nvidia-cuda-nvrtc==13.5.37", "nvidia-nvvm==13.5.37"]
FOR_TESTS = ["pytest", "filecheck", "psutil", "cffi", "ml_dtypes"]
# Several GPUs, memory that processes share, and a runner that starts Python processes of its own.
WITHOUT = {"test_multigpu", "test_ipc", "test_init"}
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?)\b")


def environment() -> pathlib.Path:
    """The Python of the venv, which is made where it is not there."""
    place = ROOT / "build" / "foreign"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES, *FOR_TESTS], check=True)
    return python


def run_file(python: pathlib.Path, name: str, limit: int) -> tuple[dict[str, int], list[str]]:
    """Counts by outcome, and the tests that failed."""
    words = [sys.executable, "-m", "triton_runner", "cuda", python, "-m", "pytest", "-q", "--tb=no", "-rf"]
    words += ["-p", "numba_fixture", "-p", "no:cacheprovider", "--import-mode=importlib", "--pyargs", name]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=limit, env={**os.environ, "PYTHONPATH": str(HERE)}
        )
    except subprocess.TimeoutExpired:
        return {"did not end": 1}, [name]
    lines = done.stdout.splitlines()
    counts = {what.rstrip("s"): int(n) for n, what in COUNT.findall(lines[-1])} if lines else {}
    return counts or {"did not run": 1}, [line for line in lines if line.startswith("FAILED")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="files whose name has this in it")
    parser.add_argument("--limit", type=int, default=900, help="seconds of a file")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    python = environment()
    tests = next(python.parents[1].glob("lib/python*/site-packages/numba_cuda/numba/cuda/tests"))
    total: dict[str, int] = {}
    for path in sorted(tests.glob("*/test_*.py")):
        if path.stem in WITHOUT or given.only not in path.stem or path.parent.name == "nocuda":
            continue
        counts, failed = run_file(python, f"numba.cuda.tests.{path.parent.name}.{path.stem}", given.limit)
        print(
            f"{path.stem:<40} {', '.join(f'{n} {what}' for what, n in counts.items())}",
            *failed,
            sep="\n  ",
            flush=True,
        )
        for what, n in counts.items():
            total[what] = total.get(what, 0) + n
    print("in all:", ", ".join(f"{n} {what}" for what, n in total.items()))
    if given.write:
        results.record("foreign", "numba-cuda", "numba-cuda's own tests", "make foreign", total)
    return int(any(what not in ("passed", "skipped") for what in total))


if __name__ == "__main__":
    sys.exit(main())
