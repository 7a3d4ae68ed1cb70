"""Rows are put into a cache at slots of their own; a slot of -1 is none."""

import torch
import triton
import triton.language as tl


@triton.jit
def put_kernel(cache, slots, source, cache_row, source_row, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    slot = tl.load(slots + row).to(tl.int64)
    if slot < 0:
        return
    at = tl.arange(0, BLOCK)
    inside = at < columns
    tl.store(cache + slot * cache_row + at, tl.load(source + row * source_row + at, inside), inside)


def scatter_rows_(cache, slots, source):
    assert cache.stride(1) == 1 and source.stride(1) == 1 and slots.is_contiguous(), "rows are contiguous"
    rows, columns = source.shape
    assert cache.shape[1] == columns and slots.shape == (rows,)
    if rows and columns:
        put_kernel[(rows,)](
            cache, slots, source, cache.stride(0), source.stride(0), columns,
            BLOCK=triton.next_power_of_2(columns),
        )  # fmt: skip
    return cache


def reference(cache, slots, source):
    result = cache.clone()
    counts = slots >= 0
    result[slots[counts].long()] = source[counts]
    return result


if __name__ == "__main__":
    cache, source = torch.randn(50, 40, device="cuda"), torch.randn(8, 40, device="cuda")
    slots = torch.tensor([3, 17, 49, -1, 0, 21, 33, 40], device="cuda")
    wanted = reference(cache, slots, source)
    assert torch.equal(scatter_rows_(cache, slots, source), wanted)
