"""Tests of a checkout of tinygrad, cuda-core or PyCUDA on this package's libcuda.so.1.

    python tests/foreign/checkout.py SUITE CHECKOUT [test_ops ...] [--python PYTHON] [--parts 10] [--write]

| SUITE | CHECKOUT | what compiles its kernels |
|---|---|---|
| tinygrad | github.com/tinygrad/tinygrad | NVRTC; clang (or $CC) what runs on the host |
| cuda-core | github.com/NVIDIA/cuda-python, of about the release in run.py | NVRTC and NVVM |
| pycuda | github.com/inducer/pycuda; --python is a Python that has PyCUDA | nvcc, which PATH finds |

The other packages are those of run.py's venv. A file's tests run in --parts processes, one after the other: a
fault of a kernel stays with its process. Prints a row a file and what failed; --write records the counts.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import subprocess
import sys
from xml.etree import ElementTree

import run
from suite import results


@dataclasses.dataclass(frozen=True)
class Suite:
    """`files`: patterns in `folder`; `needs`: packages besides those of run.py's venv; `environment`: of the
    tests, in which {checkout} stands for the checkout and {place} for build/foreign."""

    folder: str
    files: tuple[str, ...]
    needs: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    has_torch: bool = False  # it runs in this Python, which has torch
    parts: int = 1


SUITES = {
    "tinygrad": Suite(
        "test/backend",
        ("test_ops", "test_dtype"),
        ("hypothesis",),
        (("DEV", "CUDA"), ("CACHEDB", "{place}/tinygrad.db"), ("PYTHONPATH", "{checkout}:{place}/needs")),
        has_torch=True,
        parts=10,
    ),
    "cuda-core": Suite(
        "cuda_core/tests",
        ("test_*", "graph/test_*", "memory/test_*"),
        ("pytest-timeout", "pytest-rerunfailures", "cloudpickle"),
        (("PYTHONPATH", "{place}/needs"),),
    ),
    "pycuda": Suite("test", ("test_*",)),
}


class Run:
    def __init__(self, options):
        self.options, self.suite = options, SUITES[options.suite]
        self.folder = options.checkout / self.suite.folder
        own = run.environment()
        self.python = options.python or (pathlib.Path(sys.executable) if self.suite.has_torch else own)
        names = {"place": run.PLACE, "checkout": options.checkout}
        self.environment = os.environ | {k: v.format_map(names) for k, v in self.suite.environment}
        toolkit = next(own.parents[1].glob("lib/python*/site-packages/nvidia/*/include")).parent
        path = filter(None, [str(toolkit / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
        self.environment.setdefault("CUDA_PATH", str(toolkit))  # another release's headers do not fit NVRTC
        self.environment["LD_LIBRARY_PATH"] = os.pathsep.join(path)
        if self.suite.needs:
            words = ["--target", run.PLACE / "needs", "--upgrade", *self.suite.needs]
            subprocess.run([own, "-m", "pip", "install", "-q", "--no-deps", *words], check=True)

    def files(self) -> list[str]:
        patterns = self.options.files or self.suite.files
        found = [path for pattern in patterns for path in sorted(self.folder.glob(f"{pattern}.py"))]
        if not found:
            sys.exit(f"{self.folder}: no file {', '.join(patterns)}: CHECKOUT is a clone of the repository")
        return [str(path.relative_to(self.folder).with_suffix("")) for path in found]

    def pytest(self, *words: str, limit: float | None = None) -> str:
        """Runs pytest in the folder of the tests and returns what it prints; nothing after `limit`."""
        command = [sys.executable, "-m", "triton_runner", "cuda", self.python, "-P", "-m", "pytest", "-q"]
        command += ["-p", "no:cacheprovider", "-o", "addopts="]
        try:
            return subprocess.run(
                [*command, *words], cwd=self.folder, env=self.environment, timeout=limit,
                capture_output=True, text=True, check=False,
            ).stdout  # fmt: skip
        except subprocess.TimeoutExpired:
            return ""

    def outcomes(self, name: str) -> dict[str, str]:
        """The outcomes of a file's tests by name (CLASS::TEST)."""
        listed = self.pytest("--collect-only", f"{name}.py").splitlines()
        tests = [line.partition("::")[2] for line in listed if f"{name}.py::" in line]
        if not tests:
            return {"": "did not run"}
        found, parts = {}, self.options.parts or self.suite.parts
        for number in range(parts):
            stem = f"{self.options.suite}-{name.replace('/', '-')}-{number}"
            report = run.PLACE / f"{stem}.xml"
            report.unlink(missing_ok=True)
            own = tests[number::parts]
            words = [f"{name}.py::{test}" for test in own] if parts > 1 else [f"{name}.py"]
            log = self.pytest(f"--junitxml={report}", "--tb=short", *words, limit=self.options.limit)
            report.with_suffix(".log").write_text(log)
            found |= dict.fromkeys(own, "did not end")
            cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
            for case in cases:
                of = case.get("classname", "").rpartition(".")[2]
                prefix = "" if of == pathlib.Path(name).stem else f"{of}::"
                found[prefix + case.get("name")] = run.outcome(case)
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("files", nargs="*")
    parser.add_argument("--python", type=pathlib.Path, help="that runs the tests")
    parser.add_argument("--parts", type=int, help="processes of a file")
    parser.add_argument("--limit", type=float, default=1800, help="seconds of a process")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    suite, excluded, total = Run(options), run.exclusions(), collections.Counter()
    for name in suite.files():
        counts = run.row(f"{options.suite}/{name}", suite.outcomes(name), excluded)
        total += counts
        if options.write:
            what = f"{options.suite}'s own {name}"
            command = f"python tests/foreign/checkout.py {options.suite} CHECKOUT {name}"
            results.record("foreign", f"{options.suite}/{name}", what, command, dict(counts))
    print("in all:", ", ".join(f"{n} {how}" for how, n in total.items()))
    return int(not total["passed"] or any(how not in run.RIGHT for how in total))


if __name__ == "__main__":
    sys.exit(main())
