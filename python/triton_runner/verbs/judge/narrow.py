"""Tells a result that was computed in a narrower type than its task's: by the bits that its numbers have, and
by those of its inputs that it does not see. Both are exact, whatever a comparison allows."""

from __future__ import annotations

import numpy

# The bits of a mantissa, and those of the next narrower type: f32, tf32 and f16, bf16, f8e4m3.
_BITS = {"float64": (52, 23), "float32": (23, 10), "float16": (10, 7), "bfloat16": (7, 3)}
_ENOUGH = 32  # numbers that have those bits in the exact result
_MOVED, _FEWEST = 4.0, 8  # units in the last place, and numbers that move by more
_PART = 0.9
_NEAR = 16  # units of the narrower type, and at most a quarter: further off, a number was not rounded


def other_low_bits(tensor):
    """The tensor with other bits where its numbers have more than those of a narrower type. Rounded to that
    one, to the nearest or down, they are what they were: the first bit that is left out stays, and so does
    whether there is one after it."""
    import torch

    name = str(tensor.dtype).removeprefix("torch.")
    if name not in _BITS or not tensor.numel():
        return tensor
    whole, narrow = _BITS[name]
    mask = (1 << (whole - narrow - 1)) - 1
    integers = {8: torch.int64, 4: torch.int32, 2: torch.int16}[tensor.element_size()]
    bits = tensor.detach().clone().view(integers)
    drawn = torch.randint(1, mask + 1, bits.shape, dtype=integers)
    changed = torch.where((bits & mask) != 0, (bits & ~mask) | drawn, bits).view(tensor.dtype)
    return torch.where(torch.isfinite(tensor), changed, tensor)


def _floats(got: dict, own: dict, exact: dict):
    """(where it stands, the numbers, the exact ones in their type, bits, narrow bits) of each result."""
    for path, one in own.items():
        x = got.get(path)
        if not all(isinstance(each, numpy.ndarray) for each in (one, x)):
            continue
        if x.shape != one.shape or str(one.dtype) not in _BITS or x.dtype != one.dtype:
            continue
        want = exact.get(path)
        is_there = isinstance(want, numpy.ndarray) and want.shape == one.shape
        yield path, x, want if is_there else one, *_BITS[str(one.dtype)]


def without_low_bits(got: dict, own: dict, exact: dict) -> str | None:
    """Says so where all numbers of a result are those of a narrower type, and the exact ones are not."""
    for path, x, want, whole, narrow in _floats(got, own, exact):
        low = (1 << (whole - narrow)) - 1
        with numpy.errstate(all="ignore"):
            has, should = (_bits(one.astype(x.dtype)) & low != 0 for one in (x, want))
            fine = numpy.isfinite(x.astype(numpy.float64))
        if (should & fine).sum() >= max(_ENOUGH, x.size // 2) and not (has & fine).any():
            return f"all numbers of {path} have {narrow} bits after the first one, where its type has {whole}"
    return None


def blind(before: tuple, after: tuple) -> str | None:
    """Says so where a result stays the same to the last bit, while the exact one moves. before, after:
    (the result, the reference's, the exact one) of inputs that differ by other_low_bits()."""
    both = zip(_floats(*before), _floats(*after), strict=False)
    for (path, x, a, whole, narrow), (_, y, b, *_) in both:
        with numpy.errstate(all="ignore"):
            a, b = a.astype(numpy.float64), b.astype(numpy.float64)
            fine = numpy.isfinite(a) & numpy.isfinite(b)
            moved = fine & (numpy.abs(a - b) > _MOVED * 2.0**-whole * numpy.abs(a))
            near = numpy.abs(x.astype(numpy.float64) - a) <= min(_NEAR * 2.0**-narrow, 0.25) * numpy.abs(a)
        same = moved & near & (_bits(x) == _bits(y))
        if moved.sum() >= _FEWEST and same.sum() > _PART * moved.sum():
            return (
                f"{path} stays the same to the last bit where its inputs change after the first {narrow} "
                "bits of their numbers: it rounds them to a narrower type"
            )
    return None


def _bits(array: numpy.ndarray) -> numpy.ndarray:
    return numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
