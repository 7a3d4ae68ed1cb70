"""How far two floating-point results may lie apart where only the order of sums differs: one table for all
that compare (lockstep, verify, bisection, reduction, the repro.py of a case).

A tolerance is relative to the largest magnitude of the array. Half a unit in the last place is 2^-53 for f64,
2^-24 for f32, 2^-11 for f16, 2^-8 for bf16, 2^-4 and 2^-3 for the two kinds of fp8. Sums are kept in f32 (f64
for f64), so that a narrow result differs by its own rounding:

- f64, f32: about a thousand roundings, as sums of some thousand terms in another order have;
- f16, bf16: eight roundings, as chains of several narrow results have;
- fp8: one unit of the coarsest kind, e5m2, whose neighbours differ by a quarter.

A tf32 product is summed in f32 with the same operands at every level, so that it takes the row of f32.
"""

from __future__ import annotations

_RELATIVE = {"f64": 1e-12, "f32": 1e-4, "tf32": 1e-4, "f16": 4e-3, "bf16": 3e-2}
_FP8 = 0.25


def tolerance(kind: str) -> float:
    """Of an element type as the IR names it ("f16"): relative to the largest magnitude; 0 for integers and
    pointers."""
    if kind[0] in "iu" or kind == "ptr":
        return 0.0
    return _RELATIVE.get(kind, _FP8)
