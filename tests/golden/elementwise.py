"""Cases of arith.* and the simple tt.*: every type, every pair of corner values."""

from __future__ import annotations

import random
from fractions import Fraction

from .builder import Family, Kernel
from .casefile import Case, Cases, Scalar
from .formats import (
    BF16,
    F16,
    F32,
    F64,
    INF,
    NAN,
    Format,
    add,
    divide,
    fma,
    larger,
    multiply,
    negate,
    number,
    order,
    remainder,
    signed,
    smaller,
    square_root,
    truncated_division,
    wrap,
)  # fmt: skip

FAMILY = Family()
case, several, cases = FAMILY.case, FAMILY.several, FAMILY.cases
INTS = (1, 8, 16, 32, 64)
FLOATS = (F16, BF16, F32, F64)


def int_corners(width: int) -> list[int]:
    """Sixteen codes: both ends, their neighbours, small ones, alternating bits."""
    if width == 1:
        return [0, 1]
    top = 1 << (width - 1)
    pattern = sum(1 << i for i in range(0, width, 2))
    return [wrap(x, width) for x in (
        0, 1, -1, 2, -2, 3, -3, 7, 10, -100, top - 1, top, top + 1, top - 2, pattern, ~pattern)]  # fmt: skip


def float_corners(form: Format) -> list[int]:
    """Sixteen codes: zeros, ends of the subnormals and of the normals, infinity, NaN, a few of every day."""
    one = form.encode((0, Fraction(1)))
    smallest_normal = 1 << form.mantissa
    minus = form.sign_bit
    third = form.encode((0, Fraction(1, 3)))
    nan = form.infinity | (1 << (form.mantissa - 1)) | 1
    return [
        0, minus, one, minus | one, one + 1, 1, minus | 1, smallest_normal - 1, smallest_normal, third,
        minus | form.encode((0, Fraction(5, 2))), form.largest, minus | form.largest,
        form.infinity, minus | form.infinity, nan,
    ]  # fmt: skip


def pairs(kernel: Kernel, element: str, lhs: list[int], rhs: list[int], shown_as=None):
    """The operands of a table whose rows are lhs and whose columns are rhs, and its shape."""
    shape = (len(lhs), len(rhs))
    names = []
    for dim, values in ((0, lhs), (1, rhs)):
        line = kernel.load(element, (len(values),), values, shown_as)
        extents = [1, 1]
        extents[dim] = len(values)
        first = kernel.type((len(values),), element)
        column = kernel.emit(
            f"tt.expand_dims {line} {{axis = {1 - dim} : i32}} : {first} -> {kernel.type(extents, element)}"
        )
        full = kernel.type(shape, element)
        names.append(kernel.emit(f"tt.broadcast {column} : {kernel.type(extents, element)} -> {full}"))
    return *names, shape


def binary_int(op: str, function, about: str, widths=INTS, right=None, keep=lambda x, y, w: True) -> Case:
    """function(x, y, width) of unsigned codes; pairs that `keep` refuses are computed on (lhs, 1)."""
    kernel = Kernel()
    for width in widths:
        lhs = int_corners(width)
        rhs = right(width) if right else lhs
        rhs = [y for y in rhs if all(keep(x, y, width) for x in lhs)]
        while len(rhs) & (len(rhs) - 1):
            rhs.append(1)
        element = f"i{width}"
        x, y, shape = pairs(kernel, element, lhs, rhs)
        result = kernel.emit(f"{op} {x}, {y} : {kernel.type(shape, element)}")
        kernel.store(result, element, shape, [wrap(function(a, b, width), width) for a in lhs for b in rhs])
    return kernel.case(f"op/{op}.ttir", about)


def signed_function(function):
    return lambda x, y, w: function(signed(x, w), signed(y, w))


def shift(kind: str):
    def apply(x: int, amount: int, width: int) -> int:
        if kind == "shli":
            return x << amount if amount < width else 0
        if kind == "shrui":
            return x >> amount if amount < width else 0
        return signed(x, width) >> min(amount, width - 1)

    return apply


def shift_amounts(width: int) -> list[int]:
    """Up to the width and beyond. Of i64 only what fits 32 bits, which is all that PTX's shift reads."""
    if width == 1:
        return [0, 1]
    return [0, 1, 2, width // 2, width - 1, width, width + 1, (1 << (min(width, 32) - 1)) - 1]


INT_OPS = {
    "arith.addi": lambda x, y, w: x + y,
    "arith.subi": lambda x, y, w: x - y,
    "arith.muli": lambda x, y, w: x * y,
    "arith.andi": lambda x, y, w: x & y,
    "arith.ori": lambda x, y, w: x | y,
    "arith.xori": lambda x, y, w: x ^ y,
    "arith.maxsi": signed_function(max),
    "arith.minsi": signed_function(min),
    "arith.maxui": lambda x, y, w: max(x, y),
    "arith.minui": lambda x, y, w: min(x, y),
}
DIVISIONS = {
    "arith.divsi": signed_function(truncated_division),
    "arith.remsi": signed_function(lambda x, y: x - y * truncated_division(x, y)),
    "arith.ceildivsi": signed_function(lambda x, y: -(-x // y)),
    "arith.floordivsi": signed_function(lambda x, y: x // y),
    "arith.divui": lambda x, y, w: x // y,
    "arith.remui": lambda x, y, w: x % y,
    "arith.ceildivui": lambda x, y, w: -(-x // y),
}


def or_by_zero(op: str, divide_by):
    """By 0 NVIDIA's dividers give all ones, as quotient and as remainder; LLVM divides 64 bits as 32 where
    both operands have no more. Rounding follows from the remainder, the dividend; MLIR takes 0 apart."""

    def result(x, y, w):
        if y != 0:
            return divide_by(x, y, w)
        as_32_bits = w == 64 and x < 2**32
        quotient = 2**32 - 1 if as_32_bits else -1
        if "rem" in op:
            return quotient
        if op == "arith.ceildivui" and x == 0:
            return 0
        number = x if op == "arith.ceildivui" else signed(x, w)
        up = "ceil" in op and number > 0
        down = op == "arith.floordivsi" and number < 0
        return quotient + up - down

    return result


@several
def integers() -> Cases:
    for op, f in INT_OPS.items():
        yield binary_int(op, f, f"{op} of every pair of corner values; it wraps.")
    for op, f in DIVISIONS.items():
        about = f"{op} of every pair of corner values; the smallest integer by -1 wraps, by 0 as a GPU does."
        yield binary_int(op, or_by_zero(op, f), about, INTS[1:])
    for kind, beyond in (("shli", "0"), ("shrsi", "the sign"), ("shrui", "0")):
        about = f"arith.{kind}; by the width or more it gives {beyond}, as PTX's shifts clamp."
        yield binary_int(f"arith.{kind}", shift(kind), about, INTS[1:], shift_amounts)
    about = "The high half of an unsigned product."
    yield binary_int("tt.mulhiui", lambda x, y, w: (x * y) >> w, about, (32, 64))
    yield from (quotient_and_remainder("s"), quotient_and_remainder("u"))
    yield from (extended("arith.mulsi_extended", True), extended("arith.mului_extended", False))


def quotient_and_remainder(sign: str) -> Case:
    """Makes a case of both: LLVM makes the remainder from the same values' quotient: by 0 it is the
    dividend."""
    kernel = Kernel()
    for width in INTS[1:]:
        codes, element = int_corners(width), f"i{width}"
        x, y, shape = pairs(kernel, element, codes, codes)
        tensor = kernel.type(shape, element)
        for op in (f"arith.rem{sign}i", f"arith.div{sign}i"):
            exact = or_by_zero(op, DIVISIONS[op])
            result = kernel.emit(f"{op} {x}, {y} : {tensor}")
            expected = [
                a if b == 0 and "rem" in op else wrap(exact(a, b, width), width) for a in codes for b in codes
            ]
            kernel.store(result, element, shape, expected)
    about = "Remainder and quotient of every pair of corner values in one kernel."
    return kernel.case(f"op/arith.rem{sign}i-paired.ttir", about)


def extended(op: str, is_signed: bool) -> Case:
    kernel = Kernel()
    for width in INTS[1:]:
        codes, element = int_corners(width), f"i{width}"
        x, y, shape = pairs(kernel, element, codes, codes)
        products = [signed(a, width) * signed(b, width) if is_signed else a * b for a in codes for b in codes]
        kernel.do(f"%low{width}, %high{width} = {op} {x}, {y} : {kernel.type(shape, element)}")
        kernel.store(f"%low{width}", element, shape, [wrap(p, width) for p in products])
        kernel.store(f"%high{width}", element, shape, [wrap(p >> width, width) for p in products])
    return kernel.case(f"op/{op}.ttir", f"{op}: both halves of the product of every pair of corner values.")


INT_PREDICATES = {
    "eq": lambda x, y, w: x == y, "ne": lambda x, y, w: x != y,
    "slt": signed_function(lambda x, y: x < y), "sle": signed_function(lambda x, y: x <= y),
    "sgt": signed_function(lambda x, y: x > y), "sge": signed_function(lambda x, y: x >= y),
    "ult": lambda x, y, w: x < y, "ule": lambda x, y, w: x <= y,
    "ugt": lambda x, y, w: x > y, "uge": lambda x, y, w: x >= y,
}  # fmt: skip


def three_way(x, y) -> str:
    if NAN in (x[1], y[1]):
        return "unordered"
    if x[1] == y[1] == 0:
        return "equal"
    return "equal" if x == y else ("less" if order(x) < order(y) else "greater")


FLOAT_PREDICATES = {
    "false": (), "oeq": ("equal",), "ogt": ("greater",), "oge": ("greater", "equal"), "olt": ("less",),
    "ole": ("less", "equal"), "one": ("less", "greater"), "ord": ("less", "equal", "greater"),
    "ueq": ("unordered", "equal"), "ugt": ("unordered", "greater"), "uge": ("unordered", "greater", "equal"),
    "ult": ("unordered", "less"), "ule": ("unordered", "less", "equal"),
    "une": ("unordered", "less", "greater"), "uno": ("unordered",),
    "true": ("unordered", "less", "equal", "greater"),
}  # fmt: skip


def comparison(op: str, operands, predicates, about: str) -> Case:
    """All predicates of a pair as the bits of one integer, in the order of the table."""
    kernel = Kernel()
    for element, values, test in operands:
        x, y, shape = pairs(kernel, element, values, values)
        tensor, bits = kernel.type(shape, element), kernel.type(shape, "i32")
        total = None
        for k, predicate in enumerate(predicates):
            holds = kernel.emit(f"{op} {predicate}, {x}, {y} : {tensor}")
            wide = kernel.emit(f"arith.extui {holds} : {kernel.type(shape, 'i1')} to {bits}")
            moved = kernel.emit(f"arith.shli {wide}, {kernel.constant(k, 'i32', shape)} : {bits}")
            total = moved if total is None else kernel.emit(f"arith.ori {total}, {moved} : {bits}")
        expected = [
            sum(int(test(p, a, b)) << k for k, p in enumerate(predicates)) for a in values for b in values
        ]
        kernel.store(total, "i32", shape, expected, "x32")
    return kernel.case(f"op/{op}.ttir", about)


@several
def comparisons() -> list[Case]:
    def int_test(width):
        return lambda p, a, b: INT_PREDICATES[p](a, b, width)

    def float_test(form):
        return lambda p, a, b: three_way(form.decode(a), form.decode(b)) in FLOAT_PREDICATES[p]

    return [
        comparison(
            "arith.cmpi",
            [(f"i{w}", int_corners(w), int_test(w)) for w in INTS],
            INT_PREDICATES,
            f"Bit k of a result is predicate k of {', '.join(INT_PREDICATES)}.",
        ),
        comparison(
            "arith.cmpf",
            [(f.name, float_corners(f), float_test(f)) for f in FLOATS],
            FLOAT_PREDICATES,
            f"Bit k of a result is predicate k of {', '.join(FLOAT_PREDICATES)}.",
        ),
    ]


def binary_float(op: str, function, about: str, forms=FLOATS, shown_as=None, extra="") -> Case:
    kernel = Kernel()
    for form in forms:
        values = float_corners(form)
        x, y, shape = pairs(kernel, form.name, values, values)
        result = kernel.emit(f"{op} {x}, {y}{extra} : {kernel.type(shape, form.name)}")
        expected = [form.encode(function(form.decode(a), form.decode(b))) for a in values for b in values]
        kernel.store(result, form.name, shape, expected, shown_as)
    return kernel.case(f"op/{op}.ttir", about)


FLOAT_OPS = {
    "arith.addf": add,
    "arith.subf": lambda x, y: add(x, negate(y)),
    "arith.mulf": multiply,
    "arith.divf": divide,
    "arith.remf": remainder,
    "arith.maximumf": lambda x, y: larger(x, y, True),
    "arith.minimumf": lambda x, y: smaller(x, y, True),
    "arith.maxnumf": lambda x, y: larger(x, y, False),
    "arith.minnumf": lambda x, y: smaller(x, y, False),
}


@several
def floats() -> Cases:
    for op, f in FLOAT_OPS.items():
        about = f"{op} of every pair of corner values, rounded to nearest even from the exact result."
        yield binary_float(op, f, about)
    for op in ("tt.precise_divf", "tt.approx_divf"):
        yield binary_float(op, divide, f"{op}: the correctly rounded quotient.", (F32,))


def bits_unary(op: str, function, about: str) -> Case:
    """Ops that touch the sign alone: NaN payloads count."""
    kernel = Kernel()
    for form in FLOATS:
        values = [*float_corners(form)]
        values += [v ^ form.sign_bit for v in values]
        tensor = kernel.type((32,), form.name)
        x = kernel.load(form.name, (32,), values)
        result = kernel.emit(f"{op} {x} : {tensor}")
        kernel.store(result, form.name, (32,), [function(v, form) for v in values], f"x{form.bits}")
    return kernel.case(f"op/{op}.ttir", about)


@several
def signs() -> Cases:
    yield bits_unary(
        "arith.negf", lambda v, f: v ^ f.sign_bit, "The sign bit flips, of NaN too: bits in hex."
    )
    yield bits_unary("math.absf", lambda v, f: v & ~f.sign_bit, "The sign bit goes, of NaN too: bits in hex.")


@case("op/math.copysign.ttir", "The magnitude of the row with the sign of the column: bits in hex.")
def copysign(kernel: Kernel) -> None:
    for form in FLOATS:
        values = float_corners(form)
        x, y, shape = pairs(kernel, form.name, values, values[:4])
        result = kernel.emit(f"math.copysign {x}, {y} : {kernel.type(shape, form.name)}")
        expected = [a & ~form.sign_bit | b & form.sign_bit for a in values for b in values[:4]]
        kernel.store(result, form.name, shape, expected, f"x{form.bits}")


@case("op/math.isfinite.ttir", "math.isfinite + 2 math.isinf + 4 math.isnan.")
def classes(kernel: Kernel) -> None:
    """Bit 0: finite, bit 1: infinite, bit 2: NaN."""
    for form in FLOATS:
        values = float_corners(form)
        x = kernel.load(form.name, (16,), values)
        total = None
        for k, op in enumerate(("isfinite", "isinf", "isnan")):
            holds = kernel.emit(f"math.{op} {x} : {kernel.type((16,), form.name)}")
            wide = kernel.emit(f"arith.extui {holds} : tensor<16xi1> to tensor<16xi32>")
            moved = kernel.emit(f"arith.shli {wide}, {kernel.constant(k, 'i32', (16,))} : tensor<16xi32>")
            total = moved if total is None else kernel.emit(f"arith.ori {total}, {moved} : tensor<16xi32>")
        kinds = [form.decode(v)[1] for v in values]
        kernel.store(total, "i32", (16,), [2 if k == INF else 4 if k == NAN else 1 for k in kinds])


def random_codes(form: Format, count: int, seed: str) -> list[int]:
    """Corner values and random ones whose exponents lie close enough together to interact."""
    generator = random.Random(seed + form.name)
    corners = float_corners(form)
    out = []
    for i in range(count):
        if i % 3 == 0:
            out.append(generator.choice(corners))
        else:
            exponent = form.bias + generator.randint(-form.mantissa - 2, form.mantissa + 2)
            exponent = min(max(exponent, 0), (1 << form.exponent) - 2)
            out.append(
                generator.getrandbits(1) * form.sign_bit
                | exponent << form.mantissa
                | generator.getrandbits(form.mantissa)
            )
    return out


@case("op/math.fma.ttir", "One rounding of the exact a * b + c.")
def fused(kernel: Kernel) -> None:
    for form in FLOATS:
        columns = [random_codes(form, 128, f"math.fma{k}") for k in range(3)]
        generator = random.Random("math.fma")
        for column in columns:
            generator.shuffle(column)
        names = [kernel.load(form.name, (128,), column) for column in columns]
        result = kernel.emit(f"math.fma {', '.join(names)} : {kernel.type((128,), form.name)}")
        expected = [form.encode(fma(*map(form.decode, row))) for row in zip(*columns, strict=True)]
        kernel.store(result, form.name, (128,), expected)


@case("op/tt.clampf.ttir", "Clamped to [-1.5, 2]; a NaN gives the lower bound (none) or stays one (all).")
def clamped(kernel: Kernel) -> None:
    """Both kinds of NaN treatment; limits in order, as the op demands."""
    for form in FLOATS:
        values = float_corners(form)
        shape = (16,)
        low, high = form.encode((1, Fraction(3, 2))), form.encode((0, Fraction(2)))
        x, least, most = (kernel.load(form.name, shape, v) for v in (values, [low] * 16, [high] * 16))
        for nan in ("none", "all"):
            tensor = kernel.type(shape, form.name)
            result = kernel.emit(f"tt.clampf {x}, {least}, {most}, propagateNan = {nan} : {tensor}")
            expected = []
            for v in values:
                bounded = larger(form.decode(v), form.decode(low), nan == "all")
                expected.append(form.encode(smaller(bounded, form.decode(high), nan == "all")))
            kernel.store(result, form.name, shape, expected)


@case("op/math.sqrt.ttir", "The correctly rounded root, by math.sqrt and by tt.precise_sqrt.")
def roots(kernel: Kernel) -> None:
    """math.sqrt and tt.precise_sqrt round the exact root."""
    for form in FLOATS:
        values = random_codes(form, 64, "sqrt")
        x = kernel.load(form.name, (64,), values)
        expected = [form.encode(square_root(form.decode(v))) for v in values]
        for op in ("math.sqrt", "tt.precise_sqrt"):
            if op == "tt.precise_sqrt" and form in (F16, BF16):
                continue  # the op takes f32 and f64
            result = kernel.emit(f"{op} {x} : {kernel.type((64,), form.name)}")
            kernel.store(result, form.name, (64,), expected)


@case("op/arith.select.ttir", "Select by element and by a scalar keeps every bit, of NaN too.")
def selected(kernel: Kernel) -> None:
    condition = [int(i % 3 == 0) for i in range(16)]
    c = kernel.load("i1", (16,), condition)
    scalar = kernel.param("i1", Scalar("i1 1"))
    for element, width, values in [(f"i{w}", w, int_corners(w)) for w in INTS[1:]] + [
        (f.name, f.bits, float_corners(f)) for f in FLOATS
    ]:
        other = values[::-1]
        x, y = kernel.load(element, (16,), values), kernel.load(element, (16,), other)
        tensor = kernel.type((16,), element)
        result = kernel.emit(f"arith.select {c}, {x}, {y} : tensor<16xi1>, {tensor}")
        expected = [a if pick else b for pick, a, b in zip(condition, values, other, strict=True)]
        kernel.store(result, element, (16,), expected, f"x{width}")
        result = kernel.emit(f"arith.select {scalar}, {x}, {y} : {tensor}")
        kernel.store(result, element, (16,), values, f"x{width}")


@several
def bit_counts() -> list[Case]:
    def count(op: str, function, about: str) -> Case:
        kernel = Kernel()
        for width in INTS[1:]:
            values = int_corners(width)
            x = kernel.load(f"i{width}", (16,), values)
            result = kernel.emit(f"{op} {x} : {kernel.type((16,), f'i{width}')}")
            kernel.store(result, f"i{width}", (16,), [wrap(function(v, width), width) for v in values])
        return kernel.case(f"op/{op}.ttir", about)

    return [
        count("math.absi", lambda v, w: abs(signed(v, w)), "The magnitude; of the smallest integer, itself."),
        count("math.ctlz", lambda v, w: w - v.bit_length(), "Leading zeros; of 0, the width."),
        count(
            "math.cttz",
            lambda v, w: (v & -v).bit_length() - 1 if v else w,
            "Trailing zeros; of 0, the width.",
        ),
        count("math.ctpop", lambda v, w: v.bit_count(), "Bits that are set."),
    ]


ROUNDINGS = {
    "math.floor": lambda v: Fraction(v.numerator // v.denominator),
    "math.ceil": lambda v: Fraction(-(-v.numerator // v.denominator)),
    "math.trunc": lambda v: Fraction(int(v)),
    "math.round": lambda v: Fraction(int(abs(v) + Fraction(1, 2))) * (1 if v >= 0 else -1),
    "math.roundeven": lambda v: Fraction(round(v)),
}


@several
def roundings() -> Cases:
    """To whole numbers: the sign stays, of zero too."""
    for op, function in ROUNDINGS.items():
        kernel = Kernel()
        for form in FLOATS:
            halves = [form.encode(number(Fraction(k, 2))) for k in range(-7, 8) if k]
            values = float_corners(form) + halves
            values += [form.encode(number(Fraction(k, 3), k < 0)) for k in (-8, -1)]
            x = kernel.load(form.name, (32,), values)
            expected = []
            for v in values:
                sign, magnitude = form.decode(v)
                if magnitude not in (INF, NAN):
                    magnitude = abs(function(-magnitude if sign else magnitude))
                expected.append(form.encode((sign, magnitude)))
            result = kernel.emit(f"{op} {x} : {kernel.type((32,), form.name)}")
            kernel.store(result, form.name, (32,), expected)
        yield kernel.case(f"op/{op}.ttir", f"{op}: halves, ends, and signed zeros.")
