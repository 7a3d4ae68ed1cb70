"""Tests products that the engine computes as one have the bits of one instruction after the other.

A shuffled launch runs each instruction by itself (matrix/mma_group.cpp): others are compared with it.
"""

import random

import numpy as np
import pytest
import triton_runner

REGISTERS, THREADS = 48, 64
# For each type: instruction, registers of A, B and of the sums, target, whether random bits are numbers.
KINDS = {
    "f16": ("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, "sm_80"),
    "f16-sm90": ("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, "sm_90"),
    "f16-k8": ("m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, "sm_80"),
    "f16-k8-sm90": ("m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, "sm_90"),
    "f16-sums": ("m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, "sm_90"),
    "bf16": ("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, "sm_80"),
    "tf32": ("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, "sm_80"),
    "e4m3": ("m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, "sm_90"),
    "e4m3-sm89": ("m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, "sm_89"),
    "s8": ("m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 2, 4, "sm_80"),
    "s8-m8": ("m8n8k16.row.col.s32.s8.s8.s32", 1, 1, 2, "sm_80"),
}


def grid_of_products(rng: random.Random, a: int, b: int, c: int) -> list[tuple]:
    """Rows times columns, some steps along k, as compilers write them: registers of D, A, B and C."""
    rows, columns, steps = rng.choice([(1, 1, 2), (2, 2, 1), (2, 2, 2), (1, 3, 3), (2, 1, 2)])
    taken = iter(rng.sample(range(REGISTERS), REGISTERS))

    def registers(n: int) -> list[int]:
        return [next(taken) for _ in range(n)]

    sums = {(i, j): registers(c) for i in range(rows) for j in range(columns)}
    left = (REGISTERS - rows * columns * c) // (rows * a + columns * b)
    out = []
    for _ in range(min(steps, left)):
        high, wide = [registers(a) for _ in range(rows)], [registers(b) for _ in range(columns)]
        out += [(sums[i, j], high[i], wide[j], sums[i, j]) for i in range(rows) for j in range(columns)]
    return out


def text_of(rng: random.Random, kind: str) -> str:
    """A kernel of products, some of whose registers are others, with copies between them."""
    spelling, a, b, c, target = KINDS[kind]
    products = grid_of_products(rng, a, b, c) + grid_of_products(rng, a, b, c)
    lines = []
    for d, *operands in products:
        if rng.random() < 0.1:
            operands[rng.randrange(3)] = None
        if rng.random() < 0.05:
            d = rng.sample(range(REGISTERS), c)
        if rng.random() < 0.15:
            lines.append(f"mov.b32 %r{rng.randrange(REGISTERS)}, %r{rng.randrange(REGISTERS)};")
        parts = [
            rng.choices(range(REGISTERS), k=n) if registers is None else registers
            for registers, n in zip(operands, (a, b, c), strict=True)
        ]
        braces = ["{" + ", ".join(f"%r{r}" for r in part) + "}" for part in (d, *parts)]
        lines.append(f"mma.sync.aligned.{spelling} {', '.join(braces)};")
    return kernel_of(lines, target)


def kernel_of(lines: list[str], target: str) -> str:
    """Registers from memory, the instructions, and registers to memory."""
    loads = [f"ld.global.b32 %r{i}, [%at+{4 * THREADS * i}];" for i in range(REGISTERS)]
    stores = [f"st.global.b32 [%at+{4 * THREADS * i}], %r{i};" for i in range(REGISTERS)]
    body = "\n  ".join(loads + lines + stores)
    return f"""
.version 8.7
.target {target}
.address_size 64
.visible .entry k(.param .u64 .ptr .global p0)
.reqntid {THREADS}
{{
  .reg .b64 %at, %w;
  .reg .b32 %t, %r<{REGISTERS}>;
  ld.param.b64 %at, [p0];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %w, %t, 4;
  add.s64 %at, %at, %w;
  {body}
  ret;
}}
"""


def values_of(rng: np.random.Generator, kind: str, wild: bool) -> np.ndarray:
    shape = (REGISTERS, THREADS)
    if wild or kind in ("s8", "s8-m8"):
        return rng.integers(0, 2**32, shape, dtype=np.uint32)
    if kind.startswith("e4m3"):
        bits = rng.integers(0, 2**32, shape, dtype=np.uint32)
        return bits & np.uint32(0xBFBFBFBF)  # of moderate exponents
    f32 = rng.standard_normal(shape, dtype=np.float32)
    if kind == "tf32":
        return f32.view(np.uint32)
    if kind == "bf16":
        return (f32.view(np.uint32) & np.uint32(0xFFFF0000)) | np.uint32(0x3F80)
    return rng.standard_normal((REGISTERS, 2 * THREADS)).astype(np.float16).view(np.uint32)


@pytest.mark.parametrize("wild", [False, True], ids=["numbers", "any-bits"])
@pytest.mark.parametrize("kind", KINDS)
def test_joined_products(kind, wild, tmp_path):
    bits = np.random.default_rng(len(kind) + wild)
    for seed in range(12):
        rng = random.Random(f"{kind} {seed}")
        file = tmp_path / f"{seed}.ptx"
        file.write_text(text_of(rng, kind))
        kernel = triton_runner.load(file, device="cpu")
        values = values_of(bits, kind, wild)
        for mma in ("exact", "fast"):
            joined, alone = values.copy(), values.copy()
            with triton_runner.using(mma=mma):
                kernel[(1,)](joined)
                with triton_runner.using(shuffle=1):
                    kernel[(1,)](alone)
            assert joined.tobytes() == alone.tobytes(), (kind, seed, mma)
            assert joined.tobytes() != values.tobytes()


def test_fast_sums_of_small_integers(tmp_path):
    """They are exact, so fast products, which go from registers to registers, have the bits of exact ones."""
    rng = random.Random(0)
    operands, sums = range(24), range(24, REGISTERS)
    values = np.random.default_rng(0).integers(-4, 5, (REGISTERS, 2 * THREADS)).astype(np.float16)
    start = values.view(np.uint32)
    start[24:] = np.random.default_rng(1).integers(-99, 99, (24, THREADS)).astype(np.float32).view(np.uint32)
    for seed in range(20):
        lines = []
        for _ in range(12):
            d = rng.sample(sums, 4)
            c = rng.choice([d, rng.sample(d, 4), rng.choices(sums, k=4)])
            parts = (d, rng.choices(operands, k=4), rng.choices(operands, k=2), c)
            braces = ["{" + ", ".join(f"%r{r}" for r in part) + "}" for part in parts]
            lines.append(f"mma.sync.aligned.{KINDS['f16'][0]} {', '.join(braces)};")
        file = tmp_path / f"{seed}.ptx"
        file.write_text(kernel_of(lines, "sm_80"))
        kernel = triton_runner.load(file, device="cpu")
        results = []
        for mma in ("exact", "fast"):
            results.append(start.copy())
            with triton_runner.using(mma=mma):
                kernel[(1,)](results[-1])
        assert results[0].tobytes() == results[1].tobytes(), seed
        assert results[0].tobytes() != start.tobytes()
