"""Cases of tt.* that add up: reductions, scans, dots, scaled dots; the oracle is exact sums where NumPy's are
inexact.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from .builder import Kernel
from .casefile import Case, Cases
from .formats import BF16, E2M1, E4M3FN, E5M2, F16, F32, F64, add, fma, larger, number, smaller, value
from .tiles import NUMPY, iota, load, store

# ---- reductions and scans


def combine(op: str, element: str, name: str) -> str:
    return f"""({{
^bb0(%l: {element}, %r: {element}):
  %c = {op} %l, %r : {element}
  {name}.return %c : {element}
}})"""


def fold(function, form, numbers: list):
    total = numbers[0]
    for n in numbers[1:]:
        total = form.decode(form.encode(function(total, n)))
    return form.encode(total)


def reductions() -> Cases:
    kernel = Kernel()
    generator = np.random.default_rng(3)
    functions = {
        "arith.addi": np.add, "arith.muli": np.multiply, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
        "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    }  # fmt: skip
    for element in ("i8", "i16", "i32", "i64"):
        info = np.iinfo(NUMPY[element])
        data = generator.integers(info.min, info.max, (4, 8), NUMPY[element], endpoint=True)
        x = load(kernel, data)
        for op, function in functions.items():
            for axis in (0, 1):
                expected = data.take(0, axis)
                for i in range(1, data.shape[axis]):
                    expected = function(expected, data.take(i, axis))
                kernel.do(
                    f'%r{kernel.count} = "tt.reduce"({x}) <{{axis = {axis} : i32}}> '
                    + combine(op, element, "tt.reduce")
                    + f" : ({kernel.type((4, 8), element)}) -> {kernel.type(expected.shape, element)}"
                )
                store(kernel, f"%r{kernel.count}", expected)
    yield kernel.case("op/tt.reduce.ttir", "Integers over either axis; sums and products wrap.")

    kernel = Kernel()
    for form in (F16, F32, F64):
        from .elementwise import float_corners

        # Row 0: exact sums; row 1: signed zeros; row 2: a NaN; row 3: infinities of one sign.
        small = [form.encode(number(Fraction(v))) for v in (1, -2, 3, 8, -4, 16, 5, -6)]
        corners = float_corners(form)
        zeros = [0, form.sign_bit] * 4
        rows = [*small, *zeros, *small[:7], corners[15], *small[:7], form.infinity]
        x = kernel.load(form.name, (4, 8), rows)
        decoded = [[form.decode(c) for c in rows[i * 8 : i * 8 + 8]] for i in range(4)]
        for op, function in (
            ("arith.addf", add),
            ("arith.maxnumf", lambda a, b: larger(a, b, False)),
            ("arith.minnumf", lambda a, b: smaller(a, b, False)),
            ("arith.maximumf", lambda a, b: larger(a, b, True)),
            ("arith.minimumf", lambda a, b: smaller(a, b, True)),
        ):
            kernel.do(
                f'%r{kernel.count} = "tt.reduce"({x}) <{{axis = 1 : i32}}> '
                + combine(op, form.name, "tt.reduce")
                + f" : ({kernel.type((4, 8), form.name)}) -> {kernel.type((4,), form.name)}"
            )
            kernel.store(f"%r{kernel.count}", form.name, (4,), [fold(function, form, row) for row in decoded])
    about = "Floats: exact sums, signed zeros, a NaN, an infinity, by every combine function."
    yield kernel.case("op/tt.reduce-float.ttir", about)

    kernel = Kernel()
    data = np.random.default_rng(5).integers(-100, 100, (4, 8)).astype(np.int32)
    x = load(kernel, data)
    for op, function in (("arith.addi", np.add), ("arith.muli", np.multiply), ("arith.maxsi", np.maximum)):
        for axis in (0, 1):
            for reverse in (False, True):
                walked = np.flip(data, axis) if reverse else data
                expected = function.accumulate(walked, axis, dtype=np.int32)
                expected = np.flip(expected, axis).copy() if reverse else expected
                attributes = f"axis = {axis} : i32, reverse = {str(reverse).lower()}"
                kernel.do(
                    f'%r{kernel.count} = "tt.scan"({x}) <{{{attributes}}}> '
                    + combine(op, "i32", "tt.scan")
                    + " : (tensor<4x8xi32>) -> tensor<4x8xi32>"
                )
                store(kernel, f"%r{kernel.count}", expected)
    yield kernel.case("op/tt.scan.ttir", "Running sums, products and maxima, both axes and directions.")

    kernel = Kernel()
    a, b = iota((8,)) - 3, iota((8,)) * 2
    x, y = load(kernel, a), load(kernel, b)
    kernel.do(f"""%m:2 = "tt.map_elementwise"({x}, {y}) <{{pack = 2 : i32}}> ({{
^bb0(%a0: i32, %a1: i32, %b0: i32, %b1: i32):
  %s0 = arith.addi %a0, %b0 : i32
  %s1 = arith.addi %a1, %b1 : i32
  %d0 = arith.muli %a0, %b0 : i32
  %d1 = arith.muli %a1, %b1 : i32
  tt.map_elementwise.return %s0, %s1, %d0, %d1 : i32, i32, i32, i32
}}) : (tensor<8xi32>, tensor<8xi32>) -> (tensor<8xi32>, tensor<8xi32>)""")
    store(kernel, "%m#0", a + b)
    store(kernel, "%m#1", a * b)
    yield kernel.case("op/tt.map_elementwise.ttir", "Two operands, two results, two elements a call.")


# ---- dots


def matrix(form, shape, seed: str) -> list[int]:
    """Multiples of 1/4 in [-2, 2): products and short sums of them are exact in every accumulator."""
    generator = random.Random(seed)
    return [form.encode(number(Fraction(generator.randrange(-8, 8), 4))) for _ in range(int(np.prod(shape)))]


def product(a, b, m, n, k, scale=lambda row, kk, col: 1):
    """Exact sums of a[m][k] * b[k][n] * scale, from Fractions in row-major lists."""
    return [
        sum(a[i * k + kk] * b[kk * n + j] * scale(i, kk, j) for kk in range(k))
        for i in range(m)
        for j in range(n)
    ]


def accumulated(form, a, b, accumulator, c, m, n, k) -> list[int]:
    """The codes of a b + c, each rounded once from the exact sum."""
    exact = product(*([value(form.decode(v)) for v in codes] for codes in (a, b)), m, n, k)
    return [
        accumulator.encode(number(e + value(accumulator.decode(v)))) for e, v in zip(exact, c, strict=True)
    ]


def dots() -> Cases:
    kernel = Kernel()
    m, n, k = 16, 16, 32
    for form, accumulator in (
        (F16, F32), (BF16, F32), (F32, F32), (F16, F16), (F64, F64), (E4M3FN, F32), (E5M2, F32),
    ):  # fmt: skip
        a, b = matrix(form, (m, k), "a" + form.name), matrix(form, (k, n), "b" + form.name)
        c = matrix(accumulator, (m, n), "c")
        x, y = kernel.load(form.name, (m, k), a), kernel.load(form.name, (k, n), b)
        z = kernel.load(accumulator.name, (m, n), c)
        precision = ", inputPrecision = tf32" if form is F32 else ""
        types = f"{kernel.type((m, k), form.name)} * {kernel.type((k, n), form.name)}"
        r = kernel.emit(
            f"tt.dot {x}, {y}, {z}{precision} : {types} -> {kernel.type((m, n), accumulator.name)}"
        )
        kernel.store(r, accumulator.name, (m, n), accumulated(form, a, b, accumulator, c, m, n, k))
    rng = np.random.default_rng(7)
    a, b = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    c = rng.integers(-(2**31), 2**31, (m, n)).astype(np.int32)
    x, y, z = load(kernel, a), load(kernel, b), load(kernel, c)
    r = kernel.emit(f"tt.dot {x}, {y}, {z} : tensor<16x32xi8> * tensor<32x16xi8> -> tensor<16x16xi32>")
    exact = a.astype(np.int64) @ b.astype(np.int64) + c
    store(kernel, r, exact.astype(np.int32))
    about = "Values whose sums are exact, in every operand and accumulator type; i8 wraps in i32."
    yield kernel.case("op/tt.dot.ttir", about)

    kernel = Kernel()
    m, n, k = 4, 4, 16
    # f32 chains: every element one f32 FMA after the other in ascending k.
    generator = random.Random("chain")
    for precision in ("ieee", "tf32"):
        codes_of = [
            [F32.encode(number(Fraction(generator.uniform(-3, 3)))) for _ in range(count)]
            for count in (m * k, k * n)
        ]
        x, y = kernel.load("f32", (m, k), codes_of[0]), kernel.load("f32", (k, n), codes_of[1])
        zero = kernel.constant("0.000000e+00", "f32", (m, n))
        types = f"{kernel.type((m, k), 'f32')} * {kernel.type((k, n), 'f32')} -> {kernel.type((m, n), 'f32')}"
        r = kernel.emit(f"tt.dot {x}, {y}, {zero}, inputPrecision = {precision} : {types}")
        operands = [[F32.decode(c) for c in column] for column in codes_of]
        if precision == "tf32":
            from .formats import TF32

            operands = [[TF32.decode(TF32.encode(v, "rna")) for v in column] for column in operands]
        expected = []
        for i in range(m):
            for j in range(n):
                total = (0, Fraction(0))
                for kk in range(k):
                    total = F32.decode(
                        F32.encode(fma(operands[0][i * k + kk], operands[1][kk * n + j], total))
                    )
                expected.append(F32.encode(total))
        kernel.store(r, "f32", (m, n), expected)
    about = (
        "Inexact sums: each element is one chain of f32 FMAs in ascending k; tf32 rounds its operands first."
    )
    yield kernel.case("op/tt.dot-f32.ttir", about)
    yield dot_starts()
    yield from scaled()


def dot_starts() -> Case:
    """Tests where the sums of a dot start: everything is exact, so NumPy's f64 is the oracle."""
    kernel = Kernel()
    m, n, k = 16, 24, 8
    rng = np.random.default_rng(11)
    a, b, c, scale = (
        rng.integers(-8, 8, shape).astype(np.float32) / 4 for shape in ((m, k), (k, n), (m, n), (m,))
    )
    x, y, z = load(kernel, a.astype(np.float16)), load(kernel, b.astype(np.float16)), load(kernel, c)
    column = kernel.emit(
        f"tt.expand_dims {load(kernel, scale)} {{axis = 1 : i32}} : tensor<16xf32> -> tensor<16x1xf32>"
    )
    half = kernel.constant("5.000000e-01", "f32", (m, n))
    types = "tensor<16x8xf16> * tensor<8x24xf16> -> tensor<16x24xf32>"

    def repeated() -> str:
        return kernel.emit(f"tt.broadcast {column} : tensor<16x1xf32> -> tensor<16x24xf32>")

    def times(left: str, right: str) -> str:
        return kernel.emit(f"arith.mulf {left}, {right} : tensor<16x24xf32>")

    def dot(start: str, value) -> str:
        r = kernel.emit(f"tt.dot {x}, {y}, {start} : {types}")
        store(kernel, r, (a.astype(np.float64) @ b + value).astype(np.float32))
        return r

    rows = scale[:, None].astype(np.float64)
    dot(half, 0.5)
    dot(times(z, repeated()), c * rows)
    dot(times(repeated(), z), c * rows)
    dot(times(half, repeated()), 0.5 * rows)
    dot(times(z, half), 0.5 * c)
    dot(times(z, z), c.astype(np.float64) ** 2)
    twice = times(z, repeated())
    dot(twice, c * rows)
    store(kernel, twice, c * scale[:, None])
    first = dot(times(z, repeated()), c * rows)  # whose memory the next one may take over
    dot(times(first, repeated()), (a.astype(np.float64) @ b + c * rows) * rows)
    about = "Sums that start from one value, from a product with a repeated column, and from other products."
    return kernel.case("op/tt.dot-start.ttir", about)


def scaled() -> Cases:
    from .formats import E2M3, E3M2

    m, n, k = 16, 8, 64
    formats = {
        "e4m3": E4M3FN, "e5m2": E5M2, "e2m1": E2M1, "bf16": BF16, "fp16": F16, "e2m3": E2M3, "e3m2": E3M2,
    }  # fmt: skip
    for left, right in (
        ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e2m1", "bf16"), ("e4m3", "fp16"),
        ("bf16", "e2m1"), ("e2m3", "e3m2"), ("e3m2", "e4m3"),
    ):  # fmt: skip
        kernel = Kernel()
        names, values, scales, texts = [], [], [], []
        for side, name in ((0, left), (1, right)):
            form = formats[name]
            shape = (m, k) if side == 0 else (k, n)
            data = matrix(form, shape, name + str(side))
            values.append([value(form.decode(c)) for c in data])
            element, stored = form.name, data
            if name in ("e2m3", "e3m2"):
                element = "i8"
            if name == "e2m1":  # two a byte along k, the first in the low half
                element, grid = "i8", np.array(data).reshape(shape)
                low, high = (grid[:, 0::2], grid[:, 1::2]) if side == 0 else (grid[0::2], grid[1::2])
                stored = [int(v) for v in (low | high << 4).ravel()]
                shape = (m, k // 2) if side == 0 else (k // 2, n)
            names.append(kernel.load(element, shape, stored))
            texts.append(kernel.type(shape, element))
            generator = random.Random(name + "scale")
            rows = m if side == 0 else n
            scales.append([generator.randrange(125, 130) for _ in range(rows * k // 32)])
        loaded = []
        for side, name in ((0, left), (1, right)):
            if name in ("bf16", "fp16"):
                loaded.append(("", ""))
                scales[side] = [127] * len(scales[side])
                continue
            rows = m if side == 0 else n
            scale = kernel.load("i8", (rows, k // 32), scales[side])
            loaded.append((f" scale {scale}", f", {kernel.type((rows, k // 32), 'i8')}"))
        zero = kernel.constant("0.000000e+00", "f32", (m, n))
        r = kernel.emit(
            f"tt.dot_scaled {names[0]}{loaded[0][0]}, {names[1]}{loaded[1][0]}, {zero} lhs = {left} "
            f"rhs = {right} "
            f"{{fastMath = false}} : {texts[0]}{loaded[0][1]} * {texts[1]}{loaded[1][1]} -> "
            f"{kernel.type((m, n), 'f32')}"
        )

        def scale_of(i, kk, j, scales=scales):
            power = scales[0][i * (k // 32) + kk // 32] + scales[1][j * (k // 32) + kk // 32] - 254
            return Fraction(2) ** power

        exact = product(values[0], values[1], m, n, k, scale_of)
        kernel.store(r, "f32", (m, n), [F32.encode(number(e)) for e in exact])
        about = f"{left} times {right}, a power of two for each 32 of k; the sums are exact."
        yield kernel.case(f"op/tt.dot_scaled-{left}-{right}.ttir", about)


def cases() -> Cases:
    for family in (reductions, dots):
        yield from family()
