"""Cases of amdg: buffers, upcasts, barriers, the tensor data mover, and where AMD's layouts put elements."""
# ruff: noqa: E501 (lines of IR are as long as they are)

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .builder import Kernel
from .casefile import Array, Cases, codes
from .formats import BF16, E2M1, E4M3FN, wrap
from .gpu import BARRIER, SHARED, alloc, local_load, memdesc
from .machine_ops import BAR, ONE, TWO
from .tiles import iota, load, store


def buffers_and_values() -> Cases:
    def kernel() -> Kernel:
        return Kernel(gpu=True, target="hip:gfx950", layouts=SHARED)

    data, mask = iota((4, 8), "f32") + 1, (np.arange(32) % 5 != 2).reshape(4, 8)
    k = kernel()
    pointer, _ = k.array("f32", (4, 8), codes(data))
    out, _ = k.array("f32", (4, 8), None, codes(np.where(mask, data, np.float32(0))))
    o, m = k.offsets((4, 8)), k.load("i1", (4, 8), [int(v) for v in mask.ravel()])
    tensor = k.type((4, 8), "f32")
    other = k.constant("-2.000000e+00", "f32", (4, 8))
    v = k.emit(f"amdg.buffer_load {pointer}[{o}], {m}, {other} : !tt.ptr<f32> -> {tensor}")
    store(k, v, np.where(mask, data, np.float32(-2)))
    k.do(f"amdg.buffer_store {v}, {out}[{o}], {m} : !tt.ptr<f32> -> {tensor}")
    yield k.case("op/amdg.buffer_load.ttgir", "A base and offsets; masked lanes read `other`, store nothing.")

    k = kernel()
    before = (np.arange(8) * 3).astype(np.int32)
    values = np.array([5, -1, 100, 7, 0, 30, 18, 2], np.int32)
    x, o = load(k, values), k.range(8)
    tensor = k.type((8,), "i32")
    for kind, after in (("add", before + values), ("max", np.maximum(before, values))):
        pointer, _ = k.array("i32", (8,), codes(before), codes(after.astype(np.int32)))
        r = k.emit(
            f"amdg.buffer_atomic_rmw {kind}, acq_rel, gpu, {x}, {pointer}[{o}] : !tt.ptr<i32> -> {tensor}"
        )
        store(k, r, before)
    compare = np.where(np.arange(8) % 2 == 0, before, -9).astype(np.int32)
    pointer, _ = k.array(
        "i32", (8,), codes(before), codes(np.where(compare == before, values, before).astype(np.int32))
    )
    c = load(k, compare)
    r = k.emit(f"amdg.buffer_atomic_cas acq_rel, gpu, {c}, {x}, {pointer}[{o}] : !tt.ptr<i32> -> {tensor}")
    store(k, r, before)
    yield k.case("op/amdg.buffer_atomic_rmw.ttgir", "add, max, and a swap where it equals: old values too.")

    k = kernel()
    x = load(k, iota((4, 8)))
    tensor, half = k.type((4, 8), "i32"), k.type((4, 4), "i32")
    right = k.emit(f"amdg.extract_slice {x} [0, 4] : {tensor} to {half}")
    left = k.emit(f"amdg.extract_slice {x} [0, 0] : {tensor} to {half}")
    y = k.emit(f"amdg.concat {right}, {left} : {half}, {half} -> {tensor}")
    y = k.emit(f"amdg.in_thread_transpose {y} : {tensor} -> {tensor}")
    y = k.emit(f"amdg.assume_uniform {y} : {tensor}")
    store(k, y, np.roll(iota((4, 8)), 4, 1))
    about = "The halves exchanged; a transposition within threads and a hint keep the elements."
    yield k.case("op/amdg.extract_slice.ttgir", about)

    k = kernel()
    pointer, _ = k.array("f32", (4, 8), codes(data))
    o = k.offsets((4, 8))
    dest, desc = alloc(k, (4, 8), "f32", "#flat"), memdesc((4, 8), "f32", "#flat")
    m = k.load("i1", (4, 8), [int(v) for v in mask.ravel()])
    other = k.constant("-2.000000e+00", "f32", (4, 8))
    offsets, tensor = k.type((4, 8), "i32"), k.type((4, 8), "f32")
    t = k.emit(
        f"amdg.buffer_load_to_local {pointer}[{o}] mask = {m} other = {other} into {dest} : "
        f"!tt.ptr<f32>[{offsets}] "
        f"{tensor} -> {desc.removeprefix('!ttg.memdesc')}"
    )
    g = k.emit(f"ttg.async_commit_group tokens {t}")
    k.emit(f"amdg.async_wait {g} {{num_inst = 0 : i32}}")
    store(k, local_load(k, dest, desc, (4, 8), "f32"), np.where(mask, data, np.float32(-2)))
    yield k.case("op/amdg.buffer_load_to_local.ttgir", "Straight to shared memory, waited for.")

    k = kernel()
    bytes_ = np.arange(32, dtype=np.int32).reshape(4, 8) * 29 % 256
    x = k.load("i8", (4, 8), [int(v) for v in bytes_.ravel()])
    scales = [BF16.encode((0, Fraction(2) ** int(e))) for e in (np.arange(64) % 9 - 4)]
    s = k.load("bf16", (4, 16), scales)
    tensor = k.type((4, 16), "bf16")
    y = k.emit(
        f"amdg.scaled_upcast_fp4 {x} scale {s} {{axis = 1 : i32}} : {k.type((4, 8), 'i8')}, "
        f"{tensor} -> {tensor}"
    )
    nibbles = np.stack([bytes_ & 15, bytes_ >> 4], -1).ravel()
    scaled = [(E2M1.decode(int(v)), BF16.decode(c)) for v, c in zip(nibbles, scales, strict=True)]
    k.store(y, "bf16", (4, 16), [BF16.encode((v[0], v[1] * c[1])) for v, c in scaled])
    codes8 = [int(v) for v in (np.arange(64) * 3 + 1) % 127]
    x = k.load("f8E4M3FN", (4, 16), codes8)
    y = k.emit(f"amdg.scaled_upcast_fp8 {x} scale {s} : {k.type((4, 16), 'f8E4M3FN')}, {tensor} -> {tensor}")
    scaled = [(E4M3FN.decode(v), BF16.decode(c)) for v, c in zip(codes8, scales, strict=True)]
    k.store(y, "bf16", (4, 16), [BF16.encode((v[0], v[1] * c[1])) for v, c in scaled])
    yield k.case(
        "op/amdg.scaled_upcast_fp8.ttgir", "e2m1 and e4m3 times a power of two for each element: exact."
    )

    k = kernel()
    b = alloc(k, (1,), "i64", "#line1")
    k.do(f"amdg.init_barrier {b}, 1 : {BARRIER}")
    zero = k.constant(0, "i32")
    before = k.emit(f"amdg.read_barrier_phase {b} : {BARRIER} -> i32")
    prior = k.emit(f"amdg.arrive_barrier {b}, 1 : {BARRIER} -> i32")
    k.do(f"amdg.wait_barrier {b}, {zero} : {BARRIER}")
    after = k.emit(f"amdg.read_barrier_phase {b} : {BARRIER} -> i32")
    for name, wanted in ((before, 0), (prior, 0), (after, 1)):
        k.store(name, "i32", (), [wanted])
    k.store(k.constant(5, "i32"), "i32", (), [5])
    yield k.case("op/amdg.init_barrier.ttgir", "One arrival turns the phase from 0 to 1.")

    k = kernel()
    true = k.constant("true", "i1")
    k.do(f"amdg.cond_barrier {true}")
    for line in (
        "s.setprio 1",
        "sched.barrier 0",
        "sched.barrier non_mem_non_sideeffect",
        "s.barrier",
        "barrier",
    ):
        k.do(f"rocdl.{line}")
    k.do("rocdl.sched.group.barrier 8, 1, 0")
    k.do("rocdl.sched.group.barrier mfma_wmma|all_ds, 1, 0")
    k.do("amdg.memory_counter_wait load(1) ds(0)")
    thread = k.emit("rocdl.workitem.id.x : i32")  # half of the warps begin later, and the other half ends later
    half = k.emit(f"arith.divsi {thread}, {k.constant(64, 'i32')} : i32")
    later = k.emit(f"arith.cmpi ne, {half}, {k.constant(0, 'i32')} : i32")
    k.do(f"amdg.cond_barrier {later}")
    k.do("amdg.instruction_sched_hint {variant = 0 : i32}")
    k.do("amdg.cluster_barrier_arrive")
    k.do("amdg.cluster_barrier_wait")
    store(k, load(k, iota((8,))), iota((8,)))
    yield k.case("op/amdg.cond_barrier.ttgir", "Barriers, waits and hints that one thread does not need.")


def tdm() -> Cases:
    memory = "!ttg.memdesc<4x4xi32, #two, #smem, mutable>"
    desc = "!tt.tensordesc<4x4xi32, #two>"
    data = [wrap(2 * i - 9, 32) for i in range(64)]

    def at(r: int, c: int, rows: int = 8, cols: int = 8) -> int:
        return data[8 * r + c] if 0 <= r < rows and 0 <= c < cols else 0

    def start() -> Kernel:
        return Kernel(gpu=True, target="hip:gfx1250", layouts=TWO)

    tile = "tensor<4x4xi32, #blocked>"
    kernel = start()
    kernel.param(desc, Array("i32", (8, 8), data, None, descriptor=True))
    kernel.do(f"""
%c2 = arith.constant 2 : i32
%c5 = arith.constant 5 : i32
%c6 = arith.constant 6 : i32
%c3 = arith.constant 3 : i32
%off = arith.constant false
%on = arith.constant true
%m0 = ttg.local_alloc : () -> {memory}
%m1 = ttg.local_alloc : () -> {memory}
%m2 = ttg.local_alloc : () -> {memory}
%d0 = amdg.update_tensor_descriptor %p0 add_offsets = [%c2, %c5] {{clamp_bounds}} : {desc}
%d1 = amdg.update_tensor_descriptor %p0 set_bounds = [%c3, %c2] pred = %on : {desc}
%d2 = amdg.update_tensor_descriptor %p0 pred = %off : {desc}
%t0 = amdg.async_tdm_copy_global_to_local %d0 into %m0 : {desc} -> {memory}
%t1 = amdg.async_tdm_copy_global_to_local %d1 into %m1 : {desc} -> {memory}
%t2 = amdg.async_tdm_copy_global_to_local %d2 into %m2 : {desc} -> {memory}
%early = ttg.local_load %m0 : {memory} -> {tile}
%w0 = amdg.async_tdm_wait %t0 {{num = 2 : i32}}
%v0 = ttg.local_load %m0 : {memory} -> {tile}
%before = ttg.local_load %m1 : {memory} -> {tile}
%w1 = amdg.async_tdm_intrinsic_wait {{count = 0 : i32}}
%v1 = ttg.local_load %m1 : {memory} -> {tile}
%v2 = ttg.local_load %m2 : {memory} -> {tile}""")
    nothing = [wrap(-1, 32)] * 16
    kernel.store("%early", "i32", (4, 4), nothing)
    kernel.store("%v0", "i32", (4, 4), [at(2 + r, 5 + c) for r in range(4) for c in range(4)])
    kernel.store("%before", "i32", (4, 4), nothing)
    kernel.store("%v1", "i32", (4, 4), [at(r, c, 3, 2) for r in range(4) for c in range(4)])
    kernel.store("%v2", "i32", (4, 4), nothing)
    yield kernel.case(
        "op/amdg.async_tdm_copy_global_to_local.ttgir",
        "Tiles through moved, bounded and switched-off descriptors; seen after their waits.",
    )

    kernel = start()
    x = kernel.load("i32", (4, 4), data[:16])
    full = list(data)
    for r in range(4):
        for c in range(4):
            if 6 + r < 8 and 1 + c < 8:
                full[8 * (6 + r) + 1 + c] = data[4 * r + c]
    kernel.param(desc, Array("i32", (8, 8), data, full, descriptor=True))
    # Rows 7 and 1; 8 is outside.
    rows = [7, 1, 8, 2]
    scattered = list(data)
    for i, r in enumerate(rows):
        if r < 8:
            scattered[8 * r : 8 * r + 4] = data[4 * i : 4 * i + 4]
    kernel.param(desc, Array("i32", (8, 8), data, scattered, descriptor=True))
    copied, _ = kernel.array("i32", (4, 4), None, data[:16])
    where = kernel.pointers(copied, "i32", (4, 4))
    kernel.do(f"""
%c6 = arith.constant 6 : i32
%c1 = arith.constant 1 : i32
%m = ttg.local_alloc {x} : ({tile}) -> {memory}
%g = ttg.local_alloc : () -> {memory}
%d = amdg.update_tensor_descriptor %p1 add_offsets = [%c6, %c1] {{clamp_bounds}} : {desc}
amdg.async_tdm_copy_local_to_global %d from %m : {memory} -> {desc}
%rows = arith.constant dense<{rows}> : tensor<4xi32, #line>
%s = amdg.async_tdm_scatter %p2[%rows] from %m : tensor<4xi32, #line>, {memory} -> {desc}
%w = amdg.async_tdm_wait {{num = 0 : i32}}
%k = amdg.async_tdm_gather %p2[%rows] to %g : tensor<4xi32, #line>, {memory} -> {desc}
%w2 = amdg.async_tdm_wait %k {{num = 0 : i32}}
%v = ttg.local_load %g : {memory} -> {tile}
%token = amdg.async_copy_local_to_global %m, {where} : {memory} -> tensor<4x4x!tt.ptr<i32>, #blocked>
%group = ttg.async_commit_group tokens %token
%done = ttg.async_wait %group {{num = 0 : i32}}""")
    kernel.store(
        "%v", "i32", (4, 4), [data[4 * i + c] if r < 8 else 0 for i, r in enumerate(rows) for c in range(4)]
    )
    yield kernel.case(
        "op/amdg.async_tdm_scatter.ttgir", "A tile and rows to global memory, clipped, and gathered again."
    )

    kernel = start()
    kernel.param(desc, Array("i32", (8, 8), data, None, descriptor=True))
    full = list(data)
    for r in range(2):
        for c in range(4):
            full[8 * (6 + r) + 1 + c] = at(2 + r, 5 + c)
    for i, r in enumerate(rows):
        for c in range(2):
            if r < 8:
                full[8 * r + 6 + c] = at(2 + i, 5 + c)
    kernel.param(desc, Array("i32", (8, 8), data, full, descriptor=True))
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%c2 = arith.constant 2 : i32
%c5 = arith.constant 5 : i32
%c6 = arith.constant 6 : i32
%on = arith.constant true
%m0 = ttg.local_alloc : () -> {memory}
%m1 = ttg.local_alloc : () -> {memory}
%m2 = ttg.local_alloc : () -> {memory}
%g = ttg.local_alloc : () -> {memory}
%t0 = amdg.async_tdm_copy_global_to_local %p0[%c2, %c5] into %m0, %on : {desc} -> {memory}
%t1 = amdg.async_tdm_copy_global_to_local %p0[%c2, %c5] into %m1, pred = %c1 : {desc} -> {memory}
%t2 = amdg.async_tdm_copy_global_to_local %p0[%c2, %c5] into %m2, pred = %c0 : {desc} -> {memory}
%w0 = amdg.async_tdm_wait {{num = 0 : i32}}
amdg.async_tdm_copy_local_to_global %p1[%c6, %c1] from %m0 : {memory} -> {desc}
%rows = arith.constant dense<{rows}> : tensor<4xi32, #line>
%s = amdg.async_tdm_scatter %p1[%rows, %c6] from %m0 : tensor<4xi32, #line>, {memory} -> {desc}
%k = amdg.async_tdm_gather %p0[%rows, %c5] to %g : tensor<4xi32, #line>, {memory} -> {desc}
%w1 = amdg.async_tdm_wait {{num = 0 : i32}}""")
    moved = [at(2 + r, 5 + c) for r in range(4) for c in range(4)]
    gathered = [at(r, 5 + c) for r in rows for c in range(4)]
    for buffer, want in (("%m0", moved), ("%m1", moved), ("%m2", nothing), ("%g", gathered)):
        kernel.do(f"{buffer}v = ttg.local_load {buffer} : {memory} -> {tile}")
        kernel.store(f"{buffer}v", "i32", (4, 4), want)
    yield kernel.case(
        "op/amdg.async_tdm-indices.ttgir",
        "Copies that say where the tile begins, as 3.6, 3.7 and Meta's fork write them.",
    )

    kernel = start()
    kernel.param(desc, Array("i32", (8, 8), data, None, descriptor=True))
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%c4 = arith.constant 4 : i32
%on = arith.constant true
%m0 = ttg.local_alloc : () -> {memory}
%m1 = ttg.local_alloc : () -> {memory}
%bar = ttg.local_alloc : () -> {BAR}
amdg.init_barrier %bar, 4 : {BAR}
%d1 = amdg.update_tensor_descriptor %p0 add_offsets = [%c0, %c4] {{clamp_bounds}} : {desc}
amdg.tdm_prefetch %d1[%c0, %c0], %on, speculative = false : {desc}
%t = amdg.async_tdm_fused_copy_global_to_local %p0, %d1 into %m0, %m1, barrier = %bar {{warp_used_hints = array<i32: 3, 12>}} : {desc}, {desc}, {BAR} -> {memory}, {memory}
amdg.wait_barrier %bar, %c0 : {BAR}
%copies = ttg.local_alloc : () -> {BAR}
amdg.init_barrier %copies, 128 : {BAR}
amdg.async_copy_mbarrier_arrive %copies {{noIncrementPendingCount}} : {BAR}
%v0 = ttg.local_load %m0 : {memory} -> {tile}
%v1 = ttg.local_load %m1 : {memory} -> {tile}""")
    kernel.store("%v0", "i32", (4, 4), [at(r, c) for r in range(4) for c in range(4)])
    kernel.store("%v1", "i32", (4, 4), [at(r, 4 + c) for r in range(4) for c in range(4)])
    yield kernel.case(
        "op/amdg.async_tdm_fused_copy_global_to_local.ttgir",
        "Two tiles in one copy that arrives at a barrier, once a warp.",
    )


def packed_transposed() -> Cases:
    kernel = Kernel(gpu=True, target="hip:gfx950", layouts=TWO)
    # 8 x 16 four-bit values, pairs of them along the rows' dimension; then along the columns'.
    value = [[(3 * r + 5 * c) % 16 for c in range(16)] for r in range(8)]
    packed_rows = [value[2 * r][c] | value[2 * r + 1][c] << 4 for r in range(4) for c in range(16)]
    packed_cols = [value[r][2 * c] | value[r][2 * c + 1] << 4 for r in range(8) for c in range(8)]
    x = kernel.load("i8", (4, 16), packed_rows)
    memory = "!ttg.memdesc<4x16xi8, #two, #smem, mutable>"
    m = kernel.emit(f"ttg.local_alloc {x} : (tensor<4x16xi8, #blocked>) -> {memory}")
    v = kernel.emit(f"amdg.local_load_packed_tranposed {m} : {memory} -> tensor<8x8xi8, #blocked>")
    kernel.store(v, "i8", (8, 8), packed_cols)
    y = kernel.load("i8", (8, 8), packed_cols)
    other = "!ttg.memdesc<8x8xi8, #two, #smem, mutable>"
    n = kernel.emit(f"ttg.local_alloc {y} : (tensor<8x8xi8, #blocked>) -> {other}")
    w = kernel.emit(f"amdg.local_load_packed_transposed {n} : {other} -> tensor<4x16xi8, #blocked>")
    kernel.store(w, "i8", (4, 16), packed_rows)
    yield kernel.case(
        "op/amdg.local_load_packed_transposed.ttgir",
        "Pairs of four-bit values change the dimension that they share bytes along.",
    )


def partitioned_memory() -> Cases:
    """Pieces along a dimension lie one behind the other, whatever the layout of a piece."""
    inner = {
        "swizzled": "#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 2, order = [1, 0]}>",
        "padded": "#ttg.padded_shared<[16:+4] {order = [1, 0], shape = [2, 8]}>",
    }
    data = np.arange(64, dtype=np.int32).reshape(8, 8)
    for name, layout in inner.items():
        layouts = (
            f"#inner = {layout}\n#parts = #ttg.partitioned_shared<{{numPartitions = 2, numGroups = 2, "
            "partitionDim = 0, partitionLayout = #inner}>\n"
        )
        k = Kernel(gpu=True, target="hip:gfx1250", layouts=SHARED + layouts)
        m = alloc(k, (8, 8), "i32", "#parts", load(k, data))
        whole, rows = (
            memdesc((8, 8), "i32", "#parts"),
            memdesc((4, 8), "i32", "#parts", ", #smem, mutable, 8x8"),
        )
        store(k, local_load(k, m, whole, (8, 8), "i32"), data)
        part = k.emit(f"ttg.memdesc_subslice {m} [4, 0] : {whole} -> {rows}")
        store(k, local_load(k, part, rows, (4, 8), "i32"), data[4:])
        k.do(f"ttg.local_store {load(k, data[:4] + 100)}, {part} : {k.type((4, 8), 'i32')} -> {rows}")
        store(k, local_load(k, m, whole, (8, 8), "i32"), np.concatenate([data[:4], data[:4] + 100]))
        about = f"Partitions of shared memory whose pieces are {name}: whole, and a slice of it."
        yield k.case(f"tile-gpu/partitioned-{name}.ttgir", about)


def layouts_of_memory() -> Cases:
    """Tests where elements lie: a buffer written in one layout and read as the bytes that it is."""
    rows, cols = 8, 8
    data = [10 * r + c for r in range(rows) for c in range(cols)]

    def padded(r: int, c: int) -> int:
        offset = cols * r + c
        return offset + offset // 8 * 4

    def rotated(r: int, c: int) -> int:
        # vec 2, perPhase 1, maxPhase 4: column pairs change places by phase and number of the group of rows
        phase = (r % 4) ^ (r // 4 % 4)
        return cols * r + ((c // 2) ^ phase) * 2 + c % 2

    for name, encoding, size, place in (
        ("padded", "#ttg.padded_shared<[8:+4] {order = [1, 0], shape = [8, 8]}>", 64, padded),
        (
            "rotating",
            "#ttg.amd_rotating_shared<{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}>",
            64,
            rotated,
        ),
    ):
        kernel = Kernel(gpu=True, target="hip:gfx950", layouts=ONE + f"#layout = {encoding}\n")
        x = kernel.load("i32", (rows, cols), data)
        raw, written = [0] * size, ["false"] * size
        for r in range(rows):
            for c in range(cols):
                if place(r, c) < size:
                    raw[place(r, c)], written[place(r, c)] = data[cols * r + c], "true"
        t = kernel.type((rows, cols), "i32")
        whole = "!ttg.memdesc<8x8xi32, #layout, #smem, mutable>"
        flat = f"!ttg.memdesc<{size}xi32, #one, #smem, mutable>"
        kernel.do(f"""
%m = ttg.local_alloc {x} : ({t}) -> {whole}
%b = ttg.memdesc_reinterpret %m : {whole} -> {flat}
%raw = ttg.local_load %b : {flat} -> tensor<{size}xi32, #line>
%back = ttg.local_load %m : {whole} -> {t}""")
        out, _ = kernel.array("i32", (size,), None, raw)
        where = kernel.pointers(out, "i32", (size,))
        mask = kernel.constant("[" + ", ".join(written) + "]", "i1", (size,))
        kernel.do(f"tt.store {where}, %raw, {mask} : tensor<{size}x!tt.ptr<i32>, #line>")
        kernel.store("%back", "i32", (rows, cols), data)
        yield kernel.case(
            f"tile-gpu/layout-{name}.ttgir", f"Elements of a {name} buffer, read as the bytes that they are."
        )


def cases() -> Cases:
    for family in (buffers_and_values, tdm, packed_transposed, partitioned_memory, layouts_of_memory):
        yield from family()
