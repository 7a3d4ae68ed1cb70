"""Cases of casts: floats between all formats with every rounding, floats and integers, bit casts."""

from __future__ import annotations

import random
from fractions import Fraction

from .builder import Kernel
from .casefile import Cases
from .elementwise import INTS, float_corners, int_corners
from .formats import (
    BF16,
    E4M3B15,
    E4M3FN,
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    F16,
    F32,
    F64,
    INF,
    NAN,
    Format,
    number,
    signed,
    value,
    wrap,
)  # fmt: skip

SHORT = {
    "f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f8E4M3FNUZ": "e4m3fnuz", "f8E5M2FNUZ": "e5m2fnuz",
    "f8E4M3B11FNUZ": "e4m3b15",
}  # fmt: skip
ALL = (E4M3FN, E5M2, E4M3FNUZ, E5M2FNUZ, E4M3B15, F16, BF16, F32, F64)
WIDE = (F16, BF16, F32, F64)


def widens(source: Format, target: Format) -> bool:
    """Every value of source is one of target."""
    smallest = 1 - source.bias - source.mantissa
    largest = (source.largest >> source.mantissa) - source.bias
    return (
        source.mantissa <= target.mantissa
        and smallest >= 1 - target.bias - target.mantissa
        and largest <= (target.largest >> target.mantissa) - target.bias
    )


def float_to_float(code: int, source: Format, target: Format, rounding: str) -> int:
    """Returns what `cvt` gives: fp8 saturates; a NaN becomes the canonical one, but keeps sign and payload on
    the way to f32, f64.
    """
    sign, magnitude = source.decode(code)
    if magnitude == NAN and target in (F32, F64) and source.bits < target.bits:
        payload = (code & ((1 << source.mantissa) - 1)) << (target.mantissa - source.mantissa)
        quiet = 0 if source is BF16 and target is F32 else 1 << (target.mantissa - 1)
        return sign * target.sign_bit | target.infinity | payload | quiet
    return target.encode((sign, magnitude), rounding, saturate=target not in WIDE)


def interesting(source: Format, target: Format, count: int) -> list[int]:
    """Source codes at and around target's values, their midpoints, its ends; NaNs; random ones."""
    if source.bits == 8:
        return list(range(256))
    generator = random.Random(source.name + target.name)
    nans = [source.infinity | 1, source.sign_bit | source.infinity | 1 << (source.mantissa - 1) | 3]
    out = [*float_corners(source), *nans]
    near = [0, 1, 2, target.largest - 1, target.largest, 1 << target.mantissa, (1 << target.mantissa) - 1]
    near += [generator.randrange(target.largest) for _ in range(8)]
    for code in near:
        here = value(target.decode(code))
        step = value(target.decode(code)) - value(target.decode(code - 1)) if code else Fraction(0)
        after = here + step if code >= target.largest else value(target.decode(code + 1))
        middle = source.encode(number((here + after) / 2), "rtz")
        for x in (source.encode(number(here), "rtz"), middle, middle + 1, max(middle - 1, 0)):
            if x <= source.infinity:
                out.append(x | generator.getrandbits(1) * source.sign_bit)
    while len(out) < count:
        out.append(generator.getrandbits(source.bits))
    return out[:count]


def conversions() -> Cases:
    for source in ALL:
        for target in ALL:
            if source is target:
                continue
            exact = widens(source, target)
            for rounding in ("",) if exact else ("rtne", "rtz"):
                kernel = Kernel()
                codes = interesting(source, target, 128)
                shape = (len(codes),)
                x = kernel.load(source.name, shape, codes, f"x{source.bits}")
                extra = f", rounding = {rounding}" if rounding else ""
                types = f"{kernel.type(shape, source.name)} -> {kernel.type(shape, target.name)}"
                y = kernel.emit(f"tt.fp_to_fp {x}{extra} : {types}")
                expected = [float_to_float(c, source, target, rounding or "rtne") for c in codes]
                kernel.store(y, target.name, shape, expected, f"x{target.bits}")
                names = [SHORT.get(f.name, f.name) for f in (source, target)]
                suffix = f"-{rounding}" if rounding else ""
                what = f"rounding {rounding}" if rounding else "exact"
                about = f"{source.name} to {target.name}, {what}: bits in hex."
                yield kernel.case(f"cast/{names[0]}-{names[1]}{suffix}.ttir", about)


def plain_casts() -> Cases:
    """arith.extf and arith.truncf."""
    for op, keep in (("arith.extf", widens), ("arith.truncf", lambda s, t: s.bits > t.bits)):
        kernel = Kernel()
        for source in WIDE:
            for target in WIDE:
                if source is target or not keep(source, target):
                    continue
                codes = interesting(source, target, 64)
                types = f"{kernel.type((64,), source.name)} to {kernel.type((64,), target.name)}"
                x = kernel.load(source.name, (64,), codes, f"x{source.bits}")
                y = kernel.emit(f"{op} {x} : {types}")
                expected = [float_to_float(c, source, target, "rtne") for c in codes]
                kernel.store(y, target.name, (64,), expected, f"x{target.bits}")
        yield kernel.case(f"op/{op}.ttir", f"{op} between all formats: bits in hex.")


def integer_casts() -> Cases:
    for op, function in (
        ("arith.extsi", lambda v, a, b: wrap(signed(v, a), b)),
        ("arith.extui", lambda v, a, b: v),
        ("arith.trunci", lambda v, a, b: wrap(v, b)),
    ):
        kernel = Kernel()
        for a in INTS:
            for b in INTS:
                if a == b or (a < b) != (op != "arith.trunci"):
                    continue
                values = (int_corners(a) * 8)[:16]
                x = kernel.load(f"i{a}", (16,), values)
                types = f"{kernel.type((16,), f'i{a}')} to {kernel.type((16,), f'i{b}')}"
                y = kernel.emit(f"{op} {x} : {types}")
                kernel.store(y, f"i{b}", (16,), [function(v, a, b) for v in values])
        yield kernel.case(f"op/{op}.ttir", f"{op} between all widths; i1 is stored as a byte.")
    for op in ("arith.index_cast", "arith.index_castui"):
        kernel = Kernel()
        values = int_corners(32)
        x = kernel.load("i32", (16,), values)
        wide = kernel.emit(f"{op} {x} : tensor<16xi32> to tensor<16xindex>")
        y = kernel.emit(f"{op} {wide} : tensor<16xindex> to tensor<16xi64>")
        back = kernel.emit(f"{op} {wide} : tensor<16xindex> to tensor<16xi32>")
        unsigned = op.endswith("ui")
        kernel.store(y, "i64", (16,), [v if unsigned else wrap(signed(v, 32), 64) for v in values])
        kernel.store(back, "i32", (16,), values)
        yield kernel.case(f"op/{op}.ttir", f"{op}: i32 to index (64 bits), to i64, and back to i32.")


def int_to_float_casts() -> Cases:
    for op, is_signed in (("arith.sitofp", True), ("arith.uitofp", False)):
        kernel = Kernel()
        for width in INTS:
            # Halfway cases of every mantissa: 2^24 + 1, 2^53 + 1, 2^11 + 1, 2^8 + 1 and their odd neighbours.
            odd = [(1 << b) + k for b in (8, 11, 24, 53) for k in (1, 3) if b < width - 1]
            values = (int_corners(width) + odd + [wrap(-v, width) for v in odd] + [0] * 32)[:32]
            x = kernel.load(f"i{width}", (32,), values)
            for form in WIDE:
                types = f"{kernel.type((32,), f'i{width}')} to {kernel.type((32,), form.name)}"
                y = kernel.emit(f"{op} {x} : {types}")
                expected = []
                for v in values:
                    exact = signed(v, width) if is_signed else v
                    expected.append(form.encode(number(Fraction(exact))))
                kernel.store(y, form.name, (32,), expected)
        yield kernel.case(f"op/{op}.ttir", f"{op}: one rounding to nearest even, of 64 bits too.")


def float_to_int(code: int, form: Format, width: int, is_signed: bool) -> int:
    """cvt.rzi: saturates; i8 through 16 bits, of which it keeps the low byte; NaN by the PTX ISA's rule."""
    real = max(width, 16)
    sign, magnitude = form.decode(code)
    low, high = (-(1 << (real - 1)), (1 << (real - 1)) - 1) if is_signed else (0, (1 << real) - 1)
    if magnitude == NAN:
        return wrap(1 << (real - 1) if form is F64 or real == 64 else 0, width)
    if magnitude == INF:
        return wrap(low if sign else high, width)
    whole = int(magnitude)
    return wrap(min(max(-whole if sign else whole, low), high), width)


def float_to_int_casts() -> Cases:
    for op, is_signed in (("arith.fptosi", True), ("arith.fptoui", False)):
        kernel = Kernel()
        for form in WIDE:
            # Every power of two that bounds an integer, just below it, and fractions.
            values = float_corners(form)
            for bits in (7, 8, 15, 16, 31, 32, 63, 64):
                code = form.encode((0, Fraction(1 << bits)), "rtz")
                values += [code, form.sign_bit | code, code - 1]
            values += [form.encode(number(Fraction(k, 4))) for k in (-5, -3, 3, 5, 7, 510, 514, -514)]
            values = (values + [0] * 64)[:64]
            x = kernel.load(form.name, (64,), values)
            for width in INTS[1:]:
                types = f"{kernel.type((64,), form.name)} to {kernel.type((64,), f'i{width}')}"
                y = kernel.emit(f"{op} {x} : {types}")
                expected = [float_to_int(v, form, width, is_signed) for v in values]
                kernel.store(y, f"i{width}", (64,), expected, f"{'i' if is_signed else 'u'}{width}")
        about = (
            f"{op}: toward zero, saturating as cvt does; i8 keeps the low byte of 16 bits; NaN "
            f"as the PTX ISA says."
        )
        yield kernel.case(f"op/{op}.ttir", about)


def bitcasts() -> Cases:
    for op, arrow in (("arith.bitcast", "to"), ("tt.bitcast", "->")):
        kernel = Kernel()
        for form in (F16, BF16, F32, F64, E4M3FN, E5M2):
            signalling = form.infinity | 1 if form.specials == "ieee" else 0x7F
            values = [*float_corners(form)[:14], signalling, form.sign_bit | signalling]
            there, back = kernel.type((16,), form.name), kernel.type((16,), f"i{form.bits}")
            x = kernel.load(form.name, (16,), values, f"x{form.bits}")
            y = kernel.emit(f"{op} {x} : {there} {arrow} {back}")
            kernel.store(y, f"i{form.bits}", (16,), values, f"x{form.bits}")
            z = kernel.emit(f"{op} {y} : {back} {arrow} {there}")
            kernel.store(z, form.name, (16,), values, f"x{form.bits}")
        yield kernel.case(f"op/{op}.ttir", f"{op} there and back keeps every bit, of signalling NaNs too.")


def cases() -> Cases:
    for family in (conversions, plain_casts, integer_casts, int_to_float_casts, float_to_int_casts, bitcasts):
        yield from family()
