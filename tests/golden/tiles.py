"""Cases of tt.*: programs, shapes, memory, atomics, descriptors, messages; the oracle is NumPy."""

from __future__ import annotations

import numpy as np

from .builder import Kernel
from .casefile import Case, Cases, Scalar, codes
from .formats import BF16, F16, F32, F64, add, wrap

NUMPY = {
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32,
    "f64": np.float64,
}  # fmt: skip


def iota(shape, element="i32") -> np.ndarray:
    return np.arange(np.prod(shape)).reshape(shape).astype(NUMPY[element])


def load(kernel: Kernel, array: np.ndarray, element=None) -> str:
    element = element or {v: k for k, v in NUMPY.items()}[array.dtype.type]
    return kernel.load(element, array.shape, codes(array))


def store(kernel: Kernel, name: str, array: np.ndarray, element=None) -> None:
    element = element or {v: k for k, v in NUMPY.items()}[array.dtype.type]
    kernel.store(name, element, array.shape, codes(array))


# ---- programs


def programs() -> Cases:
    kernel = Kernel()
    shape = (3, 2, 2)
    pointer, _ = kernel.array("i32", (12, 6), after=[
        v for z in range(2) for y in range(2) for x in range(3) for v in (x, y, z, *shape)])  # fmt: skip
    ids = [kernel.emit(f"tt.get_program_id {axis} : i32") for axis in "xyz"]
    counts = [kernel.emit(f"tt.get_num_programs {axis} : i32") for axis in "xyz"]
    zy = kernel.emit(f"arith.muli {ids[2]}, {counts[1]} : i32")
    zy = kernel.emit(f"arith.addi {zy}, {ids[1]} : i32")
    linear = kernel.emit(f"arith.muli {zy}, {counts[0]} : i32")
    linear = kernel.emit(f"arith.addi {linear}, {ids[0]} : i32")
    base = kernel.emit(f"arith.muli {linear}, {kernel.constant(6, 'i32')} : i32")
    for k, v in enumerate(ids + counts):
        offset = kernel.emit(f"arith.addi {base}, {kernel.constant(k, 'i32')} : i32")
        where = kernel.emit(f"tt.addptr {pointer}, {offset} : !tt.ptr<i32>, i32")
        kernel.do(f"tt.store {where}, {v} : !tt.ptr<i32>")
    about = "Each program of a 3 x 2 x 2 grid writes its three numbers and the three extents at its place."
    yield kernel.case("op/tt.get_program_id.ttir", about, ["grid: 3 2 2"])

    kernel = Kernel()
    kernel.do("tt.grid_dependency_wait")
    x = load(kernel, iota((8,)))
    kernel.do("tt.grid_dependency_launch_dependents")
    kernel.do("gpu.barrier")
    store(kernel, x, iota((8,)))
    about = "Waiting for an earlier grid, releasing a later one, a barrier: nothing to do on one thread."
    yield kernel.case("op/tt.grid_dependency_wait.ttir", about)

    kernel = Kernel()
    kernel.functions.append("""  tt.func private @swap_add(%a: tensor<8xi32>, %b: i32) \
-> (tensor<8xi32>, i32) attributes {noinline = true} {
    %s = tt.splat %b : i32 -> tensor<8xi32>
    %c = tt.call @twice(%a) : (tensor<8xi32>) -> tensor<8xi32>
    %d = arith.addi %c, %s : tensor<8xi32>
    %one = arith.constant 1 : i32
    %e = arith.addi %b, %one : i32
    tt.return %d, %e : tensor<8xi32>, i32
  }
  tt.func private @twice(%a: tensor<8xi32>) -> tensor<8xi32> attributes {noinline = true} {
    %c = arith.addi %a, %a : tensor<8xi32>
    tt.return %c : tensor<8xi32>
  }""")
    x = load(kernel, iota((8,)))
    b = kernel.param("i32", Scalar("i32 100"))
    signature = "(tensor<8xi32>, i32) -> (tensor<8xi32>, i32)"
    kernel.do(f"%r:2 = tt.call @swap_add({x}, {b}) : {signature}")
    kernel.do(f"%s:2 = tt.call @swap_add(%r#0, %r#1) : {signature}")
    store(kernel, "%s#0", 2 * (2 * iota((8,)) + 100) + 101)
    yield kernel.case("op/tt.call.ttir", "A function called twice, which calls another; two results.")


# ---- shapes


def one_op(path: str, about: str, steps) -> Case:
    kernel = Kernel()
    steps(kernel)
    return kernel.case(f"op/{path}.ttir", about)


def shapes() -> Cases:
    def unary(op: str, result: np.ndarray, source: np.ndarray, attributes=""):
        def steps(k: Kernel):
            for element in ("i32", "f16"):
                a, b = source.astype(NUMPY[element]), result.astype(NUMPY[element])
                x = load(k, a)
                y = k.emit(f"{op} {x}{attributes} : {k.type(a.shape, element)} -> {k.type(b.shape, element)}")
                store(k, y, b)

        return steps

    small, cube = iota((4, 8)), iota((2, 4, 8))
    pair = iota((4, 8, 2))
    yield one_op(
        "tt.expand_dims",
        "A dimension of one in the middle.",
        unary("tt.expand_dims", small[:, None, :], small, " {axis = 1 : i32}"),
    )
    yield one_op(
        "tt.broadcast",
        "Columns repeated.",
        unary("tt.broadcast", np.broadcast_to(small[:, None, :], (4, 2, 8)).copy(), small[:, None, :]),
    )
    yield one_op("tt.reshape", "Row-major order stays.", unary("tt.reshape", small.reshape(2, 2, 8), small))
    yield one_op(
        "tt.trans",
        "Three dimensions, rotated.",
        unary("tt.trans", cube.transpose(2, 0, 1).copy(), cube, " {order = array<i32: 2, 0, 1>}"),
    )

    def make_range(k: Kernel):
        x = k.emit("tt.make_range {end = 21 : i32, start = 5 : i32} : tensor<16xi32>")
        store(k, x, np.arange(5, 21, dtype=np.int32))

    def splat(k: Kernel):
        for element, text, array in (("i32", "i32 -7", np.full((4, 4), -7, np.int32)),
                                     ("f32", "f32 0.25", np.full((4, 4), 0.25, np.float32))):  # fmt: skip
            s = k.param(element, Scalar(text))
            store(k, k.emit(f"tt.splat {s} : {element} -> tensor<4x4x{element}>"), array)
            one = k.emit(f"tt.splat {s} : {element} -> tensor<1x{element}>")
            k.store(k.emit(f"tt.unsplat {one} : tensor<1x{element}>"), element, (), codes(array)[:1])

    def cat(k: Kernel):
        a, b = iota((4, 4)), iota((4, 4)) + 100
        x, y = load(k, a), load(k, b)
        z = k.emit(f"tt.cat {x}, {y} : tensor<4x4xi32> -> tensor<8x4xi32>")
        store(k, z, np.concatenate([a, b]))

    def join(k: Kernel):
        for element in ("i32", "f16"):
            a, b = pair[..., 0].astype(NUMPY[element]), pair[..., 1].astype(NUMPY[element])
            x, y = load(k, a.copy()), load(k, b.copy())
            z = k.emit(f"tt.join {x}, {y} : tensor<4x8x{element}> -> tensor<4x8x2x{element}>")
            store(k, z, pair.astype(NUMPY[element]))

    def split(k: Kernel):
        x = load(k, pair)
        k.do(f"%l, %r = tt.split {x} : tensor<4x8x2xi32> -> tensor<4x8xi32>")
        store(k, "%l", pair[..., 0].copy())
        store(k, "%r", pair[..., 1].copy())

    def gather(k: Kernel):
        generator = np.random.default_rng(1)
        for axis in (0, 1):
            source = generator.integers(-50, 50, (8, 4)).astype(np.float32)
            index = generator.integers(0, source.shape[axis], (16, 4) if axis == 0 else (8, 16)).astype(
                np.int32
            )
            x, i = load(k, source), load(k, index)
            types = f"(tensor<8x4xf32>, {k.type(index.shape, 'i32')}) -> {k.type(index.shape, 'f32')}"
            y = k.emit(f"tt.gather {x}[{i}] {{axis = {axis} : i32}} : {types}")
            store(k, y, np.take_along_axis(source, index, axis))

    def histogram(k: Kernel):
        values = np.array([0, 1, 1, 7, 7, 7, 3, 0, 5, 5, 2, 7, 7, 1, 6, 0], np.int32)
        mask = np.arange(16) % 3 != 0
        x, m = load(k, values), k.load("i1", (16,), [int(v) for v in mask])
        y = k.emit(f"tt.histogram {x} : tensor<16xi32> -> tensor<8xi32>")
        z = k.emit(f"tt.histogram {x}, {m} : tensor<16xi32> -> tensor<8xi32>")
        store(k, y, np.bincount(values, minlength=8).astype(np.int32))
        store(k, z, np.bincount(values[mask], minlength=8).astype(np.int32))

    def poison(k: Kernel):
        x = load(k, iota((8,)))
        p = k.emit("ub.poison : tensor<8xi32>")
        never = k.constant("false", "i1")
        y = k.emit(f"arith.select {never}, {p}, {x} : tensor<8xi32>")
        store(k, y, iota((8,)))

    def assume(k: Kernel):
        n = k.param("i32", Scalar("i32 5"))
        holds = k.emit(f"arith.cmpi sgt, {n}, {k.constant(0, 'i32')} : i32")
        k.do(f"llvm.intr.assume {holds} : i1")
        k.store(n, "i32", (), [5])

    yield one_op("tt.make_range", "From 5 to 20.", make_range)
    yield one_op("tt.splat", "A scalar for all elements; tt.unsplat gives it back.", splat)
    yield one_op("tt.cat", "One after the other along the first dimension.", cat)
    yield one_op("tt.join", "Two tensors side by side in a new last dimension.", join)
    yield one_op("tt.split", "The two halves of the last dimension.", split)
    yield one_op("tt.gather", "Along either axis, more indices than elements.", gather)
    yield one_op("tt.histogram", "Counts, and counts under a mask.", histogram)
    yield one_op("ub.poison", "A value that nothing depends on.", poison)
    yield one_op("llvm.intr.assume", "A hint.", assume)


# ---- memory


def memory() -> list[Case]:
    def addptr(k: Kernel):
        data = iota((64,), "i16")
        pointer, _ = k.array("i16", (64,), codes(data))
        far = k.emit(f"tt.addptr {pointer}, {k.constant(40, 'i64')} : !tt.ptr<i16>, i64")
        for element in ("i32", "i64"):
            index = np.array([0, -1, 3, -40, 23, 5, -8, 1], NUMPY[element])
            i = load(k, index)
            s = k.emit(f"tt.splat {far} : !tt.ptr<i16> -> tensor<8x!tt.ptr<i16>>")
            p = k.emit(f"tt.addptr {s}, {i} : tensor<8x!tt.ptr<i16>>, tensor<8x{element}>")
            v = k.emit(f"tt.load {p} : tensor<8x!tt.ptr<i16>>")
            store(k, v, data[40 + index])

    def masked(k: Kernel):
        data, mask = iota((16,), "f32") + 1, np.arange(16) % 4 != 1
        pointer, _ = k.array("f32", (16,), codes(data))
        p = k.pointers(pointer, "f32", (16,))
        m = k.load("i1", (16,), [int(v) for v in mask])
        other = k.constant("-1.5", "f32", (16,))
        pointers = "tensor<16x!tt.ptr<f32>>"
        a = k.emit(f"tt.load {p}, {m}, {other} cacheModifier = cg evictionPolicy = evict_last : {pointers}")
        b = k.emit(f"tt.load {p}, {m} : {pointers}")
        store(k, a, np.where(mask, data, np.float32(-1.5)))
        store(k, b, np.where(mask, data, np.float32(0)))
        scalar = k.emit(f"tt.load {pointer} : !tt.ptr<f32>")
        k.store(scalar, "f32", (), codes(data)[:1])

    def masked_store(k: Kernel):
        data, mask = iota((16,), "i64") * 3 - 5, np.arange(16) % 4 != 1
        x, m = load(k, data), k.load("i1", (16,), [int(v) for v in mask])
        before = np.full(16, 99, np.int64)
        pointer, _ = k.array("i64", (16,), codes(before), codes(np.where(mask, data, before)))
        p = k.pointers(pointer, "i64", (16,))
        k.do(f"tt.store {p}, {x}, {m} cacheModifier = cs : tensor<16x!tt.ptr<i64>>")

    def integers(k: Kernel):
        data = iota((8,), "f32")
        pointer, _ = k.array("f32", (8,), codes(data))
        p = k.pointers(pointer, "f32", (8,))
        a = k.emit(f"tt.ptr_to_int {p} : tensor<8x!tt.ptr<f32>> -> tensor<8xi64>")
        b = k.emit(f"arith.xori {a}, {k.constant(4, 'i64', (8,))} : tensor<8xi64>")  # neighbours swapped
        q = k.emit(f"tt.int_to_ptr {b} : tensor<8xi64> -> tensor<8x!tt.ptr<f32>>")
        v = k.emit(f"tt.load {q} : tensor<8x!tt.ptr<f32>>")
        store(k, v, data.reshape(4, 2)[:, ::-1].ravel())

    return [
        one_op("tt.addptr", "Offsets count elements, forwards and backwards, in 32 and 64 bits.", addptr),
        one_op("tt.load", "Under a mask with and without other (then 0), and one scalar.", masked),
        one_op("tt.store", "Under a mask: the rest stays.", masked_store),
        one_op("tt.ptr_to_int", "Addresses as integers and back; swapped by xor.", integers),
    ]


ATOMICS = {
    "and": lambda a, b, w: a & b,
    "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b,
    "add": lambda a, b, w: wrap(a + b, w),
    "exch": lambda a, b, w: b,
    "max": lambda a, b, w: a if sgn(a, w) > sgn(b, w) else b,
    "min": lambda a, b, w: a if sgn(a, w) < sgn(b, w) else b,
    "umax": lambda a, b, w: max(a, b),
    "umin": lambda a, b, w: min(a, b),
}


def sgn(code: int, width: int) -> int:
    return code - (1 << width) if code >> (width - 1) else code


def atomics() -> list[Case]:
    """Each kind on an array; a second program sees what the first left, one thread running them in order."""

    def integer(k: Kernel):
        mask = [int(i % 4 != 3) for i in range(16)]
        m = k.load("i1", (16,), mask)
        from .elementwise import int_corners

        for width in (32, 64):
            for kind, function in ATOMICS.items():
                before = int_corners(width)
                values = before[5:] + before[:5]
                after = [
                    function(a, b, width) if on else a for a, b, on in zip(before, values, mask, strict=True)
                ]
                pointer, _ = k.array(f"i{width}", (16,), before, after)
                p = k.pointers(pointer, f"i{width}", (16,))
                v = k.load(f"i{width}", (16,), values)
                tensor = k.type((16,), f"i{width}")
                types = f"({k.type((16,), f'!tt.ptr<i{width}>')}, {tensor}, tensor<16xi1>) -> {tensor}"
                r = k.emit(f"tt.atomic_rmw {kind}, acq_rel, gpu, {p}, {v}, {m} : {types}")
                # Lanes that are off give an undefined old value: they are made 0 here.
                zero = k.constant(0, f"i{width}", (16,))
                r = k.emit(f"arith.select {m}, {r}, {zero} : tensor<16xi1>, {tensor}")
                old = [a if on else 0 for a, on in zip(before, mask, strict=True)]
                k.store(r, f"i{width}", (16,), old)

    def floating(k: Kernel):
        from .elementwise import float_corners

        true = k.constant("true", "i1", (16,))
        for form in (F16, BF16, F32, F64):
            before = float_corners(form)
            before[1] = 0  # -0 + x may lose its sign where the hardware adds in another way
            values = before[5:] + before[:5]
            after = [
                form.encode(add(form.decode(a), form.decode(b))) for a, b in zip(before, values, strict=True)
            ]
            pointer, _ = k.array(form.name, (16,), before, after)
            p = k.pointers(pointer, form.name, (16,))
            v = k.load(form.name, (16,), values)
            tensor = k.type((16,), form.name)
            types = f"({k.type((16,), f'!tt.ptr<{form.name}>')}, {tensor}, tensor<16xi1>) -> {tensor}"
            r = k.emit(f"tt.atomic_rmw fadd, relaxed, gpu, {p}, {v}, {true} : {types}")
            k.store(r, form.name, (16,), before)

    def same_place(k: Kernel):
        """All lanes and programs on one address: what remains is the sum; each old value is seen once."""
        pointer, _ = k.array("i32", (1,), [5], [5 + sum(range(16)) * 3])
        s = k.emit(f"tt.splat {pointer} : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>")
        true = k.constant("true", "i1", (16,))
        types = "(tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi1>) -> tensor<16xi32>"
        for sem, scope in (("relaxed", "cta"), ("acquire", "gpu"), ("release", "sys")):
            k.emit(f"tt.atomic_rmw add, {sem}, {scope}, {s}, {k.range(16)}, {true} : {types}")

    def swap(k: Kernel):
        for width in (16, 32, 64):
            element = f"i{width}"
            before = [wrap(v, width) for v in (0, 1, -1, 7, 1 << (width - 1), 5, 5, 9)]
            compare = [wrap(v, width) for v in (0, 2, -1, 8, 1 << (width - 1), 5, 4, 9)]
            values = [wrap(100 + i, width) for i in range(8)]
            after = [v if a == c else a for a, c, v in zip(before, compare, values, strict=True)]
            pointer, _ = k.array(element, (8,), before, after)
            p = k.pointers(pointer, element, (8,))
            c, v = k.load(element, (8,), compare), k.load(element, (8,), values)
            tensor = k.type((8,), element)
            types = f"({k.type((8,), f'!tt.ptr<{element}>')}, {tensor}, {tensor}) -> {tensor}"
            r = k.emit(f"tt.atomic_cas acq_rel, gpu, {p}, {c}, {v} : {types}")
            k.store(r, element, (8,), before)

    return [
        one_op(
            "tt.atomic_rmw", "Every kind on corner values, under a mask: what was and what is there.", integer
        ),
        one_op(
            "tt.atomic_rmw-fadd",
            "Adding corner values of every float; NaN and infinities included.",
            floating,
        ),
        one_op("tt.atomic_rmw-order", "Sixteen lanes, every order and scope, one address.", same_place),
        one_op("tt.atomic_cas", "Replaced where it equals, and the old value either way.", swap),
    ]


# ---- descriptors


def descriptors() -> list[Case]:
    head = "tt.make_tensor_descriptor"

    def make(k: Kernel, pointer: str, element: str, shape, block, extra="") -> str:
        sizes = [k.constant(s, "i32") for s in shape]
        strides = [k.constant(int(np.prod(shape[i + 1 :])), "i64") for i in range(len(shape))]
        blocks = "x".join(map(str, block))
        return k.emit(
            f"{head} {pointer}, [{', '.join(sizes)}], [{', '.join(strides)}]{extra} : !tt.ptr<{element}>, "
            f"!tt.tensordesc<{blocks}x{element}>"
        )

    def clipped(data: np.ndarray, at, block, fill=0) -> np.ndarray:
        out = np.full(block, fill, data.dtype)
        for index in np.ndindex(*block):
            where = tuple(a + i for a, i in zip(at, index, strict=True))
            if all(0 <= w < s for w, s in zip(where, data.shape, strict=True)):
                out[index] = data[where]
        return out

    def loads(k: Kernel):
        data = iota((6, 20), "f32") + 1
        pointer, _ = k.array("f32", (6, 20), codes(data))
        d = make(k, pointer, "f32", (6, 20), (4, 8))
        nan = make(k, pointer, "f32", (6, 20), (4, 8), " {padding = 2 : i32}")
        for desc, fill in ((d, 0.0), (nan, np.nan)):
            for at in ((0, 0), (3, 16), (-2, -3), (5, 4), (40, 0)):
                i = [k.constant(a, "i32") for a in at]
                v = k.emit(
                    f"tt.descriptor_load {desc}[{', '.join(i)}] : !tt.tensordesc<4x8xf32> -> tensor<4x8xf32>"
                )
                store(k, v, clipped(data, at, (4, 8), fill))

    def stores(k: Kernel):
        data, tile = np.zeros((6, 20), np.int16), iota((4, 8), "i16") + 1
        x = load(k, tile)
        after = data.copy()
        for at in ((0, 0), (3, 16), (-2, 10)):
            for i, j in np.ndindex(4, 8):
                if 0 <= at[0] + i < 6 and 0 <= at[1] + j < 20:
                    after[at[0] + i, at[1] + j] = tile[i, j]
        pointer, _ = k.array("i16", (6, 20), None, codes(after))
        d = make(k, pointer, "i16", (6, 20), (4, 8))
        for at in ((0, 0), (3, 16), (-2, 10)):
            i = [k.constant(a, "i32") for a in at]
            k.do(f"tt.descriptor_store {d}[{', '.join(i)}], {x} : !tt.tensordesc<4x8xi16>, tensor<4x8xi16>")

    def reduces(k: Kernel):
        tile = np.arange(32, dtype=np.int32).reshape(4, 8) - 7
        x = load(k, tile)
        functions = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
                     "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
        for kind, function in functions.items():
            before = (np.arange(60, dtype=np.int32).reshape(5, 12) * 7) % 31
            after = before.copy()
            after[3:5, 6:12] = function(before[3:5, 6:12], tile[:2, :6])
            pointer, _ = k.array("i32", (5, 12), codes(before), codes(after))
            d = make(k, pointer, "i32", (5, 12), (4, 8))
            i, j = k.constant(3, "i32"), k.constant(6, "i32")
            k.do(
                f"tt.descriptor_reduce {kind}, {d}[{i}, {j}], {x} : !tt.tensordesc<4x8xi32>, tensor<4x8xi32>"
            )

    def gathers(k: Kernel):
        data = iota((10, 16), "f16")
        rows = np.array([3, 0, 9, 9, 1, 12, -1, 5], np.int32)  # two rows lie outside
        pointer, _ = k.array("f16", (10, 16), codes(data))
        d = make(k, pointer, "f16", (10, 16), (1, 8))
        r = load(k, rows)
        y = k.constant(4, "i32")
        v = k.emit(
            f"tt.descriptor_gather {d}[{r}, {y}] : (!tt.tensordesc<1x8xf16>, tensor<8xi32>, i32) -> "
            f"tensor<8x8xf16>"
        )
        store(k, v, np.concatenate([clipped(data, (row, 4), (1, 8)) for row in rows]))

    def scatters(k: Kernel):
        tile = iota((8, 8), "f32") + 1
        rows = np.array([3, 0, 9, 7, 1, 12, -1, 5], np.int32)
        after = np.zeros((10, 16), np.float32)
        for row, values in zip(rows, tile, strict=True):
            if 0 <= row < 10:
                after[row, 12:16] = values[:4]
        pointer, _ = k.array("f32", (10, 16), None, codes(after))
        d = make(k, pointer, "f32", (10, 16), (1, 8))
        r, y, x = load(k, rows), k.constant(12, "i32"), load(k, tile)
        types = "!tt.tensordesc<1x8xf32>, tensor<8xi32>, i32, tensor<8x8xf32>"
        k.do(f"tt.descriptor_scatter {d}[{r}, {y}], {x} : {types}")

    return [
        one_op(
            "tt.descriptor_load", "Blocks inside, over each edge and beyond; filled with 0 or NaN.", loads
        ),
        one_op("tt.descriptor_store", "Blocks inside and over each edge: outside is dropped.", stores),
        one_op("tt.descriptor_reduce", "Every kind, over the lower right edge.", reduces),
        one_op("tt.descriptor_gather", "Rows by index; rows that are not there read as 0.", gathers),
        one_op("tt.descriptor_scatter", "Rows by index; rows and columns outside are dropped.", scatters),
    ]


# ---- messages


def messages() -> list[Case]:
    kernel = Kernel()
    x = load(kernel, np.array([3, -4], np.int32))
    y = load(kernel, np.array([0.5, np.inf], np.float32))
    kernel.do(f'tt.print " x: " {{hex = false, isSigned = array<i32: 1>}} : {x} : tensor<2xi32>')
    kernel.do(f'tt.print " u: " {{hex = false, isSigned = array<i32: 0>}} : {x} : tensor<2xi32>')
    kernel.do(f'tt.print " h: " {{hex = true, isSigned = array<i32: 1>}} : {x} : tensor<2xi32>')
    kernel.do(
        f'tt.print " xy: " {{hex = false, isSigned = array<i32: 1, 0>}} : {x}, {y} : tensor<2xi32>, '
        f"tensor<2xf32>"
    )
    kernel.do('tt.print " only text" {hex = false, isSigned = array<i32>}')
    pid = "pid (0, 0, 0) idx ("
    text = [f"{pid}{i}) x: {v}" for i, v in enumerate((3, -4))]
    text += [f"{pid}{i}) u: {v}" for i, v in enumerate((3, 2**32 - 4))]
    text += [f"{pid}{i}) h: {v}" for i, v in enumerate(("0x00000003", "0xfffffffc"))]
    text += [f"{pid}{i}) xy: (operand 0) {v}" for i, v in enumerate((3, -4))]
    text += [f"{pid}{i}) xy: (operand 1) {v}" for i, v in enumerate(("0.500000", "inf"))]
    text += [f"{pid}) only text", "no array changed"]
    about = "A line an element, as printf on a GPU writes it: signed, unsigned, hex, several operands, none."
    cases = [kernel.case("op/tt.print.ttir", about, output="\n".join(text))]
    cases[0].expected = lambda: cases[0].output + "\n"

    kernel = Kernel()
    x = load(kernel, np.array([1, 2, 0, 4], np.int32))
    c = kernel.emit(f"arith.cmpi ne, {x}, {kernel.constant(0, 'i32', (4,))} : tensor<4xi32>")
    kernel.do(f'tt.assert {c}, "x is zero" : tensor<4xi1> loc("check.py":9:4)')
    store(kernel, x, np.array([1, 2, 0, 4], np.int32))
    kernel.args[-1].after = None
    message = (
        "kernel 'kernel': assertion failed in tt.assert at check.py:9:4, program (0, 0, 0), "
        "element [2]: x is zero"
    )
    case = kernel.case(
        "op/tt.assert.ttir", "Traps at the first element that fails, before the store.", output=message
    )
    case.expected = lambda: message + "\n"
    cases.append(case)

    kernel = Kernel()
    n = kernel.param("i32", Scalar("i32 3"))
    c = kernel.emit(f"arith.cmpi slt, {n}, {kernel.constant(3, 'i32')} : i32")
    kernel.do(f'cf.assert {c}, "n is below three" loc("check.py":5:2)')
    text = (
        "kernel 'kernel': assertion failed in cf.assert at check.py:5:2, program (0, 0, 0): n is below three"
    )
    case = kernel.case("op/cf.assert.ttir", "A scalar condition.", output=text)
    case.expected = lambda: text + "\n"
    return [*cases, case]


def cases() -> Cases:
    for family in (programs, shapes, memory, atomics, descriptors, messages):
        yield from family()
