"""All tests, part by part; a part that fails does not stop the next. The last line counts the tests.

    python tests/run_all.py [part ...]

Each part's whole output goes to build/log/<part>.log; what failed is shown. Each part has a budget in
seconds, and is ended and counted as failed at twice that.
"""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "log"
RELEASE, ASAN, TSAN = (ROOT / "build" / name for name in ("release", "asan", "tsan"))
JOBS = str(len(os.sched_getaffinity(0)))
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)")
TAIL = 60

ASAN_SETTINGS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0",
}


@dataclasses.dataclass
class Part:
    """Commands of which each prints a closing line with its counts, or counts as one test."""

    name: str
    budget: int
    commands: Callable[[], list[list[str]]]


def configure(folder: pathlib.Path, *definitions: str) -> list[str]:
    return [*["cmake", "-G", "Ninja", "-S", ".", "-DTRITON_RUNNER_TESTS=ON", "-B"], str(folder), *definitions]


def sanitized(folder: pathlib.Path, sanitizers: str) -> list[str]:
    """Optimised a little, so that loops end; without Python, which would need the sanitizer preloaded."""
    flags = "-DTRITON_RUNNER_PYTHON=OFF -DTRITON_RUNNER_FUZZ=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1"
    return configure(folder, f"-DTRITON_RUNNER_SANITIZE={sanitizers}", *flags.split())


def unit_tests(folder: pathlib.Path) -> list[list[str]]:
    """The unit tests of the libraries that have any, and the C++ examples."""
    libraries = sorted({path.parent.name for path in ROOT.glob("src/*/*_test.cpp")})
    examples = sorted(path.stem for path in ROOT.glob("examples/cpp/*.cpp"))
    return [[str(folder / name)] for name in (*(f"{library}_test" for library in libraries), *examples)]


def cases(folder: pathlib.Path, *options: str) -> list[str]:
    tool = folder / "tests" / "tools" / "case_tool"
    return [sys.executable, "tests/run_cases.py", "--tool", str(tool), *options]


def build() -> list[list[str]]:
    return [
        configure(RELEASE, f"-DPython_EXECUTABLE={sys.executable}"),
        ["ninja", "-C", str(RELEASE), "-j", JOBS],
        ["make", "--no-print-directory", "develop"],
    ]


def asan() -> list[list[str]]:
    targets = [pathlib.Path(command[0]).name for command in unit_tests(ASAN)]
    return [
        sanitized(ASAN, "address,undefined"),
        ["ninja", "-C", str(ASAN), "-j", JOBS, "case_tool", *targets],
        *unit_tests(ASAN),
        cases(ASAN, "--timeout", "120"),
    ]


def tsan() -> list[list[str]]:
    return [
        sanitized(TSAN, "thread"),
        ["ninja", "-C", str(TSAN), "-j", JOBS, "pool_stress", "tile_test", "probe_test"],
        [str(TSAN / "tests" / "tools" / "pool_stress")],
        [str(TSAN / "tile_test"), "threads_"],
        [str(TSAN / "probe_test"), "threads_"],
    ]


PARTS = [
    Part("build", 480, build),
    Part("unit", 60, lambda: unit_tests(RELEASE)),
    Part("cases", 90, lambda: [cases(RELEASE), cases(RELEASE, "--checks", "oob,nan,uninit,race")]),
    Part("python", 480, lambda: [[sys.executable, "-m", "pytest", "-q", "-rs", "tests/python"]]),
    Part("asan", 720, asan),
    # As many inputs on every machine: what passes here passes in CI.
    Part("fuzz", 120, lambda: [[sys.executable, "fuzz/run.py", "--limit=60", "--inputs=2000"]]),
    Part("tsan", 600, tsan),
    Part("releases", 420, lambda: [[sys.executable, "tools/releases.py", "test", "3.0.0", "3.4.0", "3.9.0"]]),
    Part("lint", 30, lambda: [[sys.executable, "tests/lint.py"]]),
]


def run(command: list[str], log, deadline: float) -> int:
    """The command's exit status; 124 if it was ended at the deadline, with everything that it had started."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=os.environ | ASAN_SETTINGS,
        start_new_session=True,
    )
    try:
        return process.wait(max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return 124


def counts_of(output: str, status: int) -> dict[str, int]:
    """Passed, failed and skipped by the last line that counts; a command without one is a test itself."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for line in reversed(output.splitlines()):
        found = COUNTS.findall(line)
        if not any(kind in ("passed", "failed") for _, kind in found):
            continue
        for number, kind in found:
            key = {"error": "failed", "errors": "failed", "xfailed": "passed", "xpassed": "failed"}.get(
                kind, kind
            )
            counts[key] += int(number)
        break
    else:
        counts["passed" if status == 0 else "failed"] = 1
    if status != 0 and counts["failed"] == 0:
        counts["failed"] = 1
    return counts


def run_part(part: Part, totals: dict[str, int]) -> None:
    begin = time.monotonic()
    log_path = LOGS / f"{part.name}.log"
    mine = {"passed": 0, "failed": 0, "skipped": 0}
    with log_path.open("w") as log:
        for command in part.commands():
            at = log.tell()
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            status = run(command, log, begin + 2 * part.budget)
            log.seek(0, os.SEEK_END)
            output = log_path.read_bytes()[at:].decode("utf-8", "replace")
            # Configuring and compiling are no tests: they only count when they fail.
            builds = command[0] in ("cmake", "ninja", "make")
            counts = counts_of("", status) if builds else counts_of(output, status)
            for key, number in counts.items():
                mine[key] += 0 if builds and key == "passed" else number
            if status != 0:
                how = "ended at its time limit" if status == 124 else f"exit status {status}"
                print(f"---- {part.name}: {' '.join(command)}: {how}")
                print("\n".join(output.splitlines()[-TAIL:]), flush=True)
                if builds:
                    break
            elif part.name in ("python", "releases"):  # what was skipped and why is said, not hidden
                print(
                    "\n".join(line for line in output.splitlines() if line.startswith("SKIPPED")),
                    end="",
                    flush=True,
                )
    for key in totals:
        totals[key] += mine[key]
    seconds = time.monotonic() - begin
    over = f", over its budget of {part.budget} s" if seconds > part.budget else ""
    print(
        f"{part.name + ':':10} {mine['passed']} passed, {mine['failed']} failed, {mine['skipped']} skipped"
        f" in {seconds:.0f} s{over}",
        flush=True,
    )


def main() -> int:
    wanted = sys.argv[1:] or [part.name for part in PARTS]
    unknown = set(wanted) - {part.name for part in PARTS}
    if unknown:
        print(f"no part {', '.join(sorted(unknown))}; there are {', '.join(part.name for part in PARTS)}")
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    for part in PARTS:
        if part.name in wanted:
            run_part(part, totals)
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
