"""A Gluon kernel entered at each of its levels: compiled once, its TTGIR, LLIR and PTX written to a folder,
and launched from there by `ttgir_dir=`, `llir_dir=`, `ptx_dir=`; from its cubin too where there is a GPU."""

import sys
import tempfile

import torch
import triton_runner
from shared import whole
from triton.experimental.gluon import language as gl
from triton_runner import gluon


@gluon.jit
def scale(x_ptr, out_ptr, n, BLOCK: gl.constexpr, FACTOR: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout)
    inside = offsets < n
    gl.store(out_ptr + offsets, gl.load(x_ptr + offsets, mask=inside) * FACTOR, mask=inside)


def run(levels=("ttgir", "llir", "ptx")):
    x = whole(1000, dtype=torch.float32)
    results = []
    made = triton_runner.compile(
        scale, "*fp32:16, *fp32:16, i32", {"BLOCK": 256, "FACTOR": 3}, target="cuda:90", from_="gluon"
    )
    with tempfile.TemporaryDirectory() as folder:
        made.save(folder)
        for level in levels:
            out = torch.zeros_like(x)
            scale[(4,)](x, out, 1000, BLOCK=256, FACTOR=3, num_warps=4, **{f"{level}_dir": folder})
            results.append((level, out, x * 3))
    return results


if __name__ == "__main__":
    levels = ["ttgir", "llir", "ptx"] + (["cubin"] if torch.cuda.is_available() else [])
    wrong = 0
    for level, result, expected in run(levels):
        difference = (result - expected).abs().max().item()
        print(f"{level}: largest difference {difference}")
        wrong += difference != 0
    sys.exit(wrong)
