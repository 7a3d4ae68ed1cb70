"""Tests integers divided by 0: the same bits at TTIR, TTGIR and PTX, and check="zerodiv"."""

import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import KernelTrap  # noqa: E402

LEVELS = ("ttir", "ttgir", "ptx")
TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@triton_runner.jit
def divide(x, y, quotient, remainder, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0)
    b = tl.load(y + at, mask=at < n, other=0)
    tl.store(quotient + at, a // b, mask=at < n)
    tl.store(remainder + at, a % b + b, mask=at < n)


@triton_runner.jit
def remainders(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0)
    b = tl.load(y + at, mask=at < n, other=0)
    tl.store(out + at, a % b, mask=at < n)


@triton_runner.jit
def divide_by_one(x, y, out, by, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, a // tl.load(y) + a % by.to(a.dtype))
    tl.store(out + BLOCK, tl.load(x) // tl.load(y))


def numbers(name: str) -> torch.Tensor:
    """Corners of the type, among them those around 32 bits."""
    info = torch.iinfo(getattr(torch, name))
    small = [0, 1, 2, 3, 7, 100, 127]
    large = [info.max, info.max - 1, info.max // 2]
    below = [-1, -2, -7, -100, info.min, info.min + 1, info.min // 2] if info.min else []
    around = [2**31, 2**32 - 1, 2**32, 2**32 + 5, 2**40] if info.bits == 64 else []
    around += [-(2**32), -(2**31)] if info.bits == 64 and info.min else []
    return torch.tensor(small + large + below + around, dtype=getattr(torch, name))


def signed(x: torch.Tensor) -> torch.Tensor:
    """Its bits: not every op takes unsigned tensors."""
    return x.view(getattr(torch, x.dtype.__repr__().removeprefix("torch.").removeprefix("u")))


@pytest.mark.parametrize("name", TYPES)
def test_every_level_gives_the_same(name):
    values = numbers(name)
    n = len(values)
    x = values.repeat_interleave(n)
    y = values.repeat(n)
    found = {}
    for level in LEVELS:
        out = [torch.zeros_like(x) for _ in range(2)]
        divide[(triton.cdiv(len(x), 256),)](x, y, *out, len(x), BLOCK=256, level=level)
        alone = torch.zeros_like(x)
        remainders[(triton.cdiv(len(x), 256),)](x, y, alone, len(x), BLOCK=256, level=level)
        found[level] = [signed(o) for o in (*out, alone)]
    for level in LEVELS[1:]:
        for ours, other in zip(found["ttir"], found[level], strict=True):
            different = (ours != other).nonzero().flatten().tolist()
            assert not different, [(x[i].item(), y[i].item()) for i in different[:5]]
    zero = (signed(y) == 0).nonzero().flatten()
    quotient = found["ttir"][0][zero]
    as_32_bits = torch.tensor(["64" in name and 0 <= v < 2**32 for v in x[zero].tolist()])
    assert torch.equal(quotient == -1, ~as_32_bits)


@pytest.mark.parametrize("name", TYPES)
def test_one_divisor_for_all(name):
    x, found = numbers(name)[:8].repeat(4), {}
    for level in LEVELS:
        out = torch.zeros(33, dtype=x.dtype)
        divide_by_one[(1,)](x, torch.zeros(1, dtype=x.dtype), out, 0, BLOCK=32, level=level)
        found[level] = signed(out)
    assert torch.equal(found["ttir"], found["ttgir"])
    assert torch.equal(found["ttir"], found["ptx"])


@pytest.mark.parametrize("level", LEVELS)
def test_the_check_names_the_place(level):
    x, y = torch.arange(64, dtype=torch.int32), torch.ones(64, dtype=torch.int32)
    y[37] = 0
    out = [torch.zeros_like(x) for _ in range(2)]
    with pytest.raises(KernelTrap) as trapped:
        divide[(2,)](x, y, *out, 64, BLOCK=32, level=level, check="zerodiv")
    error = trapped.value
    assert error.kind == "division by zero" and error.program == (1, 0, 0)
    assert error.element == (5,) if level != "ptx" else "thread (5, 0, 0)" in str(error)
    assert "the divisor is 0" in error.message and "37" in error.message
    assert error.file.endswith("test_zero_division.py") and error.line > 0
    divide[(2,)](x, y, *out, 64, BLOCK=32, level=level)
    y[37] = 1
    divide[(2,)](x, y, *out, 64, BLOCK=32, level=level, check="zerodiv")
