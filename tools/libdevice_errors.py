#!/usr/bin/env python3
"""Measure libdevice's functions, as the tile engine runs them, against mpmath: the largest error in ulp.

    python tools/libdevice_errors.py --tool build/release/tests/tools/case_tool [name ...]

doc/numerics.md states these figures (1,000 random arguments each, seed 3).
"""

from __future__ import annotations

import argparse
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import mpmath

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from golden.builder import Kernel  # noqa: E402

mpmath.mp.dps = 50
COUNT = 1000
BESSEL = (0.05, 20)


def norm(*x):
    return mpmath.sqrt(sum(v * v for v in x))


# name: operands ("f" of the measured type, "i" i32) with their ranges, and the exact function
FUNCTIONS = {
    "cyl_bessel_i0": ("f", [(-30, 30)], lambda x: mpmath.besseli(0, x)),
    "cyl_bessel_i1": ("f", [(-30, 30)], lambda x: mpmath.besseli(1, x)),
    "erfinv": ("f", [(-0.99, 0.99)], mpmath.erfinv),
    "erfcinv": ("f", [(0.01, 1.99)], lambda x: mpmath.erfinv(1 - x)),
    "erfcx": ("f", [(-3, 60)], lambda x: mpmath.exp(x * x) * mpmath.erfc(x)),
    "normcdf": ("f", [(-6, 6)], mpmath.ncdf),
    "normcdfinv": ("f", [(0.001, 0.999)], lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)),
    "sinpi": ("f", [(-20, 20)], mpmath.sinpi),
    "cospi": ("f", [(-20, 20)], mpmath.cospi),
    "rcbrt": ("f", [(0.001, 1000)], lambda x: 1 / mpmath.cbrt(x)),
    "lgamma": ("f", [(0.01, 30)], mpmath.loggamma),
    "tgamma": ("f", [(0.01, 30)], mpmath.gamma),
    "erfc": ("f", [(-3, 9)], mpmath.erfc),
    "j0": ("f", [BESSEL], lambda x: mpmath.besselj(0, x)),
    "j1": ("f", [BESSEL], lambda x: mpmath.besselj(1, x)),
    "y0": ("f", [BESSEL], lambda x: mpmath.bessely(0, x)),
    "y1": ("f", [BESSEL], lambda x: mpmath.bessely(1, x)),
    "jn": ("if", [(0, 8), BESSEL], mpmath.besselj),
    "yn": ("if", [(0, 8), BESSEL], mpmath.bessely),
    "powi": ("fi", [(0.2, 4), (-30, 30)], lambda x, n: x ** int(n)),
    "hypot": ("ff", [(-9, 9)] * 2, norm),
    "rhypot": ("ff", [(-9, 9)] * 2, lambda *x: 1 / norm(*x)),
    "norm3d": ("fff", [(-9, 9)] * 3, norm),
    "rnorm3d": ("fff", [(-9, 9)] * 3, lambda *x: 1 / norm(*x)),
    "norm4d": ("ffff", [(-9, 9)] * 4, norm),
    "rnorm4d": ("ffff", [(-9, 9)] * 4, lambda *x: 1 / norm(*x)),
}


def pack(value: float, element: str) -> int:
    return int.from_bytes(struct.pack("<f" if element == "f32" else "<d", value), "little")


def unpack(bits: int, element: str) -> float:
    size = 4 if element == "f32" else 8
    return struct.unpack("<f" if size == 4 else "<d", bits.to_bytes(size, "little"))[0]


def ulp(x: float, element: str) -> float:
    return math.ulp(x) if element == "f64" else 2.0 ** max(math.frexp(x)[1] - 24, -149)


def run(tool: str, symbol: str, elements: list[str], columns: list[list], result: str) -> list[float]:
    kernel = Kernel()
    names = [
        kernel.load(e, (COUNT,), [pack(v, e) if e[0] == "f" else v % 2**32 for v in column])
        for e, column in zip(elements, columns, strict=True)
    ]
    types = [kernel.type((COUNT,), e) for e in elements]
    attributes = f'libname = "", libpath = "", pure = true, symbol = "{symbol}"'
    value = kernel.emit(
        f"tt.extern_elementwise {', '.join(names)} {{{attributes}}} : ({', '.join(types)}) -> "
        f"{kernel.type((COUNT,), result)}"
    )
    kernel.store(value, result, (COUNT,), [0] * COUNT, shown_as="x" + result[1:])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "errors.ttir"
        path.write_text(kernel.case("errors.ttir", "Errors.").text())
        text = subprocess.run([tool, str(path)], capture_output=True, text=True, check=True).stdout
    codes: list[int] = []
    for word, times in re.findall(r"(0x[0-9a-f]+)(?: x(\d+))?", text):
        codes += [int(word, 16)] * int(times or 1)
    if len(codes) != COUNT:
        sys.exit(f"{symbol}: {text[:500]}")
    return [unpack(code, result) for code in codes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=str(ROOT / "build/release/tests/tools/case_tool"))
    parser.add_argument("names", nargs="*", help="only these functions")
    options = parser.parse_args()
    random.seed(3)
    for name, (kinds, ranges, exact) in FUNCTIONS.items():
        for element in ("f32", "f64"):
            columns = []
            for kind, (low, high) in zip(kinds, ranges, strict=True):
                draw = random.randint if kind == "i" else random.uniform
                column = [draw(low, high) for _ in range(COUNT)]
                rounds = kind == "f" and element == "f32"
                columns.append([unpack(pack(x, "f32"), "f32") for x in column] if rounds else column)
            if options.names and name not in options.names:
                continue
            elements = [element if kind == "f" else "i32" for kind in kinds]
            got = run(
                options.tool, f"__nv_{name}{'f' if element == 'f32' else ''}", elements, columns, element
            )
            worst = worst_absolute = 0.0
            for value, arguments in zip(got, zip(*columns, strict=True), strict=True):
                error = abs(mpmath.mpf(value) - exact(*(mpmath.mpf(x) for x in arguments)))
                worst = max(worst, float(error / ulp(value, element)))
                worst_absolute = max(worst_absolute, float(error))
            print(f"{name:14} {element} {worst:8.3f} ulp, {worst_absolute:.1e} absolute")


if __name__ == "__main__":
    main()
