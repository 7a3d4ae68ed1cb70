"""The output block of program 1 of an attention, before it is rounded to f16."""

import sys
from pathlib import Path

import triton.language as tl
import triton_runner
import triton_runner.language as dl

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness


@triton_runner.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, length,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    keys = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD)
    q = tl.load(q_ptr + rows[:, None] * HEAD + dims[None, :])
    highest = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    for start in range(0, length, BLOCK_N):
        k = tl.load(k_ptr + (start + keys)[None, :] * HEAD + dims[:, None])
        v = tl.load(v_ptr + (start + keys)[:, None] * HEAD + dims[None, :])
        scores = tl.dot(q, k) * scale
        higher = tl.maximum(highest, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        shrink = tl.exp(highest - higher)
        total = total * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        highest = higher
    out = acc / total[:, None]
    dl.dump(out, 0, 1)
    tl.store(out_ptr + rows[:, None] * HEAD + dims[None, :], out.to(tl.float16))


device = harness.Device()
debug_tensor = device.zeros(32, 32)
q, k, v = dumped.attention(device, attention_kernel, debug_tensor=debug_tensor)
q, k, v = (device.host(tensor) for tensor in (q, k, v))
e = device.xp.exp(q[32:64] @ k.T * 32**-0.5)
harness.compare_dump(device, debug_tensor, e @ v / e.sum(1)[:, None], tolerance=2e-3)
