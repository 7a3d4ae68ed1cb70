"""Runs the right kernels and the planted faults of both tables under `prove` and under TileLens.

    python tests/python/prove/beside.py --tilelens FOLDER/bin [--only NAME] [--write]

FOLDER is a virtual environment with tilelens and torch. TileLens looks at launches: of each kernel at one of
sizes that a test would have, and of a planted fault at that, too, with which `prove` refutes it, which is a
launch that nobody who uses TileLens alone has. Its `tile-sanitizer` looks for accesses out of bounds and its
`tile-race` for programs that meet; faults of other kinds are not among those that it looks for. Seconds are
those of the processor, with the time in which Python and Triton start. A program that is in
build/beside.jsonl is not run again. --write counts that file in results/prove.json.
"""

import argparse
import json
import pathlib
import re
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests")]
KEPT = ROOT / "build" / "beside.jsonl"
TOOLS = {"bounds": "tile-sanitizer", "disjoint": "tile-race"}
LIMIT = 120  # seconds of a run of TileLens
REPORTS = re.compile(r"out-of-bounds|out of bounds|race detected|RaceType|data race", re.IGNORECASE)

LAUNCH = """
import importlib.util, json, sys, torch
row = json.loads(sys.argv[-1])
spec = importlib.util.spec_from_file_location("kernels", row["file"])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
types = {"f32": torch.float32, "f16": torch.float16, "i32": torch.int32, "i8": torch.int8}
given = {}
for name, value in row["arguments"].items():
    given[name] = torch.empty(value[1], dtype=types[value[0]]) if isinstance(value, list) else value
    if isinstance(value, list) and value[1] < 1 << 24:
        given[name].zero_()
getattr(module, row["kernel"])[tuple(row["grid"])](**given, **row["constants"])
print("the launch ended")
"""


def programs() -> dict:
    """name: (file, kernel, types, constants, grid, assumptions, what is wrong)"""
    import proved_table as table
    import varied_table as varied

    found = {f"right: {name}": (table.KERNELS, name, *row[:4], "") for name, row in table.RIGHT.items()}
    found |= {f"right: {name}": (varied.KERNELS, *row, "") for name, row in varied.RIGHT.items()}
    for kind in ("WRONG", "LARGE"):
        found |= {f"{kind}: {name}": (table.KERNELS, *row) for name, row in getattr(table, kind).items()}
        found |= {f"{kind}: {name}": (varied.KERNELS, *row) for name, row in getattr(varied, kind).items()}
    return found


def launches(name: str, program: tuple) -> dict:
    """What `prove` says, in how many seconds, and the launches that TileLens is to look at."""
    import drawn

    from triton_runner.verbs.prove import run

    file, kernel, types, constants, grid, given, wrong = program
    how = {"signature": ", ".join(types), "constexprs": constants, "target": "cuda:80", "options": {}}
    began = run.now()
    subject = run.of_kernel(f"{file}:{kernel}", kernel, how)
    subject.assume((given,), grid)
    subject.simplify()
    answers = run.proof(subject, (wrong,) if wrong else (*TOOLS, "overflow", "covered", "division", "ends"), 30)
    row = {"name": name, "wrong": wrong, "verdicts": [one.verdict for one in answers.answers]}
    row |= {"seconds": run.now() - began, "launches": []}
    parameters = [one.name.removeprefix("%") for one in subject.function.regions[0].blocks[0].args]
    base = {"file": file, "kernel": kernel, "constants": {**constants, **_ones(file, kernel, types)}}
    small = drawn.Drawing(subject, (), name).small()
    examples = [one.counter_example for one in answers.answers if one.counter_example]
    for arguments, extents in [*([small] if small else []), *((one.arguments, one.grid) for one in examples)]:
        held = {key: _argument(arguments[key]) for key in parameters}
        row["launches"].append({**base, "arguments": held, "grid": list(extents)})
    return row


def _ones(file: str, kernel: str, types) -> dict:
    """The parameters that the signature says are 1, which TTIR does not have."""
    import ast

    tree = ast.parse(pathlib.Path(file).read_text())
    node = next(one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == kernel)
    names = [one.arg for one in node.args.args]
    return {name: 1 for name, word in zip(names, types, strict=False) if str(word).endswith(":1")}


def _argument(value):
    if isinstance(value, str):
        element, count = re.fullmatch(r"(\w+)\[(\d+)\]", value).groups()
        return [element, int(count)]
    return value


def under(folder: str, launch: dict, tool: str) -> tuple[str, float]:
    """(found, nothing, stopped, or what went wrong; seconds) of a tool of TileLens."""
    script = KEPT.parent / "beside_launch.py"
    script.write_text(LAUNCH)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(pathlib.Path(folder) / tool), str(script), json.dumps(launch)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
        text = done.stdout + done.stderr
        found = "found" if REPORTS.search(text) else "nothing" if "the launch ended" in text else text[-300:]
    except subprocess.TimeoutExpired:
        found = "stopped"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def look(folder: str, name: str, program: tuple) -> dict:
    row = launches(name, program)
    row["tilelens"] = []
    tools = [TOOLS[row["wrong"]]] if row["wrong"] in TOOLS else [] if row["wrong"] else [*TOOLS.values()]
    for tool in tools:
        row["tilelens"] += [[tool, *under(folder, launch, tool)] for launch in row["launches"]]
    del row["launches"]
    return row


def write() -> None:
    from suite import results

    rows = [*map(json.loads, KEPT.read_text().splitlines())]
    table = []
    for kind, about in (("right", "right kernels"), ("WRONG", "faults at sizes of a test"), ("LARGE", "at others")):
        for wrong in dict.fromkeys(row["wrong"] for row in rows if row["name"].startswith(kind)):
            own = [row for row in rows if row["name"].startswith(kind) and row["wrong"] == wrong]
            ours = sum("refuted" in row["verdicts"] for row in own)
            runs = [one for row in own for one in row["tilelens"]]
            first = sum(any(one[1] == "found" for one in row["tilelens"][:1]) for row in own)
            any_ = sum(any(one[1] == "found" for one in row["tilelens"]) for row in own)
            asked = sum(bool(row["tilelens"]) for row in own)
            median = sorted(one[2] for one in runs)[len(runs) // 2] if runs else None
            mine = sorted(row["seconds"] for row in own)[len(own) // 2]
            table.append([
                f"{about}: {wrong}" if wrong else about, len(own), ours,
                first if asked else None, any_ if asked else None,
                round(mine, 1), round(median, 1) if median is not None else None,
            ])  # fmt: skip
    columns = [
        "programs", "of them", "`prove` refutes", "TileLens reports, at a test's sizes",
        "or in the launch of `prove`", "median s of `prove`", "median s of TileLens",
    ]  # fmt: skip
    faults = [row for row in rows if row["wrong"]]
    found = sum(any(one[1] == "found" for one in row["tilelens"]) for row in faults)
    first = sum(any(one[1] == "found" for one in row["tilelens"][:1]) for row in faults)
    false = sum(any(one[1] == "found" for one in row["tilelens"]) for row in rows if not row["wrong"])
    ours = sum("refuted" in row["verdicts"] for row in faults)
    said = (
        f"of {len(faults)} faults `prove` refutes {ours}; TileLens 3.1.1 reports {first} at sizes of a test and "
        f"{found} with the launch of `prove`; of {len(rows) - len(faults)} right kernels it reports {false}"
    )
    results.record(
        "prove", "tilelens", "planted faults and right kernels beside TileLens",
        "python tests/python/prove/beside.py --tilelens FOLDER/bin", {"result": said},
        table={"columns": columns, "rows": table},
    )  # fmt: skip
    print(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tilelens", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    known = {json.loads(line)["name"] for line in KEPT.read_text().splitlines()} if KEPT.exists() else set()
    for name, program in programs().items():
        if options.only not in name or name in known:
            continue
        row = look(options.tilelens, name, program)
        with KEPT.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(name, row["verdicts"], row["tilelens"], flush=True)
    if options.write:
        write()


if __name__ == "__main__":
    main()
