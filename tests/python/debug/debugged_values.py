"""Has kernels for golden sessions: pointers, infinities, lines without code, calls two deep."""

import torch
import triton
import triton.language as tl


@triton.jit
def twice(x):
    """Two times x."""
    y = x * 2.0

    return y


@triton.jit
def outer(x, bias):
    z = twice(x)
    return z + bias


@triton.jit
def gathers(x_ptr, index_ptr, out_ptr, columns, bias, BLOCK: tl.constexpr):
    # This program has the row of its number.
    row = tl.program_id(0)
    index = tl.load(index_ptr + row)

    places = x_ptr + index * columns + tl.arange(0, BLOCK)
    x = tl.load(
        places,
        mask=tl.arange(0, BLOCK) < columns,
        other=float("-inf"),
    )
    z = outer(x, bias)
    tl.store(out_ptr + row * BLOCK + tl.arange(0, BLOCK), z)


def main() -> None:
    x = torch.arange(4 * 6, dtype=torch.float32).reshape(4, 6)
    x[1, 2], x[1, 3], x[1, 4] = float("inf"), float("nan"), -float("inf")
    index = torch.tensor([3, 1, 0, 2])
    gathers[(4,)](x, index, torch.zeros(4, 8), 6, 0.5, BLOCK=8)


if __name__ == "__main__":
    main()
