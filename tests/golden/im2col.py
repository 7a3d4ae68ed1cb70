"""Cases of TMA copies in im2col mode. The pixels come from a list of all places in the order of the copy."""

from __future__ import annotations

import itertools

import numpy as np

from .casefile import Array, Case, Scalar, codes
from .gpu import BARRIER, alloc, barrier, local_load, memdesc, nvidia
from .tiles import iota, store

PIXELS, CHANNELS = 8, 8
BLOCK = f"!ttng.tensordesc_im2col<{PIXELS}x{CHANNELS}xf32, #nv32>"


def column(data, lower, upper, steps, at, offsets) -> np.ndarray:
    """PIXELS rows of CHANNELS elements from the place `at` on, which pixels of the lattice hit."""
    sizes = data.shape[1:-1]
    lines = [
        range(lo, size + up, step)
        for lo, size, up, step in zip(lower, sizes, upper, steps[1:-1], strict=True)
    ]
    places = list(itertools.product(range(at[0], at[0] + PIXELS * steps[0], steps[0]), *lines))
    first = places.index(tuple(at[:-1]))
    out = np.zeros((PIXELS, CHANNELS), np.float32)
    for row, (n, *place) in zip(out, places[first:], strict=False):
        spot = (n, *(p + o for p, o in zip(place, offsets, strict=True)))
        for c in range(CHANNELS):
            where = (*spot, at[-1] + c)
            if all(0 <= i < size for i, size in zip(where, data.shape, strict=True)):
                row[c] = data[where]
    return out


def copies(about, shape, lower, upper, steps, loads) -> Case:
    """A kernel that loads a column for each (coordinates, offsets) of `loads`."""
    data = iota(shape, "f32") + 1
    say = lambda values: ",".join(map(str, values))  # noqa: E731
    k = nvidia()
    k.params.append(f"%d: {BLOCK}")
    mode = f"lower {say(lower)} upper {say(upper)} steps {say(steps)}"
    k.args.append(Array("f32", shape, codes(data), None, True, mode))
    strides = [s // data.itemsize for s in data.strides]
    for name, element, values in (("n", "i32", shape), ("s", "i64", strides)):
        k.params += [f"%{name}{i}: {element}" for i in range(len(shape))]
        k.args += [Scalar(f"{element} {v}") for v in values]
    b, true = barrier(k), k.constant("true", "i1")
    block = memdesc((PIXELS, CHANNELS), "f32", "#nv32")
    m = alloc(k, (PIXELS, CHANNELS), "f32", "#nv32")
    for phase, (at, offsets) in enumerate(loads):
        coordinates = ", ".join(k.constant(v, "i32") for v in at)
        moved = ", ".join(k.constant(v, "i16") for v in offsets)
        k.do(f"ttng.barrier_expect {b}, {PIXELS * CHANNELS * 4}, {true} : {BARRIER}")
        k.do(
            f"ttng.async_tma_copy_global_to_local %d[{coordinates}] offsets = [{moved}] {m}, {b}, {true} : "
            f"{BLOCK}, {BARRIER} -> {block}"
        )
        k.do(f"ttng.wait_barrier {b}, {k.constant(phase % 2, 'i32')} : {BARRIER}")
        store(
            k,
            local_load(k, m, block, (PIXELS, CHANNELS), "f32"),
            column(data, lower, upper, steps, at, offsets),
        )
    return k.case(f"op/ttng.async_tma_copy_global_to_local-im2col-{len(shape)}d.ttgir", about)


def cases() -> list[Case]:
    return [
        copies(
            "Columns of signals: a filter's second tap with stride 2; past the end; channels past the last.",
            (2, 5, 12), (-1,), (0,), (1, 2, 1),
            [((0, -1, 0), (1,)), ((0, 3, 0), (0,)), ((1, 1, 8), (2,)), ((1, -1, -4), (0,))],
        ),
        copies(
            "Columns of images with a border, across rows and images; the last one is outside.",
            (2, 3, 4, 8), (-1, -1), (-1, 0), (1, 1, 1, 1),
            [
                ((0, -1, -1, 0), (0, 0)), ((0, 0, 2, 0), (1, 2)),
                ((1, 1, 3, 0), (2, 0)), ((2, 0, 0, 0), (0, 1)),
            ],
        ),
        copies(
            "Columns of volumes, with strides of each dimension, of the batch too.",
            (3, 3, 2, 4, 8), (0, -1, -2), (0, 0, 1), (2, 2, 1, 3, 1),
            [((0, 0, -1, -2, 0), (0, 1, 2)), ((0, 2, 1, 1, 0), (0, 0, 1)), ((2, 2, 0, 4, 0), (1, 0, 0))],
        ),
    ]  # fmt: skip
