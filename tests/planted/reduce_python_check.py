"""Plants faults in an attention kernel in Python and lets reduce make them small.

    python tests/planted/reduce_python_check.py [--only NAME] [--show]

A fault is a mistake that a person makes in the kernel, an edit of its text, or one of the compiler; the
oracle is what `triton-runner reduce kernel.py:attention_kernel --oracle` takes, for all but one: there the
TTIR is run as it is and as a faulty pass would leave it. What is left may have at most 15 statements, the
imports and the `def` among them.
"""

import re
import sys
import tempfile
from pathlib import Path

from reduce_check import attention, check
from triton_runner._memory.arguments import Arguments
from triton_runner.verbs.reduce import oracles
from triton_runner.verbs.reduce.run import reduce

KERNEL = Path(__file__).resolve().parents[2] / "examples" / "kernels" / "attention.py"
SIGNATURE = "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, fp32, i32, i32, i32"
CONSTANTS = {"HEAD_DIM": 64, "BLOCK_M": 64, "BLOCK_N": 32, "CAUSAL": True}
MOST = 15
STORE = "    tl.store(lse_ptr"
BOGUS = '    total = tl.inline_asm_elementwise("bogus.f32 $0, $1;", "=f,f", [total], tl.float32, True, 1)\n'
SUM = (r"arith\.mulf (%\S+, %\S+ : tensor<64xf32>)", r"arith.addf \1")
# Each fault: the part of the text that is mistaken, for what, and the oracle.
FAULTS = {
    "a block of keys too many": ("range(first, last, ", "range(first, last + BLOCK_N, ", "trap:oob"),
    "sums of all programs in one place": (
        "tl.program_id(1) * length + rows", "tl.program_id(1) * length + rows % BLOCK_M", "trap:race"
    ),
    "a maximum that begins too high": ('- float("inf")', '+ float("inf")', "trap:nan"),
    "a quotient by a block that may be 0": ("* stride_head\n", "* stride_head // start_m\n", "trap:zerodiv"),
    "a promise of multiples that is not so": (
        "v_ptr + head + keys", "v_ptr + head + tl.multiple_of(keys + 8, 16)", "trap:hints"
    ),
    "exponentials of another type": ("p.to(q.dtype)", "p", "crash"),
    "an instruction that is none": (STORE, BOGUS + STORE, "crash"),
    "too much shared memory": ("", "", "shared>4096"),
    "a quotient that 3.9 takes for constant": (
        ".to(q.dtype)\n    tl", ".to(q.dtype) + ((dims - 40) // 16)[None, :]\n    tl", "levels:ttir,ptx"
    ),
    "a product for a sum, by a pass": ("", "", SUM),
}  # fmt: skip


def planted(name: str) -> str:
    """The module of the kernel, with the fault in it."""
    text = KERNEL.read_text()
    text = text[: text.index("def run(")].replace("triton_runner", "triton")
    wrong, right, _ = FAULTS[name]
    assert text.count(wrong) >= 1, name
    return text.replace(wrong, right) if wrong else text


def by_a_pass(launch, wrong: str, right: str):
    """Whether the TTIR and what the pass makes of it leave different results."""

    def holds(text: str) -> bool:
        answer = launch.compile(text, "ttir")
        if "result" not in answer:
            return False
        ttir = answer["result"]["asm"]["ttir"]
        changed = re.sub(wrong, right, ttir)
        if changed == ttir:
            return False
        first, second = launch.engine(ttir, "ttir", "uninit"), launch.engine(changed, "ttir")
        if first is None or second is None or first.trap or second.trap:
            return False
        return oracles._different(first, second)

    return holds


def launch_of() -> oracles.PythonCandidates:
    args, grid = attention()
    held = Arguments([(f"#{i}", arg) for i, arg in enumerate(args)])
    compiling = {"signature": SIGNATURE, "constexprs": CONSTANTS, "attrs": None, "options": {}}
    more = {"grid": grid, "arguments": held, "compiling": compiling}
    return oracles.PythonCandidates("python", "cuda:90", "attention_kernel", **more)


def oracle_of(name: str, text: str):
    """The oracle of a fault, asked anew: whether a text has what `text` has."""
    *_, oracle = FAULTS[name]
    launch = launch_of()
    if isinstance(oracle, tuple):
        return by_a_pass(launch, *oracle)
    return oracles.of(oracle, launch, ".py", text)


def found(name: str, folder):
    """The reduction of a fault, from a file in a folder."""
    args, grid = attention()
    path = Path(folder) / "kernel.py"
    path.write_text(planted(name))
    *_, oracle = FAULTS[name]
    if isinstance(oracle, tuple):
        oracle = oracle_of(name, planted(name))
    return reduce(
        str(path), oracle, grid=grid, args=args, target="cuda:90", signature=SIGNATURE, constexprs=CONSTANTS,
        name="attention_kernel",
    )  # fmt: skip


def reduced(name: str):
    with tempfile.TemporaryDirectory() as folder:
        return found(name, folder)


if __name__ == "__main__":
    oracle_names = {name: o if isinstance(o, str) else "a function" for name, (*_, o) in FAULTS.items()}
    what = "faults in its Python, made at most 15 statements"
    sys.exit(check("reduce-python", what, "statements", "oracle", oracle_names, reduced))
