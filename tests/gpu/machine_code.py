"""Machine code on the CPU beside a GPU, launch by launch: the same cubin, the same inputs, the same bytes?

    python tests/gpu/machine_code.py OUT [PART ...] [--against cuda] [--jobs 14] [--only TEXT] [--tests DIR]

Runs the subjects of tests/right (`programs`, `examples`, a library: all of them without a PART) and the tests
in DIR, Triton's own of the language, and compares each of their launches: a JSON line a launch in
OUT/launches.jsonl, then the counts. --against ptx compares with the PTX engine, which needs no GPU.
--checks race,uninit compares what these checks say of the machine code and of the PTX instead. --level ttgir
compares TTGIR with a GPU's rounding (numerics="hardware") in place of the machine code.

| state | what it is |
|---|---|
| equal, differ | the bytes that the two leave in the memory of the arguments |
| order | each element that differs also differs when the CPU takes programs and warps in other orders |
| clean, both | under checks: neither is reported, both are |
| alarm, missed | under checks: the machine code alone is reported, the PTX alone is |
| trap, refused, left out | nothing was compared; `why` says what stopped it |

This script runs in each subject's process too, in front of it or as a plug-in of pytest: the JSON object in
MACHINE_CODE_SETTINGS holds the fields of `Comparison`.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import re
import runpy
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 900  # seconds of CPU time of a subject
NO_LIMIT = 10**7  # the tests have their own
SETTINGS = "MACHINE_CODE_SETTINGS"


@dataclasses.dataclass
class Comparison:
    """Compares launches, and passes each on.

    - `rows`: the file that a launch's line is added to; `against`: "cuda" or "ptx"; `checks`: as check=;
    - `level`: what is compared, "cubin", "ttgir" or "ptx"; `there`: what a GPU gets for it;
    - `launches`: of a cubin that are compared; `programs`: the most in one of them;
    - `orders`: the most that are tried where bytes differ.
    """

    rows: str
    against: str = "cuda"
    checks: str = ""
    level: str = "cubin"
    there: str = "cubin"
    launches: int = 2
    programs: int = 512
    orders: int = 16
    seen: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    def __call__(self, call, go):
        try:
            row = self.row(assembled_launch(call))
        except Exception as error:  # what is refused is counted, and the program goes on
            row = {"kernel": getattr(call.kernel, "name", "?"), "state": "refused", "why": text_of(error)}
        if row:
            with open(self.rows, "a") as file:
                file.write(json.dumps(row) + "\n")
        return go()

    def row(self, launch) -> dict | None:
        """None of a launch of which enough others were compared."""
        code = launch.texts["cubin"]
        key = hashlib.sha256(code).hexdigest()[:16]
        self.seen[key] += 1
        if self.seen[key] > self.launches:
            return None
        row = {
            "kernel": launch.name,
            "cubin": key,
            "grid": list(launch.grid),
            "test": os.environ.get("PYTEST_CURRENT_TEST", ""),
        }
        programs = launch.grid[0] * launch.grid[1] * launch.grid[2]
        if programs > self.programs:
            return {**row, "state": "left out", "why": f"{programs} programs"}
        started = time.perf_counter()
        ours = self.run(launch, checks=self.checks or None)
        row["seconds"] = round(time.perf_counter() - started, 3)
        return {**row, **(self.reports(launch, ours) if self.checks else self.bytes(launch, ours))}

    def run(self, launch, **how):
        return launch.run(self.level, numerics="hardware" if self.level == "ttgir" else None, **how)

    def reports(self, launch, ours) -> dict:
        """Returns what checks say of the machine code and of the PTX."""
        of_ptx = ",".join(check for check in self.checks.split(",") if check != "hazard")
        theirs = launch.run("ptx", checks=of_ptx or None)
        state = {(0, 0): "clean", (1, 1): "both", (1, 0): "alarm", (0, 1): "missed"}
        why = text_of(ours.trap or theirs.trap) if ours.trap or theirs.trap else ""
        return {"state": state[bool(ours.trap), bool(theirs.trap)], "why": why}

    def bytes(self, launch, ours) -> dict:
        if ours.trap:
            return {"state": "trap", "why": text_of(ours.trap)}
        theirs = launch.run("ptx") if self.against == "ptx" else launch.run(self.there, device=self.against)
        if theirs.trap:
            return {"state": "trap", "why": f"{self.against}: {text_of(theirs.trap)}"}
        before = launch.arguments.saved
        written = sum(int((a != b).sum()) for a, b in zip(before, theirs.contents.blocks(), strict=True))
        both = zip(ours.contents.blocks(), theirs.contents.blocks(), strict=True)
        differ = sum(int((a != b).sum()) for a, b in both)
        row = {"state": "differ" if differ else "equal", "bytes": written, "differ": differ}
        return {**row, **self.explained(launch, ours, theirs)} if differ else row

    def explained(self, launch, ours, theirs) -> dict:
        """Whether the elements that differ depend on the order of atomics or locks: how many do not."""
        left = different(ours, theirs)
        count = lambda: sum(int(where.sum()) for where in left.values())  # noqa: E731
        row, of = {}, count()
        for seed in range(1, self.orders + 1):
            other = self.run(launch, order=seed)
            if other.trap:
                row["why"] = f"in order {seed}: {text_of(other.trap)}"
                break
            left = {name: left[name] & ~where for name, where in different(ours, other).items()}
            if of and not count():
                return {"state": "order", "orders": seed}
        return {**row, "elements": of, "unexplained": count()}


def assembled_launch(call):
    """A launch that is about to run, its machine code among its levels."""
    from triton_runner._artifact.relaunch import of_call

    return dataclasses.replace(of_call(call), assembled=True)


def different(ours, theirs) -> dict:
    """Returns for each argument which elements have other bits."""
    from triton_runner._memory.difference import same_bits

    return {name: ~same_bits(ours.arrays[name], theirs.arrays[name]) for name in ours.arrays}


def text_of(error) -> str:
    notes = getattr(error, "notes", None) or []
    return " | ".join(" ".join(str(part).split()) for part in [str(error), *notes])[:600]


def kind_of(row: dict) -> str:
    """Returns what rows are counted by: the reason without its place and its instruction."""
    why = re.sub(r"^\S+:\d+:\d+: ", "", row.get("why") or row["kernel"])
    return re.split(r" /\*| \| |, program ", why)[0][:200]


def begin() -> None:
    from triton_runner._launch.launchers import observe

    observe(Comparison(**json.loads(os.environ[SETTINGS])))


def summary(path: str) -> str:
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    states = collections.Counter(row["state"] for row in rows)
    lines = [f"{len(rows)} launches: " + ", ".join(f"{n} {state}" for state, n in states.most_common())]
    for state in ("refused", "trap", "differ", "alarm", "missed"):
        whys = collections.Counter(kind_of(row) for row in rows if row["state"] == state)
        lines += [f"{state:8} {n:5} {why}" for why, n in whys.most_common(40)]
    return "\n".join(lines)


def subject_cases(options, environment: dict) -> list:
    """A process each: the options of `run`, this script, the subject's own program and arguments."""
    sys.path.insert(0, str(ROOT / "tests" / "right"))
    import run as right  # the subjects
    from suite.run import Case

    subjects = []
    for part in options.parts or ("programs", "examples", *right.libraries.LIBRARIES):
        if part in ("programs", "examples"):
            subjects += right.programs() if part == "programs" else right.examples()
        else:
            subjects += right.library(part, whole=False)
    cases = []
    for subject in subjects:
        at = next(i for i, word in enumerate(subject.command) if word.endswith(".py"))
        before, program = subject.command[:at], subject.command[at:]
        command = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--level", "ttir"]
        command += [*before, __file__, *program]
        if options.only in subject.name:
            cases.append(Case(subject.name, command, environment | subject.environment, cpu_limit=LIMIT))
    return cases


def test_case(options, environment: dict):
    """Triton's own tests, in the processes of tests/conformance."""
    from suite.run import Case

    command = [sys.executable, str(ROOT / "tests" / "conformance" / "run.py"), str(options.tests.resolve())]
    command += ["--jobs", str(options.jobs), "--level", "ttir", "--target", options.target]
    command += ["--results", str(options.out.resolve() / "tests.jsonl"), "--each", str(options.each)]
    path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
    plugin = {"PYTEST_ADDOPTS": "-p machine_code", "PYTHONPATH": path}
    return Case("tests", command, environment | plugin, cpu_limit=NO_LIMIT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--against", default="cuda", choices=["cuda", "ptx"])
    parser.add_argument("--level", default="cubin", choices=["cubin", "ttgir"])
    parser.add_argument("--launches", type=int, default=2, help="of a cubin that are compared")
    parser.add_argument(
        "--programs", type=int, default=512, help="launches of more are left out: each takes milliseconds"
    )
    parser.add_argument("--checks", default="", help="what these say at cubin and at PTX is compared instead")
    parser.add_argument("--orders", type=int, default=16, help="tried to explain what differs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="subjects whose name contains this")
    parser.add_argument("--tests", type=Path, help="a folder of Triton's own tests")
    parser.add_argument("--each", type=int, default=4, help="parametrisations of a test; 0: all")
    parser.add_argument("--target", default="cuda:90", help="of the tests")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from suite.run import execute

    options.out.mkdir(parents=True, exist_ok=True)
    rows = (options.out / "launches.jsonl").resolve()
    chosen = ("against", "checks", "level", "launches", "programs", "orders")
    settings = {name: getattr(options, name) for name in chosen}
    environment = {SETTINGS: json.dumps({"rows": str(rows), **settings})}
    cases = [] if options.tests and not options.parts else subject_cases(options, environment)
    if options.tests:
        done = execute(test_case(options, environment))
        print(done.output[-2000:], done.how and f"tests: {done.how}: {done.last_line}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(execute, cases):
            if done.how:
                print(f"{done.case.name}: {done.how}: {done.last_line}", flush=True)
    if not rows.exists():
        sys.exit("no launch was compared")
    print(summary(str(rows)))
    with rows.open() as file:
        return any(json.loads(line)["state"] in ("differ", "alarm", "missed") for line in file)


if SETTINGS not in os.environ:
    if __name__ == "__main__":
        sys.exit(main())
elif __name__ == "__main__":
    begin()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
else:  # a plug-in of pytest
    begin()
