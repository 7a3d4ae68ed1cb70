"""Tempts race, uninit: a tile is worked on by two programs; the second hands its part over in a workspace,
and sets a flag for which the first waits."""

import torch
import triton
import triton.language as tl


@triton.jit
def stream_k(a, b, c, workspace, flags, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0) // 2
    part = tl.program_id(0) % 2
    m = tile * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    half = K // 2
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(part * half, part * half + half, BK):
        k = k0 + tl.arange(0, BK)
        acc = tl.dot(tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :]), acc)
    place = tile * BM * BN + tl.arange(0, BM)[:, None] * BN + n[None, :]
    if part == 1:
        tl.store(workspace + place, acc)
        tl.debug_barrier()
        tl.atomic_xchg(flags + tile, 1, sem="release")
    else:
        while tl.atomic_cas(flags + tile, 1, 1, sem="acquire") != 1:
            pass
        tl.debug_barrier()
        acc += tl.load(workspace + place)
        tl.store(c + m[:, None] * N + n[None, :], acc)


torch.manual_seed(0)
a, b = torch.randn(64, 64).half(), torch.randn(64, 32).half()
c = torch.empty(64, 32)
workspace, flags = torch.empty(64 * 32), torch.zeros(2, dtype=torch.int32)
stream_k[(4,)](a, b, c, workspace, flags, 32, 64, BM=32, BN=32, BK=16)
torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-3)
