"""All tests, part by part; a part that fails does not stop the next. The last line counts the tests. What
other parts need is compiled beside the Python tests, which leave a quarter of two cores idle.

    python tests/run_all.py [part ...]
    python tests/run_all.py --turn [NUMBER]     with the share of the rest whose turn it is (.ci/run)

Without parts: those that every change runs. The rest takes turns (TURNS), by the number of commits, so that
each part runs every few submissions: `share`, the Python tests that cost most and cover least; `programs`,
strangers' and those of pages, and such as end in the middle, with `releases`; `machine`, those of machine
code and of AMD's launches; `verbs`, one more use of a verb each, with `foreign`, some of numba-cuda's own
tests; `matrices`, most members of large matrices; `tsan`; and `asan` with `fuzz` (conftest.py names the
tests). Three run when they are asked for: `long`, Python tests marked so, which
take a minute or are one more of their kind, `ubsan`, the unit tests and cases under all that UBSan checks, of
which `asan` leaves out the dearest, and `tsan-python`, launches by eight threads through the bindings, whose
extension takes minutes to compile.
Each part's whole output goes to build/log/<part>.log; what failed is shown. Each part has a budget in seconds
of CPU, which is reported and fails nothing: a slow machine is not a failure. Only what hangs is ended: a
command that has used ten times its part's budget, or that has used no CPU at all for ten minutes.
"""

import argparse
import atexit
import contextlib
import dataclasses
import datetime
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import psutil

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "log"
BIN = pathlib.Path(sys.executable).parent  # the cmake there, as make has it: another compiles all again
RELEASE, ASAN, UBSAN, TSAN = (ROOT / "build" / name for name in ("release", "asan", "ubsan", "tsan"))
TSAN_PYTHON, APART = ROOT / "build" / "tsan-python", ROOT / "build" / "apart"
JOBS = str(len(os.sched_getaffinity(0)))
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)")
TAIL = 60
PYTEST = [
    *[sys.executable, "-m", "pytest", "-q", "-rfEs", "--durations=40"],
    *["-n", JOBS, "--dist", "loadfile", "--no-loadscope-reorder"],  # conftest.py says what comes first
    "--max-worker-restart=0",  # another process would begin the test that ended the first
]
MARKS = ("share", "programs", "machine", "verbs", "matrices")  # of Python tests that take turns
HANG_FACTOR = 10  # budgets of CPU time
IDLE = 600  # seconds without any CPU time
NOT_FOUND = 127
BUILDERS = ("cmake", "ninja", "make")
BESIDE = ("asan", "fuzz", "tsan")  # what they compile is compiled beside the Python tests

HIDING = ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")  # nobody who uses the commands has them
ASAN_SETTINGS = {
    "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:die_after_fork=0",
}


@dataclasses.dataclass
class Part:
    """Commands of which each prints a closing line with its counts, or counts as one test. Those of cmake,
    ninja and make build: where one fails, the rest of its part does not run, and no part that needs it."""

    name: str
    budget: int  # seconds of CPU on a machine like doc/measurements/speed.md's
    commands: Callable[[], list[list[str]]]
    needs: tuple[str, ...] = ()
    by_default: bool = True


def configure(folder: pathlib.Path, *definitions: str) -> list[str]:
    return [*["cmake", "-G", "Ninja", "-S", ".", "-DTRITON_RUNNER_TESTS=ON", "-B"], str(folder), *definitions]


def sanitized(folder: pathlib.Path, sanitizers: str, optimisation: str = "-O1") -> list[str]:
    """Without Python, which would need the sanitizer preloaded."""
    flags = "-DTRITON_RUNNER_PYTHON=OFF -DTRITON_RUNNER_FUZZ=ON -DCMAKE_BUILD_TYPE=None"
    flags += f" -DCMAKE_CXX_FLAGS={optimisation}"
    return configure(folder, f"-DTRITON_RUNNER_SANITIZE={sanitizers}", *flags.split())


def python_tests(marked: str) -> list[str]:
    return [*PYTEST, "-m", marked, "tests/python"]


def unit_tests(folder: pathlib.Path) -> list[list[str]]:
    """The unit tests of the libraries that have any, and the C++ examples."""
    sources = ROOT / "src"
    libraries = sorted({path.relative_to(sources).parts[0] for path in sources.rglob("*_test.cpp")})
    examples = sorted(path.stem for path in ROOT.glob("examples/cpp/*.cpp"))
    invented = [f"invented{what}_test" for what in ("", "_opcode", "_front")]
    tests = [*(f"{library}_test" for library in libraries), *invented]
    return [[str(folder / name)] for name in (*tests, *examples)]


def cases(folder: pathlib.Path, *options: str) -> list[str]:
    tool = folder / "tests" / "tools" / "case_tool"
    return [sys.executable, "tests/run_cases.py", "--tool", str(tool), *options]


def lesser_machines() -> list[list[str]]:
    """The libraries with code for several instruction sets as on a machine without AVX-512, and on one
    without AVX2; the cases run so too (run_cases.py), and some of the Python tests (test_isa.py)."""
    libraries = ("num", "ptx", "simt", "tile")
    return [
        ["env", f"TRITON_RUNNER_ISA={isa}", str(RELEASE / f"{library}_test")]
        for isa in ("avx2", "portable")
        for library in libraries
    ]


def build() -> list[list[str]]:
    return [
        # `make demo` compiles the SIMD loops for this machine alone.
        configure(RELEASE, f"-DPython_EXECUTABLE={sys.executable}", "-DTRITON_RUNNER_ISAS=all"),
        compiled(RELEASE),
        ["make", "--no-print-directory", "develop"],
    ]


def compiled(folder: pathlib.Path, *targets: str) -> list[str]:
    return ["ninja", "-C", str(folder), "-j", JOBS, *targets]


def checked(folder: pathlib.Path, *sanitizers: str) -> list[list[str]]:
    targets = [pathlib.Path(command[0]).name for command in unit_tests(folder)]
    return [
        sanitized(folder, *sanitizers),
        compiled(folder, "case_tool", *targets),
        *unit_tests(folder),
        cases(folder, "--timeout", "120", "--one-way"),
    ]


def fuzz() -> list[list[str]]:
    """As many inputs on every machine: what passes here passes in CI."""
    targets = sorted(path.stem for path in ROOT.glob("fuzz/fuzz_*.cpp"))
    return [
        sanitized(ASAN, "quick", "-O0"),
        compiled(ASAN, *targets),
        [sys.executable, "fuzz/run.py", "--limit=3600", "--inputs=2000"],
    ]


def tsan() -> list[list[str]]:
    return [
        sanitized(TSAN, "thread", "-O0"),
        compiled(TSAN, "pool_stress", "tile_test", "simt_test", "probe_test", "launch_test"),
        [str(TSAN / "tests" / "tools" / "pool_stress")],
        [str(TSAN / "tile_test"), "threads_"],
        [str(TSAN / "simt_test"), "clusters_"],
        [str(TSAN / "simt_test"), "threads_"],
        [str(TSAN / "probe_test"), "threads_"],
        [str(TSAN / "launch_test"), "thread"],
    ]


def tsan_python() -> list[list[str]]:
    """The extension, with Python, in a folder of its own: the other one has no bindings."""
    flags = "-DTRITON_RUNNER_SANITIZE=thread -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0"
    return [
        configure(TSAN_PYTHON, *flags.split(), f"-DPython_EXECUTABLE={sys.executable}"),
        compiled(TSAN_PYTHON, "_core"),
        [sys.executable, "tests/tsan_python.py", str(TSAN_PYTHON)],
    ]


def apart() -> list[list[str]]:
    """Every file of C++ compiled by itself: a group hides that one of its files lacks an include."""
    flags = (
        "-DTRITON_RUNNER_UNITY=OFF -DTRITON_RUNNER_ISAS=native -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0"
    )
    return [
        configure(APART, *flags.split(), f"-DPython_EXECUTABLE={sys.executable}"),
        compiled(APART),
    ]


def foreign() -> list[list[str]]:
    """Some of numba-cuda's own tests: the packages come from the index, as those of `releases` do."""
    files = ("doc_examples/test_v", "cudapy/test_minmax", "cudadrv/test_events", "cudadrv/test_linker")
    return [[sys.executable, "tests/foreign/run.py", "--only", *files]]


PARTS = [
    Part("build", 700, build),
    Part("unit", 60, lambda: unit_tests(RELEASE), ("build",)),
    Part("isas", 60, lesser_machines, ("build",)),
    Part(
        "cases", 120, lambda: [cases(RELEASE), cases(RELEASE, "--checks", "oob,nan,uninit,race")], ("build",)
    ),
    Part(
        "python",
        900,
        lambda: [python_tests(" and ".join(f"not {mark}" for mark in ("long", *MARKS)))],
        ("build",),
    ),
    Part("share", 600, lambda: [python_tests("share and not long")], ("build",), by_default=False),
    Part("programs", 600, lambda: [python_tests("programs and not long")], ("build",), by_default=False),
    Part("machine", 500, lambda: [python_tests("machine and not long")], ("build",), by_default=False),
    Part("verbs", 400, lambda: [python_tests("verbs and not long")], ("build",), by_default=False),
    Part("matrices", 600, lambda: [python_tests("matrices and not long")], ("build",), by_default=False),
    Part("long", 900, lambda: [python_tests("long")], ("build",), by_default=False),
    Part("lint", 30, lambda: [[sys.executable, "tests/lint.py"]]),
    Part(
        "releases", 420, lambda: [[sys.executable, "tools/releases.py", "test", "--few"]], ("build",), False
    ),
    Part("foreign", 150, foreign, ("build",), by_default=False),
    # These take least to compile and run together, the SIMD kernels once: fuzz/run.py builds in that folder.
    Part("asan", 600, lambda: checked(ASAN, "quick", "-O0"), by_default=False),
    Part("ubsan", 900, lambda: checked(UBSAN, "address,undefined"), by_default=False),
    Part("fuzz", 240, fuzz, ("asan",), by_default=False),
    Part("tsan", 300, tsan, by_default=False),
    Part("tsan-python", 900, tsan_python, by_default=False),
    Part("apart", 1500, apart, by_default=False),
]

# The parts that run beside those of every change, in turn.
TURNS = [
    ("asan", "fuzz"),
    ("share",),
    ("verbs", "foreign"),
    ("programs", "releases"),
    ("tsan",),
    ("machine",),
    ("matrices",),
]


def turn_of_today() -> int:
    """The number of commits, which differs from submission to submission; of a shallow clone the day."""
    git = lambda *words: subprocess.run(  # noqa: E731
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    if git("rev-parse", "--is-shallow-repository") == "false":
        return int(git("rev-list", "--count", "HEAD"))
    return datetime.date.today().toordinal()


class HangGuard:
    """Ends a process, with everything that it started, once it hangs. `cpu`: the seconds it has used."""

    def __init__(self, process: subprocess.Popen, budget: float):
        self.cpu = 0.0
        self.reason = ""
        self._process, self._budget, self._done = process, budget, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _used(self) -> float:
        """By the processes that are alive, and by those that they have waited for."""
        try:
            root = psutil.Process(self._process.pid)
            processes = [root, *root.children(recursive=True)]
        except psutil.Error:
            return self.cpu
        used = 0.0
        for process in processes:
            with contextlib.suppress(psutil.Error):
                used += sum(process.cpu_times()[:4])
        return max(used, self.cpu)

    def _watch(self) -> None:
        moved = time.monotonic()
        while not self._done.wait(2):
            used = self._used()
            if used > self.cpu + 0.05:
                moved = time.monotonic()
            self.cpu = used
            if used > HANG_FACTOR * self._budget:
                self.reason = f"ended: it had used {used:.0f} s of CPU, {HANG_FACTOR} times the part's budget"
            elif time.monotonic() - moved > IDLE:
                self.reason = f"ended: it had used no CPU for {IDLE} s"
            if self.reason:
                os.killpg(self._process.pid, signal.SIGKILL)
                return


def run(command: list[str], log, budget: float) -> tuple[int, str]:
    """The command's exit status, and what there is to say of it besides."""
    try:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={name: value for name, value in os.environ.items() if name not in HIDING}
            | ASAN_SETTINGS
            | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
            start_new_session=True,
        )
    except OSError as error:
        return NOT_FOUND, f"could not be started: {error.strerror}"
    guard = HangGuard(process, budget)
    status = process.wait()
    guard.stop()
    return status, guard.reason or f"exit status {status}"


class Beside:
    """The builds of `parts`, one after the other, at the lowest priority. Each part builds again, and says
    what fails there."""

    def __init__(self, parts: list[Part]):
        self._names = ", ".join(part.name for part in parts)
        commands = [command for part in parts for command in part.commands() if command[0] in BUILDERS]
        self._begin = time.monotonic()
        with (LOGS / "beside.log").open("w") as log:
            self._process = subprocess.Popen(
                ["nice", "-n", "19", "sh", "-c", "; ".join(map(shlex.join, commands))],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._guard = HangGuard(self._process, sum(part.budget for part in parts))
        atexit.register(self._end)

    def _end(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)

    def wait(self) -> None:
        """Its processes are waited for here only, so that their CPU time is counted here."""
        waited, used = time.monotonic(), cpu_of_children()
        self._process.wait()
        self._guard.stop()
        now = time.monotonic()
        print(
            f"beside:    {self._names} compiled in {now - self._begin:.0f} s, the last"
            f" {now - waited:.0f} s alone ({cpu_of_children() - used:.0f} s of CPU)",
            flush=True,
        )


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


def run_part(part: Part, totals: dict[str, int], failures: list[str]) -> bool:
    """Whether all that it builds was built. failures: grows by the names of what failed."""
    begin, used = time.monotonic(), cpu_of_children()
    log_path = LOGS / f"{part.name}.log"
    mine = {"passed": 0, "failed": 0, "skipped": 0}
    built = True
    with log_path.open("w") as log:
        for command in part.commands():
            at = log.tell()
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            status, how = run(command, log, part.budget)
            log.seek(0, os.SEEK_END)
            output = log_path.read_bytes()[at:].decode("utf-8", "replace")
            # Configuring and compiling are no tests: they only count when they fail.
            builds = command[0] in BUILDERS
            counts = counts_of("", status) if builds else counts_of(output, status)
            for key, number in counts.items():
                mine[key] += 0 if builds and key == "passed" else number
            if status != 0:
                print(f"---- {part.name}: {' '.join(command)}: {how}")
                print("\n".join(output.splitlines()[-TAIL:]), flush=True)
                names = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
                failures += names or [f"FAILED {part.name}: {' '.join(command)}"]
                if builds:
                    built = False
                    break
            if part.name in ("python", *MARKS, "long", "releases"):
                for line in output.splitlines():
                    if line.startswith("SKIPPED"):
                        print(line, flush=True)
    for key in totals:
        totals[key] += mine[key]
    cpu = cpu_of_children() - used
    over = f", over its budget of {part.budget} s of CPU" if cpu > part.budget else ""
    print(
        f"{part.name + ':':10} {mine['passed']} passed, {mine['failed']} failed, {mine['skipped']} skipped"
        f" in {time.monotonic() - begin:.0f} s ({cpu:.0f} s of CPU{over})",
        flush=True,
    )
    return built


def cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*")
    parser.add_argument(
        "--turn", nargs="?", type=int, const=-1, help="also the share of this turn (of today)"
    )
    options = parser.parse_args()
    wanted = options.parts or [part.name for part in PARTS if part.by_default]
    if options.turn is not None:
        turn = turn_of_today() if options.turn < 0 else options.turn
        wanted += TURNS[turn % len(TURNS)]
        print(
            f"turn {turn % len(TURNS) + 1} of {len(TURNS)}: {', '.join(TURNS[turn % len(TURNS)])}", flush=True
        )
    unknown = set(wanted) - {part.name for part in PARTS}
    if unknown:
        print(f"no part {', '.join(sorted(unknown))}; there are {', '.join(part.name for part in PARTS)}")
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    failures: list[str] = []
    unbuilt: set[str] = set()
    beside = None
    for part in PARTS:
        if part.name not in wanted:
            continue
        if part.name == "python" and (besides := [p for p in PARTS if p.name in BESIDE and p.name in wanted]):
            beside = Beside(besides)
        elif part.name in BESIDE and beside:
            beside.wait()
            beside = None
        if missing := unbuilt.intersection(part.needs):
            print(
                f"{part.name + ':':10} not run, because the build of part {', '.join(missing)} failed",
                flush=True,
            )
            totals["failed"] += 1
            failures.append(f"FAILED {part.name}: not run")
            unbuilt.add(part.name)
        elif not run_part(part, totals, failures):
            unbuilt.add(part.name)
    for line in failures:  # once more, where a person looks first
        print(line[:200])
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    return 1 if totals["failed"] or not totals["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
