"""From the measurement of approx.py to tables and goldens: an H100's special function unit.

    python approx_fit.py fit APPROX.npz [NAME...]   prints src/lanes/simd/approx_tables.inc
    python approx_fit.py golden APPROX.npz          writes tests/golden/ptx-hw/approx.txt

A table's entry (c0, c1, c2) must give (c0 2^s + c1 x + c2 square(x) 2^k + bias) >> shift as measured for
every x of its segment: inequalities in integers. For each c2 near the least-squares one, the room that they
leave for c0 is concave in c1; it is climbed on the points beside steps, and what has room there is tried on
all points. Exactly one triple is left for every entry of every table.
"""

import sys
from pathlib import Path

import numpy as np

REFERENCE = {
    "rcp": lambda x: 1 / x, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "ex2": np.exp2,
    "lg2": np.log2, "sin": np.sin, "cos": np.cos,
}  # fmt: skip
GOLDEN = Path(__file__).resolve().parents[2] / "tests/golden/ptx-hw/approx.txt"
STEP = 61  # approx_test.cpp's
ONE = 1 << 23


def measured(data, key):
    """The floats of a range and hardware's bits for them."""
    name, first = key.split("_")
    first, difference = int(first, 16), data[key]
    x = np.arange(first, first + difference.size, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        rounded = REFERENCE[name](x.astype(np.float64)).astype(np.float32).view(np.uint32)
    return x, (rounded.astype(np.int64) + difference) & 0xFFFFFFFF


def square(x):
    total = np.zeros_like(x)
    for i in range(17):
        total += np.where((x >> i) & 1, x >> (18 - i), 0)
    return total >> 1


def solve(x, s, low, high):
    """All (c1, c2, smallest, largest rest) with low <= rest + c1 x + c2 s < high."""
    weight = 1 / np.sqrt((high - low).astype(float))
    matrix = np.stack([np.ones(x.size), x, s], 1) * weight[:, None]
    near = np.linalg.lstsq(matrix, (low + high) / 2 * weight, rcond=None)[0]
    slope = np.polyfit(x[::97].astype(float), s[::97].astype(float), 1)[0]
    steps = np.flatnonzero(np.diff(low))
    beside = np.unique(np.concatenate([steps, steps + 1, [0, x.size - 1]]))
    some = np.random.default_rng(1).choice(beside, min(beside.size, 1500), replace=False)

    def rest(c1, c2, at):
        p = c1 * x[at] + c2 * s[at]
        return int((low[at] - p).max()), int((high[at] - p).min()) - 1

    def room(c1, c2):
        smallest, largest = rest(c1, c2, some)
        return largest - smallest

    found = []
    for c2 in range(round(near[2]) - 8, round(near[2]) + 9):
        c1, step = round(near[1] - (c2 - round(near[2])) * slope), 32
        while step:
            better = [d for d in (step, -step) if room(c1 + d, c2) > room(c1, c2)]
            c1, step = (c1 + better[0], step) if better else (c1, step // 2)
        for near_c1 in range(c1 - 4, c1 + 5):
            if room(near_c1, c2) >= 0:
                smallest, largest = rest(near_c1, c2, slice(None))
                if smallest <= largest:
                    found.append((near_c1, c2, smallest, largest))
    return found


def entry(x, s, low, high, scale, bias):
    found = solve(x, s, low, high)
    if len(found) != 1:
        raise SystemExit(f"{len(found)} coefficients fit: the model is wrong or the measurement is short")
    c1, c2, smallest, largest = found[0]
    c0 = -((bias - smallest) >> scale)
    if c0 << scale > largest - bias:
        raise SystemExit("no c0 fits: the bias is wrong")
    return c0, c1 * 4096 + (c2 & 4095)


def significands(data, key, exponent):
    """Results as significands of 24 bits or more, at a fixed exponent."""
    return measured(data, key)[1] - (exponent << 23) + ONE


def segments(y, bits, shift, scale, bias, argument=lambda x: x, factor=1, skip_first=False):
    x = np.arange(1 << bits, dtype=np.int64)
    s = square(argument(x)) * factor
    for i in range(y.size >> bits):
        part = slice(1 if skip_first and i == 0 else 0, None)  # a significand of 1 may be a case of its own
        low = (y[i << bits : (i + 1) << bits] << shift)[part]
        yield entry(x[part], s[part], low, low + (1 << shift), scale, bias)


def fit_rcp(data):
    y = significands(data, "rcp_3f800000", 126)
    return segments(y, 16, 15, 13, 0x47E7, lambda x: x << 1, skip_first=True)


def fit_rsqrt(data):
    return segments(significands(data, "rsqrt_3f800000", 126), 17, 16, 14, 0x7FFF, factor=4, skip_first=True)


def fit_sqrt(data):
    y = significands(data, "sqrt_3f800000", 127)
    yield from segments(y[:ONE], 17, 17, 15, 0xFFFF)
    yield from segments(y[ONE:], 17, 16, 14, 0x7FFF)


def fit_ex2(data):
    return segments(significands(data, "ex2_3f800000", 128), 17, 15, 13, 0x77E2)


def fit_lg2(data):
    return segments(significands(data, "lg2_40000000", 127) - ONE, 17, 15, 12, 0x3345, factor=2)


def fit_sin(data):
    """One quadrant in steps of 2^-23: all ranges of sine and cosine reach a part of it."""
    y = np.zeros(ONE, np.int64)
    for key in data.files:
        name = key.split("_")[0]
        if name in ("sin", "cos"):
            x, bits = measured(data, key)
            turns = x.astype(np.float64) * np.float64(np.float32(0.15915494))
            cut = (turns.view(np.uint64) & ~np.uint64((1 << 29) - 1)).view(np.float64)  # to zero, 24 bits
            place = np.trunc(cut * 2.0**25).astype(np.int64) + (ONE if name == "cos" else 0)
            fraction = np.where(place & ONE, ~place, place) & (ONE - 1)
            y[fraction] = bits & 0x7FFFFFFF
    x = np.arange(1 << 17, dtype=np.int64)
    for i in range(64):
        part = y[i << 17 : (i + 1) << 17]
        shift = (part >> 23) - 113
        keep = shift >= 0
        low = ((part & (ONE - 1)) | ONE)[keep] << shift[keep]
        yield entry(x[keep], square(x)[keep], low, low + (1 << shift[keep]), 11, 0)


FITS = {"rcp": fit_rcp, "sqrt": fit_sqrt, "rsqrt": fit_rsqrt, "ex2": fit_ex2, "lg2": fit_lg2, "sin": fit_sin}


def fit(data, names):
    print(
        "// Fitted to what an H100 gives for every significand: tests/gpu/approx_fit.py fit (see approx.cpp)."
    )
    for name in names or FITS:
        entries = list(FITS[name](data))
        print(f"constexpr Entry k{name.capitalize()}Table[{len(entries)}] = {{")
        line = "   "
        for c0, c12 in entries:
            text = f" {{{c0}, {c12}}},"
            if len(line) + len(text) > 120:
                print(line)
                line = "   "
            line += text
        print(line + "\n};", flush=True)


def golden(data):
    lines = [
        "# tests/gpu/approx_fit.py golden: FNV-1a (64 bits, word by word) of what an H100 gives for every",
        "# 61st float of a range: instruction, bits of the first float, how many floats the range has, hash",
    ]
    for key in data.files:
        name, first = key.split("_")
        if name not in REFERENCE:
            continue
        value = 0xCBF29CE484222325
        for word in measured(data, key)[1][::STEP].tolist():
            value = ((value ^ word) * 0x100000001B3) & ((1 << 64) - 1)
        lines.append(f"{name}.approx.ftz.f32 {first} {data[key].size} {value:016x}")
    GOLDEN.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        fit(np.load(sys.argv[2]), sys.argv[3:])
    else:
        golden(np.load(sys.argv[2]))
