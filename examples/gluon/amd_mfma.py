"""AMD (CDNA3, gfx942): operands by buffer loads, whose bounds the hardware checks, and a product by MFMA. On
the CPU it runs at TTGIR; AMD's machine code needs its GPU."""

import torch
from shared import main, tile_offsets, whole
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna3
from triton_runner import gluon


@gluon.jit
def product(a_ptr, b_ptr, out_ptr, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    layout: gl.constexpr = gl.amd.AMDMFMALayout(
        version=3, instr_shape=[32, 32, 8], transposed=True, warps_per_cta=[2, 2]
    )
    of_a: gl.constexpr = gl.DotOperandLayout(0, layout, 4)
    of_b: gl.constexpr = gl.DotOperandLayout(1, layout, 4)
    a = cdna3.buffer_load(a_ptr, tile_offsets(M, K, of_a))
    b = cdna3.buffer_load(b_ptr, tile_offsets(K, N, of_b))
    c = cdna3.mfma(a, b, gl.zeros([M, N], gl.float32, layout))
    cdna3.buffer_store(c, out_ptr, tile_offsets(M, N, layout))


def run(**level):
    a, b = whole(64, 32), whole(32, 64)
    out = torch.zeros(64, 64, device=a.device)
    product[(1,)](a, b, out, 64, 64, 32, num_warps=4, **level)
    return out, a.float() @ b.float()


if __name__ == "__main__":
    main(run, "hip:gfx942")
