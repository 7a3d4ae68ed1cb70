"""8-bit weights of [K, N] with a scale for each group of 32 rows."""

import torch
import triton
import triton.language as tl
from triton_runner.testing import dims


@triton.jit
def dequantize_kernel(
    q, scales, out, qk, qn, sg, sn, rows, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(q + row * qk + at * qn, inside, other=0).to(tl.float32)
    scale = tl.load(scales + row // GROUP * sg + at * sn, inside, other=0.0).to(tl.float32)
    tl.store(out + row * columns + at, value * scale, inside)


@dims(G=(1, 20), N=(1, 300), q="i8[32 * G, N] in -128..128", scales="float[G, N]")
def dequantize(q, scales):
    rows, columns = q.shape
    assert rows % 32 == 0 and scales.shape == (rows // 32, columns)
    out = torch.empty((rows, columns), dtype=scales.dtype, device=q.device)
    if out.numel():
        grid = (rows, triton.cdiv(columns, 64))
        dequantize_kernel[grid](
            q, scales, out, *q.stride(), *scales.stride(), rows, columns, GROUP=32, BLOCK=64
        )
    return out


def reference(q, scales):
    return q.to(scales.dtype) * scales.repeat_interleave(32, 0)


if __name__ == "__main__":
    q = torch.randint(-128, 128, (64, 64), device="cuda", dtype=torch.int8)
    scales = torch.rand(2, 64, device="cuda")
    assert torch.allclose(dequantize(q, scales), reference(q, scales))
