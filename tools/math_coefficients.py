"""Prints src/num/simd/coefficients.h: the math kernels' polynomials, fitted at Chebyshev nodes in 60 digits.

Run: python tools/math_coefficients.py > src/num/simd/coefficients.h   (needs mpmath)
"""

from mpmath import asin, atan, chebyfit, cos, erf, exp, log, log1p, mp, mpf, nstr, pi, sin, sqrt

mp.dps = 60

# name, type, function (its removable singularity at 0 is filled from the series), interval, how many
# coefficients
LN2 = log(2)


def around_zero(function, order):
    """The function itself, and its Taylor value where it is 0/0."""
    return lambda x: order(x) if abs(x) < mpf(10) ** -12 else function(x)


def atanh_rest(z):
    """log1p(f) = f - (h - s (h + z R(z))), h = f^2/2, s = f/(2 + f), z = s^2: R."""
    s = sqrt(z)
    return (log((1 + s) / (1 - s)) / s - 2) / z


# The function, and its interval.
EXP2 = around_zero(lambda x: (mpf(2) ** x - 1) / x, lambda x: LN2 + x * LN2**2 / 2), (-0.5, 0.5)
EXP = around_zero(lambda x: (exp(x) - 1 - x) / x**2, lambda x: mpf(1) / 2 + x / 6), (-LN2 / 2, LN2 / 2)
EIGHTH = (0, (pi / 4) ** 2)  # of a circle, squared
SIN = around_zero(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: -mpf(1) / 6 + z / 120), EIGHTH
FITS = [
    ("exp2_f32", "float", *EXP2, 7),
    ("exp_f32", "float", *EXP, 6),
    ("log_f32", "float",
     around_zero(lambda x: (log1p(x) - x + x**2 / 2) / x**3, lambda x: mpf(1) / 3 - x / 4),
     (-mpf(1) / 3, mpf(1) / 3), 9),
    ("exp2_f64", "double", *EXP2, 13),
    ("exp_f64", "double", *EXP, 11),
    ("log_f64", "double", around_zero(atanh_rest, lambda z: mpf(2) / 3 + 2 * z / 5), (0, mpf("0.0401")), 8),
    ("sin_f64", "double", *SIN, 7),
    ("cos_f64", "double",
     around_zero(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, lambda z: mpf(1) / 24 - z / 720), EIGHTH, 7),
    ("sin_near_f32", "double", *SIN, 4),
    ("cos_near_f32", "double", around_zero(lambda z: (cos(sqrt(z)) - 1) / z, lambda z: -mpf(1) / 2 + z / 24),
     EIGHTH, 5),
    ("atan_f64", "double",
     around_zero(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, lambda z: -mpf(1) / 3 + z / 5),
     (0, mpf("0.1717")), 13),
    ("asin_f64", "double",
     around_zero(lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, lambda z: mpf(1) / 6 + 3 * z / 40),
     (0, 0.25), 14),
    ("erf_near", "double",
     around_zero(lambda z: erf(sqrt(z)) / sqrt(z), lambda z: 2 / sqrt(pi) * (1 - z / 3)), (0, 1), 10),
    ("erf_far", "double", lambda t: erf(t + mpf("2.5")), (-1.5, 1.5), 19),
]  # fmt: skip


def main():
    print("// Has the polynomials of the math kernels, highest power last; tools/math_coefficients.py")
    print("// writes it.")
    print("// clang-format off\n#pragma once\n")
    print("namespace triton_runner::num::SIMD_ISA {\nnamespace {\n")
    for name, ctype, function, interval, count in FITS:
        coefficients, error = chebyfit(function, list(interval), count, error=True)
        suffix = "f" if ctype == "float" else ""
        digits = 10 if ctype == "float" else 18
        print(f"// on [{nstr(mpf(interval[0]), 4)}, {nstr(mpf(interval[1]), 4)}], error {nstr(error, 2)}")
        print(f"constexpr {ctype} k_{name}[] = {{")
        for c in reversed(coefficients):
            print(f"    {nstr(c, digits, min_fixed=0, max_fixed=0)}{suffix},")
        print("};\n")
    print("}  // namespace\n}  // namespace triton_runner::num::SIMD_ISA")


if __name__ == "__main__":
    main()
