"""A loop that runs `rows` times, in which the number of turns of an inner loop is loaded: with 0 rows nothing
is. The compiler of Triton 3.9 moves that load out of the loop (triton#11601)."""

import torch
import triton
import triton.language as tl


@triton.jit
def counted(out, turns, rows, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in tl.range(0, rows, flatten=True):
        for turn in tl.range(0, tl.load(turns)):
            total += turn
    tl.store(out + tl.arange(0, BLOCK), total)


if __name__ == "__main__":
    out = torch.ones(128, device="cuda")
    turns = torch.full((1,), 3, dtype=torch.int32, device="cuda")
    counted[(1,)](out, turns, 0, BLOCK=128)
    assert out.sum() == 0
