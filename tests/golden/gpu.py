"""Cases of ttg and ttng: shared and tensor memory, copies, barriers, products. Data movement is
NumPy's, sums are exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .builder import Kernel
from .casefile import Array, Cases, Scalar, codes
from .formats import E2M1, E4M3FN, F16, F32, number, value
from .sums import accumulated, matrix, product
from .tiles import iota, load, store

SHARED = """#sw = #ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>
#swt = #ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [0, 1]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#line1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#nv16 = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#nv16t = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = true, elementBitWidth = 16}>
#nv32 = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 32}>
#nv8 = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 8}>
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 16, colStride = 1>
#tmem8 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 8, colStride = 1>
#scales = #ttng.tensor_memory_scales_encoding<>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>
"""
BARRIER = "!ttg.memdesc<1xi64, #line1, #smem, mutable>"


def memdesc(shape, element: str, encoding: str, tail: str = ", #smem, mutable") -> str:
    return f"!ttg.memdesc<{'x'.join(map(str, shape))}x{element}, {encoding}{tail}>"


def nvidia(target: str = "cuda:90") -> Kernel:
    return Kernel(gpu=True, target=target, layouts=SHARED)


def alloc(k: Kernel, shape, element: str, encoding: str, source: str | None = None) -> str:
    made = memdesc(shape, element, encoding)
    if source is None:
        return k.emit(f"ttg.local_alloc : () -> {made}")
    return k.emit(f"ttg.local_alloc {source} : ({k.type(shape, element)}) -> {made}")


def local_load(k: Kernel, name: str, type_: str, shape, element: str) -> str:
    return k.emit(f"ttg.local_load {name} : {type_} -> {k.type(shape, element)}")


def barrier(k: Kernel, count: int = 1) -> str:
    b = alloc(k, (1,), "i64", "#line1")
    k.do(f"ttng.init_barrier {b}, {count} : {BARRIER}")
    return b


def shared() -> Cases:
    a = iota((4, 8))
    k = nvidia()
    x = load(k, a)
    m = alloc(k, (4, 8), "i32", "#sw", x)
    n = alloc(k, (4, 8), "i32", "#swt")
    y = local_load(k, m, memdesc((4, 8), "i32", "#sw"), (4, 8), "i32")
    k.do("ttg.barrier local")
    k.do(f"ttg.local_store {y}, {n} : {k.type((4, 8), 'i32')} -> {memdesc((4, 8), 'i32', '#swt')}")
    z = local_load(k, n, memdesc((4, 8), "i32", "#swt"), (4, 8), "i32")
    k.do(f"ttg.local_dealloc {m} : {memdesc((4, 8), 'i32', '#sw')}")
    store(k, z, a)
    yield k.case("op/ttg.local_load.ttgir", "Through two buffers of different swizzles: nothing changes.")

    k = nvidia()
    x = load(k, a)
    other = (
        "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], "
        "order = [0, 1]}>"
    )
    y = k.emit(f"ttg.convert_layout {x} : {k.type((4, 8), 'i32')} -> {k.type((4, 8), 'i32', other)}")
    y = k.emit(f"arith.addi {y}, {y} : {k.type((4, 8), 'i32', other)}")
    y = k.emit(f"ttg.convert_layout {y} : {k.type((4, 8), 'i32', other)} -> {k.type((4, 8), 'i32')}")
    store(k, y, 2 * a)
    yield k.case("op/ttg.convert_layout.ttgir", "Another layout and back: the elements stay where they are.")

    k = nvidia()
    auto = "#gluon.auto_encoding"
    x = k.emit(f"tt.make_range {{end = 16 : i32, start = 0 : i32}} : {k.type((16,), 'i32', auto)}")
    y = k.emit(f"gluon.set_auto_layout {x} : {k.type((16,), 'i32', auto)} -> {k.type((16,), 'i32')}")
    store(k, y, iota((16,)))
    yield k.case("op/gluon.set_auto_layout.ttgir", "A layout that was left open is settled.")

    k = nvidia()
    index = np.array([[3, 2, 1, 0, 3, 2, 1, 0], [0, 0, 0, 0, 1, 1, 1, 1], [2, 2, 2, 2, 3, 3, 3, 3], [3, 3,
    3, 3, 0, 0, 0, 0]], np.int32)  # fmt: skip
    x, i = load(k, a), load(k, index)
    m = alloc(k, (4, 8), "i32", "#sw", x)
    tensor, desc = k.type((4, 8), "i32"), memdesc((4, 8), "i32", "#sw")
    y = k.emit(f"ttg.local_gather {m}[{i}] {{axis = 0 : i32}} : {desc}, {tensor} -> {tensor}")
    store(k, y, np.take_along_axis(a, index, 0))
    turn = np.array([[(r + c) % 4 for c in range(8)] for r in range(4)], np.int32)  # permutes each column
    t = load(k, turn)
    k.do(f"ttg.local_scatter {m}[{t}], {x} {{axis = 0 : i32}} : {desc}, {tensor}, {tensor}")
    scattered = np.zeros((4, 8), np.int32)
    np.put_along_axis(scattered, turn, a, 0)
    store(k, local_load(k, m, desc, (4, 8), "i32"), scattered)
    yield k.case("op/ttg.local_gather.ttgir", "out[i, j] = m[index[i, j], j]; a scatter by a permutation.")

    k = nvidia()
    cube = iota((2, 4, 8))
    ring = alloc(
        k, (2, 4, 8), "i32", "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 1, 0]}>"
    )
    ring_type = memdesc(
        (2, 4, 8), "i32", "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 1, 0]}>"
    )
    flat = memdesc((4, 8), "i32", "#flat")
    slots = []
    for s in range(2):
        slot = k.emit(f"ttg.memdesc_index {ring}[{k.constant(s, 'i32')}] : {ring_type} -> {flat}")
        k.do(f"ttg.local_store {load(k, cube[s].copy())}, {slot} : {k.type((4, 8), 'i32')} -> {flat}")
        slots.append(slot)
    part = memdesc((2, 4), "i32", "#flat", ", #smem, mutable, 4x8")
    y = k.emit(f"ttg.memdesc_subslice {slots[1]}[2, 4] : {flat} -> {part}")
    store(k, local_load(k, y, part, (2, 4), "i32"), cube[1][2:4, 4:8].copy())
    row = k.param("i32", Scalar("i32 2"))
    y = k.emit(f"ttg.memdesc_dynamic_subslice {slots[0]}[{row}, {k.constant(4, 'i32')}] : {flat} -> {part}")
    store(k, local_load(k, y, part, (2, 4), "i32"), cube[0][2:4, 4:8].copy())
    turned = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>"
    y = k.emit(
        f"ttg.memdesc_trans {slots[1]} {{order = array<i32: 1, 0>}} : {flat} -> "
        f"{memdesc((8, 4), 'i32', turned)}"
    )
    store(k, local_load(k, y, memdesc((8, 4), "i32", turned), (8, 4), "i32"), cube[1].T.copy())
    y = k.emit(f"ttg.memdesc_reshape {slots[1]} : {flat} -> {memdesc((8, 4), 'i32', '#flat')}")
    store(k, local_load(k, y, memdesc((8, 4), "i32", "#flat"), (8, 4), "i32"), cube[1].reshape(8, 4))
    y = k.emit(f"ttg.memdesc_reinterpret {slots[1]} : {flat} -> {memdesc((4, 8), 'f32', '#flat')}")
    y = local_load(k, y, memdesc((4, 8), "f32", "#flat"), (4, 8), "f32")
    k.store(y, "f32", (4, 8), codes(cube[1]), "x32")
    about = (
        "A ring of two buffers; slices at fixed and at given places, transposed, reshaped, as another type."
    )
    yield k.case("op/ttg.memdesc_index.ttgir", about)


def copies() -> Cases:
    k = nvidia("cuda:80")
    data, mask = iota((4, 8), "f32") + 1, (np.arange(32) % 5 != 2).reshape(4, 8)
    pointer, _ = k.array("f32", (4, 8), codes(data))
    p = k.pointers(pointer, "f32", (4, 8))
    m = k.load("i1", (4, 8), [int(v) for v in mask.ravel()])
    other = k.constant("-2.000000e+00", "f32", (4, 8))
    desc = memdesc((4, 8), "f32", "#sw")
    first, second = alloc(k, (4, 8), "f32", "#sw"), alloc(k, (4, 8), "f32", "#sw")
    pointers = k.type((4, 8), "!tt.ptr<f32>")
    short = desc.removeprefix("!ttg.memdesc")
    t = k.emit(f"ttg.async_copy_global_to_local {p}, {first} mask {m} other {other} : {pointers} -> {short}")
    g = k.emit(f"ttg.async_commit_group tokens {t}")
    u = k.emit(f"ttg.async_copy_global_to_local {p}, {second} : {pointers} -> {short}")
    h = k.emit(f"ttg.async_commit_group tokens {u}")
    w = k.emit(f"ttg.async_wait {g} {{num = 1 : i32}}")
    y = k.emit(f"ttg.local_load {first} token {w} : {desc} -> {k.type((4, 8), 'f32')}")
    store(k, y, np.where(mask, data, np.float32(-2)))
    w = k.emit(f"ttg.async_wait {h} {{num = 0 : i32}}")
    y = k.emit(f"ttg.local_load {second} token {w} : {desc} -> {k.type((4, 8), 'f32')}")
    store(k, y, data)
    about = "Two groups: the older one is waited for alone; masked lanes are `other`."
    yield k.case("op/ttg.async_copy_global_to_local.ttgir", about)

    k = nvidia()
    packed = (np.arange(32, dtype=np.int32).reshape(4, 8) * 37 % 256).astype(np.uint8)
    x = k.load("i8", (4, 8), [int(v) for v in packed.ravel()])
    y = k.emit(f"ttg.fp4_to_fp {x} {{axis = 1 : i32}} : {k.type((4, 8), 'i8')} -> {k.type((4, 16), 'f16')}")
    nibbles = np.stack([packed & 15, packed >> 4], -1).reshape(4, 16)
    k.store(y, "f16", (4, 16), [F16.encode(E2M1.decode(int(v))) for v in nibbles.ravel()])
    yield k.case("op/ttg.fp4_to_fp.ttgir", "Two e2m1 values a byte, the low half first; exact in f16.")


def barriers() -> Cases:
    k = nvidia()
    x = load(k, iota((8,)))
    b = barrier(k, 2)
    true, zero, one = k.constant("true", "i1"), k.constant(0, "i32"), k.constant(1, "i32")
    for phase in (zero, one):
        k.do(f"ttng.arrive_barrier {b}, 1 : {BARRIER}")
        k.do(f"ttng.arrive_barrier {b}, 1, {true} : {BARRIER}")
        k.do(f"ttng.wait_barrier {b}, {phase} : {BARRIER}")
    m = alloc(k, (8,), "i32", "#line1")
    c = barrier(k, 128)  # each thread arrives once its copies are there
    pointer, _ = k.array("i32", (8,), codes(iota((8,)) + 5))
    p = k.pointers(pointer, "i32", (8,))
    short = memdesc((8,), "i32", "#line1").removeprefix("!ttg.memdesc")
    k.emit(f"ttg.async_copy_global_to_local {p}, {m} : {k.type((8,), '!tt.ptr<i32>')} -> {short}")
    k.do(f"ttng.async_copy_mbarrier_arrive {c} {{noIncrement}} : {BARRIER}")
    k.do(f"ttng.wait_barrier {c}, {zero}, {true} : {BARRIER}")
    y = local_load(k, m, memdesc((8,), "i32", "#line1"), (8,), "i32")
    for bar in (b, c):
        k.do(f"ttng.inval_barrier {bar} : {BARRIER}")
    y = k.emit(f"arith.addi {y}, {x} : {k.type((8,), 'i32')}")
    store(k, y, 2 * iota((8,)) + 5)
    about = "Two arrivals a phase, two phases; a barrier that asynchronous copies arrive on."
    yield k.case("op/ttng.init_barrier.ttgir", about)

    k = nvidia()
    for line in (
        "ttng.fence_mbarrier_init_release_cluster",
        "ttng.fence_async_shared {bCluster = true}",
        "ttng.cluster_arrive {relaxed = false}",
        "ttng.cluster_wait",
        "ttng.cluster_barrier {relaxed = false}",
    ):
        k.do(line)
    store(k, load(k, iota((8,))), iota((8,)))
    yield k.case("op/ttng.cluster_arrive.ttgir", "Fences and barriers of a cluster of one: nothing to do.")

    k = nvidia()
    m = alloc(k, (8,), "i32", "#line1")
    eight = memdesc((8,), "i32", "#line1")
    threads, full = k.constant(256, "i32"), k.constant(9, "i32")
    k.do(f"""ttg.warp_specialize({m})
default {{
  ttng.wait_barrier_named {full}, {threads} : i32, i32
  ttg.warp_yield
}}
partition0(%a: {eight}) num_warps(4) {{
  %n9 = arith.constant 9 : i32
  %n256 = arith.constant 256 : i32
  %v = tt.make_range {{end = 8 : i32, start = 0 : i32}} : {k.type((8,), "i32")}
  %w = arith.muli %v, %v : {k.type((8,), "i32")}
  ttg.local_store %w, %a : {k.type((8,), "i32")} -> {eight}
  ttng.arrive_barrier_named %n9, %n256 : i32, i32
  ttg.warp_return
}} : ({eight}) -> ()""")
    store(k, local_load(k, m, eight, (8,), "i32"), iota((8,)) ** 2)
    about = "A partition writes and arrives at a named barrier; the default region waits there and reads."
    yield k.case("op/ttg.warp_specialize.ttgir", about)


def descriptors() -> Cases:
    zero = np.zeros((4, 8), np.float32)

    def setup(data: np.ndarray, after=None, rows: int = 4) -> tuple[Kernel, str, str]:
        k = nvidia()
        k.params += [
            f"%d: !tt.tensordesc<{rows}x8xf32, #nv32>",
            "%d0: i32",
            "%d1: i32",
            "%s0: i64",
            "%s1: i64",
        ]
        k.args.append(Array("f32", data.shape, codes(data), None if after is None else codes(after), True))
        k.args += [
            Scalar(f"i32 {data.shape[0]}"),
            Scalar(f"i32 {data.shape[1]}"),
            Scalar(f"i64 {data.shape[1]}"),
            Scalar("i64 1"),
        ]
        return k, "%d", f"!tt.tensordesc<{rows}x8xf32, #nv32>"

    data = iota((5, 10), "f32") + 1
    k, d, type_ = setup(data)
    b, desc = barrier(k), memdesc((4, 8), "f32", "#nv32")
    true = k.constant("true", "i1")
    k.do(f"ttng.prefetch_tensormap {d} : {type_}")
    k.do(f"ttng.async_tma_prefetch {d}[{k.constant(0, 'i32')}, {k.constant(0, 'i32')}], {true} : {type_}")
    m = alloc(k, (4, 8), "f32", "#nv32")
    for phase, at in enumerate(((3, 4), (-1, -4))):
        i, j = (k.constant(v, "i32") for v in at)
        k.do(f"ttng.barrier_expect {b}, 128, {true} : {BARRIER}")
        k.do(
            f"ttng.async_tma_copy_global_to_local {d}[{i}, {j}] {m}, {b}, {true} : {type_}, "
            f"{BARRIER} -> {desc}"
        )
        k.do(f"ttng.wait_barrier {b}, {k.constant(phase, 'i32')} : {BARRIER}")
        wanted = zero.copy()
        for r, c in np.ndindex(4, 8):
            if 0 <= at[0] + r < 5 and 0 <= at[1] + c < 10:
                wanted[r, c] = data[at[0] + r, at[1] + c]
        store(k, local_load(k, m, desc, (4, 8), "f32"), wanted)
    yield k.case("op/ttng.async_tma_copy_global_to_local.ttgir", "Blocks over either edge: outside is 0.")

    after = data.copy()
    tile = iota((4, 8), "f32") - 9
    after[3:5, 4:10] = tile[:2, :6]
    after[0:4, 0:8] += tile
    k, d, type_ = setup(data, after)
    m = alloc(k, (4, 8), "f32", "#nv32", load(k, tile))
    i, j, z = (k.constant(v, "i32") for v in (3, 4, 0))
    k.do("ttng.fence_async_shared {bCluster = false}")
    k.do(f"ttng.async_tma_copy_local_to_global {d}[{i}, {j}] {m} : {type_}, {desc}")
    k.do("ttng.async_tma_store_wait {pendings = 0 : i32}")
    t = k.emit(f"ttng.async_tma_reduce add, {d}[{z}, {z}] {m} : {type_}, {desc} -> !ttg.async.token")
    k.do(f"ttng.async_tma_store_token_wait {t} : !ttg.async.token")
    yield k.case("op/ttng.async_tma_copy_local_to_global.ttgir", "A store over the corner, then a reduction.")

    rows = np.array([3, 0, 4, 9], np.int32)
    after = data.copy()
    for r, v in zip((1, 2, 4), (tile[0], tile[1], tile[3]), strict=True):
        after[r, 2:10] = v
    k, d, type_ = setup(data, after, rows=1)
    b, true = barrier(k), k.constant("true", "i1")
    column = k.constant(2, "i32")
    gathered = alloc(k, (4, 8), "f32", "#nv32")
    r = k.load("i32", (4,), codes(rows))
    k.do(f"ttng.barrier_expect {b}, 128, {true} : {BARRIER}")
    index = k.type((4,), "i32")
    k.do(
        f"ttng.async_tma_gather {d}[{r}, {column}] {gathered}, {b}, {true} : {type_}, {index}, i32, "
        f"{BARRIER}, {desc}, i1"
    )
    k.do(f"ttng.wait_barrier {b}, {k.constant(0, 'i32')} : {BARRIER}")
    wanted = np.stack([data[row, 2:10] if row < 5 else zero[0] for row in rows])
    store(k, local_load(k, gathered, desc, (4, 8), "f32"), wanted)
    m = alloc(k, (4, 8), "f32", "#nv32", load(k, tile))
    to = k.load("i32", (4,), codes(np.array([1, 2, 7, 4], np.int32)))
    k.do(f"ttng.async_tma_scatter {d}[{to}, {column}] {m} : {type_}, {index}, i32, {desc}")
    k.do("ttng.async_tma_store_wait {pendings = 0 : i32}")
    yield k.case(
        "op/ttng.async_tma_gather.ttgir", "Rows by index and back; rows that are not there: 0, dropped."
    )

    k = nvidia()
    pointer, _ = k.array("f32", (5, 10), codes(data))
    b, true, c0 = barrier(k), k.constant("true", "i1"), k.constant(0, "i32")
    c = {v: k.constant(v, "i32") for v in (1, 3, 4, 5, 8, 10)}
    stride = k.constant(40, "i64")
    raw = k.emit("ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : !tt.ptr<i8>")
    k.do(
        f"ttng.tensormap_create {raw}, {pointer}, [{c[8]}, {c[4]}], [{c[10]}, {c[5]}], [{stride}], "
        f"[{c[1]}, {c[1]}] "
        "{elem_type = 7 : i32, fill_mode = 1 : i32, interleave_layout = 0 : i32, swizzle_mode = 1 : i32} : "
        "(!tt.ptr<i8>, !tt.ptr<f32>, i32, i32, i32, i32, i64, i32, i32) -> ()"
    )
    k.do(f"ttng.tensormap_fenceproxy_acquire {raw} : !tt.ptr<i8>")
    type_ = "!tt.tensordesc<4x8xf32, #nv32>"
    d = k.emit(f"ttng.reinterpret_tensor_descriptor {raw} : !tt.ptr<i8> to {type_}")
    m = alloc(k, (4, 8), "f32", "#nv32")
    k.do(f"ttng.barrier_expect {b}, 128, {true} : {BARRIER}")
    k.do(
        f"ttng.async_tma_copy_global_to_local {d}[{c[3]}, {c[4]}] {m}, {b}, {true} : {type_}, "
        f"{BARRIER} -> {desc}"
    )
    k.do(f"ttng.wait_barrier {b}, {c0} : {BARRIER}")
    wanted = np.full((4, 8), np.nan, np.float32)
    wanted[:2, :6] = data[3:5, 4:10]
    store(k, local_load(k, m, desc, (4, 8), "f32"), wanted)
    yield k.case("op/ttng.tensormap_create.ttgir", "A descriptor made in scratch memory, NaN outside.")


def products() -> Cases:
    m, n, kk = 64, 16, 16
    a, b, c = matrix(F16, (m, kk), "wa"), matrix(F16, (kk, n), "wb"), matrix(F32, (m, n), "wc")

    k = nvidia()
    x, y = k.load("f16", (m, kk), a), k.load("f16", (kk, n), b)
    z = k.load("f32", (m, n), c)
    s, t = alloc(k, (m, kk), "f16", "#nv16", x), alloc(k, (kk, n), "f16", "#nv16", y)
    blocked, mma = k.type((m, n), "f32"), k.type((m, n), "f32", "#mma")
    z = k.emit(f"ttg.convert_layout {z} : {blocked} -> {mma}")
    left, right = memdesc((m, kk), "f16", "#nv16"), memdesc((kk, n), "f16", "#nv16")
    k.do("ttng.fence_async_shared {bCluster = false}")
    r = k.emit(
        f"ttng.warp_group_dot {s}, {t}, {z} {{inputPrecision = 0 : i32, isAsync = true}} : {left} * "
        f"{right} -> {mma}"
    )
    r = k.emit(f"ttng.warp_group_dot_wait {r} {{pendings = 0 : i32}} : {mma}")
    r = k.emit(f"ttg.convert_layout {r} : {mma} -> {blocked}")
    k.store(r, "f32", (m, n), accumulated(F16, a, b, F32, c, m, n, kk))
    yield k.case("op/ttng.warp_group_dot.ttgir", "wgmma from shared memory; sums are exact.")

    m = 128
    a, c = matrix(F16, (m, kk), "ta"), matrix(F32, (m, n), "tc")
    tensor_memory = ", #ttng.tensor_memory, mutable"
    acc = memdesc((m, n), "f32", "#tmem", tensor_memory)
    k = nvidia("cuda:100")
    x, y, z = k.load("f16", (m, kk), a), k.load("f16", (kk, n), b), k.load("f32", (m, n), c)
    left, right = memdesc((m, kk), "f16", "#nv16"), memdesc((kk, n), "f16", "#nv16")
    s, t = alloc(k, (m, kk), "f16", "#nv16", x), alloc(k, (kk, n), "f16", "#nv16", y)
    d = k.emit(f"ttng.tmem_alloc {z} : ({k.type((m, n), 'f32')}) -> {acc}")
    bar, true, zero = barrier(k), k.constant("true", "i1"), k.constant(0, "i32")
    k.do(f"ttng.tc_gen5_mma {s}, {t}, {d}, {true}, {true} {{is_async}} : {left}, {right}, {acc}")
    k.do(f"ttng.tc_gen5_commit {bar} : {BARRIER}")
    k.do(f"ttng.wait_barrier {bar}, {zero} : {BARRIER}")
    r = k.emit(f"ttng.tmem_load {d} : {acc} -> {k.type((m, n), 'f32')}")
    k.store(r, "f32", (m, n), accumulated(F16, a, b, F32, c, m, n, kk))
    yield k.case("op/ttng.tc_gen5_mma.ttgir", "tcgen05 on an accumulator in tensor memory, and a commit.")

    k = nvidia("cuda:100")
    grid = iota((m, n), "f32")
    x = load(k, grid)
    d = k.emit(f"ttng.tmem_alloc : () -> {acc}")
    true = k.constant("true", "i1")
    k.do(f"ttng.tmem_store {x}, {d}, {true} : {k.type((m, n), 'f32')} -> {acc}")
    half = memdesc((m, 8), "f32", "#tmem8", tensor_memory + ", 128x16")
    part = k.emit(f"ttng.tmem_subslice {d} {{N = 8 : i32}} : {acc} -> {half}")
    r = k.emit(f"ttng.tmem_load {part} : {half} -> {k.type((m, 8), 'f32')}")
    k.do("ttng.tmem_wait load")
    store(k, r, grid[:, 8:].copy())
    s = alloc(k, (m, n), "f32", "#nv32", k.emit(f"arith.addf {x}, {x} : {k.type((m, n), 'f32')}"))
    k.do(f"ttng.tmem_copy {s}, {d} : {memdesc((m, n), 'f32', '#nv32')}, {acc}")
    r = k.emit(f"ttng.tmem_load {d} : {acc} -> {k.type((m, n), 'f32')}")
    store(k, r, grid * 2)
    yield k.case(
        "op/ttng.tmem_load.ttgir", "Tensor memory: stored, its right half, copied from shared memory."
    )

    depth = 64
    a, b = matrix(E4M3FN, (m, depth), "sa"), matrix(E4M3FN, (depth, n), "sb")
    generator = np.random.default_rng(17)
    sa, sb = generator.integers(125, 130, (m, 2)), generator.integers(125, 130, (n, 2))
    exact = product(
        [value(E4M3FN.decode(v)) for v in a], [value(E4M3FN.decode(v)) for v in b], m, n, depth,
        lambda i, q, j: Fraction(2) ** int(sa[i, q // 32] + sb[j, q // 32] - 254),
    )  # fmt: skip
    k = nvidia("cuda:100")
    x, y = k.load("f8E4M3FN", (m, depth), a), k.load("f8E4M3FN", (depth, n), b)
    left, right = memdesc((m, depth), "f8E4M3FN", "#nv8"), memdesc((depth, n), "f8E4M3FN", "#nv8")
    s, t = alloc(k, (m, depth), "f8E4M3FN", "#nv8", x), alloc(k, (depth, n), "f8E4M3FN", "#nv8", y)
    scales = []
    for rows, data in ((m, sa), (n, sb)):
        v = k.load("i8", (rows, 2), [int(e) for e in data.ravel()])
        type_ = memdesc((rows, 2), "i8", "#scales", ", #ttng.tensor_memory")
        scales.append((k.emit(f"ttng.tmem_alloc {v} : ({k.type((rows, 2), 'i8')}) -> {type_}"), type_))
    d = k.emit(f"ttng.tmem_alloc : () -> {acc}")
    bar, true, false, zero = (
        barrier(k),
        k.constant("true", "i1"),
        k.constant("false", "i1"),
        k.constant(0, "i32"),
    )
    k.do(
        f"ttng.tc_gen5_mma_scaled {s}, {t}, {d}, {scales[0][0]}, {scales[1][0]}, {false}, {true} "
        f"lhs = e4m3 rhs = e4m3, "
        f"{bar}[{true}] {{is_async}} : {left}, {right}, {acc}, {scales[0][1]}, {scales[1][1]}, {BARRIER}"
    )
    k.do(f"ttng.wait_barrier {bar}, {zero} : {BARRIER}")
    r = k.emit(f"ttng.tmem_load {d} : {acc} -> {k.type((m, n), 'f32')}")
    k.store(r, "f32", (m, n), [F32.encode(number(e)) for e in exact])
    yield k.case("op/ttng.tc_gen5_mma_scaled.ttgir", "e4m3 with scales in tensor memory; sums are exact.")


def unsigned_products() -> Cases:
    m, n, depth = 128, 16, 32
    a = np.arange(m * depth, dtype=np.uint8).reshape(m, depth)
    b = (np.arange(depth * n, dtype=np.uint32) * 7 % 256).astype(np.uint8).reshape(depth, n)
    for flag, kind in (("{is_unsigned}", np.uint8), ("", np.int8)):
        k = nvidia("cuda:100")
        x, y = load(k, a.view(np.int8)), load(k, b.view(np.int8))
        left, right = memdesc((m, depth), "i8", "#nv8"), memdesc((depth, n), "i8", "#nv8")
        acc = memdesc((m, n), "i32", "#tmem", ", #ttng.tensor_memory, mutable")
        s, t = alloc(k, (m, depth), "i8", "#nv8", x), alloc(k, (depth, n), "i8", "#nv8", y)
        d = k.emit(f"ttng.tmem_alloc : () -> {acc}")
        false, true = k.constant("false", "i1"), k.constant("true", "i1")
        k.do(f"ttng.tc_gen5_mma {s}, {t}, {d}, {false}, {true} {flag} : {left}, {right}, {acc}")
        r = k.emit(f"ttng.tmem_load {d} : {acc} -> {k.type((m, n), 'i32')}")
        store(k, r, a.view(kind).astype(np.int32) @ b.view(kind).astype(np.int32))
        name = "unsigned" if flag else "signed"
        yield k.case(f"tile-gpu/tcgen05-bytes-{name}.ttgir", f"A product of {name} bytes.")


def cases() -> Cases:
    for family in (shared, copies, barriers, descriptors, products, unsigned_products):
        yield from family()
