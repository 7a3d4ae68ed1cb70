"""Small launches for emulators of AMD's GPUs: one operation each, reductions, exchanges between lanes, LDS,
atomics, products.

for name, kernel, args, constants, grid, warps in launches(rounds=1, seed=0): ...
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def floats(x, y, out, n, B: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + at, mask=at < n, other=1.0), tl.load(y + at, mask=at < n, other=1.0)
    if OP == "add":
        value = a + b
    elif OP == "sub":
        value = a - b
    elif OP == "mul":
        value = a * b
    elif OP == "fma":
        value = tl.fma(a, b, a)
    elif OP == "max":
        value = tl.maximum(a, b)
    elif OP == "min":
        value = tl.minimum(a, b)
    elif OP == "clamp":
        value = tl.clamp(a, -1.0, 1.0)
    elif OP == "choose":
        value = tl.where(a > b, a, -b)
    elif OP == "abs":
        value = tl.abs(a) - b
    elif OP == "floor":
        value = tl.floor(a) + tl.ceil(b)
    elif OP == "int":
        value = (a * 16).to(tl.int32).to(tl.float32)
    elif OP == "half":
        value = a.to(tl.float16).to(tl.float32) + b
    elif OP == "bfloat":
        value = a.to(tl.bfloat16).to(tl.float32) + b
    elif OP == "div":
        value = a / b
    elif OP == "exp":
        value = tl.exp2(a)
    elif OP == "log":
        value = tl.log2(tl.abs(a))
    elif OP == "sqrt":
        value = tl.sqrt(tl.abs(a))
    elif OP == "rsqrt":
        value = tl.rsqrt(tl.abs(a))
    elif OP == "sigmoid":
        value = tl.sigmoid(a)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def integers(x, y, out, n, B: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + at, mask=at < n, other=1), tl.load(y + at, mask=at < n, other=1)
    if OP == "mul":
        value = a * b + a
    elif OP == "high":
        value = tl.umulhi(a, b)
    elif OP == "logic":
        value = (a & b) | (a ^ ~b)
    elif OP == "shift":
        value = (a << (b & 31)) ^ (a >> (b & 15))
    elif OP == "compare":
        value = tl.where(a < b, a, tl.maximum(a - b, 7))
    elif OP == "divide":
        value = a // (b | 1)
    elif OP == "remainder":
        value = a % (b | 1)
    elif OP == "wide":
        value = ((a.to(tl.int64) * b) >> 7).to(tl.int32)
    elif OP == "bytes":
        value = a.to(tl.int8).to(tl.int32) + b.to(tl.uint8).to(tl.int32)
    tl.store(out + at, value, mask=at < n)


@triton.jit
def reduces(x, out, n, B: tl.constexpr, OP: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    a = tl.load(x + row * n + at, mask=at < n, other=0)
    if OP == "sum":
        value = tl.sum(a, 0)
    elif OP == "max":
        value = tl.max(a, 0)
    elif OP == "argmax":
        value = tl.argmax(a, 0)
    elif OP == "xor":
        value = tl.xor_sum(a, 0)
    tl.store(out + row, value)


@triton.jit
def moves(x, out, B: tl.constexpr, OP: tl.constexpr):
    at = tl.arange(0, B)
    if OP == "scan":
        tl.store(out + at, tl.cumsum(tl.load(x + at), 0))
    elif OP == "sort":
        tl.store(out + at, tl.sort(tl.load(x + at)))
    elif OP == "flip":
        tl.store(out + at, tl.flip(tl.load(x + at)))
    elif OP == "transpose":
        i, j = tl.arange(0, 16), tl.arange(0, 16)
        tile = tl.load(x + i[:, None] * 16 + j[None, :])
        tl.store(out + i[:, None] * 16 + j[None, :], tl.trans(tile) + tile)
    elif OP == "gather":
        value = tl.load(x + at)
        tl.store(out + at, tl.gather(value, (at * 7) % B, 0))
    elif OP == "rows":
        i, j = tl.arange(0, 16), tl.arange(0, 16)
        tile = tl.load(x + i[:, None] * 16 + j[None, :])
        tl.store(out + i[:, None] * 16 + j[None, :], tile - tl.max(tile, 1)[:, None])
    elif OP == "columns":
        i, j = tl.arange(0, 16), tl.arange(0, 16)
        tile = tl.load(x + i[:, None] * 16 + j[None, :])
        tl.store(out + i[:, None] * 16 + j[None, :], tile - tl.sum(tile, 0)[None, :])


@triton.jit
def updates(x, out, n, B: tl.constexpr, OP: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, mask=at < n, other=0)
    if OP == "add":
        tl.atomic_add(out + a % 8, a, mask=at < n)
    elif OP == "max":
        tl.atomic_max(out + a % 8, a, mask=at < n)
    elif OP == "swap":
        tl.atomic_cas(out + at, at * 0, a)
    elif OP == "or":
        tl.atomic_or(out + a % 8, a, mask=at < n)


@triton.jit
def loops(x, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for begin in range(0, n, B):
        total += tl.load(x + begin + at, mask=begin + at < n, other=0.0)
    tl.store(out + at, total)


@triton.jit
def doubles(x, out, B: tl.constexpr):
    at = tl.arange(0, B)
    value = tl.load(x + at)
    tl.store(out + at, value * value + tl.where(value > 0, value, 2.0))


@triton.jit
def product(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, S: tl.constexpr, TURNED: tl.constexpr
):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), S)
    for step in range(2):
        left = tl.load(a + i[:, None] * (2 * K) + (step * K + k)[None, :])
        if TURNED:
            right = tl.load(b + j[None, :] * (2 * K) + (step * K + k)[:, None])
        else:
            right = tl.load(b + (step * K + k)[:, None] * N + j[None, :])
        total = tl.dot(left, right, total, out_dtype=S, input_precision="ieee")
    tl.store(c + i[:, None] * N + j[None, :], total)


# fmt: off
FLOATS = ["add", "sub", "mul", "fma", "max", "min", "clamp", "choose", "abs", "floor", "int", "half",
          "bfloat", "div", "exp", "log", "sqrt", "rsqrt", "sigmoid"]
INTEGERS = ["mul", "high", "logic", "shift", "compare", "divide", "remainder", "wide", "bytes"]
MOVES = ["scan", "sort", "flip", "transpose", "gather", "rows", "columns"]
# fmt: on


def launches(rounds: int, seed: int):
    """(name, kernel, arguments, constexprs, grid, warps): each kernel once a round, on other numbers."""
    random = np.random.default_rng(seed)
    some = lambda *shape: torch.from_numpy(random.standard_normal(shape).astype("f"))  # noqa: E731
    whole = lambda low, high, *shape: torch.from_numpy(random.integers(low, high, shape).astype("i4"))  # noqa: E731
    for _ in range(rounds):
        n, rows = (
            int(random.integers(1, 125)) * 2 + 1,
            int(random.integers(1, 4)),
        )  # odd: one machine code each
        warps = 2
        for op in FLOATS:
            args = 3 * some(n), 3 * some(n), torch.zeros(n), n
            yield f"floats {op}", floats, args, {"B": 128, "OP": op}, (2,), warps
        for op in INTEGERS:
            args = whole(-(2**31), 2**31, n), whole(-(2**15), 2**15, n), torch.zeros(n, dtype=torch.int32), n
            yield f"integers {op}", integers, args, {"B": 128, "OP": op}, (2,), warps
        for op in ("sum", "max", "argmax", "xor"):
            values = whole(-99, 99, rows, n) if op in ("xor", "argmax") else some(rows, n)
            out = torch.zeros(rows, dtype=values.dtype)
            yield f"reduces {op}", reduces, (values, out, n), {"B": 256, "OP": op}, (rows,), warps
        for op in MOVES:
            values = whole(-99, 99, 256)
            args = values, torch.zeros(256, dtype=torch.int32)
            yield f"moves {op}", moves, args, {"B": 256, "OP": op}, (1,), warps
        for op in ("add", "max", "swap", "or"):
            args = whole(0, 99, 256), torch.zeros(256, dtype=torch.int32), n
            yield f"updates {op}", updates, args, {"B": 128, "OP": op}, (2,), warps
        yield "loops", loops, (some(n), torch.zeros(64), n), {"B": 64}, (1,), 1
        yield "doubles", doubles, (some(64).double(), torch.zeros(64).double()), {"B": 64}, (1,), 1
        for side in (16, 32, 16, 32):
            for dtype in (torch.float16, torch.bfloat16):
                args = some(side, 64).to(dtype), some(64, side).to(dtype), torch.zeros(side, side)
                shape = {"M": side, "N": side, "K": 32, "S": tl.float32}
                kind = str(dtype).removeprefix("torch.")
                yield f"product {side} {kind}", product, args, {**shape, "TURNED": False}, (1,), 1
                turned = args[0], some(side, 64).to(dtype), torch.zeros(side, side)
                yield f"product {side} {kind} turned", product, turned, {**shape, "TURNED": True}, (1,), 1
            left, right = (
                torch.from_numpy(random.integers(-128, 128, s).astype("i1")) for s in ((side, 64), (64, side))
            )
            args = left, right, torch.zeros(side, side, dtype=torch.int32)
            yield (
                f"product {side} int8",
                product,
                args,
                {"M": side, "N": side, "K": 32, "S": tl.int32, "TURNED": False},
                (1,),
                1,
            )
