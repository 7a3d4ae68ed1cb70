"""Dropout whose mask is Philox numbers of a seed, so that it needs no memory (tutorial 04)."""

import numpy as np
import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=inside)


def philox_uniform(seed, offsets):
    """Triton's tl.rand: word 0 of Philox-4x32-10 (Salmon et al., 2011) of (offset, 0, 0, 0), as a float32."""
    c0, c1, c2, c3 = offsets.astype(np.uint64), 0, 0, 0
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        product_0, product_2 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0 = product_2 >> np.uint64(32) ^ c1 ^ np.uint64(k0)
        c2 = product_0 >> np.uint64(32) ^ c3 ^ np.uint64(k1)
        c1, c3 = product_2 & low, product_0 & low
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    signed = c0.astype(np.uint32).view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def run(device, **level):
    n, p, seed, block = 10000, 0.4, 123, 1024
    x, out = device.normal(n), device.zeros(n)
    dropout_kernel[(triton.cdiv(n, block),)](x, out, n, p, seed, BLOCK=block, **level)
    keep = device.host(device.array((philox_uniform(seed, np.arange(n)) > np.float32(p)).astype(np.float64)))
    return [("dropped", out, keep * device.host(x) / (1 - p), 1e-5)]
