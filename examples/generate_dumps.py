"""Writes the TTIR and TTGIR that examples/dump and examples/debugging load, with Triton 3.9 for sm80.

    python examples/generate_dumps.py

Values that Triton 3.9 names after Python variables are numbered in the order of the text, as releases before
it print them: a script says `%13`, as a person reads it in such a file. Source locations stay.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent
sys.path.insert(0, str(EXAMPLES.parent / "tools"))
import releases  # noqa: E402
from triton_runner import ir  # noqa: E402

FOLDERS = {
    "add_kernel": {
        "ttir": ("debugging/ttir/01-vector_add",),
        "ttgir": ("debugging/ttgir/01-vec_add",),
    },
    "matmul_kernel": {
        "ttir": ("debugging/ttir/03-matrix_multiplication",),
        "ttgir": ("debugging/ttgir/03-matrix_multiplication",),
    },
    "softmax_kernel": {
        "ttir": ("debugging/ttir/04-softmax",),
        "ttgir": ("debugging/ttgir/04-softmax",),
    },
    "softmax_lse_kernel": {
        "ttir": ("debugging/ttir/05-softmax_lse",),
        "ttgir": ("debugging/ttgir/05-softmax_lse",),
    },
    "attention_kernel": {
        "ttir": ("debugging/ttir/06-attention",),
        "ttgir": ("debugging/ttgir/06-attention",),
    },
    "transpose_kernel": {"ttir": ("dump/ttir/02-transpose",), "ttgir": ("dump/ttgir/02-transpose",)},
}


def numbered(text: str) -> str:
    """The module with numbers for names; constants and the kernel's parameters keep theirs."""
    names, arguments = {}, 0
    for op in ir.parse(text).walk():
        if op.name == "tt.func":
            arguments = len(op.regions[0].blocks[0].args)
            continue
        if op.name != "arith.constant":
            for value in op.results:
                names.setdefault(value.name.partition("#")[0], f"%{len(names)}")  # a group has one name
    inner = [block.args for op in ir.parse(text).walk() if op.name != "tt.func"
             for region in op.regions for block in region.blocks]  # fmt: skip
    for value in (value for values in inner for value in values):
        if value.name not in names:
            names[value.name] = f"%arg{arguments}"
            arguments += 1
    return re.sub(r"%[\w.$-]+", lambda found: names.get(found[0], found[0]), text)


def main():
    python = releases.ensure("3.9.0")
    with tempfile.TemporaryDirectory() as made:
        command = [python, "tools/compile_example.py", "dumped", "cuda:80", made, "ttir,ttgir"]
        subprocess.run(
            command, check=True, cwd=EXAMPLES.parent, env={**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"}
        )
        for kernel, levels in FOLDERS.items():
            for level, folders in levels.items():
                text = numbered((Path(made) / f"{kernel}.{level}").read_text())
                for folder in folders:
                    (EXAMPLES / folder).mkdir(parents=True, exist_ok=True)
                    (EXAMPLES / folder / f"{kernel}.{level}").write_text(text)


if __name__ == "__main__":
    main()
