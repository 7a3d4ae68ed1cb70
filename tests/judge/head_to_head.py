"""Runs the thirty programs of programs.py through this tool and others, each as its own page says, and keeps
what each finds, calls wrong and costs in results/judge.json:

    python tests/judge/head_to_head.py --ttsem VENV/bin/python --tilelens VENV/bin/tile-sanitizer
    python tests/judge/head_to_head.py --kept --gpu FILE

The second one adds what on_gpu.py has written on a machine with a GPU to what the first one kept.
Others are those whose paths are given; they need environments of their own (ttsem 0.1.0: Python 3.12, Triton
3.8.0). A program is found faulty where a tool reports a fault of the kernel, or where the program's own
comparison fails under it. `tile-race` of TileLens 3.1.1 records accesses and reports none, so that it is not
run."""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import programs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import results

_SANITIZER, _THERE = "compute-sanitizer", "`run --check all` beside it"
_KINDS = ("memcheck", "racecheck", "initcheck")
INTERPRETED = {"PROGRAM_DEVICE": "cpu", "TRITON_INTERPRET": "1"}


@dataclasses.dataclass
class Tool:
    """A tool: its command before the program, what of its output is a report, and the environment."""

    command: list
    report: str  # an expression; the program's own AssertionError counts with each
    environment: dict = dataclasses.field(default_factory=dict)
    statuses: tuple = ()  # that say a fault by themselves
    warns: str = ""  # an expression of what is a warning and no report


def tools(options) -> dict:
    own = [sys.executable, "-m", "triton_runner", "run", "--pretend-cuda", "--check", "all"]
    found = {
        "`run --check all`": Tool(own, r"error: kernel '"),
        "`verify`": Tool(
            [sys.executable, "-m", "triton_runner", "verify", "--pretend-cuda"],
            r"^  fault, ",
            {},
            (1,),
            r"^  warning, (uninit|nan|zerodiv|view|hints|overflow) ",
        ),
        "the interpreter": Tool([sys.executable], r"^$never", INTERPRETED),
    }
    if options.ttsem:
        found["ttsem"] = Tool([options.ttsem, "-m", "ttsem.sanitize"], r"^(oob_\w+|poison|race): ")
    if options.tilelens:
        more = {**INTERPRETED, "PROGRAM_COMPARES_NOT": "1"}
        found["TileLens"] = Tool([options.tilelens], r"IMA Diagnostic Report", more)
    return found


def outcome(tool: Tool, path: pathlib.Path) -> tuple[str, float, str]:
    """("fault", "warning", "right" or "cannot", CPU seconds, the line that says so)."""
    environment = {**os.environ, **tool.environment, "TRITON_RUNNER_PROD": "1"}
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [*tool.command, str(path)], stdout=said, stderr=said, env=environment, cwd=path.parent
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode(errors="replace")
    seconds = used.ru_utime + used.ru_stime
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    line = next((line for line in text.splitlines() if re.search(tool.report, line)), "")
    if line or status in tool.statuses:
        return "fault", seconds, line
    if "AssertionError" in text:
        return "fault", seconds, "the program's own comparison"
    if tool.warns and (line := next((one for one in text.splitlines() if re.search(tool.warns, one)), "")):
        return "warning", seconds, line
    if status == 0:
        return "right", seconds, ""
    return "cannot", seconds, (text.strip().splitlines() or [f"status {status}"])[-1]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ttsem", help="a Python that has ttsem")
    options.add_argument("--tilelens", help="its tile-sanitizer")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--gpu", type=pathlib.Path, help="the file that on_gpu.py has written")
    options.add_argument("--kept", action="store_true", help="run nothing, and take the rows of the last run")
    options.add_argument("--only", default="", help="programs whose name has this")
    chosen = options.parse_args()
    rows, costs = {}, collections.defaultdict(list)
    if chosen.kept:
        kept = results.read("judge")["head to head"]
        record(kept["data"]["programs"], kept["data"]["tools"], chosen.gpu, date=kept["date"])
        return 0
    with tempfile.TemporaryDirectory() as folder:

        def run(number: int) -> None:
            name, check, text = programs.PROGRAMS[number]
            path = pathlib.Path(folder) / f"program{number}.py"
            path.write_text(text)
            row = {"check": check}
            for called, tool in tools(chosen).items():
                row[called], seconds, line = outcome(tool, path)
                costs[called].append(seconds)
                print(f"{time.strftime('%H:%M:%S')} {name}: {called}: {row[called]} {line[:110]}", flush=True)
            rows[name] = row

        numbers = [n for n, one in enumerate(programs.PROGRAMS) if chosen.only in one[0]]
        with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
            list(pool.map(run, numbers))
    rows = {name: rows[name] for name, _, _ in programs.PROGRAMS if name in rows}
    middle = {called: round(sorted(seconds)[len(seconds) // 2], 1) for called, seconds in costs.items()}
    told = summed(rows, middle)
    if not chosen.only:
        record(rows, told, chosen.gpu)
    own = [row["`run --check all`"] for row in rows.values() if not row["check"]]
    return int("fault" in own)


def summed(rows: dict, middle: dict) -> dict:
    """The counts of each tool. rows: by program, what each tool says; middle: the median of CPU seconds."""
    faults = [row for row in rows.values() if row["check"]]
    right = [row for row in rows.values() if not row["check"]]
    told = {}
    for called, seconds in middle.items():
        told[called] = {
            "found": sum(row[called] == "fault" for row in faults),
            "warned": sum(row[called] == "warning" for row in faults),
            "faults": len(faults), "called wrong": sum(row[called] == "fault" for row in right),
            "right": len(right), "cannot run": sum(row[called] == "cannot" for row in rows.values()),
            "cpu_seconds": seconds,
        }  # fmt: skip
        print(called, json.dumps(told[called]))
    return told


def record(rows: dict, told: dict, gpu: pathlib.Path | None, **more) -> None:
    """Keeps what a run of all programs has found, with what a machine with a GPU has. more: `date`."""
    what = f"{len(programs.FAULTS)} faulty and {len(programs.RIGHT)} right programs, by each tool"
    if gpu is not None:
        found = json.loads(gpu.read_text())
        rows = {name: {**row, **on_gpu(found["programs"][name])} for name, row in rows.items()}
        costs: dict = collections.defaultdict(list)
        for row in found["programs"].values():
            costs[_SANITIZER].append(sum(row[kind]["cpu"] for kind in _KINDS))
            costs[_THERE].append(row["`run --check all`"]["cpu"])
        told |= summed(rows, {called: round(sorted(one)[len(one) // 2], 1) for called, one in costs.items()})
        own = sum(row["by its own report"] for row in rows.values() if row["check"])
        told[_SANITIZER] |= {"own": own, "version": found["version"], "on": found["about"]}
    results.record(
        "judge", "head to head", what, "python tests/judge/head_to_head.py",
        {called: _words(one) for called, one in told.items()}, data={"tools": told, "programs": rows}, **more,
    )  # fmt: skip


def on_gpu(row: dict) -> dict:
    """Returns what compute-sanitizer says of a program by one of its tools, and this tool there."""
    those = [row[kind] for kind in _KINDS]
    by_itself = any(one["says"] == "fault" and "own comparison" not in one["line"] for one in those)
    found = "fault" if by_itself or any(one["says"] == "fault" for one in (row["alone"], *those)) else "right"
    is_lost = all(one["says"] == "cannot" for one in those)
    return {
        _SANITIZER: "cannot" if is_lost else found, "by its own report": by_itself,
        _THERE: row["`run --check all`"]["says"],
    }  # fmt: skip


def _words(one: dict) -> str:
    warned = f", warns of {one['warned']}" if one["warned"] else ""
    own = f" ({one['own']} by its own reports)" if "own" in one else ""
    cannot = f", cannot run {one['cannot run']}" if one["cannot run"] else ""
    return (
        f"finds {one['found']} of {one['faults']}{own}{warned}, calls {one['called wrong']} of {one['right']}"
        f" wrong{cannot}; {one['cpu_seconds']:.1f} s of CPU time each (median)"
    )


if __name__ == "__main__":
    sys.exit(main())
