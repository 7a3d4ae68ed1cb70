"""Tests gl.inline_asm of Gluon, one execution a thread: the tile engine, by the tensors' layouts, against
what Triton makes of it, in the SIMT engine."""

import pytest
from kernels_for_gluon import LEVELS, gl, gluon, places, torch, triton_runner

M, N = 32, 64
LAYOUTS = {
    "blocked": gl.BlockedLayout([2, 4], [4, 8], [2, 2], [1, 0]),
    "copies": gl.BlockedLayout([4, 8], [8, 4], [2, 2], [0, 1]),  # each element in two threads
    "mma": gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]),
    "slice": gl.SliceLayout(2, gl.BlockedLayout([1, 2, 2], [2, 4, 4], [2, 2, 1], [2, 1, 0])),
}


@gluon.constexpr_function
def running_sums(outputs, inputs):
    """Each register of a thread becomes the sum of those before it, and the bias."""
    (out,), (x, bias) = outputs, inputs
    lines = [f"add.f32 {out[0]}, {x[0]}, {bias[0]};"]
    lines += [f"add.f32 {out[i]}, {out[i - 1]}, {x[i]};" for i in range(1, len(x))]
    return "\n".join(lines)


@triton_runner.jit
@gluon.jit
def kernel(x_ptr, out_ptr, thread_ptr, bias, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    at = places(M, N, layout)
    x = gl.load(x_ptr + at)
    y = gl.inline_asm(running_sums, ("=&f", "f", "f"), [x, bias], x.type, is_pure=True)
    gl.store(out_ptr + at, y)
    line: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    thread = gl.inline_asm(
        "mov.u32 $0, %tid.x;", "=r", [], gl.distributed_type(gl.int32, [128], line), is_pure=True
    )
    gl.store(thread_ptr + gl.arange(0, 128, line), thread)


@pytest.mark.parametrize("name", LAYOUTS)
def test_threads_have_what_their_layout_gives_them(name):
    x = torch.arange(M * N, dtype=torch.float32).reshape(M, N)
    found = {}
    for level in LEVELS:
        out, thread = torch.zeros(M, N), torch.zeros(128, dtype=torch.int32)
        with triton_runner.using(target="cuda:80", level=level):
            kernel[(1,)](x, out, thread, 0.5, M, N, LAYOUTS[name], num_warps=4)
        assert torch.equal(thread, torch.arange(128, dtype=torch.int32))
        found[level] = out
    assert not torch.equal(found["ttgir"], x)
    assert torch.equal(found["ttgir"], found["ptx"])
