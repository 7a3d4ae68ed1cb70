"""Number formats as exact rationals: the oracle's arithmetic, written apart from src/num and from any
float unit.

A float is a pair (sign, magnitude): sign 0 or 1, magnitude a Fraction, INF or NAN. `Format.encode` is the
only place that rounds. Integers are Python's, taken modulo their width.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

INF, NAN = "inf", "nan"
Number = tuple[int, "Fraction | str"]


@dataclass(frozen=True)
class Format:
    """A binary float: field widths, bias, and which of its codes are special."""

    name: str
    exponent: int
    mantissa: int
    bias: int
    specials: str = (
        "ieee"  # "fn": no infinity, NaN is all ones; "fnuz": only +0, NaN is 0x80; "finite": neither
    )
    canonical_nan: int | None = None  # what a conversion gives on NVIDIA GPUs; None: there is no NaN

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def sign_bit(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa

    @property
    def largest(self) -> int:
        """The code of the largest finite value."""
        return {"ieee": self.infinity - 1, "fn": self.sign_bit - 2}.get(self.specials, self.sign_bit - 1)

    def is_nan(self, code: int) -> bool:
        if self.specials == "fnuz":
            return code == self.sign_bit
        return (code & (self.sign_bit - 1)) > self.largest + (self.specials == "ieee")

    def decode(self, code: int) -> Number:
        sign, rest = int(code >= self.sign_bit), code & (self.sign_bit - 1)
        if self.is_nan(code):
            return sign, NAN
        if rest > self.largest:
            return sign, INF
        field, low = rest >> self.mantissa, rest & ((1 << self.mantissa) - 1)
        if field == 0:
            return sign, Fraction(low) * power(1 - self.bias - self.mantissa)
        return sign, Fraction(low + (1 << self.mantissa)) * power(field - self.bias - self.mantissa)

    def encode(self, number: Number, rounding: str = "rtne", saturate: bool = False) -> int:
        """The nearest code under a rounding: rtne, rtz, rna (half away), up, down. NaN: the canonical one."""
        sign, magnitude = number
        minus = self.sign_bit if sign else 0
        if magnitude == NAN:
            return self.largest if self.canonical_nan is None else self.canonical_nan
        if magnitude == INF:
            return minus | (self.infinity if self.specials == "ieee" and not saturate else self.largest)
        away = rounding == ("down" if sign else "up")
        code = self._round(magnitude, rounding, away)
        if code > self.largest:
            truncates = rounding == "rtz" or (rounding in ("up", "down") and not away)
            finite = saturate or self.specials != "ieee" or truncates
            code = self.largest if finite else self.infinity
        if code == 0 and self.specials == "fnuz":
            return 0
        return minus | code

    def _round(self, magnitude: Fraction, rounding: str, away: bool) -> int:
        if magnitude == 0:
            return 0
        exponent = max(floor_log2(magnitude), 1 - self.bias)
        steps = magnitude / power(exponent - self.mantissa)
        whole, rest = divmod(steps.numerator, steps.denominator)
        half = Fraction(rest, steps.denominator) - Fraction(1, 2)
        if rest and (
            away
            or (rounding == "rtne" and (half > 0 or (half == 0 and whole % 2)))
            or (rounding == "rna" and half >= 0)
        ):
            whole += 1
        # Codes are consecutive: a carry out of the mantissa is the next exponent.
        return whole + ((exponent + self.bias - 1) << self.mantissa)


def power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if power(guess) <= value else guess - 1


F16 = Format("f16", 5, 10, 15, canonical_nan=0x7FFF)
BF16 = Format("bf16", 8, 7, 127, canonical_nan=0x7FFF)
F32 = Format("f32", 8, 23, 127, canonical_nan=0x7FFFFFFF)
F64 = Format("f64", 11, 52, 1023, canonical_nan=0x7FF8000000000000)
TF32 = Format("tf32", 8, 10, 127, canonical_nan=0x3FFFF)
E5M2 = Format("f8E5M2", 5, 2, 15, canonical_nan=0x7F)
E4M3FN = Format("f8E4M3FN", 4, 3, 7, "fn", 0x7F)
E5M2FNUZ = Format("f8E5M2FNUZ", 5, 2, 16, "fnuz", 0x80)
E4M3FNUZ = Format("f8E4M3FNUZ", 4, 3, 8, "fnuz", 0x80)
E4M3B15 = Format("f8E4M3B11FNUZ", 4, 3, 15, "finite")  # the name under which Triton carries its fp8e4b15
E3M2 = Format("f6E3M2FN", 3, 2, 3, "finite")
E2M3 = Format("f6E2M3FN", 2, 3, 1, "finite")
E2M1 = Format("f4E2M1FN", 2, 1, 1, "finite")
FLOATS = {f.name: f for f in (F16, BF16, F32, F64, E5M2, E4M3FN, E5M2FNUZ, E4M3FNUZ, E4M3B15)}


# ---- exact arithmetic


def value(number: Number) -> Fraction:
    sign, magnitude = number
    return -magnitude if sign else magnitude


def number(exact: Fraction, sign_of_zero: int = 0) -> Number:
    return (sign_of_zero if exact == 0 else int(exact < 0)), abs(exact)


def is_finite(x: Number) -> bool:
    return x[1] not in (INF, NAN)


def negate(x: Number) -> Number:
    return 1 - x[0], x[1]


def add(x: Number, y: Number) -> Number:
    if NAN in (x[1], y[1]) or (x[1] == y[1] == INF and x[0] != y[0]):
        return 0, NAN
    if INF in (x[1], y[1]):
        return x if x[1] == INF else y
    return number(value(x) + value(y), x[0] & y[0])


def multiply(x: Number, y: Number) -> Number:
    sign = x[0] ^ y[0]
    if NAN in (x[1], y[1]):
        return 0, NAN
    if INF in (x[1], y[1]):
        return (0, NAN) if 0 in (x[1], y[1]) else (sign, INF)
    return sign, x[1] * y[1]


def divide(x: Number, y: Number) -> Number:
    sign = x[0] ^ y[0]
    if NAN in (x[1], y[1]) or x[1] == y[1] == INF or x[1] == y[1] == 0:
        return 0, NAN
    if x[1] == INF or y[1] == 0:
        return sign, INF
    return sign, Fraction(0) if y[1] == INF else x[1] / y[1]


def remainder(x: Number, y: Number) -> Number:
    """C's fmod: the sign of x."""
    if NAN in (x[1], y[1]) or x[1] == INF or y[1] == 0:
        return 0, NAN
    if y[1] == INF:
        return x
    return x[0], x[1] - y[1] * (x[1] // y[1])


def fma(a: Number, b: Number, c: Number) -> Number:
    return add(multiply(a, b), c)


def square_root(x: Number) -> Number:
    """Within 2^-200 relatively and on the right side of every rounding boundary (a sticky bit where it
    is inexact).
    """
    sign, magnitude = x
    if magnitude == NAN or (sign and magnitude != 0):
        return 0, NAN
    if magnitude in (INF, 0):
        return x
    shift = 2 * (200 + abs(floor_log2(magnitude)))
    scaled = magnitude * power(shift)
    root = isqrt(scaled.numerator // scaled.denominator)
    exact = root * root == scaled
    return 0, (root if exact else root + Fraction(1, 2)) * power(-(shift // 2))


def order(x: Number) -> tuple:
    """A key that sorts -0 below +0; of numbers that are not NaN."""
    sign, magnitude = x
    size = (1, 0) if magnitude == INF else (0, magnitude)
    return (0, -size[0], -size[1]) if sign else (1, *size)


def larger(x: Number, y: Number, nan_wins: bool) -> Number:
    if NAN in (x[1], y[1]):
        if nan_wins or x[1] == y[1]:
            return 0, NAN
        return y if x[1] == NAN else x
    return x if order(x) >= order(y) else y


def smaller(x: Number, y: Number, nan_wins: bool) -> Number:
    result = larger(negate(x), negate(y), nan_wins)
    return result if result[1] == NAN else negate(result)


# ---- integers


def wrap(number_: int, width: int) -> int:
    """The unsigned code of an integer in `width` bits."""
    return number_ & ((1 << width) - 1)


def signed(code: int, width: int) -> int:
    return code - (1 << width) if code >> (width - 1) else code


def truncated_division(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient
