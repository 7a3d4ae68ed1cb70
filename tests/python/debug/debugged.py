"""Has the program of the golden sessions: launches whose kernels have loops, calls, masks, partial sums."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x, factor):
    y = x * factor
    return y + 1.0


@triton.jit
def row_sums(x_ptr, out_ptr, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0)
        acc += scaled(x, 2.0)
    total = tl.sum(acc, axis=0)
    tl.store(out_ptr + row, total)


@triton.jit
def product(a_ptr, b_ptr, out_ptr, K: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    ks = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + rows[:, None] * K + (k + ks)[None, :])
        b = tl.load(b_ptr + (k + ks)[:, None] * BLOCK + rows[None, :])
        acc += tl.dot(a, b)
    tl.store(out_ptr + rows[:, None] * BLOCK + rows[None, :], acc)


@triton.jit
def reads_past(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x)


def main() -> None:
    x = torch.arange(4 * 20, dtype=torch.float32).reshape(4, 20)
    sums = torch.zeros(4)
    row_sums[(4,)](x, sums, 20, 20, BLOCK=8)
    a = torch.arange(16 * 32, dtype=torch.float32).reshape(16, 32).to(torch.float16) / 64
    b = torch.ones(32, 16, dtype=torch.float16)
    out = torch.zeros(16, 16)
    product[(1,)](a, b, out, K=32, BLOCK=16)
    print("sums", sums.tolist())


def past() -> None:
    x, out = torch.zeros(40), torch.zeros(64)
    reads_past[(4,)](x, out, BLOCK=16)


if __name__ == "__main__":
    main()
