"""Cases in the dialects of Triton 3.0 to 3.8: block pointers, `triton_gpu.`, experimental descriptors;
and external functions.
"""

from __future__ import annotations

import numpy as np

from .builder import Kernel
from .casefile import Cases, Scalar, codes
from .formats import F16, F32
from .sums import accumulated, matrix
from .tiles import iota, load, store

OLD_LAYOUTS = """#blocked = #triton_gpu.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], \
warpsPerCTA = [4, 1], order = [1, 0]}>
#row = #triton_gpu.slice<{dim = 1, parent = #blocked}>
#col = #triton_gpu.slice<{dim = 0, parent = #blocked}>
"""


class OldKernel(Kernel):
    """TTGIR as 3.0 to 3.2 write it; 3.0 and 3.1 have shared memory without a name."""

    def __init__(self, layouts: str = "", target: str = "cuda:90"):
        super().__init__(gpu=True, target=target, layouts=OLD_LAYOUTS + layouts)

    def module(self) -> str:
        text = super().module()
        body = (
            text[text.index("module attributes") :]
            .replace('"ttg.', '"triton_gpu.')
            .replace(" ttg.", " triton_gpu.")
        )
        return self.layouts + body


def block_pointers() -> Cases:
    for element, dtype in (("f32", np.float32), ("i16", np.int16)):
        data = (np.arange(35).reshape(5, 7) + 1).astype(dtype)
        k = Kernel()
        pointer, _ = k.array(element, (5, 7), codes(data))
        height, width, one, seven = (k.constant(v, "i64") for v in (5, 7, 1, 7))
        at = {v: k.constant(v, "i32") for v in (0, 2, 3, 4, -2, -3)}
        tile = f"<tensor<4x4x{element}>>"
        order = "{order = array<i32: 1, 0>}"
        p = k.emit(
            f"tt.make_tensor_ptr {pointer}, [{height}, {width}], [{seven}, {one}], [{at[-2]}, "
            f"{at[0]}] {order} : {tile}"
        )
        place = [-2, 0]
        paddings = (("", 0), (", padding = 1 : i32", 0)) + (
            ((", padding = 2 : i32", np.nan),) if element == "f32" else ()
        )
        for move in ((0, 0), (2, 3), (2, 2), (0, -3)):
            p = k.emit(f"tt.advance {p}, [{at[move[0]]}, {at[move[1]]}] : {tile}")
            place = [place[0] + move[0], place[1] + move[1]]
            for padding, fill in paddings:
                v = k.emit(
                    f"tt.load {p} {{boundaryCheck = array<i32: 0, "
                    f"1>{padding}}} : !tt.ptr<tensor<4x4x{element}>>"
                )
                wanted = np.full((4, 4), fill, dtype)
                for i, j in np.ndindex(4, 4):
                    r, c = place[0] + i, place[1] + j
                    if 0 <= r < 5 and 0 <= c < 7:
                        wanted[i, j] = data[r, c]
                store(k, v, wanted)
        # Transposed by its strides, stored over the edge of another array.
        t = k.emit(
            f"tt.make_tensor_ptr {pointer}, [{width}, {height}], [{one}, {seven}], [{at[3]}, {at[0]}] "
            f"{{order = array<i32: 0, 1>}} : {tile}"
        )
        v = k.emit(f"tt.load {t} {{boundaryCheck = array<i32: 0>}} : !tt.ptr<tensor<4x4x{element}>>")
        after = np.zeros((5, 7), dtype)
        after[2:5, 4:7] = data.T[3:7, 0:4][:3, :3]
        out, _ = k.array(element, (5, 7), None, codes(after))
        q = k.emit(
            f"tt.make_tensor_ptr {out}, [{height}, {width}], [{seven}, {one}], [{at[2]}, {at[4]}] "
            f"{order} : {tile}"
        )
        k.do(f"tt.store {q}, {v} {{boundaryCheck = array<i32: 0, 1>}} : !tt.ptr<tensor<4x4x{element}>>")
        suffix = "" if element == "f32" else f"-{element}"
        about = (
            "Blocks before, over and past each edge, filled with 0 or NaN; transposed by "
            "strides; a clipped store."
        )
        yield k.case(f"op/tt.make_tensor_ptr{suffix}.ttir", about)


def tensor_maps() -> Cases:
    """3.2 and 3.3 at TTIR: the kernel writes a descriptor into a workspace."""
    data = (np.arange(50).reshape(5, 10) + 1).astype(np.float32)
    k = Kernel()
    pointer, _ = k.array("f32", (5, 10), codes(data))
    workspace, array = k.array("i8", (128,), None)
    c = {v: k.constant(v, "i32") for v in (1, 3, 4, 5, 8, 10)}
    stride = k.constant(40, "i64")
    k.do(
        f"tt.experimental_tensormap_create {workspace}, {pointer}, [{c[8]}, {c[4]}], [{c[10]}, "
        f"{c[5]}], [{stride}], "
        f"[{c[1]}, {c[1]}] {{elem_type = 7 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, "
        f"swizzle_mode = 0 : i32}} "
        ": (!tt.ptr<i8>, !tt.ptr<f32>, i32, i32, i32, i32, i64, i32, i32) -> ()"
    )
    k.do(f"tt.experimental_tensormap_fenceproxy_acquire {workspace} : !tt.ptr<i8>")
    type_ = "!tt.tensordesc<tensor<4x8xf32>>"
    d = k.emit(f"tt.reinterpret_tensor_descriptor {workspace} : !tt.ptr<i8> to {type_}")
    v = k.emit(f"tt.experimental_descriptor_load {d}[{c[3]}, {c[4]}] : {type_} -> tensor<4x8xf32>")
    wanted = np.zeros((4, 8), np.float32)
    wanted[:2, :6] = data[3:5, 4:10]
    store(k, v, wanted)
    # The workspace's bytes are the engine's own affair: they are cleared before the kernel ends.
    zero = k.constant(0, "i8", (128,))
    k.do(f"tt.store {k.pointers(workspace, 'i8', (128,))}, {zero} : tensor<128x!tt.ptr<i8>>")
    assert array.after is None
    yield k.case(
        "op/tt.experimental_tensormap_create.ttir", "A descriptor that the kernel makes: Triton 3.2 and 3.3."
    )

    k = Kernel()
    after = data.copy()
    after[1:5, 2:10] = data[0:4, 0:8] * 2
    pointer, _ = k.array("f32", (5, 10), codes(data), codes(after))
    c = {v: k.constant(v, "i32") for v in (0, 1, 2, 5, 10)}
    ten, one = k.constant(10, "i64"), k.constant(1, "i64")
    d = k.emit(
        f"tt.make_tensor_descriptor {pointer}, [{c[5]}, {c[10]}], [{ten}, {one}] : <f32>, <tensor<4x8xf32>>"
    )
    v = k.emit(f"tt.experimental_descriptor_load {d}[{c[0]}, {c[0]}] : {type_} -> tensor<4x8xf32>")
    v = k.emit(f"arith.addf {v}, {v} : tensor<4x8xf32>")
    k.do(f"tt.experimental_descriptor_store {d}[{c[1]}, {c[2]}], {v} : {type_}, tensor<4x8xf32>")
    yield k.case("op/old-descriptor.ttir", "A block loaded and stored under the names of 3.0 to 3.3.")

    k = Kernel()
    rows = np.array([3, 0, 4, 1, 9, 2, -1, 3], np.int32)
    target = np.zeros((5, 10), np.float32)
    tile = iota((8, 8), "f32") + 1
    to = np.array([4, 9, 0, 7, 2, 8, 3, 6], np.int32)
    for r, values in zip(to, tile, strict=True):
        if r < 5:
            target[r, 1:9] = values
    pointer, _ = k.array("f32", (5, 10), codes(data))
    out, _ = k.array("f32", (5, 10), None, codes(target))
    c = {v: k.constant(v, "i32") for v in (1, 5, 10)}
    ten, one = k.constant(10, "i64"), k.constant(1, "i64")
    row = "!tt.tensordesc<tensor<1x8xf32>>"
    d, e = (
        k.emit(f"tt.make_tensor_descriptor {p}, [{c[5]}, {c[10]}], [{ten}, {one}] : <f32>, <tensor<1x8xf32>>")
        for p in (pointer, out)
    )
    i, j, x = load(k, rows), load(k, to), load(k, tile)
    v = k.emit(
        f"tt.experimental_descriptor_gather {d}[{i}, {c[1]}] : ({row}, tensor<8xi32>, i32) -> tensor<8x8xf32>"
    )
    zero = np.zeros(8, np.float32)
    store(k, v, np.stack([data[r, 1:9] if 0 <= r < 5 else zero for r in rows]))
    k.do(
        f"tt.experimental_descriptor_scatter {e}[{j}, {c[1]}], {x} : {row}, tensor<8xi32>, i32, "
        f"tensor<8x8xf32>"
    )
    yield k.case("op/old-descriptor-gather.ttir", "Rows by index under the names of 3.3.")


def old_shared() -> Cases:
    shared = (
        "#shared = #triton_gpu.shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [2, 1, 0], "
        "hasLeadingOffset = false}>\n"
    )
    shared += (
        "#flat = #triton_gpu.shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0], "
        "hasLeadingOffset = false}>\n"
    )
    k = OldKernel(shared, "cuda:80")
    a = iota((4, 8))
    x, i = load(k, a), k.param("i32", Scalar("i32 1"))
    space = ", #triton_gpu.shared_memory, mutable>"
    ring, flat = f"!tt.memdesc<2x4x8xi32, #shared{space}", f"!tt.memdesc<4x8xi32, #flat{space}"
    part = f"!tt.memdesc<4x4xi32, #flat{space}"
    zero, four = k.constant(0, "i32"), k.constant(4, "i32")
    m = k.emit(f"triton_gpu.local_alloc  : () -> {ring}")
    b = k.emit(f"triton_gpu.memdesc_subview {m}[{i}, {zero}, {zero}] : {ring} -> {flat}")
    k.do(f"triton_gpu.local_store {x}, {b} : {k.type((4, 8), 'i32')} -> {flat}")
    s = k.emit(f"triton_gpu.memdesc_subview {b}[{zero}, {four}] : {flat} -> {part}")
    y = k.emit(f"triton_gpu.local_load {s} : {part} -> {k.type((4, 4), 'i32')}")
    store(k, y, a[:, 4:].copy())
    yield k.case(
        "op/ttg.memdesc_subview.ttgir", "A slot of a ring and a slice of it, as 3.0 to 3.2 write them."
    )

    layouts = """#nv = #triton_gpu.shared<{vec = 8, perPhase = 4, maxPhase = 2, order = [1, 0], \
hasLeadingOffset = true}>
#mma = #triton_gpu.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = \
[16, 16, 16]}>
"""
    m, n, depth = 64, 16, 16
    left, right = matrix(F16, (m, depth), "oa"), matrix(F16, (depth, n), "ob")
    start = matrix(F32, (m, n), "oc")
    k = OldKernel(layouts)
    x, y, z = k.load("f16", (m, depth), left), k.load("f16", (depth, n), right), k.load("f32", (m, n), start)
    one, two = f"!tt.memdesc<{m}x{depth}xf16, #nv>", f"!tt.memdesc<{depth}x{n}xf16, #nv>"
    s = k.emit(f"triton_gpu.local_alloc {x} : ({k.type((m, depth), 'f16')}) -> {one}")
    t = k.emit(f"triton_gpu.local_alloc {y} : ({k.type((depth, n), 'f16')}) -> {two}")
    blocked, mma = k.type((m, n), "f32"), k.type((m, n), "f32", "#mma")
    z = k.emit(f"triton_gpu.convert_layout {z} : {blocked} -> {mma}")
    attributes = "{inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32}"
    r = k.emit(f"triton_nvidia_gpu.dot_async {s}, {t}, {z} {attributes} : {one} * {two} -> {mma}")
    r = k.emit(f"triton_nvidia_gpu.dot_wait {r} {{pendings = 0 : i32}} : {mma}")
    r = k.emit(f"triton_gpu.convert_layout {r} : {mma} -> {blocked}")
    k.store(r, "f32", (m, n), accumulated(F16, left, right, F32, start, m, n, depth))
    yield k.case("op/old-dot_async.ttgir", "wgmma under the names of 3.0 and 3.1; sums are exact.")


def external() -> Cases:
    """libdevice functions whose results are exact or correctly rounded; test_ulp.py measures the others."""
    from .elementwise import float_corners
    from .formats import add, fma, larger, multiply, remainder, square_root

    k = Kernel()
    corners = float_corners(F32)
    x, y = k.load("f32", (16,), corners), k.load("f32", (16,), corners[5:] + corners[:5])
    z = k.load("f32", (16,), corners[9:] + corners[:9])
    operands = [corners, corners[5:] + corners[:5], corners[9:] + corners[:9]]
    tensor = "tensor<16xf32>"
    for symbol, function, arity in (
        ("__nv_fabsf", lambda a: (0, a[1]), 1), ("__nv_sqrtf", square_root, 1), ("__nv_fmodf", remainder, 2),
        ("__nv_fmaxf", lambda a, b: larger(a, b, False), 2), ("__nv_fmaf", fma, 3), ("__nv_fadd_rn", add, 2),
        ("__nv_fmul_rn", multiply, 2),
    ):  # fmt: skip
        names = [x, y, z][:arity]
        attributes = f'{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}'
        types = f"({', '.join([tensor] * arity)}) -> {tensor}"
        r = k.emit(f"tt.extern_elementwise {', '.join(names)} {attributes} : {types}")
        rows = zip(*operands[:arity], strict=True)
        k.store(r, "f32", (16,), [F32.encode(function(*map(F32.decode, row))) for row in rows])
    yield k.case(
        "op/tt.extern_elementwise.ttir", "libdevice: exact and correctly rounded functions on corner values."
    )


def cases() -> Cases:
    for family in (block_pointers, tensor_maps, old_shared, external):
        yield from family()
