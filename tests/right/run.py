"""Right programs under `triton-runner verify`: how many launches does it call wrong? None should be.

    python tests/right/run.py [PART ...] [--only TEXT] [--launches 16] [--jobs 2] [--tutorials F] [--folder F]

A part is `programs` (tests/right/programs), `examples`, `tutorials` (Triton's own, of --tutorials), `folder`
(the scripts of --folder) or a library of tests/libraries, whose cases are judged one by one. Without a part:
programs, examples, and the folders that are named. Each subject is a process of its own.

Prints every launch that is called wrong or unknown with its findings, the warnings by check, and the counts;
--results takes all of it as JSON. exceptions.json names what may be called wrong, each with its reason and
the page that explains it. Exit status: 1 if another launch is called wrong or unknown, or a program fails.
A whole library on a free machine: run.py fla --whole --launches 400.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests")]
from suite import results  # noqa: E402
from suite import run as suite  # noqa: E402

GOOD = ("right", "no fault found", "nondeterministic")  # verdicts on launches that are right
LIMIT = 900  # seconds of CPU time after which a program is ended

# Examples that are scripts without arguments, and show no fault on purpose.
EXAMPLES = (
    "guide/start.py", "guide/sums.py --atomic", "guide/quotient.py", "python_runner/matmul.py",
    "runner/v3.9.0/*/*.py", "dump/python/**/*.py", "compile/with_inductor.py", "gluon/*.py",
)  # fmt: skip
# A script says what it needs beside the defaults in a line of its own, `# verify: --target cuda:100`.
OPTIONS = re.compile(r"^# verify: (.*)$", re.MULTILINE)


def script_of(folder: str):
    """tests/<folder>/run.py as a module: several folders have a script of this name."""
    spec = importlib.util.spec_from_file_location(f"{folder}_run", ROOT / "tests" / folder / "run.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


libraries = script_of("libraries")


@dataclasses.dataclass
class Subject:
    """A program that is right: its part, its name there, what follows `verify`, its environment."""

    part: str
    name: str
    command: list[str]
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    """The answer of `verify` about a subject: its launches as the JSON has them, and how the program itself
    ended: "" where it ended well."""

    subject: Subject
    launches: list[dict]
    failed: str
    seconds: float

    def to_json(self) -> dict:
        kept = ("kernel", "grid", "target", "verdict", "findings", "not_run", "seconds")
        return {
            "part": self.subject.part, "name": self.subject.name, "failed": self.failed,
            "seconds": round(self.seconds, 1),
            "launches": [{field: launch[field] for field in kept} for launch in self.launches],
        }  # fmt: skip


# --- what is judged


def of_scripts(part: str, folder: Path, scripts, environment=None) -> list[Subject]:
    """A subject a script; scripts may have arguments behind their name."""
    subjects = []
    for script in scripts:
        name, *arguments = script.split(" ")
        options = OPTIONS.search((folder / name).read_text())
        options = options[1].split() if options else []
        subjects.append(Subject(part, script, [*options, str(folder / name), *arguments], environment or {}))
    return subjects


def programs() -> list[Subject]:
    names = sorted(path.relative_to(HERE / "programs").as_posix() for path in HERE.glob("programs/*/*.py"))
    return of_scripts("programs", HERE / "programs", names)


def examples() -> list[Subject]:
    folder = ROOT / "examples"
    names = []
    for pattern in EXAMPLES:
        pattern, *arguments = pattern.split(" ")
        names += [
            " ".join([path.relative_to(folder).as_posix(), *arguments])
            for path in sorted(folder.glob(pattern))
        ]
    return of_scripts("examples", folder, names)


def tutorials(folder: Path, scratch: Path) -> list[Subject]:
    """Triton's own, as `make tutorials` runs them: with --pretend-cuda and --quick."""
    theirs = script_of("tutorials")
    _, package = theirs.site_of(importlib.metadata.version("triton"), scratch)
    tree = theirs.source_tree(folder.resolve(), package, scratch / "tree")
    environment = {"TRITON_RUNNER_QUICK": "1", "MPLBACKEND": "agg"}
    subjects = []
    for path in sorted([*tree.glob("*.py"), *tree.glob("gluon/*.py")]):
        name = path.relative_to(tree).as_posix()
        for target in theirs.TARGETS.get(name, ["cuda:90"]):
            command = ["--pretend-cuda", "--target", target, str(path), *theirs.ARGUMENTS.get(name, [])]
            subjects.append(Subject("tutorials", f"{name} {target}", command, environment))
    return subjects


def library(name: str, whole: bool) -> list[Subject]:
    """The cases of a library, one by one or all in one process."""
    environment = libraries.environment(name)
    cases = [str(libraries.HERE / "cases.py"), name, "cuda"]
    if whole:
        return [Subject(name, "all", ["--pretend-cuda", *cases, ""], environment)]
    listing = [sys.executable, "-m", "triton_runner", "run", "--device", "cpu", "--pretend-cuda"]
    done = subprocess.run(
        [*listing, *cases, "--names"], env=os.environ | environment, stdout=subprocess.PIPE, text=True
    )
    names = [json.loads(line)["name"] for line in done.stdout.splitlines() if line.startswith('{"name"')]
    if not names:
        sys.exit(f"{name}: no cases")
    return [Subject(name, case, ["--pretend-cuda", *cases, case], environment) for case in names]


# --- judging


def judge(subject: Subject, launches: int) -> Outcome:
    """Runs `verify` on a subject."""
    command = [sys.executable, "-m", "triton_runner", "verify", "--json", "--launches", str(launches)]
    environment = {"TRITON_DEFAULT_FP_FUSION": "1", "PYTHONWARNINGS": "ignore", "TRITON_RUNNER_DEVICE": "cpu"}
    done = suite.execute(
        suite.Case(subject.name, [*command, *subject.command], environment | subject.environment, None, LIMIT)
    )
    try:
        found = json.loads(done.output)
    except ValueError:
        return Outcome(subject, [], f"{done.how}: {done.last_line}", done.seconds)
    rows = [json.loads(line) for line in done.errors.splitlines() if line.startswith('{"name"')]
    wrong = [row for row in rows if row["result"] != "right"]
    failed = ""
    if found["program"]["status"]:
        failed = done.last_line
    elif wrong:
        failed = f"{wrong[0]['result']}: {wrong[0]['text']}"
    elif not found["launches"]:
        failed = "it launched no kernel"
    return Outcome(subject, found["launches"], failed, done.seconds)


def exceptions() -> list[dict]:
    """Returns what may be called wrong: "part", "kernel", "check", "reason", "page"."""
    return json.loads((HERE / "exceptions.json").read_text())


def excused(outcome: Outcome, launch: dict, known: list[dict]) -> bool:
    """Whether every fault of a launch is an exception."""
    faults = {finding["check"] for finding in launch["findings"] if finding["severity"] == "fault"}
    where = outcome.subject.part, launch["kernel"]
    allowed = {one["check"] for one in known if (one["part"], one["kernel"]) == where}
    return launch["verdict"] == "wrong" and faults <= allowed


def failure(outcome: Outcome, known: list[dict]) -> str:
    """How the program ended, unless a launch that is an exception ended it."""
    return "" if any(excused(outcome, one, known) for one in outcome.launches) else outcome.failed


def blamed(outcome: Outcome, known: list[dict]) -> list[dict]:
    """The launches that are called wrong or unknown, and are no exceptions."""
    return [
        one for one in outcome.launches if one["verdict"] not in GOOD and not excused(outcome, one, known)
    ]


def show(outcome: Outcome, known: list[dict]) -> str:
    """The lines on a subject: nothing where all is as it should be."""
    where = f"{outcome.subject.part}: {outcome.subject.name}"
    failed = failure(outcome, known)
    lines = [f"{where}: the program fails: {failed}"] if failed else []
    for one in blamed(outcome, known):
        lines.append(f"{where}: {one['kernel']} {one['grid']} is called {one['verdict']}")
        for finding in one["findings"]:
            first = finding["text"].splitlines()[0]
            levels = ", ".join(finding["levels"])
            lines.append(f"    {finding['severity']}, {finding['check']} at {levels}: {first}")
        lines += [
            f"    not run: {no['level']}, {no['how']}: {no['why'].splitlines()[0]}"
            for no in one["not_run"]
            if no["level"] != "cubin"
        ]
    return "\n".join(lines)


def summary(outcomes: list[Outcome], known: list[dict]) -> str:
    """A row a part: subjects, launches by verdict, warnings by check."""
    lines = []
    for part in dict.fromkeys(outcome.subject.part for outcome in outcomes):
        of = [outcome for outcome in outcomes if outcome.subject.part == part]
        launches = [(outcome, one) for outcome in of for one in outcome.launches]
        verdicts = collections.Counter(one["verdict"] for _, one in launches)
        findings = [finding for _, one in launches for finding in one["findings"]]
        count = {
            kind: collections.Counter(f["check"] for f in findings if f["severity"] == kind)
            for kind in ("fault", "warning")
        }
        line = f"{part}: {len(of)} subjects, {len(launches)} launches: "
        line += ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items()) or "none judged"
        for kind, by_check in count.items():
            if by_check:
                line += f"; {kind}s: " + ", ".join(f"{n} {check}" for check, n in sorted(by_check.items()))
        if failed := sum(bool(failure(outcome, known)) for outcome in of):
            line += f"; {failed} programs fail"
        if allowed := sum(excused(outcome, one, known) for outcome, one in launches):
            line += f"; {allowed} exceptions"
        lines.append(line)
    return "\n".join(lines)


def record(part: str, outcomes: list[Outcome], known: list[dict]) -> None:
    launches = [one for outcome in outcomes for one in outcome.launches]
    verdicts = collections.Counter(one["verdict"] for one in launches)
    warned = collections.Counter(
        f["check"] for one in launches for f in one["findings"] if f["severity"] == "warning"
    )
    allowed = sum(excused(outcome, one, known) for outcome in outcomes for one in outcome.launches)
    said = f"{len(launches)} launches: " + ", ".join(f"{n} {verdict}" for verdict, n in verdicts.items())
    said += f" ({allowed} of these an exception)" if allowed else ""
    results.record(
        "right", part, f"`verify` of {part}", f"python tests/right/run.py {part}", {"result": said},
        data={"warnings": dict(warned)},
    )  # fmt: skip


def write(path: Path, outcomes: list[Outcome]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([outcome.to_json() for outcome in outcomes], indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--only", default="", help="subjects whose name contains this")
    parser.add_argument("--launches", type=int, default=16, help="judge at most so many of a subject")
    parser.add_argument("--jobs", type=int, default=2, help="subjects at a time")
    parser.add_argument("--whole", action="store_true", help="a library's cases in one process: quicker")
    parser.add_argument("--tutorials", type=Path, help="the folder of Triton's tutorials")
    parser.add_argument("--folder", type=Path, help="a folder of other right programs")
    parser.add_argument("--write", action="store_true", help="a row a part into results/right.json")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "right.json")
    options = parser.parse_args()
    folders = {"tutorials": options.tutorials, "folder": options.folder}
    parts = options.parts or ["programs", "examples", *(name for name, path in folders.items() if path)]
    known = exceptions()
    outcomes: list[Outcome] = []
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    with tempfile.TemporaryDirectory() as scratch, pool:
        for part in parts:
            if part in folders and not folders[part]:
                parser.error(f"{part}: name its folder, --{part} FOLDER")
            if part in ("programs", "examples"):
                subjects = programs() if part == "programs" else examples()
            elif part == "tutorials":
                subjects = tutorials(options.tutorials, Path(scratch))
            elif part == "folder":
                folder = options.folder.resolve()
                subjects = of_scripts(part, folder, sorted(path.name for path in folder.glob("*.py")))
            elif part in libraries.LIBRARIES:
                subjects = library(part, options.whole)
            else:
                parser.error(f"no part {part!r}: programs, examples, tutorials, folder, or a library")
            subjects = [subject for subject in subjects if options.only in subject.name]
            tasks = [pool.submit(judge, subject, options.launches) for subject in subjects]
            for task in concurrent.futures.as_completed(tasks):
                outcome = task.result()
                outcomes.append(outcome)
                write(options.results, outcomes)  # a long run may be ended from outside
                if text := show(outcome, known):
                    print(text, flush=True)
            print(summary([o for o in outcomes if o.subject.part == part], known), flush=True)
    if options.write:
        for part in parts:
            record(part, [outcome for outcome in outcomes if outcome.subject.part == part], known)
    return any(failure(outcome, known) or blamed(outcome, known) for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main())
