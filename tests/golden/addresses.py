"""Cases of tt.addptr on tiles that are not sums of strides: rows chosen by loads, % and //, offsets of every
integer type, ranks 2 to 5. Rows of 16 and more are where the engine goes row by row; the oracle is NumPy.
"""

from __future__ import annotations

import numpy as np

from .builder import Kernel
from .casefile import Case, codes
from .tiles import NUMPY, load

OFFSETS = ("i8", "i16", "i32", "i64")
SHAPES = [(4, 16), (2, 4, 16), (2, 1, 4, 32), (2, 1, 2, 2, 16)]
BASE = 40  # elements before the first row, so that offsets may be negative


def as_type(k: Kernel, value: str, shape, element: str) -> str:
    """An i32 tile as `element`."""
    if element == "i32":
        return value
    op = "extsi" if element == "i64" else "trunci"
    return k.emit(f"arith.{op} {value} : {k.type(shape, 'i32')} to {k.type(shape, element)}")


def spread(k: Kernel, value: str, axis: int, shape, element: str) -> str:
    """A vector along one axis, repeated along all others."""
    extents = [shape[axis]]
    for d in range(len(shape)):
        if d == axis:
            continue
        before = k.type(extents, element)
        extents.insert(d, 1)
        after = k.type(extents, element)
        value = k.emit(f"tt.expand_dims {value} {{axis = {d} : i32}} : {before} -> {after}")
    if tuple(extents) == tuple(shape):
        return value
    source, target = k.type(extents, element), k.type(shape, element)
    return k.emit(f"tt.broadcast {value} : {source} -> {target}")


def indices(k: Kernel, source: str, size: int, element: str, seed: int) -> tuple[str, np.ndarray]:
    """`size` numbers that are no affine function of their place, the way `source` says."""
    numpy = NUMPY[element]
    if source == "load":
        values = np.random.RandomState(seed).randint(-2, 3, size).astype(numpy)
        return load(k, values, element), values
    places = as_type(k, k.range(size), (size,), element)
    seven = k.constant(7 + seed, element, (size,))
    places = k.emit(f"arith.addi {places}, {seven} : {k.type((size,), element)}")
    by = k.constant(3, element, (size,))
    op = {"rem": "remsi", "div": "divsi", "urem": "remui", "udiv": "divui"}[source]
    values = np.arange(size) + 7 + seed
    values = values % 3 if source.endswith("rem") else values // 3
    value = k.emit(f"arith.{op} {places}, {by} : {k.type((size,), element)}")
    return value, values.astype(numpy)


def add(k: Kernel, pointers: str, offsets: str, shape, element: str) -> str:
    tensor = k.type(shape, "!tt.ptr<i32>")
    return k.emit(f"tt.addptr {pointers}, {offsets} : {tensor}, {k.type(shape, element)}")


def read(k: Kernel, pointers: str, shape, result: np.ndarray) -> None:
    value = k.emit(f"tt.load {pointers} : {k.type(shape, '!tt.ptr<i32>')}")
    k.store(value, "i32", shape, codes(result.astype(np.int32)))


def base(k: Kernel, shape, memory: np.ndarray) -> str:
    pointer, _ = k.array("i32", memory.shape, codes(memory))
    first = k.emit(f"tt.addptr {pointer}, {k.constant(BASE, 'i32')} : !tt.ptr<i32>, i32")
    return k.emit(f"tt.splat {first} : !tt.ptr<i32> -> {k.type(shape, '!tt.ptr<i32>')}")


MEMORY = (np.arange(512) * 7919 % 1000).astype(np.int32)


def rows_and_columns(source: str, element: str) -> Case:
    """x + c[None, :] + (r * N)[:, None] with r from `source`, and the axes the other way round."""
    k = Kernel()
    for rank, shape in enumerate(SHAPES, start=2):
        for last_first in (True, False):
            pointers = base(k, shape, MEMORY)
            where = np.full(shape, BASE)
            axes = range(rank)
            for axis in reversed(axes) if last_first else axes:
                size = shape[axis]
                if axis == rank - 1:
                    part, values = as_type(k, k.range(size), (size,), element), np.arange(size)
                else:
                    part, values = indices(k, source, size, element, rank * 8 + axis)
                    step = {0: 5, 1: 3}.get(axis, 2)
                    factor = k.constant(step, element, (size,))
                    part = k.emit(f"arith.muli {part}, {factor} : {k.type((size,), element)}")
                    values = values.astype(np.int64) * step
                pointers = add(k, pointers, spread(k, part, axis, shape, element), shape, element)
                where = where + values.reshape([-1 if d == axis else 1 for d in range(rank)])
            read(k, pointers, shape, MEMORY[where])
    about = f"Rows and columns added to pointers; {element} rows from {source}, ranks 2 to 5."
    return k.case(f"op/tt.addptr-rows-{source}-{element}.ttir", about)


def every_axis(element: str) -> Case:
    """Loaded offsets that repeat along all axes but one, for each axis."""
    k = Kernel()
    for rank, shape in enumerate(SHAPES, start=2):
        pointers = base(k, shape, MEMORY)
        for axis in range(rank):
            part, values = indices(k, "load", shape[axis], element, 3 * rank + axis)
            moved = add(k, pointers, spread(k, part, axis, shape, element), shape, element)
            along = np.broadcast_to(values.reshape([-1 if d == axis else 1 for d in range(rank)]), shape)
            read(k, moved, shape, MEMORY[BASE + along])
            dense, more = k.load(element, shape, codes(flat(shape, element))), flat(shape, element)
            both = add(k, moved, dense, shape, element)
            read(k, both, shape, MEMORY[BASE + along + more])
    about = f"Loaded {element} offsets along each axis in turn, alone and with a tile of further ones."
    return k.case(f"op/tt.addptr-axis-{element}.ttir", about)


def flat(shape, element: str) -> np.ndarray:
    return (np.arange(np.prod(shape)) * 5 % 37 - 18).reshape(shape).astype(NUMPY[element])


def transposed(element: str) -> Case:
    """Pointers and offsets that repeat along the last axis and come from transposed tiles."""
    k = Kernel()
    small, shape = (4, 2), (2, 4, 16)
    first, second = (np.arange(8).reshape(small) * 11 % 13 - 6), (np.arange(8).reshape(small) * 7 % 11 - 5)
    tiles = []
    for values in (first, second):
        values = values.astype(NUMPY[element])
        tile = load(k, values, element)
        turned = k.emit(
            f"tt.trans {tile} {{order = array<i32: 1, 0>}} : {k.type(small, element)} -> "
            f"{k.type(small[::-1], element)}"
        )
        thick = k.emit(
            f"tt.expand_dims {turned} {{axis = 2 : i32}} : {k.type(small[::-1], element)} -> "
            f"{k.type((2, 4, 1), element)}"
        )
        wide = f"{k.type((2, 4, 1), element)} -> {k.type(shape, element)}"
        tiles.append(k.emit(f"tt.broadcast {thick} : {wide}"))
    pointers = add(k, base(k, shape, MEMORY), tiles[0], shape, element)
    pointers = add(k, pointers, tiles[1], shape, element)
    columns = as_type(k, k.range(16), (16,), element)
    moved = add(k, pointers, spread(k, columns, 2, shape, element), shape, element)
    where = np.broadcast_to((BASE + first + second).T[:, :, None], shape)
    read(k, pointers, shape, MEMORY[where])
    read(k, moved, shape, MEMORY[where + np.arange(16)])
    about = f"Both the pointers and the {element} offsets are views that repeat along the last axis."
    return k.case(f"op/tt.addptr-views-{element}.ttir", about)


def conditions() -> Case:
    """i1 offsets: true is -1, one for all as well as element by element."""
    k = Kernel()
    bits = np.arange(32) % 3 == 1
    loaded = k.load("i1", (2, 16), [int(b) for b in bits])
    pointers = base(k, (2, 16), MEMORY)
    read(k, add(k, pointers, loaded, (2, 16), "i1"), (2, 16), MEMORY[BASE - bits.reshape(2, 16)])
    yes = k.constant("true", "i1", (2, 16))
    read(k, add(k, pointers, yes, (2, 16), "i1"), (2, 16), np.full((2, 16), MEMORY[BASE - 1]))
    columns = add(k, pointers, spread(k, k.range(16), 1, (2, 16), "i32"), (2, 16), "i32")
    result = np.broadcast_to(MEMORY[BASE - 1 + np.arange(16)], (2, 16))
    read(k, add(k, columns, yes, (2, 16), "i1"), (2, 16), result)
    return k.case("op/tt.addptr-i1.ttir", "Offsets that are conditions: true is -1, as on a GPU.")


def scattered(element: str) -> Case:
    """Stores through such pointers."""
    k = Kernel()
    shape = (4, 16)
    rows = np.array([2, 0, 3, 1], NUMPY[element])
    pointer, _ = k.array("i32", (80,), None, [0] * 80)
    written = np.zeros(80, np.int32)
    pointers = k.emit(f"tt.splat {pointer} : !tt.ptr<i32> -> {k.type(shape, '!tt.ptr<i32>')}")
    columns = as_type(k, k.range(16), (16,), element)
    pointers = add(k, pointers, spread(k, columns, 1, shape, element), shape, element)
    row = k.emit(
        f"arith.muli {load(k, rows, element)}, {k.constant(18, element, (4,))} : {k.type((4,), element)}"
    )
    pointers = add(k, pointers, spread(k, row, 0, shape, element), shape, element)
    values = np.arange(64, dtype=np.int32).reshape(shape) + 1
    value = load(k, values)
    k.do(f"tt.store {pointers}, {value} : {k.type(shape, '!tt.ptr<i32>')}")
    for i, r in enumerate(rows):
        written[int(r) * 18 : int(r) * 18 + 16] = values[i]
    k.args[0].after = codes(written)
    return k.case(f"op/tt.addptr-store-{element}.ttir", f"Stores to rows in a loaded order; {element}.")


def cases() -> list[Case]:
    made = [rows_and_columns(source, element) for source in ("load", "rem", "div") for element in OFFSETS]
    made += [rows_and_columns(source, "i32") for source in ("urem", "udiv")]
    for element in OFFSETS:
        made += [every_axis(element), transposed(element), scattered(element)]
    return [*made, conditions()]
