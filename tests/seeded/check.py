"""Twenty edits of handlers, checks and Python, each a fault: do the tests that cover its file find it?

    python tests/seeded/check.py [TEXT ...] [--part python] [--write]

edits.json has a file, what stands in it, what is put in its place, and the part of the tests that must fail:
golden cases, a unit test, or Python tests (`-m` where they are marked). Each edit is made in a copy
of the tree (build/seeded), where a changed C++ file is compiled alone. The tests pass there without the edit.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent))
from suite import results  # noqa: E402
from suite.run import Case, Outcome, execute  # noqa: E402
from suite.site import package_site  # noqa: E402

TREE = ROOT / "build" / "seeded" / "tree"
BUILD = TREE / "build" / "release"
EDITS = json.loads((HERE / "edits.json").read_text())
CPU_LIMIT = 1800
NO_TESTS = 5  # pytest's status where all tests are deselected


def prepare() -> None:
    """The tracked files as they are now, with times that a build understands."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        source, to = ROOT / name, TREE / name
        if not source.is_file() or (to.is_file() and to.read_bytes() == source.read_bytes()):
            continue
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, to)


def build(targets: list[str]) -> str:
    """Returns what failed; "" where all was built."""
    commands = [["ninja", "-C", str(BUILD), "-j", str(len(os.sched_getaffinity(0))), *targets]]
    if not (BUILD / "build.ninja").exists():
        python = f"-DPython_EXECUTABLE={sys.executable}"
        commands.insert(
            0, ["cmake", "-G", "Ninja", "-S", ".", "-B", str(BUILD), "-DTRITON_RUNNER_TESTS=ON", python]
        )
    for command in commands:
        done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            return done.stdout[-2000:]
    return ""


def target_of(edit: dict) -> list[str]:
    return {"cases": ["case_tool"], "unit": edit["run"].split()[:1], "python": []}[edit["part"]]


def tests_of(edit: dict) -> Outcome:
    """Runs what must find the edit."""
    words = shlex.split(edit["run"])
    environment = {}
    if edit["part"] == "cases":
        tool = str(BUILD / "tests" / "tools" / "case_tool")
        command = [sys.executable, "tests/run_cases.py", "--one-way", "--tool", tool, *words]
    elif edit["part"] == "unit":
        command = [str(BUILD / words[0]), *words[1:]]
    else:
        marked = [] if "-m" in words else ["-m", "not long and not share and not machine"]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *marked, *words]
        environment = {
            "PYTHONPATH": str(package_site(TREE, ROOT / "build" / "release", TREE.parent / "site"))
        }
    return execute(Case(edit["file"], command, environment, TREE, CPU_LIMIT))


def found(edit: dict) -> str:
    """ "found", or what there is to say."""
    file = TREE / edit["file"]
    text = file.read_text()
    if text.count(edit["old"]) != 1:
        return f"{edit['old']!r} stands there {text.count(edit['old'])} times"
    file.write_text(text.replace(edit["old"], edit["new"]))
    try:
        if failed := build(target_of(edit)) if target_of(edit) else "":
            return f"does not compile: {failed}"
        done = tests_of(edit)
    finally:
        file.write_text(text)
    if edit["part"] == "python" and done.status == NO_TESTS:
        return f"no test ran: {done.last_line}"
    lines = [line for line in (done.output + done.errors).splitlines() if line.startswith(("FAILED", "E  "))]
    return f"found: {(lines or [done.last_line])[0][:120]}" if done.status else "not found"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="*", help="only edits whose file contains one of these")
    parser.add_argument("--part", choices=["cases", "unit", "python"])
    parser.add_argument("--write", action="store_true", help="into results/seeded.json")
    options = parser.parse_args()
    chosen = [e for e in EDITS if not options.texts or any(text in e["file"] for text in options.texts)]
    chosen = [e for e in chosen if options.part in (None, e["part"])]
    prepare()
    targets = sorted({target for edit in chosen for target in target_of(edit)})
    if targets and (failed := build(targets)):
        print(failed)
        return 2
    rows = []
    for edit in chosen:
        rows.append([edit["file"], edit["old"], edit["new"], f"{edit['part']} {edit['run']}", found(edit)])
        print(f"{edit['file']}: {edit['part']} {edit['run']}: {rows[-1][-1]}", flush=True)
    count = sum(row[-1].startswith("found") for row in rows)
    print(f"{count} of {len(rows)} edits were found")
    if options.write:
        results.record(
            "seeded", options.part or "all",
            f"faulty edits ({options.part or 'all'}), found by tests that cover them",
            "python tests/seeded/check.py" + f" --part {options.part}" * bool(options.part),
            {"result": f"{count} of {len(rows)}"},
            table={"columns": ["file", "old", "new", "tests", "what came of it"], "rows": rows},
        )  # fmt: skip
    return count < len(rows)


if __name__ == "__main__":
    sys.exit(main())
