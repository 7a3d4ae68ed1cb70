"""Cases of the math functions: mpmath at 200 bits, and C's Annex F for the special values.

A function of f32 may err by an ulp or so, so that these cases print six digits; the arguments are those
whose six digits an error of four ulp does not change. test_ulp.py measures the errors themselves.
"""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath

from .builder import Kernel
from .casefile import Case, Cases, number_to_float
from .formats import BF16, F16, F32, F64, INF, NAN, Format, Number, number, value

mp = mpmath.mp.clone()
mp.prec = 200
FORMS = (F16, BF16, F32, F64)
DIGITS = 6


def real(x: Fraction):
    return mp.mpf(x.numerator) / x.denominator


def exact(x) -> Fraction:
    if x == 0:
        return Fraction(0)
    man, exp = int(mp.mpf(x).man), int(mp.mpf(x).exp)
    sign = -1 if x < 0 else 1
    return sign * (Fraction(man << exp) if exp >= 0 else Fraction(man, 1 << -exp))


# name: (function, at +inf, at -inf, at zero: "odd" for a zero of the same sign, else a value, arguments)
PLUS, MINUS, NOT = (0, INF), (1, INF), (0, NAN)


def one(sign: int = 0) -> Number:
    return sign, Fraction(1)


SPECIAL = [(0, Fraction(0)), (1, Fraction(0)), PLUS, MINUS, NOT, one(), one(1)]
HALF_PI = exact(mp.pi / 2)
FUNCTIONS = {
    "exp": (mp.exp, PLUS, (0, Fraction(0)), None, (-12, 11)),
    "exp2": (lambda x: mp.mpf(2) ** x, PLUS, (0, Fraction(0)), None, (-14, 15)),
    "expm1": (mp.expm1, PLUS, one(1), "odd", (-8, 8)),
    "log": (mp.log, PLUS, NOT, MINUS, (0, 60000)),
    "log2": (lambda x: mp.log(x, 2), PLUS, NOT, MINUS, (0, 60000)),
    "log10": (mp.log10, PLUS, NOT, MINUS, (0, 60000)),
    "log1p": (mp.log1p, PLUS, NOT, "odd", (-1, 1000)),
    "sin": (mp.sin, NOT, NOT, "odd", (-100, 100)),
    "cos": (mp.cos, NOT, NOT, None, (-100, 100)),
    "tan": (mp.tan, NOT, NOT, "odd", (-20, 20)),
    "asin": (mp.asin, NOT, NOT, "odd", (-1, 1)),
    "acos": (mp.acos, NOT, NOT, None, (-1, 1)),
    "atan": (mp.atan, (0, HALF_PI), (1, HALF_PI), "odd", (-50, 50)),
    "sinh": (mp.sinh, PLUS, MINUS, "odd", (-11, 11)),
    "cosh": (mp.cosh, PLUS, PLUS, None, (-11, 11)),
    "tanh": (mp.tanh, one(), one(1), "odd", (-4, 4)),
    "asinh": (mp.asinh, PLUS, MINUS, "odd", (-1000, 1000)),
    "acosh": (mp.acosh, PLUS, NOT, None, (1, 1000)),
    "atanh": (mp.atanh, NOT, NOT, "odd", (-1, 1)),
    "cbrt": (lambda x: -mp.cbrt(-x) if x < 0 else mp.cbrt(x), PLUS, MINUS, "odd", (-1000, 1000)),
    "erf": (mp.erf, one(), one(1), "odd", (-3, 3)),
    "erfc": (mp.erfc, (0, Fraction(0)), (0, Fraction(2)), None, (-3, 3)),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), (0, Fraction(0)), NOT, PLUS, (0, 1000)),
}
POLES = {  # where the function is infinite at a finite argument other than zero
    "log1p": {Fraction(-1): MINUS},
    "atanh": {Fraction(1): PLUS, Fraction(-1): MINUS},
}
LOWEST = dict.fromkeys(("log", "log2", "log10", "rsqrt"), 0)
LOWEST |= dict.fromkeys(("log1p", "asin", "acos", "atanh"), -1) | {"acosh": 1}
HIGHEST = {"asin": 1, "acos": 1, "atanh": 1}


def evaluate(name: str, x: Number) -> Number:
    function, at_plus, at_minus, at_zero, _ = FUNCTIONS[name]
    sign, magnitude = x
    if magnitude == NAN:
        return NOT
    if magnitude == INF:
        return at_minus if sign else at_plus
    if magnitude == 0 and at_zero is not None:
        if name == "rsqrt":
            return sign, INF
        return x if at_zero == "odd" else at_zero
    exact_x = value(x)
    if exact_x in POLES.get(name, {}):
        return POLES[name][exact_x]
    if exact_x < LOWEST.get(name, exact_x) or exact_x > HIGHEST.get(name, exact_x):
        return NOT
    if abs(exact_x) > 1100 and name in ("exp", "exp2", "expm1", "sinh", "cosh"):
        grows = exact_x > 0 or name in ("sinh", "cosh")
        if grows:
            return (sign if name == "sinh" else 0), INF
        return one(1) if name == "expm1" else (0, Fraction(0))
    if name in ("erf", "erfc") and abs(exact_x) > 40:
        return (sign, Fraction(1)) if name == "erf" else (0, Fraction(2 if sign else 0))
    if name == "tanh" and abs(exact_x) > 700:
        return one(sign)
    # Odd functions near zero: mpmath keeps relative precision there.
    return number(exact(function(real(exact_x))))


def stable(result: Number, form: Format) -> bool:
    """Four ulp (of f32, of f64) more or less print the same six digits."""
    if result[1] in (INF, NAN) or result[1] == 0:
        return True
    step = Fraction(4, 1 << (52 if form is F64 else 23))
    texts = set()
    for factor in (1 - step, Fraction(1), 1 + step):
        code = form.encode((result[0], result[1] * factor))
        texts.add(f"{number_to_float(form.decode(code)):.{DIGITS}g}")
    # If a result underflows, an ulp is not relative.
    return len(texts) == 1 and result[1] > Fraction(4) / (1 << (form.bias - 1))


def arguments(name: str, form: Format, count: int) -> list[int]:
    generator = random.Random(name + form.name)
    low, high = FUNCTIONS[name][4]
    fixed = [*SPECIAL, *((sign, size) for size in (Fraction(2), Fraction(1, 2)) for sign in (0, 1))]
    fixed += [form.decode(1), form.decode(form.largest)]
    codes = []
    for x in fixed:
        code = form.encode(x) if x[1] != NAN else form.infinity | 1 << (form.mantissa - 1)
        if x[1] in (NAN, INF) or stable(evaluate(name, form.decode(code)), form):
            codes.append(code)
    while len(codes) < count:
        x = Fraction(generator.uniform(low, high))
        if generator.random() < 0.3:
            x = x / (1 << generator.randint(1, 8))
        code = form.encode(number(x))
        if stable(evaluate(name, form.decode(code)), form):
            codes.append(code)
    return codes


def printed(form: Format, x: Number) -> str:
    code = form.encode(x)
    sign, magnitude = form.decode(code)
    if magnitude == NAN:
        return "nan"
    return f"{number_to_float((sign, magnitude)):.{DIGITS}g}"


class Rounded(Case):
    """A case whose arrays are printed with six digits: `texts` of each; `exact` are the correctly
    rounded codes.
    """

    def expected(self) -> str:
        from .casefile import wrapped

        lines = []
        for index, array in enumerate(self.args):
            if hasattr(array, "texts"):
                lines += [f"arg{index} {array.name}:", *wrapped(array.texts)]
        return "\n".join(lines) + "\n"


def rounded_case(kernel: Kernel, path: str, about: str) -> Case:
    return Rounded(path, about, kernel.args, kernel.module(), [f"digits: {DIGITS}"])


def unary() -> Cases:
    for name in FUNCTIONS:
        kernel = Kernel()
        for form in FORMS:
            codes = arguments(name, form, 32)
            x = kernel.load(form.name, (32,), codes)
            y = kernel.emit(f"math.{name} {x} : {kernel.type((32,), form.name)}")
            kernel.store(y, form.name, (32,), None)
            results = [evaluate(name, form.decode(c)) for c in codes]
            kernel.args[-1].texts = [printed(form, r) for r in results]
            kernel.args[-1].exact = [form.encode(r) for r in results]
        about = f"math.{name} beside mpmath, and its special values; six digits, since an ulp may differ."
        yield rounded_case(kernel, f"op/math.{name}.ttir", about)


# ---- two arguments


def atan2(y: Number, x: Number) -> Number:
    if NAN in (x[1], y[1]):
        return NOT
    pi = exact(mp.pi)
    if y[1] == 0:
        return (y[0], Fraction(0)) if not x[0] else (y[0], pi)
    if INF in (x[1], y[1]):
        if x[1] == y[1]:
            return y[0], pi * (3 if x[0] else 1) / 4
        if y[1] == INF:
            return y[0], pi / 2
        return (y[0], pi) if x[0] else (y[0], Fraction(0))
    return y[0], exact(mp.atan2(real(y[1]), real(value(x))))


def powf(x: Number, y: Number) -> Number:
    """C's pow (Annex F)."""
    unit = (0, Fraction(1))
    if y[1] == 0 or x == unit:
        return unit
    if NAN in (x[1], y[1]):
        return NOT
    whole = y[1] != INF and y[1].denominator == 1
    odd = whole and y[1].numerator % 2 == 1
    if y[1] == INF:
        if x[1] == 1:
            return unit
        large = x[1] == INF or x[1] > 1
        return PLUS if large != bool(y[0]) else (0, Fraction(0))
    if x[1] == 0 or x[1] == INF:
        grows = (x[1] == INF) != bool(y[0])
        return (x[0] if odd else 0), (INF if grows else Fraction(0))
    if x[0] and not whole:
        return NOT
    return (x[0] if odd else 0), exact(mp.power(real(x[1]), real(value(y))))


def binary() -> Cases:
    for name, function in (("atan2", atan2), ("powf", powf)):
        kernel = Kernel()
        for form in FORMS:
            generator = random.Random(name + form.name)
            special = [*SPECIAL, (0, Fraction(3, 2))]
            rows = [(a, b) for a in special for b in special]
            while len(rows) < 128:
                a = number(
                    Fraction(generator.uniform(-4, 4) if name == "atan2" else generator.uniform(0.1, 5))
                )
                b = number(Fraction(generator.uniform(-4, 4)))
                a, b = (form.decode(form.encode(v)) for v in (a, b))
                if stable(function(a, b), form):
                    rows.append((a, b))
            nan = form.infinity | 1 << (form.mantissa - 1)
            columns = [
                [nan if v[1] == NAN else form.encode(v) for v in column] for column in zip(*rows, strict=True)
            ]
            x, y = (kernel.load(form.name, (128,), column) for column in columns)
            z = kernel.emit(f"math.{name} {x}, {y} : {kernel.type((128,), form.name)}")
            kernel.store(z, form.name, (128,), None)
            results = [function(a, b) for a, b in rows]
            kernel.args[-1].texts = [printed(form, r) for r in results]
            kernel.args[-1].exact = [form.encode(r) for r in results]
        about = (
            f"math.{name} beside mpmath, and every pair of special values; six digits, since an "
            f"ulp may differ."
        )
        yield rounded_case(kernel, f"op/math.{name}.ttir", about)


def cases() -> Cases:
    for family in (unary, binary):
        yield from family()
