#!/usr/bin/env python3
"""Errors of the engine's math and libdevice functions in ulp, beside mpmath, and beside what
doc/internals/numerics.md states.

    python tools/measure_ulp.py [--points N] [name ...]     a table: function, stated bound, measured maximum
    tests/python/tile/test_ulp.py fails where a measured error is above its stated bound.

An ulp is the step of the format at the exact result. Arguments: random ones of the domain, uniform and by
magnitude, and the domain's ends. Needs mpmath.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import mpmath
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
mp = mpmath.mp.clone()
mp.prec = 160

UNARY = {  # name: (function, domain of f32, domain of f64)
    "exp": (mp.exp, (-87, 88), (-700, 709)),
    "exp2": (lambda x: mp.mpf(2) ** x, (-125, 127), (-1000, 1023)),
    "exp10": (lambda x: mp.mpf(10) ** x, (-37, 38), (-300, 308)),
    "expm1": (mp.expm1, (-20, 88), (-40, 709)),
    "log": (mp.log, (1e-30, 1e30), (1e-300, 1e300)),
    "log2": (lambda x: mp.log(x, 2), (1e-30, 1e30), (1e-300, 1e300)),
    "log10": (mp.log10, (1e-30, 1e30), (1e-300, 1e300)),
    "log1p": (mp.log1p, (-0.999, 1e30), (-0.999999, 1e300)),
    "sin": (mp.sin, (-1e6, 1e6), (-1e9, 1e9)),
    "cos": (mp.cos, (-1e6, 1e6), (-1e9, 1e9)),
    "tan": (mp.tan, (-1e6, 1e6), (-1e9, 1e9)),
    "sinpi": (mp.sinpi, (-1e4, 1e4), (-1e6, 1e6)),
    "cospi": (mp.cospi, (-1e4, 1e4), (-1e6, 1e6)),
    "asin": (mp.asin, (-1, 1), (-1, 1)),
    "acos": (mp.acos, (-1, 1), (-1, 1)),
    "atan": (mp.atan, (-1e10, 1e10), (-1e10, 1e10)),
    "sinh": (mp.sinh, (-88, 88), (-700, 700)),
    "cosh": (mp.cosh, (-88, 88), (-700, 700)),
    "tanh": (mp.tanh, (-20, 20), (-30, 30)),
    "asinh": (mp.asinh, (-1e30, 1e30), (-1e300, 1e300)),
    "acosh": (mp.acosh, (1, 1e30), (1, 1e300)),
    "atanh": (mp.atanh, (-0.99999, 0.99999), (-0.999999, 0.999999)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), (-1e30, 1e30), (-1e300, 1e300)),
    "rcbrt": (lambda x: mp.sign(x) / mp.cbrt(abs(x)), (-1e30, 1e30), (-1e300, 1e300)),
    "sqrt": (mp.sqrt, (0, 1e30), (0, 1e300)),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), (1e-30, 1e30), (1e-300, 1e300)),
    "erf": (mp.erf, (-4, 4), (-6, 6)),
    "erfc": (mp.erfc, (-4, 9), (-6, 25)),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), (-8, 100), (-20, 100)),
    "erfinv": (mp.erfinv, (-0.9999, 0.9999), (-0.999999, 0.999999)),
    "erfcinv": (lambda x: mp.erfinv(1 - x), (1e-6, 1.9999), (1e-12, 1.999999)),
    "normcdf": (lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, (-12, 6), (-30, 8)),
    "normcdfinv": (lambda x: -mp.sqrt(2) * mp.erfinv(1 - 2 * x), (1e-6, 0.9999), (1e-12, 0.999999)),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), (0.1, 1e4), (0.1, 1e4)),
    "tgamma": (mp.gamma, (0.1, 34), (0.1, 170)),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, x), (-80, 80), (-80, 80)),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, x), (-80, 80), (-80, 80)),
    "j0": (lambda x: mp.besselj(0, x), (-40, 40), (-40, 40)),
    "j1": (lambda x: mp.besselj(1, x), (-40, 40), (-40, 40)),
    "y0": (lambda x: mp.bessely(0, x), (0.01, 40), (0.01, 40)),
    "y1": (lambda x: mp.bessely(1, x), (0.01, 40), (0.01, 40)),
}  # fmt: skip
LENGTH = (-1e6, 1e6)
SEVERAL = {  # name: (function, operands: "f" of the type or "i" i32, their domains)
    "pow": (mp.power, "ff", [(0.01, 100), (-10, 10)]),
    "atan2": (mp.atan2, "ff", [(-100, 100)] * 2),
    "hypot": (mp.hypot, "ff", [LENGTH] * 2),
    "rhypot": (lambda *x: 1 / norm(*x), "ff", [LENGTH] * 2),
    "norm3d": (lambda *x: norm(*x), "fff", [LENGTH] * 3),
    "rnorm3d": (lambda *x: 1 / norm(*x), "fff", [LENGTH] * 3),
    "norm4d": (lambda *x: norm(*x), "ffff", [LENGTH] * 4),
    "rnorm4d": (lambda *x: 1 / norm(*x), "ffff", [LENGTH] * 4),
    "powi": (lambda x, n: x ** int(n), "fi", [(0.2, 4), (-30, 30)]),
    "jn": (lambda n, x: mp.besselj(int(n), x), "if", [(0, 8), (0.05, 40)]),
    "yn": (lambda n, x: mp.bessely(int(n), x), "if", [(0, 8), (0.5, 40)]),
}
OSCILLATING = ("j0", "j1", "y0", "y1", "jn", "yn")  # an ulp at a zero means nothing: taken at 1/8 at least
MATH = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "sqrt", "rsqrt", "atan2",
)  # fmt: skip
TYPES = {"f32": (np.float32, 24, -149), "f64": (np.float64, 53, -1074)}


def norm(*x):
    return mp.sqrt(sum(v * v for v in x))


def spread(low: float, high: float, count: int, dtype, generator) -> np.ndarray:
    """Half uniform, half uniform in the logarithm of the magnitude; both ends."""
    uniform = generator.uniform(low, high, count - count // 2)
    least = max(low, 1e-6) if low > 0 else 1e-6
    size = np.exp(generator.uniform(np.log(least), np.log(max(abs(low), abs(high))), count // 2 - 2))
    signs = np.where(generator.random(size.size) < 0.5, -1.0, 1.0) if low < 0 else 1.0
    values = np.concatenate([uniform, np.clip(size * signs, low, high), [low, high]]).astype(dtype)
    return np.where(
        values < low, dtype(np.nextafter(dtype(low), dtype(np.inf))), values
    )  # rounding left the domain


def run(op: str, kind: str, operands: list[np.ndarray]) -> np.ndarray:
    """One elementwise op over the arrays by the tile engine."""
    import triton_runner

    n = operands[0].size
    kinds = [kind if o.dtype.kind == "f" else "i32" for o in operands] + [kind]
    tensors = [f"tensor<{n}x{k}>" for k in kinds]
    pointers = [f"tensor<{n}x!tt.ptr<{k}>>" for k in kinds]
    names = [f"%x{i}" for i in range(len(operands))]
    lines = []
    for i, name in enumerate([*names, "%out"]):
        lines.append(f"%s{i} = tt.splat %p{i} : !tt.ptr<{kinds[i]}> -> {pointers[i]}")
        lines.append(f"%q{i} = tt.addptr %s{i}, %r : {pointers[i]}, tensor<{n}xi32>")
        if name != "%out":
            lines.append(f"{name} = tt.load %q{i} : {pointers[i]}")
    types, tensor = ", ".join(tensors[:-1]), tensors[-1]
    form = (
        f'tt.extern_elementwise {", ".join(names)} {{libname = "", libpath = "", pure = true, '
        f'symbol = "{op}"}} : '
        f"({types}) -> {tensor}"
        if op.startswith("__nv_")
        else f"{op} {', '.join(names)} : {tensor}"
    )
    params = ", ".join(f"%p{i}: !tt.ptr<{k}>" for i, k in enumerate(kinds))
    body = "\n".join(lines)
    text = f"""module {{ tt.func public @f({params}) {{
%r = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32>
{body}
%y = {form}
tt.store %q{len(names)}, %y : {pointers[-1]}
tt.return }} }}"""
    out = np.zeros(n, TYPES[kind][0])
    triton_runner.load(text, device="cpu")[(1,)](*operands, out)
    return out


def worst(function, got: np.ndarray, operands: list[np.ndarray], kind: str, least: float) -> float:
    """The largest error in ulp; infinite where one is finite and the other is not."""
    dtype, digits, bottom = TYPES[kind]
    top = mp.mpf(float(np.finfo(dtype).max))
    error = 0.0
    for y, *x in zip(got.tolist(), *(o.tolist() for o in operands), strict=True):
        exact = function(*map(mp.mpf, x))
        if abs(exact) > top:
            continue
        if not np.isfinite(y):
            return float("inf")
        size = max(abs(exact), least)
        exponent = max(mp.frexp(size)[1] - digits, bottom) if size else bottom
        error = max(error, float(abs(mp.mpf(y) - exact) / mp.mpf(2) ** exponent))
    return error


def measure(name: str, points: int) -> dict[str, float]:
    """Type to error; math.* ops are the same functions, which the golden cases compare, so that one is
    measured.
    """
    out = {}
    for kind, (dtype, _, _) in TYPES.items():
        generator = np.random.default_rng(sum(map(ord, name + kind)))
        symbol = f"__nv_{name}" + ("f" if kind == "f32" else "")
        if name in UNARY:
            function = UNARY[name][0]
            operands = [spread(*UNARY[name][1 if kind == "f32" else 2], points, dtype, generator)]
        else:
            function, kinds, domains = SEVERAL[name]
            operands = []
            for form, (low, high) in zip(kinds, domains, strict=True):
                whole = (
                    generator.integers(low, high, points, np.int32, endpoint=True) if form == "i" else None
                )
                operands.append(spread(low, high, points, dtype, generator) if whole is None else whole)
                generator.shuffle(operands[-1])
        got = run(symbol, kind, operands)
        if name in MATH:
            same = run(f"math.{name}", kind, operands)
            assert np.array_equal(got, same, equal_nan=True), f"math.{name} is not {symbol}"
        out[kind] = worst(function, got, operands, kind, 0.125 if name in OSCILLATING else 0.0)
    return out


def stated() -> dict[str, dict[str, float]]:
    """The table "Bounds in ulp" of doc/internals/numerics.md."""
    page = (ROOT / "doc" / "internals" / "numerics.md").read_text()
    text = page.partition("Bounds in ulp")[2].partition("\n## ")[0]
    cells = re.findall(r"(?:^|\|) *([a-z_0-9]+) *\| *([0-9.]+) *\| *([0-9.]+) *(?=\|)", text, re.M)
    return {name: {"f32": float(a), "f64": float(b)} for name, a, b in cells}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=4000, help="arguments of each function and type")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    bounds = stated()
    print("| function | stated f32 | measured | stated f64 | measured |\n|---|---|---|---|---|")
    for name in options.names or [*UNARY, *SEVERAL]:
        errors, bound = measure(name, options.points), bounds.get(name, {})
        print(
            f"| {name} | {bound.get('f32', '-')} | {errors['f32']:.2f} | {bound.get('f64', '-')} "
            f"| {errors['f64']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
