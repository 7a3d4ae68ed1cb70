"""Runs the right kernels and the planted faults of both tables under TileLens and triton-viz, beside `prove`.

    python tests/python/prove/beside.py [--tilelens FOLDER/bin] [--triton-viz FOLDER/bin] [--only NAME]
        [--write]

Each FOLDER is a virtual environment with tilelens 3.1.1 or triton-viz 3.0, torch, and Triton 3.6 (with 3.9
TileLens fails at a load without a mask). Both look at launches: of each kernel at one of sizes that a test
would have, and of a fault at that, too, with which `prove` refutes it, which nobody has who uses them alone.
Their sanitizers look for accesses out of bounds, and faults of other kinds have rows of their own: an access
that goes beyond is reported whatever is wrong (`tile-race` keeps accesses and compares none). Seconds are
those of the processor, without the time in which Python and Triton start. What is found is kept in
build/beside.jsonl. --write counts that file in results/prove.json.
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
# peer: (its name and version, its command)
PEERS = {"tilelens": ("TileLens 3.1.1", "tile-sanitizer"), "viz": ("triton-viz 3.0", "triton-sanitizer")}
LIMIT = 20  # seconds of the processor for a launch under a peer

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
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
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
    found |= {f"right: {name}": (table.KERNELS, name, *row[:4], "") for name, row in table.RIGHT.items()}
    return found | {f"right: {name}": (varied.KERNELS, *row, "") for name, row in varied.RIGHT.items()}


def launches(name: str, program: tuple) -> dict:
    """Returns what `prove` says, in how many seconds, and the launches that the peers are to look at."""
    import drawn
    import subjects
    from triton_runner.verbs.prove import run

    file, kernel, types, constants, grid, given, wrong = program
    began = run.now()
    subject = subjects.made(file, kernel, types, constants, grid, given)
    answers = run.proof(subject, (wrong or "bounds",), 30)
    row = {"name": name, "wrong": wrong, "verdicts": [one.verdict for one in answers.answers]}
    row |= {"seconds": run.now() - began, "launches": []}
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


def under(peer: str, folder: str, rows: list[dict]) -> None:
    """Puts what a peer finds in the launches of each row, and in how many seconds, into it."""
    script, lines = KEPT.with_suffix(".py"), KEPT.with_suffix(".launches")
    script.write_text(LAUNCHES)
    launches = [{"name": row["name"], **one} for row in rows for one in row["launches"]]
    lines.write_text("".join(json.dumps(one) + "\n" for one in launches))
    command = [str(pathlib.Path(folder) / PEERS[peer][1]), str(script), str(lines)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    for row in rows:
        row[peer] = []
    for line in done.stdout.splitlines():
        if line.startswith("answer "):
            found = json.loads(line.removeprefix("answer "))
            row = next(row for row in rows if row["name"] == found["name"])
            row[peer].append([found["how"], found["seconds"]])
    if launches and not any(row[peer] for row in rows):
        sys.exit(f"{command[0]} answers nothing, with exit status {done.returncode}")


def write() -> None:
    from suite import results

    rows = [*map(json.loads, KEPT.read_text().splitlines())]
    peers = [peer for peer in PEERS if any(row.get(peer) for row in rows)]
    table, said = [], []
    kinds = {
        ("WRONG", True): "faults of bounds at sizes of a test", ("LARGE", True): "faults of bounds at others",
        ("WRONG", False): "other faults at sizes of a test", ("LARGE", False): "other faults at others",
        ("right", False): "right kernels",
    }  # fmt: skip
    for (kind, is_beyond), about in kinds.items():
        own = [row for row in rows if row["name"].startswith(kind)]
        own = [row for row in own if (row["wrong"] == "bounds") is is_beyond]
        if not own:
            continue
        line = [about, len(own), sum("refuted" in row["verdicts"] for row in own),
                sum("proved" in row["verdicts"] for row in own),
                round(statistics.median(row["seconds"] for row in own), 2)]  # fmt: skip
        text = f"{about}: {len(own)}, `prove` refutes {line[2]} and proves {line[3]}"
        for peer in peers:
            looked = [row[peer] for row in own if row.get(peer)]
            runs = [one for found in looked for one in found]
            line += [
                sum(found[0][0] == "found" for found in looked),
                sum(any(one[0] == "found" for one in found) for found in looked),
                sum(one[0] not in ("found", "nothing") for one in runs),
                round(statistics.median(one[1] for one in runs), 2) if runs else None,
            ]
            text += f", {PEERS[peer][0]} reports {line[-4]}"
            text += f", and {line[-3]} with the launch of `prove`" * (kind != "right")
        table.append(line)
        said.append(text)
    columns = ["what", "programs", "refuted by `prove`", "proved", "median s"]
    for name, _ in (PEERS[peer] for peer in peers):
        columns += [f"{name} reports a test's launch", "or that of `prove`", "does not finish", "median s"]
    words = {"tilelens": " --tilelens FOLDER/bin", "viz": " --triton-viz FOLDER/bin"}
    names = " and ".join(PEERS[peer][0].partition(" ")[0] for peer in peers)
    results.record(
        "prove", "tilelens", f"planted faults and right kernels beside {names}",
        "python tests/python/prove/beside.py" + "".join(words[peer] for peer in peers),
        {"result": "; ".join(said)}, table={"columns": columns, "rows": table},
    )  # fmt: skip
    print("; ".join(said))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tilelens", default="")
    parser.add_argument("--triton-viz", default="", dest="viz")
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    rows = [launches(name, program) for name, program in programs().items() if options.only in name]
    for peer in PEERS:
        if getattr(options, peer):
            under(peer, getattr(options, peer), rows)
    before = map(json.loads, KEPT.read_text().splitlines()) if KEPT.exists() else ()
    kept = {row["name"]: row for row in before}
    kept |= {row["name"]: {**kept.get(row["name"], {}), **row} for row in rows}
    KEPT.write_text("".join(json.dumps(row) + "\n" for row in kept.values()))
    for row in rows:
        print(row["name"], row["verdicts"], *(row[peer] for peer in PEERS if peer in row))
    if options.write:
        write()


if __name__ == "__main__":
    main()
