"""Tests instructions that Triton does not write, against NumPy: cvt.rs, fma.oob, multimem."""

import numpy as np
import pytest

triton_runner = pytest.importorskip("triton_runner")
ml_dtypes = pytest.importorskip("ml_dtypes")

N = 256
KERNEL = """.version 8.8
.target {target}
.address_size 64
.visible .entry kernel({params})
.reqntid {n}
{{
  .reg .b64 %at, %p<8>;
  .reg .b32 %t, %r<8>;
  .reg .b16 %h<8>;
  .reg .f32 %f<8>;
  mov.u32 %t, %tid.x;
  {body}
  ret;
}}
"""


def run(body, *arrays, target="sm_100a", n=N):
    """`body` finds the address of its thread's element of argument i in %p<i>."""
    params = ", ".join(f".param .u64 a{i}" for i in range(len(arrays)))
    start = ""
    for i, array in enumerate(arrays):
        start += (
            f"ld.param.u64 %p{i}, [a{i}];\n  mul.wide.u32 %at, %t, {array.itemsize};\n  "
            f"add.s64 %p{i}, %p{i}, %at;\n  "
        )
    text = KERNEL.format(target=target, params=params, body=start + body, n=n)
    with triton_runner.using(device="cpu"):
        triton_runner.load(text)[(1,)](*arrays)


# ---- cvt.rs


def codes_of(kind):
    """Every finite value that is not negative, in order, and its code."""
    if kind in ("f16", "bf16"):
        dtype = np.float16 if kind == "f16" else ml_dtypes.bfloat16
        codes = np.arange(0x7C00 if kind == "f16" else 0x7F80, dtype=np.uint16)
    else:
        dtype = {
            "e4m3": ml_dtypes.float8_e4m3fn,
            "e5m2": ml_dtypes.float8_e5m2,
            "e2m3": ml_dtypes.float6_e2m3fn,
            "e3m2": ml_dtypes.float6_e3m2fn,
            "e2m1": ml_dtypes.float4_e2m1fn,
        }[kind]
        count = {"e4m3": 0x7F, "e5m2": 0x7C, "e2m3": 0x20, "e3m2": 0x20, "e2m1": 8}[kind]
        codes = np.arange(count, dtype=np.uint8)
    return codes.view(dtype).astype(np.float64), codes.astype(np.int64)


def stochastic(kind, values, random, width, saturates):
    """The codes that PTX ISA 9.7.9.21 has: away from zero where the part beyond and the random part carry."""
    table, codes = codes_of(kind)
    top = len(codes) - 1
    sign_bit = {"f16": 15, "bf16": 15, "e4m3": 7, "e5m2": 7, "e2m3": 5, "e3m2": 5, "e2m1": 3}[kind]
    out = np.zeros(len(values), np.int64)
    for i, value in enumerate(values.astype(np.float64)):
        size = abs(value)
        if np.isnan(value):
            out[i] = {"f16": 0x7FFF, "bf16": 0x7FFF, "e4m3": 0x7F, "e5m2": 0x7F}.get(kind, top)
            continue
        low = int(np.searchsorted(table, size, "right")) - 1
        step = table[low + 1] - table[low] if low < top else table[low] - table[low - 1]
        fraction = (size - table[low]) / step if np.isfinite(size) else 1.0
        code = low + (int(min(fraction, 1.0) * 2**width) + int(random[i]) >= 2**width)
        if code > top:
            code = top if saturates else top + 1
        out[i] = code | int(np.signbit(value)) << sign_bit
    return out


def interesting(rng, kind):
    """Values around what the type has: within it, subnormal there, too large, and not finite."""
    table, _ = codes_of(kind)
    values = rng.choice(table, N) * rng.uniform(0.7, 1.4, N) * rng.choice([-1, 1], N)
    values[:6] = [0, -0.0, np.inf, -np.inf, np.nan, table[-1]]
    values[6:9] = [table[1] / 3, -table[1] / 2, table[-1] * 1.01]
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


@pytest.mark.parametrize("modifiers", ["", ".relu", ".satfinite", ".relu.satfinite"])
@pytest.mark.parametrize("kind, width", [("f16", 13), ("bf16", 16)])
def test_two_values_rounded_by_chance(kind, width, modifiers):
    rng = np.random.default_rng(3)
    a, b = interesting(rng, kind), interesting(rng, kind)[::-1].copy()
    random, out = rng.integers(0, 2**32, N, np.uint32), np.zeros(N, np.uint32)
    run(
        "ld.global.f32 %f0, [%p0];\n  ld.global.f32 %f1, [%p1];\n  ld.global.b32 %r0, [%p2];\n  "
        f"cvt.rs{modifiers}.{kind}x2.f32 %r1, %f0, %f1, %r0;\n  st.global.b32 [%p3], %r1;",
        a, b, random, out,
    )  # fmt: skip
    halves = random >> 16 & (2**width - 1), random & (2**width - 1)
    wanted = [
        stochastic(kind, v, r, width, "satfinite" in modifiers) for v, r in zip((a, b), halves, strict=True)
    ]
    if "relu" in modifiers:
        wanted = [np.where(np.signbit(v) & ~np.isnan(v), 0, w) for v, w in zip((a, b), wanted, strict=True)]
    assert (out == wanted[0] << 16 | wanted[1]).all()


@pytest.mark.parametrize("kind", ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"])
def test_four_values_rounded_by_chance(kind):
    rng = np.random.default_rng(4)
    values = [interesting(rng, kind) for _ in range(4)]
    random = rng.integers(0, 2**32, N, np.uint32)
    narrow = kind == "e2m1"
    out = np.zeros(N, np.uint16 if narrow else np.uint32)
    loads = "".join(f"ld.global.f32 %f{i}, [%p{i}];\n  " for i in range(4))
    d, store = ("%h0", "b16") if narrow else ("%r1", "b32")
    run(
        f"{loads}ld.global.b32 %r0, [%p4];\n  "
        f"cvt.rs.satfinite.{kind}x4.f32 {d}, {{%f0, %f1, %f2, %f3}}, %r0;\n  st.global.{store} [%p5], {d};",
        *values, random, out,
    )  # fmt: skip
    high, low = random >> 16, random & 0xFFFF
    bits = (high >> 8, low >> 8, high & 0xFF, low & 0xFF) if narrow else (high, high, low, low)
    wanted = np.zeros(N, np.int64)
    for v, r in zip(values, bits, strict=True):
        wanted = wanted << (4 if narrow else 8) | stochastic(kind, v, r, 8 if narrow else 16, True)
    assert (out == wanted).all()


# ---- fma.oob


@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("kind, dtype", [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
@pytest.mark.parametrize("pair", [False, True])
def test_what_is_outside_of_a_tensor_counts_as_zero(kind, dtype, pair, relu):
    rng = np.random.default_rng(6)
    n = 2 * N if pair else N
    a, b, c = (rng.integers(-3, 4, n).astype(dtype) for _ in range(3))
    outside = rng.integers(0, 3, n) == 0
    a.view(np.uint16)[outside] = 0x7FF7
    out = np.zeros(n, dtype)
    word, register, suffix = ("b32", "%r", "x2") if pair else ("b16", "%h", "")
    arrays = [x.view(np.uint32) if pair else x.view(np.uint16) for x in (a, b, c, out)]
    loads = "".join(f"ld.global.{word} {register}{i}, [%p{i}];\n  " for i in range(3))
    # The result is in the register of an operand.
    run(
        f"{loads}fma.rn.oob{relu}.{kind}{suffix} {register}0, {register}0, {register}1, {register}2;\n  "
        f"st.global.{word} [%p3], {register}0;",
        *arrays,
    )
    with np.errstate(invalid="ignore"):
        wanted = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    wanted[outside] = 0
    assert (out.astype(np.float64) == (np.maximum(wanted, 0) if relu else wanted)).all()


# ---- multimem: one device has one copy


def test_memory_of_several_devices_on_one():
    rng = np.random.default_rng(7)
    x, out, sums = rng.integers(-9, 9, N).astype(np.float32), np.zeros(N, np.float32), np.ones(N, np.float32)
    run(
        "multimem.ld_reduce.relaxed.gpu.global.add.f32 %f0, [%p0];\n  "
        "multimem.st.relaxed.gpu.global.f32 [%p1], %f0;\n  "
        "multimem.red.relaxed.gpu.global.add.f32 [%p2], %f0;",
        x, out, sums, target="sm_90",
    )  # fmt: skip
    assert (out == x).all() and (sums == x + 1).all()
    with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
        run("multimem.st.relaxed.gpu.global.f32 [%p0+1048576], %f0;", x, target="sm_90")
