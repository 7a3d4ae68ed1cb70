"""Small kernels in TLX beside the examples: what tlx_broken.py breaks, and what the examples do not use."""

import numpy as np
import triton.language as tl
import triton_runner
from triton.tools.tensor_descriptor import TensorDescriptor
from triton_runner import tlx


@triton_runner.jit
def doubles(x_desc, out_desc, BLOCKS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Blocks come by TMA through two buffers and go by TMA from another."""
    ring = tlx.local_alloc((ROWS, COLS), tlx.dtype_of(x_desc), 2)
    result = tlx.local_alloc((ROWS, COLS), tlx.dtype_of(out_desc), 1)
    full = tlx.alloc_barriers(num_barriers=2, arrive_count=1)
    for block in tl.static_range(0, 2):
        tlx.barrier_expect_bytes(full[block], 4 * ROWS * COLS)
        tlx.async_descriptor_load(x_desc, ring[block], [block * ROWS, 0], full[block])
    for block in range(0, BLOCKS):
        at = block % 2
        tlx.barrier_wait(full[at], block // 2 % 2)
        x = tlx.local_load(ring[at])
        if block + 2 < BLOCKS:
            tlx.barrier_expect_bytes(full[at], 4 * ROWS * COLS)
            tlx.async_descriptor_load(x_desc, ring[at], [(block + 2) * ROWS, 0], full[at])
        tlx.async_descriptor_store_wait(0)
        tlx.local_store(result[0], x * 2)
        tlx.fence("async_shared")
        tlx.async_descriptor_store(out_desc, result[0], [block * ROWS, 0])
    tlx.async_descriptor_store_wait(0)


def run_doubles(device, **options):
    rows, cols, blocks = 16, 32, 5
    x, out = device.normal(blocks * rows, cols), device.zeros(blocks * rows, cols)
    descs = [TensorDescriptor(t, [blocks * rows, cols], [cols, 1], [rows, cols]) for t in (x, out)]
    doubles[(1,)](*descs, BLOCKS=blocks, ROWS=rows, COLS=cols, num_warps=4, **options)
    return [("out", out, device.host(x) * 2, 0)]


@triton_runner.jit
def handed_over(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    """One task copies the operands by cp.async, another multiplies them: Triton puts no fence between."""
    a = tlx.local_alloc((N, N), tlx.dtype_of(a_ptr), 1)
    b = tlx.local_alloc((N, N), tlx.dtype_of(b_ptr), 1)
    full = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
            copies = [tlx.async_load(a_ptr + at, a[0]), tlx.async_load(b_ptr + at, b[0])]
            tlx.async_load_commit_group(copies)
            tlx.async_load_wait_group(0)
            tlx.fence("async_shared")
            tlx.barrier_arrive(full[0], 1)
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(full[0], 0)
            acc = tlx.async_dot(a[0], b[0], tl.zeros((N, N), dtype=tl.float32))
            acc = tlx.async_dot_wait(0, acc)
            to = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
            tl.store(c_ptr + to, acc)


def run_handed_over(device, **options):
    a, b = (device.normal(64, 64, dtype="float16") for _ in range(2))
    c = device.zeros(64, 64)
    handed_over[(1,)](a, b, c, N=64, num_warps=4, **options)
    return [("c", c, device.host(a) @ device.host(b), 0.01)]


@triton_runner.jit
def in_one_place(out_ptr, N: tl.constexpr):
    """Stores in one task integers that another loads as floats from the same bytes, behind a barrier at which
    every thread arrives."""
    words = tlx.local_alloc((N,), tl.int32, 1)
    floats = tlx.local_alloc((N,), tl.float32, 1, reuse=words)
    full = tlx.alloc_warp_barrier(num_barriers=1, num_warps=4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(words[0], tl.arange(0, N) + 1065353216)
            tlx.barrier_arrive(full[0], 1)
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(full[0], 0)
            tl.store(out_ptr + tl.arange(0, N), tlx.local_load(floats[0]))


def run_in_one_place(device, **options):
    out = device.zeros(128)
    in_one_place[(1,)](out, N=128, num_warps=4, **options)
    return [("out", out, 1 + np.arange(128) * 2.0**-23, 0)]


@triton_runner.jit
def of_one_spec(out_ptr, N: tl.constexpr):
    """The same with buffers that a specification puts in one place, in the only block of its cluster."""
    place = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    words = tlx.local_alloc((N,), tl.int32, 1, reuse=place)
    floats = tlx.local_alloc((N,), tl.float32, 1, reuse=place)
    tlx.local_store(words[0], tl.arange(0, N) + 1065353216)
    tl.store(out_ptr + tl.arange(0, N) + tlx.cluster_cta_rank(), tlx.local_load(floats[0]))


def run_of_one_spec(device, **options):
    out = device.zeros(128)
    of_one_spec[(1,)](out, N=128, num_warps=4, **options)
    return [("out", out, 1 + np.arange(128) * 2.0**-23, 0)]
