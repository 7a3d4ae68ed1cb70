"""Thirty programs for a comparison of judges: 19 with one fault each, 11 that are right and look as if they
were not. PROGRAMS: (name, the check that is to see it or "" for a right one, text). Each compares its result with
torch's, as programs do; of most faults the values are right where programs of a grid run one after the other."""
# ruff: noqa: E501  (programs as strings)

HEAD = """import os

import torch
import triton
import triton.language as tl

DEVICE = os.environ.get("PROGRAM_DEVICE", "cuda")
COMPARES = not os.environ.get("PROGRAM_COMPARES_NOT")  # a tool that computes no values has none to compare
torch.manual_seed(0)


def near(got, want):
    if COMPARES:
        torch.testing.assert_close(got, want.to(got.dtype), rtol=1e-4, atol=1e-4)


def holds(what):
    assert not COMPARES or what()

"""


def _of(kernel: str, body: str) -> str:
    return f"{HEAD}\n@triton.jit\n{kernel.strip()}\n\n\n{body.strip()}\n"


_SCALE = """
def scale(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, 2 * tl.load(x + i%s)%s)
"""
_ROWS = """
def rows(x, out, stride, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + row * stride + k, mask=k < n, other=%s)
    tl.store(out + row, %s)
"""
_TOTAL = """
def total(x, out, count, parts, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0)
    %s
"""
_CALL_TOTAL = """
x = torch.rand(4000, device=DEVICE)
out, count, parts = torch.zeros(1, device=DEVICE), torch.zeros(1, dtype=torch.int32, device=DEVICE), torch.zeros(16, device=DEVICE)
total[(16,)](x, out, count, parts, 4000, B=256)
near(out[0], x.sum())
"""
_LAST = """tl.store(parts + tl.program_id(0), part)
    done = %s
    if done == tl.num_programs(0) - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, 16)), 0))"""
_LOCK = """while tl.atomic_cas(count, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + part)
    tl.debug_barrier()
    tl.atomic_xchg(count, 0)"""
_COUNT = """
def histogram(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    for k in range(8):
        here = tl.sum(((tl.load(x + i, mask=i < n, other=-1)) == k).to(tl.int32), 0)
        %s
"""
_CALL_COUNT = """
x = torch.randint(0, 8, (1000,), dtype=torch.int32, device=DEVICE)
out = torch.zeros(8, dtype=torch.int32, device=DEVICE)
histogram[(8,)](x, out, 1000, B=128)
near(out, torch.bincount(x, minlength=8))
"""
_PRODUCT = """
def product(a, b, out, K, B: tl.constexpr):
    m, n, k = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, B)
    at = tl.program_id(2) * B
    x = tl.load(a + m[:, None] * K + at + k[None, :])
    y = tl.load(b + (at + k)[:, None] * 64 + n[None, :])
    part = tl.dot(x, y, input_precision="ieee")
    where = out + m[:, None] * 64 + n[None, :]
    %s
"""
_CALL_PRODUCT = """
a, b, out = torch.randn(32, 64, device=DEVICE), torch.randn(64, 64, device=DEVICE), torch.zeros(32, 64, device=DEVICE)
product[(2, 4, 4)](a, b, out, 64, B=16)
near(out, a @ b)
"""
_VIEW = """
def sums(x, out, stride, n, B: tl.constexpr):
    k = tl.arange(0, B)
    tl.store(out + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * stride + k, mask=k < n, other=0.0), 0))
"""

FAULTS = [
    ("load without a mask", "oob", _of(_SCALE % ("", ", mask=i < n"), "x, out = torch.rand(1000, device=DEVICE), torch.zeros(1000, device=DEVICE)\nscale[(4,)](x, out, 1000, B=256)\nnear(out, 2 * x)")),
    ("mask of one more", "oob", _of(_SCALE % (", mask=i <= n", ", mask=i <= n"), "x, out = torch.rand(1000, device=DEVICE), torch.zeros(1000, device=DEVICE)\nscale[(4,)](x, out, 1000, B=256)\nnear(out, 2 * x)")),
    ("the element before the first", "oob", _of("""
def steps(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) - tl.load(x + i - 1, mask=i < n), mask=(i > 0) & (i < n))
""", "x, out = torch.rand(500, device=DEVICE), torch.zeros(500, device=DEVICE)\nsteps[(4,)](x, out, 500, B=128)\nnear(out[1:], x[1:] - x[:-1])")),
    ("mask of one dimension", "oob", _of("""
def flip(x, out, M, N, B: tl.constexpr):
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    inside = (n < N)[None, :] & (m[:, None] >= 0)
    v = tl.load(x + m[:, None] * N + n[None, :], mask=inside)
    tl.store(out + n[None, :] * M + m[:, None], v, mask=inside & (m < M)[:, None])
""", "x, out = torch.rand(40, 40, device=DEVICE), torch.zeros(40, 40, device=DEVICE)\nflip[(2, 2)](x, out, 40, 40, B=32)\nnear(out, x.t())")),
    ("a descriptor of more rows", "oob", _of("""
def copy(x, out, M, N: tl.constexpr, B: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [B, N])
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.arange(0, N)
    v = rows.load([tl.program_id(0) * B, 0])
    tl.store(out + m[:, None] * N + n[None, :], v, mask=(m < 30)[:, None])
""", "triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device=DEVICE))\nx, out = torch.rand(30, 32, device=DEVICE), torch.zeros(30, 32, device=DEVICE)\ncopy[(2,)](x, out, 32, N=32, B=16)\nnear(out, x)")),
    ("a sum without atomic updates", "race", _of(_TOTAL % "tl.store(out, tl.load(out) + part)", _CALL_TOTAL)),
    ("the last block by its number", "race", _of(_TOTAL % (_LAST % "tl.program_id(0)"), _CALL_TOTAL)),
    ("counts without atomic updates", "race", _of(_COUNT % "tl.store(out + k, tl.load(out + k) + here)", _CALL_COUNT)),
    ("parts of a product without atomic updates", "race", _of(_PRODUCT % "tl.store(where, tl.load(where) + part)", _CALL_PRODUCT)),
    ("a neighbour's element in place", "race", _of("""
def smooth(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + tl.load(x + i + 1, mask=i + 1 < n, other=0.0), mask=i < n)
""", "x = torch.rand(1000, device=DEVICE)\nwant = x + torch.cat([x[1:], x.new_zeros(1)])\nsmooth[(8,)](x, 1000, B=128)\nnear(x, want)")),
    ("two lanes, one element", "race", _of("""
def halves(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i // 2, tl.load(x + i))
""", "x, out = torch.rand(128, device=DEVICE), torch.zeros(64, device=DEVICE)\nhalves[(1,)](x, out, B=128)\nholds(lambda: (out > 0).all())")),
    ("a maximum over what the mask leaves out", "uninit", _of("""
def largest(x, out, n, B: tl.constexpr):
    k = tl.arange(0, B)
    tl.store(out + tl.program_id(0), tl.max(tl.load(x + tl.program_id(0) * n + k, mask=k < n), 0))
""", "x, out = torch.rand(8, 100, device=DEVICE), torch.zeros(8, device=DEVICE)\nlargest[(8,)](x, out, 100, B=128)\nnear(out, x.amax(1))")),
    ("updates of memory that nobody wrote", "uninit", _of(_TOTAL % "tl.atomic_add(out, part)", _CALL_TOTAL.replace("out, count, parts = torch.zeros(1", "out, count, parts = torch.empty(1").replace("near(out[0], x.sum())", ""))),
    ("half of the result is written", "uninit", _of(_SCALE % (", mask=i < n", ", mask=i < n"), "x, out = torch.rand(1024, device=DEVICE), torch.empty(1024, device=DEVICE)\nscale[(2,)](x, out, 1024, B=256)\nagain = torch.zeros(1024, device=DEVICE)\nscale[(4,)](out, again, 1024, B=256)\nnear(again[:512], 4 * x[:512])")),
    ("an integer divided by zero", "zerodiv", _of("""
def quotient(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0) // tl.load(y + i, mask=i < n, other=1), mask=i < n)
""", "x = torch.randint(1, 100, (200,), dtype=torch.int32, device=DEVICE)\ny = torch.arange(200, dtype=torch.int32, device=DEVICE) - 7\nout = torch.zeros(200, dtype=torch.int32, device=DEVICE)\nquotient[(2,)](x, y, out, 200, B=128)\nnear(out[8:], x[8:] // y[8:])")),
    ("an offset of more than 32 bits", "overflow", _of("""
def row(x, out, at, stride, B: tl.constexpr):
    k = tl.arange(0, B)
    tl.store(out + k, tl.load(x + at * stride + k))
""", "x, out = torch.rand(64, device=DEVICE), torch.zeros(64, device=DEVICE)\nrow[(1,)](x, out, 65536, 65536, B=64)\nholds(lambda: out.sum() > 0)")),
    ("the padding of a row", "view", _of(_VIEW, "x = torch.rand(8, 128, device=DEVICE)[:, :100]\nout = torch.zeros(8, device=DEVICE)\nsums[(8,)](x, out, 128, 128, B=128)\nholds(lambda: (out > 0).all())")),
    ("the next of two halves", "view", _of(_SCALE % (", mask=i < n", ""), "both = torch.rand(512, device=DEVICE)\nx, out = torch.rand(250, device=DEVICE), both[:250]\nscale[(2,)](x, out, 250, B=128)\nnear(out, 2 * x)")),
    ("a maximum that is forgotten", "nan", _of(_ROWS % ("-float('inf')", "tl.sum(tl.exp(v) / tl.sum(tl.exp(v), 0), 0)"), "x, out = 100 * torch.rand(8, 100, device=DEVICE), torch.zeros(8, device=DEVICE)\nrows[(8,)](x, out, 100, 100, B=128)\nholds(lambda: out.shape == (8,))")),
]  # fmt: skip
RIGHT = [
    ("a promise on an argument, which the front end drops", "", _of("""
def shifted(x, out, at, n, B: tl.constexpr):
    at = tl.multiple_of(at, 16)
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + at + i))
""", "x, out = torch.rand(256, device=DEVICE), torch.zeros(128, device=DEVICE)\nshifted[(1,)](x, out, 3, 256, B=128)\nnear(out, x[3:131])")),
    ("the last block by a ticket", "", _of(_TOTAL % (_LAST % "tl.atomic_add(count, 1)"), _CALL_TOTAL)),
    ("a sum under a lock", "", _of(_TOTAL % _LOCK, _CALL_TOTAL)),
    ("a division that the mask turns off", "", _of("""
def quotient(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    q = tl.load(x + i, mask=i < n, other=0) // tl.load(y + i, mask=i < n)
    tl.store(out + i, q, mask=i < n)
""", "x = torch.randint(1, 100, (200,), dtype=torch.int32, device=DEVICE)\ny = torch.arange(200, dtype=torch.int32, device=DEVICE) + 1\nout = torch.zeros(200, dtype=torch.int32, device=DEVICE)\nquotient[(2,)](x, y, out, 200, B=128)\nnear(out, x // y)")),
    ("parts of a product with atomic updates", "", _of(_PRODUCT % "tl.atomic_add(where, part)", _CALL_PRODUCT)),
    ("counts with atomic updates", "", _of(_COUNT % "tl.atomic_add(out + k, here)", _CALL_COUNT)),
    ("all of a tensor with its padding", "", _of(_VIEW, "x = torch.rand(8, 128, device=DEVICE)\nx[:, 100:] = 0\nout = torch.zeros(8, device=DEVICE)\nsums[(8,)](x, out, 128, 128, B=128)\nnear(out, x[:, :100].sum(1))")),
    ("a view by its own strides", "", _of(_VIEW, "x = torch.rand(128, 8, device=DEVICE).t()[:, ::2].contiguous()[:, :50]\nout = torch.zeros(8, device=DEVICE)\nsums[(8,)](x, out, x.stride(0), 50, B=64)\nnear(out, x.sum(1))")),
    ("a hash that wraps", "", _of("""
def noise(out, seed, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.rand(seed, i), mask=i < n)
""", "out = torch.zeros(1000, device=DEVICE)\nnoise[(8,)](out, 7, 1000, B=128)\nholds(lambda: 0.4 < out.mean() < 0.6)")),
    ("every program writes the same", "", _of("""
def flags(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out, 1, mask=tl.max(tl.load(x + i, mask=i < n, other=0.0), 0) > 0)
""", "x, out = torch.rand(1000, device=DEVICE), torch.zeros(1, dtype=torch.int32, device=DEVICE)\nflags[(8,)](x, out, 1000, B=128)\nholds(lambda: out.item() == 1)")),
    ("a softmax whose rows are masked whole", "", _of(_ROWS % ("-float('inf')", "tl.sum(tl.where(v > -float('inf'), tl.exp(v - tl.max(v, 0)), 0.0), 0)"), "x, out = torch.randn(8, 100, device=DEVICE), torch.zeros(8, device=DEVICE)\nrows[(8,)](x, out, 100, 100, B=128)\nnear(out, torch.exp(x - x.amax(1, keepdim=True)).sum(1))")),
]  # fmt: skip
PROGRAMS = FAULTS + RIGHT
