"""Plants faults in an attention kernel and lets reduce make them small.

    python tests/planted/reduce_check.py [--only NAME] [--show]

A fault is what a faulty compiler would do: an edit of the text, valid IR or PTX that computes something else.
The oracle is that the text and the edited text leave different results; of the last ones that a compiler
which has the fault stops. What is left may have at most 15 ops, and has the fault.
"""

import argparse
import re
import sys
import time
from pathlib import Path

import numpy as np
import triton_runner
from triton_runner._memory.arguments import Arguments
from triton_runner.verbs.reduce import ir_edits, oracles
from triton_runner.verbs.reduce.run import reduce

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS), str(TESTS / "corpus")]
import corpus  # noqa: E402
from suite import results  # noqa: E402

CORPUS = corpus.folder("3.9.0")
FOLDERS = {"ttir": "sm80", "ttgir": "sm80", "ptx": "sm90"}
MOST = 15
# The level, what the compiler mistakes, for what.
FAULTS = {
    "product for a sum": ("ttir", r"arith\.mulf (%\S+, %\S+ : tensor<64xf32>)", r"arith.addf \1"),
    "maximum for a minimum": ("ttir", r"arith\.maxnumf (%\S+, %\S+ : tensor<64xf32>)", r"arith.minnumf \1"),
    "operands of a difference": (
        "ttir", r"arith\.subf (%\w+), (%\w+) : tensor<64x32xf32>", r"arith.subf \2, \1 : tensor<64x32xf32>"
    ),
    "predicate of the mask": ("ttir", r"arith\.cmpi sge, ", "arith.cmpi sgt, "),
    "a dot without what it adds to": (
        "ttir", r"(tt\.dot %\w+, %\w+), %\w+(, inputPrecision = \w+ : tensor<64x32xf16>)", None
    ),
    "function of a reduction": ("ttir", r"arith\.addf (%\w+, %\w+ : f32)", r"arith.maxnumf \1"),
    "sides of a choice": (
        "ttgir", r"arith\.select (%\w+), (%\w+), (%\w+) : tensor<64x", r"arith.select \1, \3, \2 : tensor<64x"
    ),
    "exponential of a layout": ("ttgir", r"math\.exp2 (%\w+ : tensor<64x32xf32)", r"math.absf \1"),
    "an fma for a product": ("ptx", r"fma\.rn\.f32 (\s*%r\d+, %r\d+, %r\d+), %r\d+;", r"mul.rn.f32 \1;"),
    "crash on a truncation of an exponential": ("ttir", None, None),
}  # fmt: skip


def attention():
    """Arguments of one head of 64 rows, and the grid."""
    chance = np.random.default_rng(0)
    q, k, v = (chance.standard_normal((128, 64)).astype(np.float16) for _ in range(3))
    out, lse = np.zeros((128, 64), np.float16), np.zeros(128, np.float32)
    return [q, k, v, out, lse, 0.125, 128 * 64, 64, 128], (2, 1, 1)


def oracle_of(name: str, text: str, level: str):
    """Whether the fault shows in a text."""
    args, grid = attention()
    names = ["q_ptr", "k_ptr", "v_ptr", "out_ptr", "lse_ptr", "scale", "stride_head", "stride_row", "length"]
    launch = oracles.Candidates(
        level, "cuda:90" if level == "ptx" else "cuda:80", "attention_kernel", METADATA[level], grid,
        Arguments(list(zip(names, args, strict=True))), 20.0,
    )  # fmt: skip
    _, wrong, right = FAULTS[name]
    if wrong is None:
        # The pattern that a pass would trip over: a truncation of an exponential that goes into a dot.
        def trips(text: str) -> bool:
            module = ir_edits.parsed(text)
            return module is not None and any(
                op.name == "arith.truncf"
                and op.operands[0].op is not None and op.operands[0].op.name == "math.exp2"
                and any(use.name == "tt.dot" for use, _ in op.results[0].uses)
                for op in module.walk()
            )  # fmt: skip

        return trips

    def mistaken(match) -> str:
        if right is not None:
            return match.expand(right)
        return match[0]

    def holds(text: str) -> bool:
        changed = _without_sum(text) if right is None else re.sub(wrong, mistaken, text)
        if changed == text:
            return False
        checks = "uninit" if level != "ptx" else None
        first, second = launch.run(text, checks), launch.run(changed)
        if first is None or second is None or first.trap or second.trap:
            return False
        return oracles._different(first, second)

    return holds


def _without_sum(text: str) -> str:
    """The dots of a text add to 0."""
    zero = "%planted = arith.constant dense<0.000000e+00> : tensor<64x64xf32>\n"
    dot = r"(tt\.dot %\w+, %\w+), %\w+(, inputPrecision = \w+ : tensor<64x32xf16>)"
    if not re.search(dot, text):
        return text
    changed = re.sub(dot, r"\1, %planted\2", text)
    return re.sub(r"(tt\.func [^\n]*\{\n)", lambda m: m[1] + zero, changed, count=1)


METADATA: dict = {"ttir": {}, "ttgir": {}, "ptx": {}}


def found(name: str):
    """The reduction of a fault."""
    level = FAULTS[name][0]
    path = CORPUS / FOLDERS[level] / f"attention_kernel.{level}"
    text = path.read_text()
    metadata = path.with_suffix(".json")
    if metadata.exists():
        import json

        METADATA[level] = json.loads(metadata.read_text())
    return reduce(text, oracle_of(name, text, level), name="attention_kernel")


def check(key: str, what: str, unit: str, kind: str, faults: dict, reduced) -> int:
    """Reduces each fault of a list (its kind by name), prints a row, and with --write records them. How many
    are left too large. reduced: (name) -> the reduction."""
    given = argparse.ArgumentParser(description=what)
    given.add_argument("--only", default="")
    given.add_argument("--show", action="store_true")
    given.add_argument("--write", action="store_true", help="into results/planted.json")
    options = given.parse_args()
    rows = []
    for name, of_kind in faults.items():
        if options.only not in name:
            continue
        started = time.monotonic()
        with triton_runner.using(device="cpu"):
            one = reduced(name)
        took = time.monotonic() - started
        rows.append([name, of_kind, one.size_before[0], one.size[0], one.tries, f"{took:.1f}"])
        print(*rows[-1], sep=", ", flush=True)
        if options.show:
            print(one.text)
    sizes, seconds = [row[3] for row in rows], [float(row[5]) for row in rows]
    failed = sum(size > MOST for size in sizes)
    if options.write:
        said = f"{len(rows) - failed} of {len(rows)}: {min(sizes)} to {max(sizes)} {unit}, "
        said += f"in {min(seconds):g} to {max(seconds):g} s"
        columns = ["fault", kind, f"{unit} before", unit, "tries", "seconds"]
        command = f"python {Path(sys.argv[0]).resolve().relative_to(TESTS.parent)}"
        table = {"columns": columns, "rows": rows}
        results.record("planted", key, what, command, {"result": said}, table=table)
    print(f"{failed} of the faults have more than {MOST} {unit}" if failed else "all found small")
    return failed


if __name__ == "__main__":
    what = "faults in the IR or PTX of an attention kernel, made at most 15 ops by `reduce`"
    sys.exit(
        check("reduce", what, "ops", "level", {name: level for name, (level, *_) in FAULTS.items()}, found)
    )
