"""A random Triton kernel from a seed, made of operations whose results are exact: whatever executes it has to
give the same bits.

Integers of every width, floats that are added, multiplied and rounded but never summed along an axis (the
order is the compiler's choice), shapes that change, reductions, scans, sorts, gathers, products of small
numbers, loops, branches, calls, masked and indirect loads, atomics. What Triton leaves undefined is kept out
where it would begin: divisors are 1 to 8, shifts are below the width, floats are clamped before they become
integers, indices stay inside.
"""

import dataclasses
import math
import random

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
BITS = {name: int("".join(c for c in name if c.isdigit())) for name in INTS + FLOATS}


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    shape: tuple[int, ...]
    dtype: str  # "int1" for what compares


@dataclasses.dataclass(frozen=True)
class Kernel:
    source: str
    inputs: list[str]  # element types; each array has `elements`
    elements: int
    outputs: list[tuple[str, int]]  # element type and elements of a program
    scalars: list[int]
    programs: int
    options: dict[str, int]  # of the launch
    small: bool = False  # the inputs are integers from -3 to 3
    traps: bool = False  # leaves an array, at every level


class Generator:
    def __init__(self, seed: int, operations: int):
        self.random = random.Random(seed)
        self.rows, self.cols = self.random.choice((8, 16, 32)), self.random.choice((8, 16, 32, 64))
        self.total = self.rows * self.cols
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.values: list[Value] = []
        self.inputs: list[str] = []
        self.outputs: list[tuple[str, int]] = []
        self.scalars = [
            self.random.randint(0, 5),
            self.random.randint(-9, 9),
            self.random.randint(1, self.total),
        ]
        self.programs, self.num_warps = self.random.choice((1, 1, 2, 3)), self.random.choice((1, 2, 4, 8))
        self.names = 0
        self.operations = operations

    # ---- writing

    def write(self, *lines: str) -> None:
        """Lines of the kernel's body."""
        self.lines += [f"    {line}" for line in lines]

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def let(self, text: str, shape: tuple[int, ...], dtype: str) -> Value:
        """A new value; `.to` makes sure of its type, since Triton widens what it sums."""
        name = self.name()
        cast = "" if dtype == "int1" else f".to(tl.{dtype})"
        self.write(f"{name} = ({text}){cast}")
        value = Value(name, shape, dtype)
        self.values.append(value)
        return value

    def function(self, body: str, arguments: str, attributes: str = "") -> str:
        name = f"f{len(self.functions)}"
        self.functions.append(f"@triton.jit{attributes}\ndef {name}({arguments}):\n    return {body}\n")
        return name

    # ---- picking

    def pick(self, shape: tuple[int, ...] | None = None, dtypes: tuple[str, ...] | None = None) -> Value:
        """A value, newer ones more likely; of this shape (or loaded), cast to one of these types."""
        fitting = [v for v in self.values if (shape is None or v.shape == shape)]
        if not fitting:
            value = self.load(shape or (self.rows, self.cols))
        else:
            value = fitting[-1 - min(int(self.random.expovariate(0.35)), len(fitting) - 1)]
        if dtypes and value.dtype not in dtypes:
            value = self.cast(value, self.random.choice(dtypes))
        return value

    def pick_type(self) -> str:
        return self.random.choice(INTS + FLOATS + ("int32", "float32"))

    def cast(self, value: Value, dtype: str) -> Value:
        text = value.name
        if value.dtype == dtype:
            return value
        if dtype == "int1":
            return self.let(f"{text} != 0", value.shape, dtype)
        if value.dtype in FLOATS and dtype in INTS:
            low = 0 if dtype.startswith("u") else -100
            text = f"tl.minimum(tl.maximum({text}, {low}.0), 100.0)"
        elif value.dtype in INTS and dtype in FLOATS and BITS[dtype] < 64:
            text = f"{text} & 127"
        return self.let(text, value.shape, dtype)

    def index(self, shape: tuple[int, ...], size: int) -> str:
        """An expression of int32 in [0, size), size a power of two."""
        return f"({self.pick(shape, ('int32',)).name} & {size - 1})"

    def positions(self, shape: tuple[int, ...]) -> str:
        """Offsets of a tile's elements in memory."""
        if len(shape) == 1:
            return f"tl.arange(0, {shape[0]})"
        return f"(tl.arange(0, {shape[0]})[:, None] * {shape[1]} + tl.arange(0, {shape[1]})[None, :])"

    # ---- operations: each adds lines and values

    def load(self, shape: tuple[int, ...] | None = None) -> Value:
        shape = shape or self.random.choice(((self.rows, self.cols), (self.cols,), (self.rows,)))
        dtype = self.pick_type()
        pointer = f"x{len(self.inputs)}"
        self.inputs.append(dtype)
        at = f"tl.program_id(0) * {self.total} + {self.positions(shape)}"
        if shape == (self.rows, self.cols) and self.random.random() < 0.3:
            at = f"tl.program_id(0) * {self.total} + {self.positions(shape)} % limit"
        mask = f", mask={self.positions(shape)} < limit, other=3" if self.random.random() < 0.4 else ""
        return self.let(f"tl.load({pointer} + {at}{mask})", shape, dtype)

    def indirect_load(self) -> None:
        shape = self.pick().shape
        pointer, dtype = f"x{len(self.inputs)}", self.pick_type()
        self.inputs.append(dtype)
        masked = self.random.random() < 0.5
        mask = f", mask={self.pick(shape, ('int1',)).name}, other=1" if masked else ""
        self.let(f"tl.load({pointer} + {self.index(shape, 64)}{mask})", shape, dtype)

    def expression(self, a: str, b: str, dtype: str) -> str:
        """Returns an expression of two names of this type."""
        if dtype in FLOATS:
            choices = [
                f"{a} + {b}",
                f"{a} - {b}",
                f"{a} * {b}",
                f"tl.minimum({a}, {b})",
                f"tl.maximum({a}, {b})",
            ]
            choices += [
                f"tl.where({a} > {b}, {a}, {b} * 0.5)",
                f"tl.fma({a}, {b}, {a})",
                f"tl.abs({a}) - {b}",
            ]
            if dtype == "float32":
                choices += [f"tl.div_rn({a}, {b})", f"tl.sqrt_rn(tl.abs({a})) + {b}"]
            if dtype in ("float32", "float64"):
                # Triton compiles them to instructions that flush denormals.
                a, b = (f"tl.where(tl.abs({x}) < 1e-30, 0.0, {x})" for x in (a, b))
                choices += [f"tl.floor({a}) + {b}", f"tl.ceil({b}) - {a}"]
            return self.random.choice(choices)
        choices = [f"{a} {op} {b}" for op in ("+", "-", "*", "&", "|", "^")]
        choices += [f"tl.{f}({a}, {b})" for f in ("minimum", "maximum")]
        choices += [f"{a} {op} (({b} & 7) + 1)" for op in ("//", "%")]
        choices += [f"{a} {op} ({b} & {BITS[dtype] - 1})" for op in ("<<", ">>")]
        choices += [f"tl.where({a} {op} {b}, {a}, {b} ^ 85)" for op in ("<", "<=", ">", ">=", "==", "!=")]
        if dtype in ("int32", "uint32", "int64", "uint64"):
            choices.append(f"tl.umulhi({a}.to(tl.uint{BITS[dtype]}), {b}.to(tl.uint{BITS[dtype]}))")
        if not dtype.startswith("u"):
            choices += [f"-{a} + {b}", f"tl.abs({a}) ^ {b}", f"~{a} - {b}"]
        return self.random.choice(choices)

    def binary(self) -> None:
        a = self.pick(dtypes=(self.pick_type(),) if self.random.random() < 0.3 else INTS + FLOATS)
        b = self.pick(a.shape, (a.dtype,))
        self.let(self.expression(a.name, b.name, a.dtype), a.shape, a.dtype)

    def compare(self) -> None:
        a = self.pick(dtypes=INTS + FLOATS)
        b = self.pick(a.shape, (a.dtype,))
        condition = self.let(
            f"{a.name} {self.random.choice(('<', '>=', '==', '!='))} {b.name}", a.shape, "int1"
        )
        c, d = self.pick(a.shape, (a.dtype,)), self.pick(a.shape, (a.dtype,))
        self.let(f"tl.where({condition.name}, {c.name}, {d.name})", a.shape, a.dtype)

    def convert(self) -> None:
        self.cast(self.pick(), self.pick_type())

    def bitcast(self) -> None:
        a = self.pick(dtypes=INTS)
        to = [d for d in INTS + FLOATS if BITS[d] == BITS[a.dtype] and d != a.dtype]
        dtype = self.random.choice(to)
        self.let(f"{a.name}.to(tl.{dtype}, bitcast=True)", a.shape, dtype)

    def broadcast(self) -> None:
        """A row or a column with a tile."""
        tile = self.pick((self.rows, self.cols), INTS + FLOATS)
        along = self.random.choice((0, 1))
        vector = self.pick((tile.shape[along],), (tile.dtype,))
        spread = f"{vector.name}[:, None]" if along == 0 else f"{vector.name}[None, :]"
        self.let(
            self.expression(tile.name, f"({spread} + tl.zeros_like({tile.name}))", tile.dtype),
            tile.shape,
            tile.dtype,
        )

    def reduce(self) -> None:
        a = self.pick((self.rows, self.cols), INTS if self.random.random() < 0.8 else FLOATS)
        axis = self.random.choice((0, 1))
        kinds = (
            ["max", "min"]
            if a.dtype in FLOATS
            else ["max", "min", "sum", "xor_sum", "argmax", "argmin", "own"]
        )
        kind = self.random.choice(kinds)
        out = (a.shape[1 - axis],)
        if kind == "own":
            body = self.random.choice(("a ^ b", "a * b", "tl.maximum(a, b)", "a & b", "a + b"))
            self.let(f"tl.reduce({a.name}, {axis}, {self.function(body, 'a, b')})", out, a.dtype)
        else:
            dtype = "int32" if kind.startswith("arg") else a.dtype
            self.let(f"tl.{kind}({a.name}, axis={axis})", out, dtype)

    def scan(self) -> None:
        a = self.pick(dtypes=INTS)
        axis = self.random.randrange(len(a.shape))
        reverse = self.random.choice(("", ", reverse=True"))
        kind = self.random.choice(("cumsum", "cumprod", "own", "affine"))
        if kind == "own":
            combine = self.function(self.random.choice(("a ^ b", "tl.maximum(a, b)", "b", "a * b")), "a, b")
            self.let(f"tl.associative_scan({a.name}, {axis}, {combine}{reverse})", a.shape, a.dtype)
        elif kind == "affine":
            b = self.pick(a.shape, (a.dtype,))
            combine = self.function("a1 * a2, b1 * a2 + b2", "a1, b1, a2, b2")
            first, second = self.name(), self.name()
            scanned = f"tl.associative_scan(({a.name}, {b.name}), {axis}, {combine}{reverse})"
            self.write(f"{first}, {second} = {scanned}")
            self.values += [Value(first, a.shape, a.dtype), Value(second, a.shape, a.dtype)]
        else:
            self.let(f"tl.{kind}({a.name}, axis={axis}{reverse})", a.shape, a.dtype)

    def rearrange(self) -> None:
        a = self.pick((self.rows, self.cols), INTS + FLOATS)
        rows, cols = a.shape
        kind = self.random.choice(("trans", "reshape", "flip", "split", "permute", "join"))
        b = self.pick(a.shape, (a.dtype,)).name
        if kind == "trans":
            text = f"tl.reshape(tl.trans({a.name}), ({rows}, {cols}))"
        elif kind == "reshape":
            text = f"tl.trans(tl.reshape({a.name}, ({cols}, {rows})))"
        elif kind == "flip":
            text = f"tl.flip({a.name}, {self.random.choice((0, 1))})"
        elif kind == "split":
            low, high = self.name(), self.name()
            self.write(f"{low}, {high} = tl.split(tl.reshape({a.name}, ({rows}, {cols // 2}, 2)))")
            text = f"tl.interleave({high}, {low})"
        elif kind == "permute":
            order = self.random.choice(("2, 0, 1", "0, 2, 1", "1, 0, 2", "2, 1, 0"))
            permuted = f"tl.permute(tl.reshape({a.name}, ({rows}, {cols // 4}, 4)), ({order}))"
            text = f"tl.reshape({permuted}, ({rows}, {cols}))"
        else:
            joined = f"tl.permute(tl.join({a.name}, {b}), (2, 0, 1))"
            text = f"tl.{self.random.choice(('max', 'min'))}({joined}, axis=0)"
        self.let(text, a.shape, a.dtype)

    def sort(self) -> None:
        a = self.pick(dtypes=INTS)
        self.let(f"tl.sort({a.name}{self.random.choice(('', ', descending=True'))})", a.shape, a.dtype)

    def gather(self) -> None:
        a = self.pick(dtypes=INTS + FLOATS)
        axis = self.random.randrange(len(a.shape))
        self.let(f"tl.gather({a.name}, {self.index(a.shape, a.shape[axis])}, {axis})", a.shape, a.dtype)

    def histogram(self) -> None:
        a = self.pick((self.cols,), ("int32",))
        self.let(f"tl.histogram({a.name} & {self.cols - 1}, {self.cols})", (self.cols,), "int32")

    def dot(self) -> None:
        if min(self.rows, self.cols) < 16:
            return
        a, b = (self.pick((self.rows, self.cols), INTS) for _ in range(2))
        small = "int8" if min(self.rows, self.cols) >= 32 and self.random.random() < 0.3 else "float16"
        left, right = (self.let(f"{v.name} & 7", v.shape, small).name for v in (a, b))
        product = self.name()
        self.write(f"{product} = tl.dot({left}, tl.trans({right}))")
        row = self.let(f"tl.max({product}, axis={self.random.choice((0, 1))})", (self.rows,), "int32")
        self.let(f"{a.name} ^ {row.name}.to(tl.{a.dtype})[:, None]", a.shape, a.dtype)

    def loop(self) -> None:
        a = self.pick(dtypes=INTS + FLOATS)
        b = self.pick(a.shape, (a.dtype,)).name
        carried, i = self.name(), self.name()
        trips = self.random.choice(("trips", "3", "tl.program_id(0) + 1"))
        counter = self.random.choice(
            (f"range(0, {trips})", f"tl.range(1, {trips} + 1)", "tl.static_range(2)")
        )
        first, second = self.expression(carried, b, a.dtype), self.expression(carried, carried, a.dtype)
        self.write(
            f"{carried} = {a.name}",
            f"for {i} in {counter}:",
            f"    {carried} = ({first}).to(tl.{a.dtype})",
            f"    {carried} = (({second}) + {i}).to(tl.{a.dtype})",
        )
        self.values.append(Value(carried, a.shape, a.dtype))

    def branch(self) -> None:
        a = self.pick(dtypes=INTS + FLOATS)
        b = self.pick(a.shape, (a.dtype,)).name
        out = self.name()
        tile = self.pick((self.rows, self.cols), ("int32",)).name
        condition = self.random.choice(
            ("trips > 2", f"tl.max(tl.max({tile}, 1), 0) > delta", "tl.program_id(0) == 1")
        )
        self.write(
            f"{out} = {a.name}",
            f"if {condition}:",
            f"    {out} = ({self.expression(a.name, b, a.dtype)}).to(tl.{a.dtype})",
        )
        if self.random.random() < 0.5:
            self.write("else:", f"    {out} = ({self.expression(b, a.name, a.dtype)}).to(tl.{a.dtype})")
        self.values.append(Value(out, a.shape, a.dtype))

    def call(self) -> None:
        a = self.pick(dtypes=INTS + FLOATS)
        b = self.pick(a.shape, (a.dtype,)).name
        f = self.function(f"({self.expression('a', 'b', a.dtype)}).to(tl.{a.dtype})", "a, b")
        self.let(f"{f}({a.name}, {b})", a.shape, a.dtype)

    def call_apart(self) -> None:
        """A function of its own in the module: of numbers, as Triton wants."""
        a = self.pick((self.rows, self.cols), INTS)
        b = self.pick(a.shape, (a.dtype,))
        body = f"({self.expression('a', 'b', a.dtype)}).to(tl.{a.dtype})"
        f = self.function(body, "a, b", "(noinline=True)")
        numbers = [
            f"tl.{kind}(tl.{kind}({v.name}, 1), 0).to(tl.{a.dtype})" for kind, v in (("max", a), ("min", b))
        ]
        self.let(f"{a.name} ^ {f}({', '.join(numbers)})", a.shape, a.dtype)

    def scalar(self) -> None:
        """A number of the program that meets a tile."""
        a = self.pick(dtypes=INTS)
        tile = self.pick((self.rows, self.cols), (a.dtype,))
        inner = f"tl.xor_sum(tl.xor_sum({tile.name}, 1), 0)"
        self.let(f"{a.name} + ({inner} >> 1).to(tl.{a.dtype}) * delta.to(tl.{a.dtype})", a.shape, a.dtype)

    def atomic(self) -> None:
        dtype = self.random.choice(("int32", "uint32", "int64", "uint64"))
        a = self.pick(dtypes=(dtype,))
        kind = self.random.choice(("add", "max", "min", "and", "or", "xor"))
        mask = f", mask={self.pick(a.shape, ('int1',)).name}" if self.random.random() < 0.4 else ""
        pointer = f"out{len(self.outputs)}"
        self.outputs.append((dtype, 16))
        index = self.index(a.shape, 16)
        self.write(f"tl.atomic_{kind}({pointer} + {index}, {a.name}{mask})")

    def store(self, value: Value, masked: bool) -> None:
        if value.dtype == "int1":
            value = self.cast(value, "int8")
        size = math.prod(value.shape)
        pointer, mask = f"out{len(self.outputs)}", ""
        if masked:
            mask = f", mask={self.pick(value.shape, ('int1',)).name}"
        self.outputs.append((value.dtype, size))
        at = f"tl.program_id(0) * {size} + {self.positions(value.shape)}"
        self.write(f"tl.store({pointer} + {at}, {value.name}{mask})")

    # ---- the whole

    def generate(self) -> Kernel:
        weights = {
            self.binary: 8, self.compare: 3, self.convert: 4, self.bitcast: 1, self.broadcast: 4,
            self.load: 2, self.indirect_load: 2, self.reduce: 4, self.scan: 2, self.rearrange: 4,
            self.sort: 1, self.gather: 2, self.histogram: 1, self.dot: 1, self.loop: 3, self.branch: 3,
            self.call: 2, self.call_apart: 1, self.scalar: 1, self.atomic: 1,
        }  # fmt: skip
        self.load((self.rows, self.cols))
        for _ in range(self.operations):
            self.random.choices(list(weights), list(weights.values()))[0]()
        used = set(
            "".join(c if c.isalnum() else " " for c in "\n".join(self.lines).replace("=", " = ")).split()
        )
        last = [v for v in self.values if f" {v.name}," not in used][-6:]
        for value in last:
            self.store(value, self.random.random() < 0.2)
        return self.kernel()

    def kernel(self) -> Kernel:
        """Makes the kernel of what was written."""
        arguments = [f"x{i}" for i in range(len(self.inputs))] + [f"out{i}" for i in range(len(self.outputs))]
        head = f"@triton.jit\ndef kernel({', '.join(arguments)}, trips, delta, limit):"
        source = "\n".join(
            ("import triton\nimport triton.language as tl\n", *self.functions, head, *self.lines, "")
        )
        return Kernel(
            source,
            self.inputs,
            self.total * self.programs + 64,
            self.outputs,
            self.scalars,
            self.programs,
            {"num_warps": self.num_warps},
        )


def generate(seed: int, operations: int = 14) -> Kernel:
    return Generator(seed, operations).generate()
