"""Runs the right kernels and the planted faults of both tables under TileLens, beside `prove`.

    python tests/python/prove/beside.py --tilelens FOLDER/bin [--only NAME] [--write]

FOLDER is a virtual environment with tilelens 3.1.1, torch, and Triton 3.6 (with 3.9 it fails at a load
without a mask). TileLens looks at launches: of each kernel at one of sizes that a test would have, and of a
fault at that, too, with which `prove` refutes it, which nobody has who uses TileLens alone. `tile-sanitizer`
looks for accesses out of bounds, so faults of other kinds are left out (`tile-race` keeps accesses and
compares none). Seconds are those of the processor, without the time in which Python and Triton start. What is
found is kept in build/beside.jsonl. --write counts that file in results/prove.json.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests")]
KEPT = ROOT / "build" / "beside.jsonl"
TOOL = "tile-sanitizer"
LIMIT = 300  # seconds of a launch under TileLens

LAUNCHES = """
import importlib.util, json, os, signal, sys, time, torch
types = {"f32": torch.float32, "f16": torch.float16, "i32": torch.int32, "i8": torch.int8}
rows = [json.loads(line) for line in open(sys.argv[-1])]
kernels = {}
for file in {row["file"] for row in rows}:
    spec = importlib.util.spec_from_file_location(f"kernels{len(kernels)}", file)
    kernels[file] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernels[file])
def stop(*_):
    raise TimeoutError
def look(row):
    began, given, how = time.process_time(), {}, "nothing"
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        for name, value in row["arguments"].items():
            given[name] = value
            if isinstance(value, list):
                element, count, filled = (*value, 0)[:3]
                given[name] = torch.empty(count, dtype=types[element])
                if count < 1 << 24:
                    given[name].fill_(filled)
        getattr(kernels[row["file"]], row["kernel"])[tuple(row["grid"])](**given, **row["constants"])
    except SystemExit:
        how = "found"
    except BaseException as error:
        how = f"{type(error).__name__}: {str(error)[-200:]}"
    answer = {"name": row["name"], "how": how, "seconds": time.process_time() - began}
    print("answer", json.dumps(answer), flush=True)
for row in rows:
    if (child := os.fork()) == 0:  # a launch does not see what an earlier one left
        look(row)
        os._exit(0)
    os.waitpid(child, 0)
""".replace("LIMIT", str(LIMIT))


def programs() -> dict:
    """name: (file, kernel, types, constants, grid, assumptions, what is wrong)"""
    import proved_table as table
    import varied_table as varied

    found = {}
    for kind in ("WRONG", "LARGE"):
        found |= {f"{kind}: {name}": (table.KERNELS, *row) for name, row in getattr(table, kind).items()}
        found |= {f"{kind}: {name}": (varied.KERNELS, *row) for name, row in getattr(varied, kind).items()}
    found = {name: row for name, row in found.items() if row[-1] == "bounds"}
    found |= {f"right: {name}": (table.KERNELS, name, *row[:4], "") for name, row in table.RIGHT.items()}
    return found | {f"right: {name}": (varied.KERNELS, *row, "") for name, row in varied.RIGHT.items()}


def launches(name: str, program: tuple) -> dict:
    """Returns what `prove` says, in how many seconds, and the launches that TileLens is to look at."""
    import drawn
    import subjects
    from triton_runner.verbs.prove import run

    file, kernel, types, constants, grid, given, wrong = program
    began = run.now()
    subject = subjects.made(file, kernel, types, constants, grid, given)
    answers = run.proof(subject, ("bounds",), 30)
    row = {"name": name, "wrong": wrong, "verdicts": [one.verdict for one in answers.answers]}
    row |= {"seconds": run.now() - began, "launches": [], "tilelens": []}
    parameters = [one.name.removeprefix("%") for one in subject.function.regions[0].blocks[0].args]
    base = {"file": file, "kernel": kernel, "constants": {**constants, **_ones(file, kernel, types)}}
    small = drawn.Drawing(subject, (), name).small()
    examples = [one.counter_example for one in answers.answers if one.counter_example]
    for arguments, extents in [*([small] if small else []), *((one.arguments, one.grid) for one in examples)]:
        held = {key: _argument(arguments[key]) for key in parameters}
        for key, (_, last) in subject.declared.items():  # as the launch of a counter-example has it
            held[key].append(_number(last, arguments) - 1)
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


def _number(term, arguments: dict) -> int:
    """The number of a bound of what is declared, in a launch."""
    from triton_runner.verbs.prove.terms import Substitution, atoms_of, poly

    change = Substitution({atom: poly(arguments[atom.args[0]]) for atom in atoms_of(term)})
    return change.poly(term).const


def under(folder: str, rows: list[dict]) -> None:
    """Puts what TileLens finds in the launches of each row, and in how many seconds, into it."""
    script, lines = KEPT.with_suffix(".py"), KEPT.with_suffix(".launches")
    script.write_text(LAUNCHES)
    launches = [{"name": row["name"], **one} for row in rows for one in row.pop("launches")]
    lines.write_text("".join(json.dumps(one) + "\n" for one in launches))
    command = [str(pathlib.Path(folder) / TOOL), str(script), str(lines)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        if line.startswith("answer "):
            found = json.loads(line.removeprefix("answer "))
            row = next(row for row in rows if row["name"] == found["name"])
            row["tilelens"].append([found["how"], found["seconds"]])


def write() -> None:
    from suite import results

    rows = [*map(json.loads, KEPT.read_text().splitlines())]
    table = []
    kinds = {"WRONG": "faults at sizes of a test", "LARGE": "faults at others", "right": "right kernels"}
    for kind, about in kinds.items():
        own = [row for row in rows if row["name"].startswith(kind)]
        runs = [one for row in own for one in row["tilelens"]]
        if not runs:
            continue
        table.append([
            about, len(own), sum("refuted" in row["verdicts"] for row in own),
            sum("proved" in row["verdicts"] for row in own),
            sum(row["tilelens"][0][0] == "found" for row in own if row["tilelens"]),
            sum(any(one[0] == "found" for one in row["tilelens"]) for row in own),
            sum(one[0] not in ("found", "nothing") for one in runs),
            round(statistics.median(row["seconds"] for row in own), 2),
            round(statistics.median(one[1] for one in runs), 2),
        ])  # fmt: skip
    columns = [
        "of bounds", "programs", "refuted by `prove`", "proved", "TileLens reports a test's launch",
        "or that of `prove`", "launches that it does not finish", "median s of `prove`", "of TileLens",
    ]  # fmt: skip
    said = "; ".join(
        f"{row[0]}: {row[1]}, `prove` refutes {row[2]} and proves {row[3]}, TileLens 3.1.1 reports {row[4]}, "
        f"and {row[5]} with the launch of `prove`"
        for row in table
    )
    results.record(
        "prove", "tilelens", "planted faults of bounds and right kernels beside TileLens",
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
    rows = [launches(name, program) for name, program in programs().items() if options.only in name]
    under(options.tilelens, rows)
    before = map(json.loads, KEPT.read_text().splitlines()) if KEPT.exists() else ()
    kept = {row["name"]: row for row in (*before, *rows)}
    KEPT.write_text("".join(json.dumps(row) + "\n" for row in kept.values()))
    for row in rows:
        print(row["name"], row["verdicts"], row["tilelens"])
    if options.write:
        write()


if __name__ == "__main__":
    main()
