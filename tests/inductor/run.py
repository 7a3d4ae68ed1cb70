"""Public issues of Inductor under `bisect --torch`: what does the verb say of each?

    python tests/inductor/run.py 2.14.1                  every issue, in this release of torch
    python tests/inductor/run.py 2.13.0 --only 198119    one, beside the rows that there are

Each program was written from the issue's description, and checks nothing: the verb compares. Results stand in
results/inductor.json, and in doc/measurements/torch-bisect.md."""

import argparse
import ast
import json
import pathlib
import subprocess
import sys

from triton_runner._base.typed import of_json
from triton_runner.verbs.bisect.torch_results import Cause

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0]))
from suite import results  # noqa: E402


def row(program: pathlib.Path, torch: str) -> list:
    """[issue, what is wrong, what the verb says, the line and the node, how many runs] of a program."""
    text = program.read_text()
    title = ast.get_docstring(ast.parse(text)).removesuffix(".")
    issue, _, what = " ".join(title.split()).partition(": ")
    pretend = ["--pretend-cuda"] if 'device="cuda"' in text else []
    command = ["bisect", "--torch-versions", torch, *pretend, "--json=-", str(program)]
    done = subprocess.run([sys.executable, "-m", "triton_runner", *command], capture_output=True, text=True)
    if done.returncode not in (0, 1, 125):
        sys.exit(done.stderr)
    (one,) = json.loads(done.stdout)["releases"]
    line, causes = one["line"], [of_json(Cause, each) for each in (one["cause"], *one["others"]) if each]
    said = [str(each) for each in causes if each.kind == "setting" or each == causes[0]]
    place = f"line {line['line']}, node {one['node']}" if line else ""
    return [issue, what, "; ".join(said) or one["verdict"], place, one["runs"]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("torch")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    before = results.read("inductor").get(given.torch, {"table": {"rows": []}})["table"]["rows"]
    known = {row[0]: row for row in before}
    for program in sorted(HERE.glob("issue_*.py")):
        if given.only in program.name:
            made = row(program, given.torch)
            known[made[0]] = made
            print(*made, sep=" | ", flush=True)
    rows = [known[issue] for issue in sorted(known)]
    found = sum(entry[2] not in ("right", "unknown") for entry in rows)
    columns = ["issue", "what is wrong", "what the verb says", "place", "runs"]
    results.record(
        "inductor", given.torch, f"{len(rows)} public issues of Inductor in torch {given.torch}",
        f"python tests/inductor/run.py {given.torch}",
        {"found": found, "right": len(rows) - found}, table={"columns": columns, "rows": rows},
    )  # fmt: skip


if __name__ == "__main__":
    main()
