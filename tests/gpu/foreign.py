"""Launches of other compilers' kernels on a GPU and on the engines: the same bytes?

    python tests/gpu/foreign.py OUT CASES [--device cuda] [--jobs 14]

CASES is a folder with folders COMPILER-NAME of cases (`triton-runner cuda --capture`, `capture()`). Each case
with a text of PTX and machine code runs four times from the same memory: the GPU gets the PTX, which its
driver compiles, and the machine code; the SIMT engine runs both. A JSON line a case goes to
OUT/foreign.jsonl, then a row a compiler is printed; the states are those of machine_code.py. --write MACHINE
keeps the rows of OUT instead, on any machine.

This script runs in a process for each part of the cases, too: a kernel that faults takes its process's GPU
away, and a new process goes on after it.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from machine_code import Comparison, text_of

LEVELS = ("ptx", "cubin")
LIMIT = 150  # seconds of a process without a new row


def as_driver_reads(text: str, version: int) -> str:
    """PTX with the version that a driver of CUDA `version` (13000) reads, where it says a newer one."""
    newest = (version // 1000 - 4, version % 1000 // 10)

    def lowered(found):
        return f".version {'{}.{}'.format(*min(newest, (int(found[1]), int(found[2]))))}"

    return re.sub(r"^\.version (\d+)\.(\d+)", lowered, text, count=1, flags=re.M)


def launch_of(path: Path, device: str):
    """The launch of a case, whose texts a GPU's driver gets as they are."""
    from triton_runner._artifact.kernel import ArtifactKernel
    from triton_runner._artifact.relaunch import Relaunch
    from triton_runner._kernel.cases.case import open_case
    from triton_runner._launch import gpu_driver
    from triton_runner._settings import devices

    class ByDriver(Relaunch):
        def kernel(self, level: str):
            if devices.resolved_device() == "cpu":
                return super().kernel(level)
            artifact, code = self.artifact(level), self.texts[level]
            if level == "ptx":
                code = as_driver_reads(code, gpu_driver.driver().driver_version())
            shape = (gpu_driver.current_device(), self.block, self.cluster)
            loaded = gpu_driver.executor(code, {**artifact.description, "level": level}, *shape)
            return ArtifactKernel(artifact, loaded, {level: code}, self.target, device)

    subject = open_case(path).subject
    return ByDriver(**{name: getattr(subject, name) for name in subject.__dataclass_fields__})


def row_of(path: Path, device: str) -> dict:
    """A case's row: what a GPU and the engine leave at each level."""
    launch, row = launch_of(path, device), {"case": f"{path.parent.name}/{path.stem}"}
    row |= {"compiler": path.parent.name.partition("-")[0], "kernel": launch.name, "grid": list(launch.grid)}
    for level in LEVELS:
        if level not in launch.texts:
            continue
        comparison = Comparison(rows="", against=device, level=level, there=level)
        try:
            row[level] = found = comparison.bytes(launch, comparison.run(launch))
            if found["state"] == "equal" and not found["bytes"]:
                found["state"] = "wrote nothing"
        except Exception as error:  # what is refused is counted, and the next case goes on
            row[level] = {"state": "refused", "why": text_of(error)}
    return row


def work(options) -> int:
    """Does the cases of a list; ends with 3 after one that has cost the process its GPU."""
    for path in map(Path, options.list.read_text().split("\n")):
        row = row_of(path, options.device)
        with options.rows.open("a") as file:
            file.write(json.dumps(row) + "\n")
        if any("cu" in row.get(level, {}).get("why", "") for level in LEVELS):  # an error of the driver's
            return 3
    return 0


def done(rows: Path) -> set[str]:
    return {json.loads(line)["case"] for line in rows.read_text().splitlines()} if rows.exists() else set()


def part(options, number: int, cases: list[Path]) -> None:
    """Runs cases in processes, one after the other; the case at which a process ended or stuck has a row."""
    rows, todo = options.out / f"part-{number}.jsonl", options.out / f"part-{number}.txt"
    while left := [path for path in cases if f"{path.parent.name}/{path.stem}" not in done(rows)]:
        todo.write_text("\n".join(map(str, left)))
        words = [sys.executable, __file__, options.out, options.cases, "--device", options.device]
        before, began = len(done(rows)), time.monotonic()
        child = subprocess.Popen([*words, "--list", todo, "--rows", rows])
        while (status := child.poll()) is None:
            time.sleep(0.2)
            if len(done(rows)) != before:
                before, began = len(done(rows)), time.monotonic()
            if time.monotonic() - began > LIMIT:
                child.kill()
        if status not in (0, 3):
            path = next(path for path in left if f"{path.parent.name}/{path.stem}" not in done(rows))
            row = {"case": f"{path.parent.name}/{path.stem}", "kernel": path.stem}
            row["compiler"] = path.parent.name.partition("-")[0]
            why = {"state": "refused", "why": f"its process ended with {status}"}
            with rows.open("a") as file:
                file.write(json.dumps(row | dict.fromkeys(LEVELS, why)) + "\n")


def table(rows: list[dict]) -> list[list[str]]:
    """A row a compiler and level: launches, kernels, states."""
    out = []
    for compiler in sorted({row["compiler"] for row in rows}):
        own = [row for row in rows if row["compiler"] == compiler]
        kernels = len({row["kernel"] for row in own})
        for level in LEVELS:
            states = collections.Counter(row[level]["state"] for row in own if level in row)
            shown = ", ".join(f"{n} {state}" for state, n in states.most_common())
            out.append([compiler, level, str(states.total()), str(kernels), shown])
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", metavar="MACHINE", help="record the rows of OUT, of this machine")
    parser.add_argument("--list", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        return work(options)
    kept = options.out / "foreign.jsonl"
    if not options.write:
        options.out.mkdir(parents=True, exist_ok=True)
        cases = sorted(options.cases.glob("*/*.trcase"))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda n: part(options, n, cases[n :: options.jobs]), range(options.jobs)))
        kept.write_text("".join(path.read_text() for path in sorted(options.out.glob("part-*.jsonl"))))
        for path in options.out.glob("part-*"):
            path.unlink()
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    columns = ["compiler", "level", "launches", "kernels", "states"]
    for line in (columns, *table(rows)):
        print("| " + " | ".join(line) + " |")
    for row in rows:
        for level in LEVELS:
            if row.get(level, {}).get("state") not in ("equal", "wrote nothing", None):
                print(row["case"], level, row[level])
    if options.write:
        sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
        from suite import results

        states = collections.Counter(row[level]["state"] for row in rows for level in LEVELS if level in row)
        shown = ", ".join(f"{n} {state}" for state, n in states.most_common())
        kernels = len({row["kernel"] for row in rows})
        figures = {"result": f"{len(rows)} launches of {kernels} kernels at both levels: {shown}"}
        what = "launches of other compilers' kernels on the GPU and on the CPU, from PTX and machine code"
        command = "python tests/gpu/foreign.py OUT CASES"
        whole = {"columns": columns, "rows": table(rows)}
        results.record("foreign", "gpu", what, command, figures, machine=options.write, table=whole)
    return any(row.get(level, {}).get("state") == "differ" for row in rows for level in LEVELS)


if __name__ == "__main__":
    sys.exit(main())
