"""Tests arithmetic of every element type at TTIR against NumPy and ml_dtypes, bit for bit where the
operation is exact.

The kernels are written as TTIR, one op each, so that nothing between Triton's front end and the engine
hides an op.
"""

import ml_dtypes
import numpy as np
import pytest
import triton_runner

INTS = {f"i{bits}": (np.dtype(f"i{bits // 8}"), np.dtype(f"u{bits // 8}")) for bits in (8, 16, 32, 64)}
FLOATS = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
# f8E4M3B11FNUZ is absent: Triton writes it for its own fp8e4b15, which has another bias (see src/num).
FP8 = {
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
}
N = 1024


def run(op: str, out_type: str, *inputs: tuple[str, np.ndarray], out_dtype) -> np.ndarray:
    """Runs one op, written with %0, %1, ... for its operands, on all elements of the inputs."""
    lines, names = [], [f"%a{i}: !tt.ptr<{kind}>" for i, (kind, _) in enumerate(inputs)]
    size = inputs[0][1].size
    for i, (kind, _) in enumerate(inputs):
        lines += [
            f"%p{i} = tt.splat %a{i} : !tt.ptr<{kind}> -> tensor<{size}x!tt.ptr<{kind}>>",
            f"%q{i} = tt.addptr %p{i}, %lanes : tensor<{size}x!tt.ptr<{kind}>>, tensor<{size}xi32>",
            f"%x{i} = tt.load %q{i} : tensor<{size}x!tt.ptr<{kind}>>",
        ]
    stored = "i8" if out_type == "i1" else out_type
    text = op
    for i in range(len(inputs)):
        text = text.replace(f"%{i}", f"%x{i}")
    body = "\n    ".join(lines)
    widen = f"%out = arith.extui %r : tensor<{size}xi1> to tensor<{size}xi8>" if out_type == "i1" else ""
    module = f"""module {{
  tt.func public @k({", ".join(names)}, %o: !tt.ptr<{stored}>) {{
    %lanes = tt.make_range {{end = {size} : i32, start = 0 : i32}} : tensor<{size}xi32>
    {body}
    %r = {text}
    {widen}
    %p = tt.splat %o : !tt.ptr<{stored}> -> tensor<{size}x!tt.ptr<{stored}>>
    %q = tt.addptr %p, %lanes : tensor<{size}x!tt.ptr<{stored}>>, tensor<{size}xi32>
    tt.store %q, {"%out" if widen else "%r"} : tensor<{size}x!tt.ptr<{stored}>>
    tt.return
  }}
}}
"""
    out = np.zeros(size, np.int8 if out_type == "i1" else out_dtype)
    kernel = triton_runner.load(module, device="cpu")
    kernel[(1,)](*(values for _, values in inputs), out)
    return out.astype(bool) if out_type == "i1" else out


def same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal bits, any NaN for any NaN."""
    assert got.dtype == expected.dtype
    bits = np.dtype(f"u{got.dtype.itemsize}")
    nan = np.isnan(got.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    wrong = np.flatnonzero((got.view(bits) != expected.view(bits)) & ~nan)
    assert wrong.size == 0, (
        f"{wrong.size} differ, first at {wrong[0]}: {got[wrong[0]]} for {expected[wrong[0]]}"
    )


def random_ints(dtype, seed: int) -> np.ndarray:
    """Random bits, with the smallest, the largest, 0, 1 and -1 in every pairing of two arrays."""
    info = np.iinfo(dtype)
    random = np.random.default_rng(seed)
    values = random.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    special = np.array([info.min, info.max, 0, 1, -1 if info.min < 0 else 2], dtype)
    values[:25] = np.repeat(special, 5) if seed % 2 else np.tile(special, 5)
    return values


def random_floats(dtype, seed: int, special: bool = True) -> np.ndarray:
    """Values of all magnitudes around 1, with zeros, infinities, NaN and subnormals in every pairing."""
    random = np.random.default_rng(seed)
    info = ml_dtypes.finfo(dtype)
    values = (random.standard_normal(N) * 2.0 ** random.integers(-6, 7, N)).astype(dtype)
    if special:
        limits = [0.0, -0.0, np.inf, -np.inf, np.nan, float(info.max), float(info.tiny), float(info.tiny) / 4]
        limits = np.array(limits).astype(dtype)
        values[:64] = np.repeat(limits, 8) if seed % 2 else np.tile(limits, 8)
    return values


SIGNED, UNSIGNED = 0, 1
INT_OPS = {
    "addi": (SIGNED, lambda a, b, bits: a + b),
    "subi": (SIGNED, lambda a, b, bits: a - b),
    "muli": (SIGNED, lambda a, b, bits: a * b),
    "andi": (SIGNED, lambda a, b, bits: a & b),
    "ori": (SIGNED, lambda a, b, bits: a | b),
    "xori": (SIGNED, lambda a, b, bits: a ^ b),
    "minsi": (SIGNED, lambda a, b, bits: np.minimum(a, b)),
    "maxsi": (SIGNED, lambda a, b, bits: np.maximum(a, b)),
    "minui": (UNSIGNED, lambda a, b, bits: np.minimum(a, b)),
    "maxui": (UNSIGNED, lambda a, b, bits: np.maximum(a, b)),
    "divsi": (SIGNED, lambda a, b, bits: truncated_quotient(a, b)),
    "remsi": (SIGNED, lambda a, b, bits: a - truncated_quotient(a, b) * b),
    "divui": (UNSIGNED, lambda a, b, bits: a // b),
    "remui": (UNSIGNED, lambda a, b, bits: a % b),
    "shli": (SIGNED, lambda a, b, bits: a << b),
    "shrsi": (SIGNED, lambda a, b, bits: a >> b),
    "shrui": (UNSIGNED, lambda a, b, bits: a >> b),
}


def truncated_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b towards zero; the smallest by -1 wraps."""
    quotient = a // b
    return quotient + ((quotient < 0) & (quotient * b != a)).astype(a.dtype)


@pytest.mark.parametrize("kind", INTS)
@pytest.mark.parametrize("op", INT_OPS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy warns of wrap-around
def test_integers(op, kind):
    signedness, reference = INT_OPS[op]
    signed = INTS[kind][SIGNED]
    a, b = random_ints(signed, 1), random_ints(signed, 2)
    if op.startswith(("div", "rem")):
        b[b == 0] = 3
    if op.startswith("sh"):
        b &= signed.itemsize * 8 - 1  # a shift by the width or more has no value
    got = run(f"arith.{op} %0, %1 : tensor<{N}x{kind}>", kind, (kind, a), (kind, b), out_dtype=signed)
    view = INTS[kind][signedness]
    same_bits(got, reference(a.view(view), b.view(view), signed.itemsize * 8).astype(view).view(signed))


COMPARISONS = {
    "eq": (SIGNED, np.equal),
    "ne": (SIGNED, np.not_equal),
    "slt": (SIGNED, np.less),
    "sle": (SIGNED, np.less_equal),
    "sgt": (SIGNED, np.greater),
    "sge": (SIGNED, np.greater_equal),
    "ult": (UNSIGNED, np.less),
    "ule": (UNSIGNED, np.less_equal),
    "ugt": (UNSIGNED, np.greater),
    "uge": (UNSIGNED, np.greater_equal),
}


@pytest.mark.parametrize("kind", INTS)
@pytest.mark.parametrize("predicate", COMPARISONS)
def test_integer_comparisons(predicate, kind):
    signedness, reference = COMPARISONS[predicate]
    a, b = random_ints(INTS[kind][SIGNED], 1), random_ints(INTS[kind][SIGNED], 2)
    b[100:200] = a[100:200]
    got = run(
        f"arith.cmpi {predicate}, %0, %1 : tensor<{N}x{kind}>", "i1", (kind, a), (kind, b), out_dtype=bool
    )
    view = INTS[kind][signedness]
    assert (got == reference(a.view(view), b.view(view))).all()


@pytest.mark.parametrize("to_kind", INTS)
@pytest.mark.parametrize("from_kind", INTS)
def test_integer_casts(from_kind, to_kind):
    source, target = INTS[from_kind], INTS[to_kind]
    a = random_ints(source[SIGNED], 1)
    if target[0].itemsize == source[0].itemsize:
        return
    grows = target[0].itemsize > source[0].itemsize
    for op, sign in [("extsi", SIGNED), ("extui", UNSIGNED)] if grows else [("trunci", SIGNED)]:
        text = f"arith.{op} %0 : tensor<{N}x{from_kind}> to tensor<{N}x{to_kind}>"
        got = run(text, to_kind, (from_kind, a), out_dtype=target[SIGNED])
        same_bits(got, a.view(source[sign]).astype(target[sign]).view(target[SIGNED]))


FLOAT_OPS = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "minnumf": np.fmin,
    "maxnumf": np.fmax, "minimumf": np.minimum, "maximumf": np.maximum,
}  # fmt: skip


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("op", FLOAT_OPS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats(op, kind):
    dtype = FLOATS[kind]
    a, b = random_floats(dtype, 1), random_floats(dtype, 2)
    if op.startswith(("min", "max")):  # which zero of two is the smaller is left open by the non-IEEE forms
        a[a == 0] = 1
    got = run(f"arith.{op} %0, %1 : tensor<{N}x{kind}>", kind, (kind, a), (kind, b), out_dtype=dtype)
    # Rounding once more from a type with more than twice the digits changes no result.
    wide = np.float32 if dtype.itemsize == 2 else np.float64
    same_bits(got, FLOAT_OPS[op](a.astype(wide), b.astype(wide)).astype(dtype))


FLOAT_COMPARISONS = {
    "oeq": lambda a, b: a == b,
    "one": lambda a, b: (a < b) | (a > b),
    "olt": lambda a, b: a < b,
    "ole": lambda a, b: a <= b,
    "ogt": lambda a, b: a > b,
    "oge": lambda a, b: a >= b,
    "ueq": lambda a, b: ~((a < b) | (a > b)),
    "une": lambda a, b: a != b,
    "ult": lambda a, b: ~(a >= b),
    "ule": lambda a, b: ~(a > b),
    "ugt": lambda a, b: ~(a <= b),
    "uge": lambda a, b: ~(a < b),
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "ord": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("predicate", FLOAT_COMPARISONS)
def test_float_comparisons(predicate, kind):
    a, b = random_floats(FLOATS[kind], 1), random_floats(FLOATS[kind], 2)
    b[100:200] = a[100:200]
    got = run(
        f"arith.cmpf {predicate}, %0, %1 : tensor<{N}x{kind}>", "i1", (kind, a), (kind, b), out_dtype=bool
    )
    assert (got == FLOAT_COMPARISONS[predicate](a.astype(np.float64), b.astype(np.float64))).all()


@pytest.mark.parametrize("kind", FLOATS)
def test_float_unary(kind):
    dtype = FLOATS[kind]
    a = random_floats(dtype, 1)
    same_bits(run(f"arith.negf %0 : tensor<{N}x{kind}>", kind, (kind, a), out_dtype=dtype), -a)
    same_bits(run(f"math.absf %0 : tensor<{N}x{kind}>", kind, (kind, a), out_dtype=dtype), np.abs(a))
    for op, reference in [("floor", np.floor), ("ceil", np.ceil)]:
        got = run(f"math.{op} %0 : tensor<{N}x{kind}>", kind, (kind, a), out_dtype=dtype)
        same_bits(got, reference(a.astype(np.float64)).astype(dtype))


@pytest.mark.parametrize("to_kind", FLOATS)
@pytest.mark.parametrize("from_kind", FLOATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_float_casts(from_kind, to_kind):
    source, target = FLOATS[from_kind], FLOATS[to_kind]
    if source.itemsize == target.itemsize:
        return
    a = random_floats(source, 1)
    op = "extf" if target.itemsize > source.itemsize else "truncf"
    text = f"arith.{op} %0 : tensor<{N}x{from_kind}> to tensor<{N}x{to_kind}>"
    same_bits(run(text, to_kind, (from_kind, a), out_dtype=target), a.astype(target))


def nearest(exact: np.ndarray, dtype) -> np.ndarray:
    """Integers held by long doubles, rounded once; ml_dtypes goes through f32 and rounds twice."""
    if dtype.kind == "f":
        return exact.astype(dtype)
    digits = np.maximum(np.frexp(exact)[1].astype(np.int64) - 8, 0)  # bits below the eight of a bf16
    return np.ldexp(np.rint(np.ldexp(exact, -digits)), digits).astype(np.float32).astype(dtype)


@pytest.mark.parametrize("int_kind", INTS)
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_int_float_casts(kind, int_kind):
    dtype, (signed, unsigned) = FLOATS[kind], INTS[int_kind]
    a = random_ints(signed, 1)
    for op, view in (("sitofp", signed), ("uitofp", unsigned)):
        text = f"arith.{op} %0 : tensor<{N}x{int_kind}> to tensor<{N}x{kind}>"
        got = run(text, kind, (int_kind, a), out_dtype=dtype)
        same_bits(got, nearest(a.view(view).astype(np.longdouble), dtype))
    values = (np.random.default_rng(3).standard_normal(N) * 50).astype(dtype)
    for op, view in (("fptosi", signed), ("fptoui", unsigned)):
        inside = np.abs(values) if op == "fptoui" else values
        inside = np.clip(inside.astype(np.float64), -100, 100).astype(dtype)
        text = f"arith.{op} %0 : tensor<{N}x{kind}> to tensor<{N}x{int_kind}>"
        got = run(text, int_kind, (kind, inside), out_dtype=signed)
        same_bits(got, inside.astype(np.float64).astype(view).view(signed))


@pytest.mark.parametrize("kind", FP8)
@pytest.mark.parametrize("wide", ["f16", "bf16", "f32"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_fp8(kind, wide):
    """All 256 codes outwards; inwards values on and between them, to the nearest even."""
    dtype, wide_dtype = FP8[kind], FLOATS[wide]
    codes = np.arange(256, dtype=np.uint8).view(dtype)
    text = f"tt.fp_to_fp %0 : tensor<256x{kind}> -> tensor<256x{wide}>"
    same_bits(run(text, wide, (kind, codes), out_dtype=wide_dtype), codes.astype(wide_dtype))

    finite = np.sort(codes.astype(np.float64)[np.isfinite(codes.astype(np.float64))])
    between = (finite[1:] + finite[:-1]) / 2
    values = np.concatenate([finite, between, between * 1.01, between * 0.99])
    values = np.resize(values, N).astype(wide_dtype)
    text = f"tt.fp_to_fp %0, rounding = rtne : tensor<{N}x{wide}> -> tensor<{N}x{kind}>"
    same_bits(run(text, kind, (wide, values), out_dtype=dtype), values.astype(dtype))


MATH = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip


@pytest.mark.parametrize("op", MATH)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_math_f32(op):
    """Within two units of the last place of f32 for arguments of everyday size."""
    a = random_floats(np.dtype(np.float32), 4, special=False)
    a = np.clip(a, -80, 80)
    if op in ("log", "log2", "sqrt", "rsqrt"):
        a = np.abs(a) + np.float32(1e-6)
    got = run(f"math.{op} %0 : tensor<{N}xf32>", "f32", ("f32", a), out_dtype=np.dtype(np.float32))
    expected = MATH[op](a.astype(np.float64))
    ulp = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    worst = np.abs(got.astype(np.float64) - expected) / ulp
    assert worst.max() <= 2, f"{worst.max()} units at {a[worst.argmax()]}"
