"""Cases of ops that few kernels have: pipelining, ballots, atomics on shared memory, upcasts, warp groups."""

from __future__ import annotations

from fractions import Fraction

from .builder import Family, Kernel, plain
from .casefile import Cases
from .formats import (
    BF16,
    E2M1,
    E4M3FN,
    E5M2,
    F16,
    F32,
    INF,
    NAN,
    add,
    fma,
    multiply,
    signed,
    wrap,
)  # fmt: skip

FAMILY = Family()
case, several, cases = FAMILY.case, FAMILY.several, FAMILY.cases


def codes(form, values) -> list[int]:
    return [form.encode((int(v < 0), abs(Fraction(v)))) for v in values]


# ---- what a profiler marks


@case("op/proton.record.ttir", "Marks of the profiler are nothing to do.")
def profiler_marks(kernel: Kernel) -> None:
    x = kernel.load("i32", (8,), list(range(8)))
    kernel.do(f"""
proton.record start "double"
%event = proton.allocate_event "store" : i32
%y = arith.addi {x}, {x} : {kernel.type((8,), "i32")}
proton.event start %event : i32
proton.record end "double"
""")
    kernel.store("%y", "i32", (8,), [2 * i for i in range(8)])


# ---- integers and floats


@case("op/arith.addui_extended.ttir", "Sums and whether they wrapped.")
def addui_extended(kernel: Kernel) -> None:
    lhs = [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 12345, 0xFFFFFFFE]
    rhs = [0, 0xFFFFFFFF, 0xFFFFFFFF, 0x80000000, 1, 1, 54321, 1]
    x, y = kernel.load("i32", (8,), lhs), kernel.load("i32", (8,), rhs)
    tensor = kernel.type((8,), "i32")
    kernel.do(f"%sum, %over = arith.addui_extended {x}, {y} : {tensor}, tensor<8xi1>")
    kernel.store("%sum", "i32", (8,), [wrap(a + b, 32) for a, b in zip(lhs, rhs, strict=True)])
    kernel.store("%over", "i1", (8,), [int(a + b >> 32 != 0) for a, b in zip(lhs, rhs, strict=True)])


@case("op/arith.subui_extended.ttir", "Differences and whether they borrowed.")
def subui_extended(kernel: Kernel) -> None:
    lhs = [0, 1, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 5, 12345, 0]
    rhs = [0, 0xFFFFFFFF, 0xFFFFFFFF, 0x80000001, 1, 7, 54321, 1]
    x, y = kernel.load("i32", (8,), lhs), kernel.load("i32", (8,), rhs)
    tensor = kernel.type((8,), "i32")
    kernel.do(f"%difference, %borrow = arith.subui_extended {x}, {y} : {tensor}, tensor<8xi1>")
    kernel.store("%difference", "i32", (8,), [wrap(a - b, 32) for a, b in zip(lhs, rhs, strict=True)])
    kernel.store("%borrow", "i1", (8,), [int(a < b) for a, b in zip(lhs, rhs, strict=True)])


@case("op/tt.atomic_load.ttir", "Loads and stores that are whole, under a mask, and of a scalar.")
def atomic_load_store(kernel: Kernel) -> None:
    data = [3, 1, 4, 1, 5, 9, 2, 6]
    pointer, _ = kernel.array("i32", (8,), data, None)
    where = kernel.pointers(pointer, "i32", (8,))
    mask = kernel.load("i1", (8,), [1, 1, 0, 1, 1, 0, 0, 1])
    out, array = kernel.array("i32", (8,), None, [3, 1, 0, 1, 5, 0, 0, 6])
    to = kernel.pointers(out, "i32", (8,))
    pointers, tensor = kernel.type((8,), "!tt.ptr<i32>"), kernel.type((8,), "i32")
    bits = kernel.type((8,), "i1")
    v = kernel.emit(f"tt.atomic_load acquire, gpu, {where}, {mask} : ({pointers}, {bits}) -> {tensor}")
    kernel.do(f"tt.atomic_store release, sys, {to}, {v}, {mask} : {pointers}")
    one, _ = kernel.array("i64", (1,), None, [7])
    seven = kernel.constant(7, "i64")
    kernel.do(f"tt.atomic_store relaxed, cta, {one}, {seven} : !tt.ptr<i64>")
    w = kernel.emit(f"tt.atomic_load relaxed, cta, {one} : (!tt.ptr<i64>) -> i64")
    kernel.store(w, "i64", (), [7])
    assert array.size == 8


@case(
    "op/tt.atomic_poll.ttir",
    "The first program waits for the four flags that the second sets; a wait that times out gives false.",
    header=["grid: 2", "threads: 1"],
)
def atomic_poll(kernel: Kernel) -> None:
    flags, _ = kernel.array("i32", (4,), None, [1, 2, 3, 4])
    out, _ = kernel.array("i32", (2,), None, [1, 1])
    kernel.do("""
%pid = tt.get_program_id x : i32
%c0 = arith.constant 0 : i32
%one = arith.constant dense<1> : tensor<4xi32>
%range = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
%value = arith.addi %range, %one : tensor<4xi32>
%s = tt.splat %p0 : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
%p = tt.addptr %s, %range : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
%first = arith.cmpi eq, %pid, %c0 : i32
%q = tt.addptr %p1, %pid : !tt.ptr<i32>, i32
scf.if %first {
  %seen = tt.atomic_poll acquire, gpu, %p, %value : tensor<4x!tt.ptr<i32>>, tensor<4xi32> -> tensor<4xi1>
  %n = arith.extui %seen : tensor<4xi1> to tensor<4xi32>
  %all = "tt.reduce"(%n) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %m = arith.minsi %a, %b : i32
    tt.reduce.return %m : i32
  }) : (tensor<4xi32>) -> i32
  tt.store %q, %all : !tt.ptr<i32>
} else {
  tt.atomic_store release, gpu, %p, %value : tensor<4x!tt.ptr<i32>>
  %timeout = arith.constant 1000 : i64
  %p1st = tt.addptr %p0, %c0 : !tt.ptr<i32>, i32
  %never = arith.constant 5 : i32
  %yes = tt.atomic_poll relaxed, sys, %p1st, %never timeout %timeout : !tt.ptr<i32>, i32 -> i1
  %no = arith.extui %yes : i1 to i32
  %c1 = arith.constant 1 : i32
  %good = arith.subi %c1, %no : i32
  tt.store %q, %good : !tt.ptr<i32>
}""")
    assert flags and out


@case(
    "tile-gpu/memdesc-index-row.ttgir",
    "Indexing a dimension that the encoding covers gives a row.",
    gpu=True, layouts=plain("ring", "1, 0") + plain("one", "0"),
)  # fmt: skip
def memdesc_row(kernel: Kernel) -> None:
    data = [[10 * r + c for c in range(8)] for r in range(4)]
    x = kernel.load("i32", (4, 8), [v for row in data for v in row])
    whole, part = "!ttg.memdesc<4x8xi32, #ring, #smem, mutable>", "!ttg.memdesc<8xi32, #one, #smem, mutable>"
    m = kernel.emit(f"ttg.local_alloc {x} : ({kernel.type((4, 8), 'i32')}) -> {whole}")
    for r in (2, 0, 3):
        i = kernel.constant(r, "i32")
        row = kernel.emit(f"ttg.memdesc_index {m}[{i}] : {whole} -> {part}")
        v = kernel.emit(f"ttg.local_load {row} : {part} -> {kernel.type((8,), 'i32')}")
        kernel.store(v, "i32", (8,), data[r])


@case("op/arith.truncf-rounding.ttir", "Roundings that arith.truncf names.")
def rounding_modes(kernel: Kernel) -> None:
    values = [1 + Fraction(3, 4096), -1 - Fraction(3, 4096), 65519, -65536, Fraction(1, 3 * 2**24)]
    values = [F32.decode(c) for c in codes(F32, values)] + [(0, INF), (1, INF), (0, NAN)]
    x = kernel.load("f32", (8,), [F32.encode(v) for v in values])
    t32, t16 = kernel.type((8,), "f32"), kernel.type((8,), "f16")
    a = kernel.emit(f"arith.truncf {x} to_nearest_even : {t32} to {t16}")
    b = kernel.emit(f"arith.truncf {x} toward_zero : {t32} to {t16}")
    kernel.store(a, "f16", (8,), [F16.encode(v) for v in values])
    kernel.store(b, "f16", (8,), [F16.encode(v, "rtz") for v in values])


@case("op/math.ipowi.ttir", "Powers that wrap, and negative ones, which truncate to 0 but for 1 and -1.")
def ipowi(kernel: Kernel) -> None:
    base = [0, 0, 2, -2, 3, -1, -1, 1, 2, -3, 7, 10, 5, -128]
    power = [0, 5, 31, 31, 20, -3, -4, -100, -1, -2, 13, 9, 0, 2]
    base += [1, 1]
    power += [-2147483648, 2147483647]

    def result(b: int, p: int) -> int:
        if p >= 0:
            return wrap(pow(b, p), 32) if abs(b) > 1 or p < 100 else wrap(b if p % 2 else abs(b), 32)
        return wrap(int(Fraction(1) / Fraction(b) ** -p) if abs(b) == 1 and p > -1000 else int(b == 1), 32)

    x = kernel.load("i32", (16,), [wrap(b, 32) for b in base])
    y = kernel.load("i32", (16,), [wrap(p, 32) for p in power])
    z = kernel.emit(f"math.ipowi {x}, {y} : tensor<16xi32>")
    kernel.store(z, "i32", (16,), [result(b, p) for b, p in zip(base, power, strict=True)])


@several
def fpowi() -> Cases:
    for form, name in ((F32, "f32"), (F16, "f16")):
        kernel = Kernel()
        base = [2, -3, Fraction(1, 2), 0, -1, -1, Fraction(3, 2), 5]
        power = [10, 3, -4, 0, 7, 8, 5, -1]
        x = kernel.load(name, (8,), codes(form, base))
        y = kernel.load("i32", (8,), [wrap(p, 32) for p in power])
        z = kernel.emit(f"math.fpowi {x}, {y} : tensor<8x{name}>, tensor<8xi32>")
        results = [Fraction(b) ** p for b, p in zip(base, power, strict=True)]
        kernel.store(z, name, (8,), codes(form, results))
        yield kernel.case(f"op/math.fpowi-{name}.ttir", f"Integer powers of {name}, rounded once.")


@case("op/builtin.unrealized_conversion_cast.ttir", "index to i64 and back: the same bits.")
def unrealized_cast(kernel: Kernel) -> None:
    x = kernel.load("i64", (4,), [1, 2, wrap(-3, 64), 4])
    a = kernel.emit(f"builtin.unrealized_conversion_cast {x} : tensor<4xi64> to tensor<4xindex>")
    b = kernel.emit(f"arith.addi {a}, {a} : tensor<4xindex>")
    c = kernel.emit(f"builtin.unrealized_conversion_cast {b} : tensor<4xindex> to tensor<4xi64>")
    kernel.store(c, "i64", (4,), [2, 4, wrap(-6, 64), 8])


# ---- pipelining


@case("op/ttg.predicate_stage.ttgir", "iv < ub - (maxStage - stage) * step.", gpu=True)
def predicate_stage(kernel: Kernel) -> None:
    # stage s of max 2: iv < ub - (2 - s) * step
    out = []
    for iv, ub, step, stage in (
        (0, 10, 1, 0), (7, 10, 1, 0), (8, 10, 1, 0), (8, 10, 1, 1), (9, 10, 1, 1), (9, 10, 1, 2),
        (4, 12, 3, 0), (6, 12, 3, 0),
    ):  # fmt: skip
        names = [kernel.constant(v, "i32") for v in (iv, ub, step)]
        p = kernel.emit(f"ttg.predicate_stage {', '.join(names)} maxStage 2 stage {stage} : i32 -> i1")
        out.append((p, int(iv < ub - (2 - stage) * step)))
    for p, expected in out:
        value = kernel.emit(f"arith.extui {p} : i1 to i32")
        kernel.store(value, "i32", (), [expected])


@case("op/ttg.mask.ttgir", "A region under a predicate: run, and not run.", gpu=True)
def mask(kernel: Kernel) -> None:
    data = list(range(1, 9))
    x = kernel.load("i32", (8,), data)
    out, _ = kernel.array("i32", (8,), None, [v + 1 for v in data])
    off, _ = kernel.array("i32", (8,), None, None)
    tensor = kernel.type((8,), "i32")
    for pointer, on in ((out, "true"), (off, "false")):
        where = kernel.pointers(pointer, "i32", (8,))
        predicate = kernel.constant(on, "i1")
        one = kernel.constant(1, "i32", (8,))
        kernel.do(f"""
%m{on} = "ttg.mask"({predicate}) ({{
  %y{on} = arith.addi {x}, {one} : {tensor}
  tt.store {where}, %y{on} : {kernel.type((8,), "!tt.ptr<i32>")}
  ttg.mask.return %y{on} : {tensor}
}}) : (i1) -> {tensor}""")
    kernel.store("%mtrue", "i32", (8,), [v + 1 for v in data])


@case(
    "op/ttng.subtiled_region.ttgir",
    "One body for three tiles, with values of each, a shared one and the tile's number.",
    gpu=True,
)
def subtiled_region(kernel: Kernel) -> None:
    parts = [[1, 2, 3, 4], [10, 20, 30, 40], [100, 200, 300, 400]]
    tiles = [kernel.load("i32", (4,), part) for part in parts]
    shared = kernel.load("i32", (4,), [7, 7, 7, 7])
    t = kernel.type((4,), "i32")
    c = [kernel.constant(v, "i32") for v in (5, 6, 8)]
    kernel.do(f"""
%r:3 = ttng.subtiled_region
    per_tile({", ".join(tiles + c)} : {", ".join([t] * 3 + ["i32"] * 3)})
    shared({shared} : {t})
    {{numTiles = 3 : i32}}
  tile(%a: {t}, %b: i32, %s: {t}, %n: i32) {{
    %b4 = tt.splat %b : i32 -> {t}
    %n4 = tt.splat %n : i32 -> {t}
    %ab = arith.muli %a, %b4 : {t}
    %abs = arith.addi %ab, %s : {t}
    %abn = arith.addi %abs, %n4 : {t}
    ttng.subtiled_region_yield %abn : {t}
  }} -> ({t}, {t}, {t})""")
    for i, part in enumerate(parts):
        kernel.store(f"%r#{i}", "i32", (4,), [v * (5, 6, 8)[i] + 7 + i for v in part])


# ---- the machine


@case("op/ttng.vote_ballot_sync.ttgir", "One predicate for all lanes.", gpu=True, warps=1)
def ballot(kernel: Kernel) -> None:
    for mask_, on in ((0xFFFFFFFF, "true"), (0x0000FFFF, "true"), (0xFFFFFFFF, "false")):
        m = kernel.constant(signed(mask_, 32), "i32")
        v = kernel.emit(f"ttng.vote_ballot_sync {m}, {kernel.constant(on, 'i1')} : i1 -> i32")
        kernel.store(v, "i32", (), [mask_ if on == "true" else 0])


LINE = "#two = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"


@case(
    "op/ttng.vote_ballot_sync-tensor.ttgir",
    "A predicate an element: a lane votes for what any of its elements says.",
    gpu=True, layouts=LINE,
)  # fmt: skip
def ballot_of_tensors(kernel: Kernel) -> None:
    data = [(i * i + i // 7) % 3 == 0 for i in range(256)]  # two registers a lane, four warps
    x = kernel.load("i1", (256,), [int(b) for b in data], encoding="#two")
    m = kernel.constant(0x7FFFFFFF, "i32")
    v = kernel.emit(
        f"ttng.vote_ballot_sync {m}, {x} : {kernel.type((256,), 'i1', '#two')}"
        f" -> {kernel.type((256,), 'i32', '#two')}"
    )
    # Element e is register e // 128 of warp e // 32 % 4, lane e % 32.
    on = [a or b for a, b in zip(data[:128], data[128:], strict=True)]
    votes = [
        sum(on[e % 128 // 32 * 32 + lane] << lane for lane in range(32)) & 0x7FFFFFFF for e in range(256)
    ]
    kernel.store(v, "i32", (256,), votes, encoding="#two")


@case(
    "op/ttg.warp_id.ttgir", "The number of the only warp; a clock that does not go back.", gpu=True, warps=1
)
def warp_id(kernel: Kernel) -> None:
    kernel.store(kernel.emit("ttg.warp_id"), "i32", (), [0])
    one = kernel.constant(1, "i32")
    a, b = kernel.emit("ttg.clock64"), kernel.emit("ttg.clock64")
    later = kernel.emit(f"arith.cmpi sge, {b}, {a} : i64")
    kernel.store(kernel.emit(f"arith.extui {later} : i1 to i32"), "i32", (), [1])
    kernel.store(one, "i32", (), [1])


# ---- shared memory


@several
def local_atomic_scatter() -> Cases:
    index = [0, 3, 3, 7, 1, 0, 3, 7]
    masks = [1, 1, 1, 1, 0, 1, 0, 1]
    start = [10, 20, 30, 40, 50, 60, 70, 80]
    value = [1, -2, 3, -4, 5, -6, 7, 100]
    kinds = {
        "add": lambda a, b: a + b,
        "max": max,
        "min": min,
        "umax": lambda a, b: max(a, b, key=lambda x: x % 2**32),
        "umin": lambda a, b: min(a, b, key=lambda x: x % 2**32),
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "exch": lambda a, b: b,
    }
    for kind, function in kinds.items():
        kernel = Kernel(gpu=True, layouts=plain("shared", "0"))
        x = kernel.load("i32", (8,), start)
        i = kernel.load("i32", (8,), index)
        v = kernel.load("i32", (8,), [wrap(n, 32) for n in value])
        m = kernel.load("i1", (8,), masks)
        t, d = kernel.type((8,), "i32"), "!ttg.memdesc<8xi32, #shared, #smem, mutable>"
        s = kernel.emit(f"ttg.local_alloc {x} : ({t}) -> {d}")
        old = kernel.emit(
            f"ttg.local_atomic_scatter_rmw {kind}, {s}[{i}], {v}, {m} {{axis = 0 : i32}} : "
            f"({d}, {t}, {t}, {kernel.type((8,), 'i1')}) -> {t}"
        )
        new = kernel.emit(f"ttg.local_load {s} : {d} -> {t}")
        memory, olds = list(start), []
        for at, n, on in zip(index, value, masks, strict=True):
            olds.append(memory[at] if on else 0)
            if on:
                memory[at] = signed(wrap(function(memory[at], n), 32), 32)
        kernel.store(old, "i32", (8,), [wrap(n, 32) for n in olds])
        kernel.store(new, "i32", (8,), [wrap(n, 32) for n in memory])
        yield kernel.case(
            f"op/ttg.local_atomic_scatter_rmw-{kind}.ttgir",
            f"{kind} at indices of shared memory, elements in order, under a mask.",
        )


# ---- narrow floats


@several
def upcast_mxfp() -> Cases:
    for old, fp_type, target in (
        ("triton_gpu", "e2m1", "bf16"),
        ("triton_gpu", "e4m3", "bf16"),
        ("amdgpu", "e5m2", "f16"),
        ("amdgpu", "e2m1", "f16"),
    ):
        form = {"bf16": BF16, "f16": F16}[target]
        kernel = Kernel()
        packed = fp_type == "e2m1"
        rows, k = 2, 64
        scale = [127, 129, 120, 0xFF]
        raw = [(7 * i + 3 * (i // 32)) % 256 for i in range(rows * k // (2 if packed else 1))]
        narrow = {"e2m1": E2M1, "e4m3": E4M3FN, "e5m2": E5M2}[fp_type]
        values = [c for byte in raw for c in (byte & 15, byte >> 4)] if packed else raw
        expected = []
        for i, code in enumerate(values):
            s = scale[i // 32]
            sign, magnitude = narrow.decode(code)
            if s == 0xFF or magnitude == NAN:
                expected.append(form.encode((0, NAN)))
            else:
                scaled = magnitude if magnitude == INF else magnitude * Fraction(2) ** (s - 127)
                expected.append(form.encode((sign, scaled)))
        x = kernel.load("i8", (rows, len(raw) // rows), raw)
        y = kernel.load("i8", (rows, 2), scale)
        z = kernel.emit(
            f"{old}.upcast_mxfp {x}, {y} fp_type = {fp_type} : "
            f"{kernel.type((rows, len(raw) // rows), 'i8')}, {kernel.type((rows, 2), 'i8')}"
            f" -> {kernel.type((rows, k), target)}"
        )
        kernel.store(z, target, (rows, k), expected)
        yield kernel.case(
            f"op/{'ttg' if old == 'triton_gpu' else 'amdg'}.upcast_mxfp-{fp_type}.ttir",
            f"{fp_type} times scales of groups of 32, in {target}.",
        )


@case(
    "op/amdg.scaled_downcast.ttgir",
    "Values over the scale of their group of 8, as fp8 and as pairs of fp4.",
    gpu=True,
    target="hip:gfx1250",
)
def scaled_downcast(kernel: Kernel) -> None:
    rows, k, group = 2, 32, 8
    values = codes(F16, [Fraction((37 * i) % 113 - 56, 4) for i in range(rows * k)])
    scale = [127, 128, 126, 130, 125, 127, 129, 124]
    x, s = kernel.load("f16", (rows, k), values), kernel.load("i8", (rows, k // group), scale)
    t16, t8 = kernel.type((rows, k), "f16"), kernel.type((rows, k // group), "i8")

    def scaled(i: int):
        sign, magnitude = F16.decode(values[i])
        return sign, magnitude / Fraction(2) ** (scale[i // group] - 127)

    for name, form in (("f8E4M3FN", E4M3FN), ("f8E5M2", E5M2)):
        y = kernel.emit(
            f"amdg.scaled_downcast_fp8 {x} scale {s} {{axis = 1 : i32}} : "
            f"{t16}, {t8} -> {kernel.type((rows, k), name)}"
        )
        kernel.store(y, name, (rows, k), [form.encode(scaled(i), saturate=True) for i in range(rows * k)])
    z = kernel.emit(
        f"amdg.scaled_downcast_fp4 {x} scale {s} {{axis = 1 : i32}} : "
        f"{t16}, {t8} -> {kernel.type((rows, k // 2), 'i8')}"
    )
    fours = [E2M1.encode(scaled(i), saturate=True) for i in range(rows * k)]
    kernel.store(z, "i8", (rows, k // 2), [a | b << 4 for a, b in zip(fours[::2], fours[1::2], strict=True)])


@case("op/tt.dot_scaled-batch.ttir", "A batch of two scaled products, e4m3 times e2m1.")
def batched_dot_scaled(kernel: Kernel) -> None:
    batch, m, n, k, group = 2, 4, 4, 64, 32
    a = codes(E4M3FN, [(5 * i) % 9 - 4 for i in range(batch * m * k)])
    b = [(11 * i + i // 64) % 256 for i in range(batch * k // 2 * n)]
    scales_a = [126 + i % 3 for i in range(batch * m * k // group)]
    scales_b = [127 + i % 2 for i in range(batch * n * k // group)]
    x = kernel.load("f8E4M3FN", (batch, m, k), a)
    y = kernel.load("i8", (batch, k // 2, n), b)
    u = kernel.load("i8", (batch, m, k // group), scales_a)
    v = kernel.load("i8", (batch, n, k // group), scales_b)
    out = kernel.type((batch, m, n), "f32")
    zero = kernel.constant("0.000000e+00", "f32", (batch, m, n))
    types = [kernel.type(s, e) for s, e in (((batch, m, k), "f8E4M3FN"), ((batch, m, k // group), "i8"))]
    types += [kernel.type(s, "i8") for s in ((batch, k // 2, n), (batch, n, k // group))]
    d = kernel.emit(
        f"tt.dot_scaled {x} scale {u}, {y} scale {v}, {zero} lhs = e4m3 rhs = e2m1 {{fastMath = false}} : "
        f"{types[0]}, {types[1]} * {types[2]}, {types[3]} -> {out}"
    )

    def left(i: int, r: int, j: int) -> Fraction:
        sign, magnitude = E4M3FN.decode(a[(i * m + r) * k + j])
        scale = Fraction(2) ** (scales_a[(i * m + r) * (k // group) + j // group] - 127)
        return (-magnitude if sign else magnitude) * scale

    def right(i: int, j: int, c: int) -> Fraction:
        byte = b[(i * (k // 2) + j // 2) * n + c]
        sign, magnitude = E2M1.decode(byte >> 4 if j % 2 else byte & 15)
        scale = Fraction(2) ** (scales_b[(i * n + c) * (k // group) + j // group] - 127)
        return (-magnitude if sign else magnitude) * scale

    expected = [
        sum(left(i, r, j) * right(i, j, c) for j in range(k))
        for i in range(batch)
        for r in range(m)
        for c in range(n)
    ]
    kernel.store(d, "f32", (batch, m, n), codes(F32, expected))


@case(
    "op/ttng.packed_arith.ttgir",
    "Operands of several types, and four-bit pairs: exact, then rounded once.",
    gpu=True,
)
def packed_arith(kernel: Kernel) -> None:
    a16 = codes(F16, [1, Fraction(3, 2), -2, 1000])
    b32 = codes(F32, [Fraction(1, 3).limit_denominator(8), 2, 1, 100000])
    c16 = codes(BF16, [1, 2, 3, 4])
    x, y, z = (
        kernel.load("f16", (2, 2), a16),
        kernel.load("f32", (2, 2), b32),
        kernel.load("bf16", (2, 2), c16),
    )
    t16, t32, tb = (kernel.type((2, 2), e) for e in ("f16", "f32", "bf16"))
    value = [[form.decode(c) for c in cs] for form, cs in ((F16, a16), (F32, b32), (BF16, c16))]
    for kind, args, types, form, function in (
        ("add", (0, 1), (t16, t32), F32, add),
        ("mul", (0, 1), (t16, t32), F32, multiply),
        ("mul", (0, 1), (t16, t32), BF16, multiply),
        ("fma", (0, 1, 2), (t16, t32, tb), F32, fma),
    ):
        names = [(x, y, z)[i] for i in args]
        target = {F32: "f32", BF16: "bf16"}[form]
        r = kernel.emit(
            f"ttng.packed_arith {kind} {', '.join(names)} : ({', '.join(types)}) -> "
            f"{kernel.type((2, 2), target)}"
        )
        kernel.store(
            r, target, (2, 2), [form.encode(function(*(value[i][e] for i in args))) for e in range(4)]
        )
    same = kernel.emit(f"ttng.packed_arith min {x}, {x} : ({t16}, {t16}) -> {t16}")
    kernel.store(same, "f16", (2, 2), a16)
    # Four-bit pairs along the last dimension times e4m3.
    pairs = [0x21, 0x43, 0x65, 0x97]
    others = codes(E4M3FN, [1, 2, Fraction(1, 2), 4, -1, 8, 3, Fraction(5, 4)])
    p = kernel.load("i8", (2, 2), pairs)
    q = kernel.load("f8E4M3FN", (2, 4), others)
    r = kernel.emit(
        f"ttng.packed_arith mul {p}, {q} : ({kernel.type((2, 2), 'i8')}, {kernel.type((2, 4), 'f8E4M3FN')})"
        f" -> {kernel.type((2, 4), 'f8E4M3FN')}"
    )
    halves = [c for byte in pairs for c in (byte & 15, byte >> 4)]
    kernel.store(
        r,
        "f8E4M3FN",
        (2, 4),
        [
            E4M3FN.encode(multiply(E2M1.decode(h), E4M3FN.decode(o)))
            for h, o in zip(halves, others, strict=True)
        ],
    )
