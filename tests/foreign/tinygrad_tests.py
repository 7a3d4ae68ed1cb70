"""tinygrad's own tests on this package's libcuda.so.1, with NVRTC as the compiler.

    python tests/foreign/tinygrad_tests.py CHECKOUT [test_ops test_dtype] [--parts 10] [--write]

CHECKOUT is a clone of github.com/tinygrad/tinygrad. NVRTC is that of run.py's venv; the parts of tests that
run on the host are compiled by clang, or by $CC. A file's tests run in --parts processes, one after the
other: a fault of a kernel stays with its process. Prints a row a file and what failed; --write records the
counts.
"""

import argparse
import os
import pathlib
import subprocess
import sys
from xml.etree import ElementTree

import run
from suite import results


def environment(checkout: pathlib.Path) -> dict[str, str]:
    nvrtc = next(run.environment().parents[1].glob("lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.*"))
    path = os.pathsep.join(filter(None, [str(nvrtc.parent), os.environ.get("LD_LIBRARY_PATH", "")]))
    cache = str(run.PLACE / "tinygrad.db")
    return os.environ | {
        "DEV": "CUDA",
        "PYTHONPATH": str(checkout),
        "LD_LIBRARY_PATH": path,
        "CACHEDB": cache,
    }


def pytest(options, *words: str, limit: float | None = None) -> str:
    """Runs tests of the checkout, and returns what pytest prints; nothing where it takes too long."""
    command = [sys.executable, "-m", "triton_runner", "cuda", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    try:
        return subprocess.run(
            [*command, *words], cwd=options.checkout, env=environment(options.checkout), timeout=limit,
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
    except subprocess.TimeoutExpired:
        return ""


def outcomes(options, name: str) -> dict[str, str]:
    """The outcomes of a file's tests by name."""
    path = f"test/backend/{name}.py"
    tests = [line for line in pytest(options, "--collect-only", path).splitlines() if "::" in line]
    if not tests:
        sys.exit(f"{options.checkout / path}: no tests: CHECKOUT is a clone of tinygrad, with what it needs")
    found = {}
    for number in range(options.parts):
        report = run.PLACE / f"tinygrad-{name}-{number}.xml"
        report.unlink(missing_ok=True)
        own = tests[number :: options.parts]
        log = pytest(options, f"--junitxml={report}", "--tb=short", *own, limit=options.limit)
        report.with_suffix(".log").write_text(log)
        cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
        found |= dict.fromkeys(own, "did not end")
        for case in cases:
            test = f"{path}::{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
            found[test] = run.outcome(case)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("files", nargs="*", default=["test_ops", "test_dtype"])
    parser.add_argument("--parts", type=int, default=10, help="processes of a file")
    parser.add_argument("--limit", type=float, default=1800, help="seconds of a process")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wrong = 0
    for name in options.files:
        counts = run.row(f"tinygrad/{name}", outcomes(options, name), [])
        wrong += sum(n for how, n in counts.items() if how not in run.RIGHT)
        if options.write:
            what = f"tinygrad's own {name}, NVRTC"
            command = "python tests/foreign/tinygrad_tests.py CHECKOUT"
            results.record("foreign", f"tinygrad/{name}", what, command, dict(counts))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
