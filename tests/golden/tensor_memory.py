"""Cases of tensor memory that gpu.py has no room for: slices, and copies of block scales."""

from __future__ import annotations

import functools

import numpy as np

from .builder import Family, Kernel
from .gpu import BARRIER, alloc, barrier, memdesc, nvidia
from .tiles import iota, load, store

FAMILY = Family(functools.partial(nvidia, "cuda:100"))
case, cases = FAMILY.case, FAMILY.cases
TENSOR_MEMORY = ", #ttng.tensor_memory, mutable"
# How TMA brings scales of 256 rows, in pieces of 32 rows of 16 bytes; and the same bytes as a matrix.
PIECES = """#pieces = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [4, 3, 2, 1, 0]}>
#matrix = #ttg.shared_linear<{offset = [[0, 1], [0, 2], [32, 0], [64, 0], [1, 0], [2, 0], [4, 0], [8, 0], \
[16, 0], [0, 4], [128, 0]]}, alignment = 128>
"""
# The same for 64 rows, and all bytes of the lanes and columns that their scales take in tensor memory.
LANES = """#matrix = #ttg.shared_linear<{offset = [[0, 1], [0, 2], [32, 0], [0, 4], [1, 0], [2, 0], [4, 0], \
[8, 0], [16, 0], [0, 8]]}, alignment = 128>
#lanes = #ttng.tensor_memory_encoding<blockM = 128, blockN = 32, colStride = 1>
"""


@case("op/ttng.tmem_subslice.ttgir", "Columns that begin anywhere; the last tile of a ring.")
def slices(k: Kernel) -> None:
    true, zero, one = k.constant("true", "i1"), k.constant(0, "i32"), k.constant(1, "i32")
    data = [iota((128, 16), "f32"), iota((128, 16), "f32") + 5000]
    ring_type = memdesc((2, 128, 16), "f32", "#tmem", TENSOR_MEMORY)
    tile_type = memdesc((128, 16), "f32", "#tmem", TENSOR_MEMORY)
    ring = k.emit(f"ttng.tmem_alloc : () -> {ring_type}")
    tiles = [k.emit(f"ttg.memdesc_index {ring}[{i}] : {ring_type} -> {tile_type}") for i in (zero, one)]
    for tile, values in zip(tiles, data, strict=True):
        tensor = k.type((128, 16), "f32")
        k.do(f"ttng.tmem_store {load(k, values)}, {tile}, {true} : {tensor} -> {tile_type}")

    def part(tile: str, attributes: str, shape, of: str) -> str:
        to = memdesc(shape, "f32", "#tmem", f"{TENSOR_MEMORY}, {of}")
        made = k.emit(f"ttng.tmem_subslice {tile} {{{attributes}}} : {tile_type} -> {to}")
        return k.emit(f"ttng.tmem_load {made} : {to} -> {k.type(shape, 'f32')}")

    # The second half; eight columns from the fourth on, which begin inside of what eight columns divide.
    store(k, part(tiles[0], "offset = 8 : i32", (128, 8), "128x16"), data[0][:, 8:].copy())
    store(k, part(tiles[1], "offset = 4 : i32", (128, 8), "128x16"), data[1][:, 4:12].copy())
    last = memdesc((1, 128, 16), "f32", "#tmem", TENSOR_MEMORY + ", 2x128x16")
    d = k.emit(f"ttng.tmem_subslice {ring} {{dim = 0 : i32, offset = 1 : i32}} : {ring_type} -> {last}")
    d = k.emit(f"ttg.memdesc_index {d}[{zero}] : {last} -> {tile_type}")
    store(k, k.emit(f"ttng.tmem_load {d} : {tile_type} -> {k.type((128, 16), 'f32')}"), data[1])
    # Meta's warp specialisation slices a ring of one buffer so.
    single = memdesc((1, 128, 16), "f32", "#tmem", TENSOR_MEMORY)
    half = memdesc((1, 128, 8), "f32", "#tmem", TENSOR_MEMORY + ", 1x128x16")
    half_tile = memdesc((128, 8), "f32", "#tmem", TENSOR_MEMORY + ", 128x16")
    s = k.emit(f"ttng.tmem_alloc : () -> {single}")
    whole = k.emit(f"ttg.memdesc_index {s}[{zero}] : {single} -> {tile_type}")
    k.do(f"ttng.tmem_store {load(k, data[1])}, {whole}, {true} : {k.type((128, 16), 'f32')} -> {tile_type}")
    s = k.emit(f"ttng.tmem_subslice {s} {{N = 8 : i32}} : {single} -> {half}")
    s = k.emit(f"ttg.memdesc_index {s}[{zero}] : {half} -> {half_tile}")
    r = k.emit(f"ttng.tmem_load {s} : {half_tile} -> {k.type((128, 8), 'f32')}")
    store(k, r, data[1][:, 8:].copy())


# Packed f16, and what Meta's warp specialisation calls the ring of such buffers before it takes one.
PACKED = """#packed = #ttng.tensor_memory_encoding<blockM = 128, blockN = 16, colStride = 1>
#apart = #ttng.tensor_memory_encoding<blockM = 128, blockN = 16, colStride = 2>
"""


@case(
    "op/ttg.memdesc_reinterpret-packed.ttgir",
    "Halves of columns, in a slice and in a ring: how far buffers lie apart, their own type says.",
)
def packed(k: Kernel) -> None:
    k.layouts += PACKED
    true, zero, one = k.constant("true", "i1"), k.constant(0, "i32"), k.constant(1, "i32")
    halves = np.arange(128 * 16, dtype=np.int16).reshape(128, 16)
    words = [iota((128, 16), "i32") + 70000, iota((128, 8), "i32"), iota((128, 8), "i32") + 5000]
    wide_type, wide_tile = (
        memdesc(shape, "i32", "#tmem", TENSOR_MEMORY) for shape in ((1, 128, 16), (128, 16))
    )
    tile_type = memdesc((128, 16), "i16", "#packed", TENSOR_MEMORY)

    def put(buffer: str, type_: str, values: np.ndarray, element: str) -> None:
        tensor = k.type(values.shape, element)
        k.do(f"ttng.tmem_store {load(k, values)}, {buffer}, {true} : {tensor} -> {type_}")

    # The first eight columns of sixteen; the other eight keep their words.
    d = k.emit(f"ttng.tmem_alloc : () -> {wide_type}")
    whole = k.emit(f"ttg.memdesc_index {d}[{zero}] : {wide_type} -> {wide_tile}")
    put(whole, wide_tile, words[0], "i32")
    half = memdesc((1, 128, 8), "i32", "#tmem8", TENSOR_MEMORY + ", 1x128x16")
    apart = memdesc((1, 128, 16), "i16", "#apart", TENSOR_MEMORY)
    s = k.emit(f"ttng.tmem_subslice {d} {{N = 0 : i32}} : {wide_type} -> {half}")
    s = k.emit(f"ttg.memdesc_reinterpret {s} : {half} -> {apart}")
    p = k.emit(f"ttg.memdesc_index {s}[{zero}] : {apart} -> {tile_type}")
    put(p, tile_type, halves, "i16")
    store(k, k.emit(f"ttng.tmem_load {p} : {tile_type} -> {k.type((128, 16), 'i16')}"), halves)
    want = np.concatenate([halves.view(np.int32), words[0][:, 8:]], axis=1)
    store(k, k.emit(f"ttng.tmem_load {whole} : {wide_tile} -> {k.type((128, 16), 'i32')}"), want)
    # The second of two buffers of eight columns.
    ring_type, ring_tile = (
        memdesc(shape, "i32", "#tmem8", TENSOR_MEMORY) for shape in ((2, 128, 8), (128, 8))
    )
    ring = k.emit(f"ttng.tmem_alloc : () -> {ring_type}")
    buffers = [k.emit(f"ttg.memdesc_index {ring}[{i}] : {ring_type} -> {ring_tile}") for i in (zero, one)]
    for buffer, values in zip(buffers, words[1:], strict=True):
        put(buffer, ring_tile, values, "i32")
    apart = memdesc((2, 128, 16), "i16", "#apart", TENSOR_MEMORY)
    s = k.emit(f"ttg.memdesc_reinterpret {ring} : {ring_type} -> {apart}")
    put(k.emit(f"ttg.memdesc_index {s}[{one}] : {apart} -> {tile_type}"), tile_type, halves, "i16")
    for buffer, values in zip(buffers, (words[1], halves.view(np.int32)), strict=True):
        store(k, k.emit(f"ttng.tmem_load {buffer} : {ring_tile} -> {k.type((128, 8), 'i32')}"), values)


@case(
    "op/ttng.tmem_copy-predicate.ttgir",
    "A copy that is off, and one that is on, as the release after 3.9 writes them.",
)
def predicated(k: Kernel) -> None:
    grid = iota((128, 16), "f32")
    tensor, tile = k.type((128, 16), "f32"), memdesc((128, 16), "f32", "#tmem", TENSOR_MEMORY)
    x = load(k, grid)
    d = k.emit(f"ttng.tmem_alloc : () -> {tile}")
    k.do(f"ttng.tmem_store {x}, {d}, {k.constant('true', 'i1')} : {tensor} -> {tile}")
    s = alloc(k, (128, 16), "f32", "#nv32", k.emit(f"arith.addf {x}, {x} : {tensor}"))
    for pred, want in (("false", grid), ("true", grid * 2)):
        p = k.constant(pred, "i1")
        there = barrier(k)
        k.do(f"ttng.tmem_copy {s}, {d}, {p} : {memdesc((128, 16), 'f32', '#nv32')}, {tile}")
        k.do(f"ttng.tc_gen5_commit {there} : {BARRIER}")
        k.do(f"ttng.wait_barrier {there}, {k.constant(0, 'i32')} : {BARRIER}")
        store(k, k.emit(f"ttng.tmem_load {d} : {tile} -> {tensor}"), want)


@case("op/ttng.tmem_copy-scales.ttgir", "Scales of 256 rows: as a matrix, and as the pieces it lies in.")
def scales(k: Kernel) -> None:
    k.layouts += PIECES
    rng = np.random.default_rng(5)
    matrix = rng.integers(-128, 128, (256, 8)).astype(np.int8)
    scales_type = memdesc((256, 8), "i8", "#scales", TENSOR_MEMORY)
    source = memdesc((256, 8), "i8", "#matrix")
    x = load(k, matrix)
    m = alloc(k, (256, 8), "i8", "#matrix", x)
    raw = memdesc((2, 2, 32, 4, 4), "i8", "#pieces")
    pieces = k.emit(f"ttg.memdesc_reinterpret {m} : {source} -> {raw}")
    for name, type_ in ((m, source), (pieces, raw)):
        d = k.emit(f"ttng.tmem_alloc : () -> {scales_type}")
        there = barrier(k)
        k.do(f"ttng.tmem_copy {name}, {d}, {there} : {type_}, {scales_type}, {BARRIER}")
        k.do(f"ttng.wait_barrier {there}, {k.constant(0, 'i32')} : {BARRIER}")
        store(k, k.emit(f"ttng.tmem_load {d} : {scales_type} -> {k.type((256, 8), 'i8')}"), matrix)


@case("op/ttng.tmem_copy-lanes.ttgir", "Scales lie in 32 lanes, and once more in those of each other warp.")
def lanes_of_scales(k: Kernel) -> None:
    k.layouts += LANES
    matrix = np.random.default_rng(6).integers(-128, 128, (64, 16)).astype(np.int8)
    copied = memdesc((64, 16), "i8", "#matrix")
    scales_type = memdesc((64, 16), "i8", "#scales", TENSOR_MEMORY)
    raw = memdesc((128, 32), "i8", "#lanes", TENSOR_MEMORY)
    x, true = load(k, matrix), k.constant("true", "i1")
    # Columns: 4 of the scales', which 32 rows fill, those of the other 32 rows, then the next 4.
    one_warp = matrix.reshape(2, 32, 4, 4).transpose(1, 2, 0, 3).reshape(32, 32)
    for how in ("copied", "stored"):
        d = k.emit(f"ttng.tmem_alloc : () -> {scales_type}")
        if how == "copied":
            there = barrier(k)
            m = alloc(k, (64, 16), "i8", "#matrix", x)
            k.do(f"ttng.tmem_copy {m}, {d}, {there} : {copied}, {scales_type}, {BARRIER}")
            k.do(f"ttng.wait_barrier {there}, {k.constant(0, 'i32')} : {BARRIER}")
        else:
            k.do(f"ttng.tmem_store {x}, {d}, {true} : {k.type((64, 16), 'i8')} -> {scales_type}")
        r = k.emit(f"ttg.memdesc_reinterpret {d} : {scales_type} -> {raw}")
        store(
            k, k.emit(f"ttng.tmem_load {r} : {raw} -> {k.type((128, 32), 'i8')}"), np.tile(one_warp, (4, 1))
        )
