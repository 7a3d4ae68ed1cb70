"""Machine code on the CPU beside a GPU, launch by launch: the same cubin, the same inputs, the same bytes?

    triton-runner run --device cpu --level ttir --pretend-cuda tests/gpu/machine_code.py PROGRAM [ARG ...]
    PYTEST_ADDOPTS="-p machine_code" PYTHONPATH=tests/gpu python tests/conformance/run.py ...

Reads MACHINE_CODE: the file to which a JSON line a launch is appended; MACHINE_CODE_AGAINST: "cuda", or "ptx"
for the PTX engine in its place; MACHINE_CODE_LAUNCHES: how many launches of a kernel are compared (2).
`python tests/gpu/machine_code.py FILE` sums a file up.
"""

import collections
import dataclasses
import hashlib
import json
import os
import re
import runpy
import sys
import time

MOST_PROGRAMS = 512  # of a launch: the engine takes milliseconds for each


class Comparison:
    """Compares launches, and passes each on."""

    def __init__(self, path: str, against: str, launches: int):
        self.path, self.against, self.launches = path, against, launches
        self.seen: dict[str, int] = collections.Counter()

    def __call__(self, call, go):
        from triton_runner._artifact.relaunch import of_call

        try:
            launch = dataclasses.replace(of_call(call), assembled=True)
            row = self.row(launch)
        except Exception as error:  # what is refused is counted, and the program goes on
            row = {"kernel": getattr(call.kernel, "name", "?"), "state": "refused", "why": text_of(error)}
        if row:
            with open(self.path, "a") as file:
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
        if programs > MOST_PROGRAMS:
            return {**row, "state": "left out", "why": f"{programs} programs"}
        started = time.perf_counter()
        ours = launch.run("cubin")
        row["seconds"] = round(time.perf_counter() - started, 3)
        if ours.trap:
            return {**row, "state": "trap", "why": text_of(ours.trap)}
        theirs = launch.run("ptx") if self.against == "ptx" else launch.run("cubin", device=self.against)
        if theirs.trap:
            return {**row, "state": "trap", "why": f"{self.against}: {text_of(theirs.trap)}"}
        before = launch.arguments.saved
        written = sum(int((a != b).sum()) for a, b in zip(before, theirs.blocks, strict=True))
        differ = sum(int((a != b).sum()) for a, b in zip(ours.blocks, theirs.blocks, strict=True))
        state = "differ" if differ else "equal"
        return {**row, "state": state, "bytes": written, "differ": differ}


def text_of(error) -> str:
    notes = getattr(error, "notes", None) or []
    return " | ".join(" ".join(str(part).split()) for part in [str(error), *notes])[:600]


def kind_of(row: dict) -> str:
    """What rows are counted by: the reason without its place and its instruction."""
    why = re.sub(r"^\S+:\d+:\d+: ", "", row.get("why", row["kernel"]))
    return re.split(r" /\*| \| |, program ", why)[0][:200]


def begin() -> None:
    from triton_runner._launch.launchers import observe

    against = os.environ.get("MACHINE_CODE_AGAINST", "cuda")
    launches = int(os.environ.get("MACHINE_CODE_LAUNCHES", "2"))
    observe(Comparison(os.environ["MACHINE_CODE"], against, launches))


def summary(path: str) -> str:
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    states = collections.Counter(row["state"] for row in rows)
    lines = [f"{len(rows)} launches: " + ", ".join(f"{n} {state}" for state, n in states.most_common())]
    for state in ("refused", "trap", "differ"):
        whys = collections.Counter(kind_of(row) for row in rows if row["state"] == state)
        lines += [f"{state:8} {n:5} {why}" for why, n in whys.most_common(40)]
    return "\n".join(lines)


if __name__ == "__main__":
    if "MACHINE_CODE" not in os.environ:
        print(summary(sys.argv[1]))
    else:
        begin()
        sys.argv = sys.argv[1:]
        sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
        runpy.run_path(sys.argv[0], run_name="__main__")
elif "MACHINE_CODE" in os.environ:  # a plug-in of pytest
    begin()
