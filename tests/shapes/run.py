"""Faults that fixed shapes do not show, planted and looked for; and functions that are right.

    python tests/shapes/run.py [faults] [right] [--only TEXT] [--tutorials FOLDER] [--write]

faults: each of faults.py is planted in its subject; the program itself still ends well, and `verify --shapes`
has to say what is wrong, with a reference and, where the fault says so, without one. right: the subjects as
they are and the functions of right.py, with a reference and without; none may be called wrong.
Exit status: 1 if a fault is not found, or a right function is called wrong.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import faults  # noqa: E402
import right  # noqa: E402
from suite import results  # noqa: E402

LIBRARIES = pathlib.Path(
    os.environ.get("TRITON_RUNNER_LIBRARIES", pathlib.Path(tempfile.gettempdir()) / "triton-runner-libraries")
)


def planted(fault: faults.Fault, folder: pathlib.Path) -> pathlib.Path:
    """The subject with the fault in it."""
    text = (HERE / "subjects" / f"{fault.subject}.py").read_text()
    for old, new in fault.edits:
        if old not in text:
            sys.exit(f"{fault.name}: {fault.subject}.py has no {old!r}")
        text = text.replace(old, new)
    path = folder / f"{fault.subject}.py"
    path.write_text(text)
    return path


def judged(path: pathlib.Path, function: str, cases: int, reference="", dims=(), vary=()) -> dict:
    """Returns the answer of `verify --shapes`, as its JSON has it; in this process, which has all that it
    loads."""
    from triton_runner.verbs.verify.shapes import run as shapes

    options = shapes.Options(reference, dims, vary, most=cases, pretend_cuda=True)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        found = shapes.verify_shapes(f"{path}:{function}", (), options)
    return json.loads(json.dumps(found.to_dict()))


def find(fault: faults.Fault, with_reference: bool, cases: int) -> list:
    """A row of the table: the fault, what it was called, the smallest call."""
    with tempfile.TemporaryDirectory() as name:
        path = planted(fault, pathlib.Path(name))
        reference = f"{path}:reference" if with_reference else ""
        found = judged(path, fault.subject, cases, reference, fault.dims, fault.vary)
    said = [one for one in found["faults"] if one["fault"]["kind"] in fault.kinds]
    kind = said[0]["fault"]["kind"] if said else ",".join(one["fault"]["kind"] for one in found["faults"])
    smallest = said[0]["case"] if said else ""
    state = "found" if said else "NOT FOUND"
    if found["program"]["status"]:
        state = "SHOWN BY THE PROGRAM ITSELF"
    how = "reference" if with_reference else "no reference"
    return [fault.name, fault.subject, how, state, kind, smallest, found["seconds"]]


def check(function: right.Function, with_reference: bool, cases: int) -> list:
    """A row on a right function: how many calls were right, what it is called."""
    sys.path[:0] = [str(LIBRARIES / function.library)] * bool(function.library)
    os.environ |= {"TRITON_RUNNER_QUICK": "1", "MPLBACKEND": "agg"}
    how = "reference" if with_reference else "no reference"
    row = [function.part, function.name, how]
    try:
        reference = function.reference if with_reference else ""
        found = judged(function.file, function.name, cases, reference, function.dims)
    except Exception as error:
        return [*row, "FAILS", 0, f"{error} {traceback.format_exc()[-500:]}", 0.0]
    faults_found = "; ".join(f"{one['fault']['message']} ({one['case']})" for one in found["faults"])
    hints = "; ".join(f"{hint['kind']}: {hint['message']}" for hint in found["hints"])
    calls = sum(call["state"] == "right" for call in found["calls"])
    return [*row, found["verdict"], calls, faults_found or hints, found["seconds"]]


def rows_of(asked: list, do, options) -> list:
    """The rows of all, as they come: each process does several, as what they load takes longest."""
    rows = []
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(do, *one, options.cases) for one in asked]
        for done in waiting:
            rows.append(done.result())
            print(*rows[-1], sep="; ", flush=True)
    return rows


def all_faults(options) -> bool:
    asked = [(one, True) for one in faults.FAULTS] + [(one, False) for one in faults.FAULTS if one.without]
    rows = rows_of([one for one in asked if options.only in f"{one[0].name} {one[0].subject}"], find, options)
    found = sum(row[3] == "found" for row in rows)
    print(f"faults: {found} of {len(rows)} found, in {sum(row[-1] for row in rows) / len(rows):.1f} s each")
    if options.write:
        record_faults(rows, options)
    return found == len(rows)


def record_faults(rows: list, options) -> None:
    columns = ["fault", "in", "with", "verdict", "called", "smallest call"]
    names = {one.name for one in faults.ILLUSION}
    how = ("reference", "no reference")
    tried = {word: [row for row in rows if row[2] == word] for word in how}
    found = {word: sum(row[3] == "found" for row in tried[word]) for word in how}
    command = f"python tests/shapes/run.py faults --cases {options.cases} --write"
    what = "faults that the program's own check does not show, found by `verify --shapes`"
    texts = [f"{found[word]} of {len(tried[word])} with {word}" for word in how]
    table = {"columns": columns, "rows": [row[:-1] for row in rows]}
    ten = {"columns": columns[:2] + columns[4:],
           "rows": [row[:2] + row[4:6] for row in tried["reference"] if row[0] in names]}  # fmt: skip
    first = sum(row[3] == "found" for row in tried["reference"] if row[0] in names)
    figures = {"result": f"{first} of {len(names)}"}
    results.record("shapes", "ten", f"the first ten of {what}", command, figures, table=ten)
    results.record("shapes", "faults", what, command, {"result": ", ".join(texts)}, table=table)


def all_right(options) -> bool:
    functions = [*right.subjects(), *right.examples(), *right.operators(LIBRARIES)]
    functions += right.tutorials(options.tutorials) if options.tutorials else []
    functions = [one for one in functions if options.only in f"{one.part} {one.name}"]
    asked = [(one, True) for one in functions]
    asked += [(one, False) for one in functions if one.part == "subjects"]
    rows = rows_of(asked, check, options)
    good = {"reference": "right", "no reference": "no fault found"}
    called_wrong = [row for row in rows if row[3] != good[row[2]]]
    calls = sum(row[4] for row in rows)
    print(f"right: {len(rows) - len(called_wrong)} of {len(rows)} without a fault, {calls} calls")
    if options.write:
        columns = ["part", "function", "with", "verdict", "calls that are right", "notes"]
        results.record(
            "shapes", "right", f"{len(functions)} functions that are right, with a reference and without",
            f"python tests/shapes/run.py right --cases {options.cases} --tutorials FOLDER --write",
            {"result": f"{len(called_wrong)} of {len(rows)} called wrong, {calls} calls"},
            table={"columns": columns, "rows": [row[:-1] for row in rows]},
        )  # fmt: skip
    return not called_wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--only", default="", help="those whose name contains this")
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tutorials", type=pathlib.Path, help="the folder of Triton's tutorials")
    parser.add_argument("--write", action="store_true", help="into results/shapes.json")
    options = parser.parse_args()
    parts = options.parts or ["faults", "right"]
    good = all_faults(options) if "faults" in parts else True
    return not (good and (all_right(options) if "right" in parts else True))


if __name__ == "__main__":
    sys.exit(main())
