"""Plants faults after compiler passes and lets bisection find them: `make bisect-check`.

    python tests/planted/check.py [--count 20] [--seed N]

A fault is an edit of the IR that a pass made, valid IR: another predicate, mask, operand or constant, or an
alignment that is not so, which decides layouts and vectors: that one is right at TTGIR, and another release
that is there is spliced with. The kernel and the pass are drawn from the seed. Where the edit changes no
result (dead code, a mask that is never at its edge) another is drawn. Bisection has to name the pass, by the
JSON that the command writes.
"""

import argparse
import random
import re
import sys
import tempfile
from pathlib import Path

import triton_runner
from triton_runner._pipeline import versions
from triton_runner.verbs.bisect import search
from triton_runner.verbs.bisect.results import Found

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from suite import results  # noqa: E402

KERNELS = {
    "add": ("*fp32:16, *fp32:16, *fp32:16, i32", {"BLOCK": 128}),
    "row_sum": ("*fp32:16, *fp32:16, i32", {"BLOCK": 128}),
    "matmul": ("*fp16:16, *fp16:16, *fp32:16, i32:16", {"BLOCK": 32}),
    "scan": ("*fp32:16, *fp32:16, i32", {"BLOCK": 128}),
    "shifted": ("*fp32, *fp32:16", {"BLOCK": 128}),
}
EDITS = [
    ("arith.cmpi slt", "arith.cmpi sle"),
    ("arith.cmpi slt", "arith.cmpi sgt"),
    ("arith.addf", "arith.subf"),
    ("arith.subf", "arith.addf"),
    ("arith.mulf", "arith.addf"),
    ("arith.maximumf", "arith.minimumf"),
    ("dense<0.000000e+00>", "dense<1.000000e+00>"),
    ("arith.addi", "arith.subi"),
    ("arith.muli", "arith.addi"),
    ("arith.cmpi slt", "arith.cmpi ne"),
    ("arith.addf %total", "arith.mulf %total"),
]
# The parameters of the kernel whose pointer is not aligned.
LAYOUT = ("%x: !tt.ptr<f32>", "%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}")
PROGRAM = """
import sys
sys.path.insert(0, {here!r})
import programs, triton
from triton_runner._pipeline import plans
if triton.__version__ == {version!r}:
    plans.planted = {{"edit": [{edit!r}]}}
programs.check({kernel!r})
"""


def others() -> list[str]:
    """The releases that are there beside the installed one."""
    return [row["version"] for row in versions.listed() if row["version"] != versions.installed()]


def draw(seed: int) -> dict:
    """A kernel, the selector of a pass and an edit of what it makes."""
    chance = random.Random(seed)
    kernel = chance.choice([name for name in KERNELS if name != "shifted" or others()])
    signature, constexprs = KERNELS[kernel]
    trace = triton_runner.passes(
        f"{HERE / 'programs.py'}:{kernel}", signature, constexprs, target="cuda:90", to="llir", check=False
    )
    steps = [one for one in trace if one.level in ("ttir", "ttgir")]
    while True:
        one = chance.choice(steps)
        old, new = LAYOUT if kernel == "shifted" else chance.choice(EDITS)
        if len(re.findall(re.escape(old), one.after)) > 0:
            nth = sum(o.add == one.add and o.stage == one.stage for o in steps[: one.number])
            selector = {"adds": [one.add], "nth": nth, "stage": one.stage}
            return {"kernel": kernel, "pass": selector, "old": old, "new": new}


def plant(fault: dict, folder: Path) -> Path:
    """The program with the fault in it."""
    path = folder / "program.py"
    edit = [fault["pass"], fault["old"], fault["new"]]
    told = {"here": str(HERE), "edit": edit, "kernel": fault["kernel"], "version": versions.installed()}
    path.write_text(PROGRAM.format(**told))
    return path


def found(seed: int, say=lambda text, done=None: None) -> tuple[dict, Found] | None:
    """Returns what was planted and what bisection says; None if the edit changes nothing to judge."""
    fault = draw(seed)
    spliced = others()[-1:] if fault["kernel"] == "shifted" else []
    with tempfile.TemporaryDirectory() as folder:
        program = search.BisectedProgram(str(plant(fault, Path(folder))))
        said = search.bisect_program(program, [*spliced, versions.installed()], say)
    if said.verdict in ("right", "unknown"):
        return None
    return fault, said


def names(fault: dict, said: Found) -> bool:
    """Whether bisection named the pass after which the fault was planted."""
    wanted = fault["pass"]
    same = said.pass_ is not None and [said.pass_.add, said.pass_.nth] == [wanted["adds"][0], wanted["nth"]]
    means = "splice" if fault["kernel"] == "shifted" else "execution"
    return same and said.stage == wanted["stage"] and means in said.confirmed_by


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the first fault")
    parser.add_argument("--write", action="store_true", help="into results/planted.json")
    options = parser.parse_args()
    tried = right = 0
    rows = []
    seed = options.seed
    while tried < options.count:
        result = found(seed)
        if result is not None:
            fault, said = result
            tried += 1
            right += names(fault, said)
            step = fault["pass"]
            where = f"{fault['kernel']}, {step['stage']} {step['adds'][0]}#{step['nth']}"
            verdict = "found" if names(fault, said) else f"WRONG: {said.headline} {said.notes}"
            rows.append([seed, where, f"{fault['old']} to {fault['new']}", verdict])
            print(f"seed {seed}: {where}, {fault['old']} -> {fault['new']}: {verdict}", flush=True)
        seed += 1
    print(f"{right} of {tried} planted faults were found")
    if options.write:
        results.record(
            "planted", "bisect", "faults planted after compiler passes, named by stage and pass by `bisect`",
            f'make bisect-check ARGS="--count {options.count} --seed {options.seed}"',
            {"result": f"{right} of {tried}"},
            table={"columns": ["seed", "after", "edit", "verdict"], "rows": rows},
        )  # fmt: skip
    return right < tried


if __name__ == "__main__":
    sys.exit(main())
