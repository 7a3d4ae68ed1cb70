"""A random kernel made of addresses, from a seed: what generate.py composes, on tiles of rank 1 to 5, with pointers
that are sums of anything in any order.

An offset is a row, a column, a tile or a number of any integer type, from an index, a load, `%`, `//`, a shift, a
comparison; pointers and offsets meet in any order, are broadcast, turned, reshaped, chosen, carried by loops; loads
also go through tensor descriptors and block pointers. Masks take every form, and may be all that keeps a pointer
inside. Each term knows its least and greatest value, so that sums stay inside of their types and of the arrays. One
kernel in sixteen leaves its array on purpose and has to trap at every level.
"""

import dataclasses
import importlib.metadata
import math
import random

from generate import BITS, FLOATS, INTS, Generator, Kernel, Value

BLOCK_POINTERS = tuple(map(int, importlib.metadata.version("triton").split(".")[:2])) < (3, 9)
ROOM = 1 << 14  # elements of each array
WILD = 1 << 40  # elements behind it, where nothing lies


@dataclasses.dataclass(frozen=True)
class Term:
    """An integer expression whose shape broadcasts to a tile's; a pointer's type is ""."""

    text: str
    shape: tuple[int, ...]  # () is a number
    dtype: str
    low: int
    high: int


def fits(low: int, high: int, dtype: str) -> bool:
    if dtype == "":
        return True
    unsigned = dtype.startswith("u")
    least = 0 if unsigned else -(1 << (BITS[dtype] - 1))
    return least <= low and high < (1 << (BITS[dtype] - (not unsigned)))


def promoted(a: str, b: str) -> str:
    """What Triton makes of two integer types."""
    if a.startswith("u") == b.startswith("u"):
        return max(a, b, key=BITS.get)
    unsigned, signed = (a, b) if a.startswith("u") else (b, a)
    return unsigned if BITS[unsigned] >= BITS[signed] else signed


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(max, a, b)) if a and b else a or b


class Addresses(Generator):
    def __init__(self, seed: int, operations: int):
        super().__init__(seed, operations)
        self.num_warps = self.random.choice((1, 2, 4, 4, 8))
        self.most = 512 if self.num_warps == 1 else 2048  # elements of a tile
        self.shape = self.shapes()
        self.total = math.prod(self.shape)
        self.traps = seed % 16 == 15
        self.scalars = [self.random.randint(0, 4), self.random.randint(-9, 9), self.random.randint(1, 64)]

    def shapes(self) -> tuple[int, ...]:
        """The last dimension is 1 to 1024 long, the others share what is left."""
        pick = self.random
        last = pick.choice((0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10))
        shape = [1 << min(last, self.most.bit_length() - 1)]
        for _ in range(pick.choice((0, 1, 1, 1, 2, 2, 3, 4))):
            room = (self.most // math.prod(shape)).bit_length() - 1
            shape.insert(0, 1 << pick.randint(0, min(room, 6)))
        return tuple(shape)

    # ---- terms

    def term(self, text: str, shape: tuple[int, ...], dtype: str, low: int, high: int) -> Term:
        name = self.name()
        self.write(f"{name} = {text}")
        return Term(name, shape, dtype, low, high)

    def to(self, term: Term, dtype: str) -> Term:
        if term.dtype == dtype:
            return term
        # A number may be the constant 1 of an argument that Triton specialised.
        text = f"{term.text}.to(tl.{dtype})" if term.shape else f"tl.cast({term.text}, tl.{dtype})"
        return dataclasses.replace(term, text=text, dtype=dtype)

    def placed(self, text: str, shape: tuple[int, ...], axis: int) -> tuple[str, tuple[int, ...]]:
        """A vector along an axis of the shape, by one of the ways to say so."""
        rank = len(shape)
        sizes = tuple(n if d == axis else 1 for d, n in enumerate(shape))
        if rank == 1:
            return text, sizes
        way = self.random.randrange(4)
        if way == 0:
            return f"tl.reshape({text}, {sizes})", sizes
        if way == 1:
            for d in range(rank):
                text = text if d == axis else f"tl.expand_dims({text}, {d})"
            return text, sizes
        where = ", ".join(":" if d == axis else "None" for d in range(rank))
        text = f"{text}[{where}]"
        return (f"tl.broadcast_to({text}, {shape})", shape) if way == 2 else (text, sizes)

    def array(self, dtype: str) -> str:
        self.inputs.append(dtype)
        return f"x{len(self.inputs) - 1}"

    def bounded(self, text: str, shape: tuple[int, ...], dtype: str, most: int) -> Term:
        """A value of any bits, brought into a range of about `most` numbers."""
        bits, unsigned = BITS[dtype], dtype.startswith("u")
        m = max(2, min(most, (1 << (bits - 1)) - 1))
        way = self.random.choice(("and", "rem", "rem", "div", "shift", "min"))
        if way == "and":
            mask = (1 << (m.bit_length() - 1)) - 1
            return self.term(f"{text} & {mask}", shape, dtype, 0, mask)
        if way == "rem":
            return self.term(f"{text} % {m}", shape, dtype, 0 if unsigned else 1 - m, m - 1)
        if way == "min":
            low, other = self.random.randint(0, m - 1), "tl.minimum(tl.maximum({0}, {1}), {2})"
            return self.term(other.format(text, low, m - 1), shape, dtype, low, m - 1)
        keep = m.bit_length() - 1
        if bits <= keep:
            low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
            return self.term(text, shape, dtype, low, high)
        by = bits - keep
        low, high = (0, (1 << keep) - 1) if unsigned else (-(1 << (keep - 1)), (1 << (keep - 1)) - 1)
        if way == "shift" or by >= bits - 1 or by > 30:
            return self.term(f"{text} >> {by}", shape, dtype, low, high)
        return self.term(f"{text} // {1 << by}", shape, dtype, low, high)

    def index(self, shape: tuple[int, ...], size: int) -> str:
        return f"({self.pick(shape, ('int32',)).name} & {size - 1})"

    def vector(self, shape: tuple[int, ...], axis: int, most: int) -> Term:
        """Along one axis: the index, something of it, or what a load gives."""
        n = shape[axis]
        line, pick = f"tl.arange(0, {n})", self.random
        kind = pick.choice(("index", "index", "of index", "load", "load", "load"))
        if kind == "load":
            dtype = pick.choice(INTS)
            at = f"tl.load({self.array(dtype)} + {line} + {pick.randint(0, 9)})"
            found = self.bounded(at, (n,), dtype, most)
        elif kind == "index":
            found = Term(line, (n,), "int32", 0, n - 1)
        else:
            k = pick.randint(1, 9)
            text, low, high = pick.choice(
                (
                    (f"{line} // {k}", 0, (n - 1) // k),
                    (f"{line} % {k}", 0, k - 1),
                    (f"({line} ^ {k}) % {n}", 0, n - 1),
                    (f"tl.minimum({line}, {k})", 0, k),
                    (f"({line} >> {k % 4}) * {k}", 0, (n - 1) * k),
                    (f"{n - 1} - {line}", 0, n - 1),
                    (f"({line} > {k})", 0, 1),
                    (f"(tl.arange(0, {n}) + delta) % {n}", 1 - n, n - 1),
                )
            )
            dtype = "int1" if ">" in text and ">>" not in text else "int32"
            found = self.term(text, (n,), dtype, low, high)
            if dtype == "int1":
                found = self.to(found, pick.choice(("int8", "int32", "uint8")))
        if pick.random() < 0.5:
            fitting = [d for d in INTS if fits(found.low, found.high, d)]
            found = self.to(found, pick.choice(fitting))
        text, sizes = self.placed(found.text, shape, axis)
        return self.term(text, sizes, found.dtype, found.low, found.high)

    def number(self) -> Term:
        pick = self.random
        if pick.random() < 0.3:
            dtype = pick.choice(INTS)
            at = f"tl.load({self.array(dtype)} + {pick.choice(('0', 'trips', 'tl.program_id(0)', '7'))})"
            return self.bounded(at, (), dtype, 64)
        choices = (
            ("tl.program_id(0)", 0, 3), ("trips", 0, 4), ("delta", -9, 9), ("limit", 0, 64), ("trips * 8", 0, 32),
        )  # fmt: skip
        text, low, high = pick.choice(choices)
        return Term(text, (), "int32", low, high)

    def whole(self, shape: tuple[int, ...], most: int) -> Term:
        """A tile of offsets: indices reshaped and turned, one number for all, or a value of the kernel."""
        pick, n = self.random, math.prod(shape)
        kind = pick.choice(("flat", "turned", "full", "value", "value"))
        if kind == "flat" or (kind == "turned" and len(shape) == 1):
            return self.term(f"tl.reshape(tl.arange(0, {n}), {shape})", shape, "int32", 0, n - 1)
        if kind == "turned":
            order = pick.sample(range(len(shape)), len(shape))
            before = [0] * len(shape)
            for to, of in enumerate(order):
                before[of] = shape[to]
            text = f"tl.permute(tl.reshape(tl.arange(0, {n}), {tuple(before)}), {tuple(order)})"
            return self.term(text, shape, "int32", 0, n - 1)
        if kind == "full":
            value, dtype = pick.randint(0, 99), pick.choice(INTS)
            return self.term(f"tl.full({shape}, {value}, tl.{dtype})", shape, dtype, value, value)
        value = self.pick(shape, (pick.choice(INTS),))
        return self.bounded(value.name, shape, value.dtype, most)

    def scaled(self, term: Term, by: int) -> Term:
        ends = (term.low * by, term.high * by)
        if not fits(min(ends), max(ends), term.dtype) or not fits(min(by, 0), max(by, 0), term.dtype):
            term = self.to(term, self.random.choice(("int32", "int64")))
        shift = by > 1 and by & (by - 1) == 0 and self.random.random() < 0.3
        text = f"({term.text}) << {by.bit_length() - 1}" if shift else f"({term.text}) * {by}"
        return self.term(text, term.shape, term.dtype, min(ends), max(ends))

    def terms(self, shape: tuple[int, ...], room: int) -> list[Term]:
        """Offsets that add up to less than `room` numbers, low ones among them perhaps below 0."""
        pick, rank = self.random, len(shape)
        chosen, used = [], 0
        axes = [d for d in range(rank) if pick.random() < 0.75]
        for _ in range(pick.choice((0, 0, 1, 1, 2))):
            axes.append(pick.choice((*range(rank), rank, rank + 1)))
        pick.shuffle(axes)
        if pick.random() < 0.4 and rank > 1:  # row-major, as most kernels are
            strides = [math.prod(shape[d + 1 :]) for d in range(rank)]
        else:
            strides = [pick.choice((1, 1, 2, 3, 7, 16, 32, 100, -1, -5, -32)) for _ in range(rank)]
        for axis in axes:
            left = max(2, (room - used) // 2)
            if axis < rank:
                found, by = self.vector(shape, axis, min(left, 128)), strides[axis]
            else:
                found, by = self.number() if axis == rank else self.whole(shape, left), pick.choice((1, 2, 5))
            extent = found.high - found.low
            if abs(by) * extent >= left:
                by = 1
            if extent >= left:
                continue
            if by != 1:
                found = self.scaled(found, by)
            used += found.high - found.low
            chosen.append(found)
        return chosen

    # ---- sums

    def add(self, a: Term, b: Term) -> Term:
        """Of two terms, one of which may be a pointer."""
        pick = self.random
        if not a.dtype or not b.dtype:
            text = f"{a.text} + {b.text}"
            if b.dtype and pick.random() < 0.1:
                text = f"{a.text} - (0 - {b.text})" if not b.dtype.startswith("u") else text
            dtype = ""
        else:
            dtype = promoted(a.dtype, b.dtype)
            if not fits(a.low + b.low, a.high + b.high, dtype) or not (
                fits(a.low, a.high, dtype) and fits(b.low, b.high, dtype)
            ):
                dtype = pick.choice(("int32", "int64"))
                a, b = self.to(a, dtype), self.to(b, dtype)
            text = f"{a.text} + {b.text}"
        return self.term(text, broadcast(a.shape, b.shape), dtype, a.low + b.low, a.high + b.high)

    def viewed(self, term: Term) -> Term:
        """The same elements by way of another shape."""
        shape, pick = term.shape, self.random
        if len(shape) < 2 or pick.random() < 0.7:
            return term
        if pick.random() < 0.5:
            order = pick.sample(range(len(shape)), len(shape))
            back = tuple(order.index(d) for d in range(len(shape)))
            text = f"tl.permute(tl.permute({term.text}, {tuple(order)}), {back})"
        else:
            text = f"tl.reshape(tl.reshape({term.text}, ({math.prod(shape)},)), {shape})"
        return self.term(text, shape, term.dtype, term.low, term.high)

    def sum(self, terms: list[Term], shape: tuple[int, ...]) -> Term:
        """Terms in any order and grouping, as a tile of the shape."""
        pick, terms = self.random, list(terms)
        pick.shuffle(terms)
        while len(terms) > 1:
            i = pick.randrange(len(terms) - 1)
            a, b = terms[i], terms.pop(i + 1)
            terms[i] = self.viewed(self.add(a, b))
        if terms[0].shape != shape:
            full = f"tl.broadcast_to({terms[0].text}, {shape})"
            if not terms[0].shape:
                full = f"{terms[0].text} + tl.zeros({shape}, tl.int32)"
            terms[0] = self.term(full, shape, terms[0].dtype, terms[0].low, terms[0].high)
        return terms[0]

    def pointer(self, shape: tuple[int, ...], dtype: str, spare: int = 0, wild: int = 0) -> Term:
        """Into an array of its own, with `spare` elements free on both sides."""
        base = Term(self.array(dtype), (), "", 0, 0)
        terms = self.terms(shape, ROOM - 2 * spare)
        low, high = sum(x.low for x in terms), sum(x.high for x in terms)
        shift = self.random.randint(spare - low, ROOM - 1 - spare - high) + wild
        kind = "int64" if wild else "int32"
        terms.append(
            Term(f"tl.full((1,) * {len(shape)}, {shift}, tl.{kind})", (1,) * len(shape), kind, shift, shift)
        )
        if not wild and self.random.random() < 0.7:
            terms[-1] = Term(str(shift), (), "int32", shift, shift)
            base = self.term(f"{base.text} + {shift}", (), "", shift, shift)
            terms.pop()
        return self.sum([base, *terms], shape)

    # ---- masks

    def mask(self, shape: tuple[int, ...]) -> str:
        pick, rank = self.random, len(shape)

        def cut() -> str:
            axis = pick.randrange(rank)
            line, _ = self.placed(f"tl.arange(0, {shape[axis]})", shape, axis)
            limit = pick.choice(("limit", "trips", str(pick.randint(0, shape[axis])), "delta", "0"))
            factor = pick.choice(("", "", "", " * 2", " * 3 + trips", " - 3"))
            sides = (f"{line}{factor}", limit)
            a, b = sides if pick.random() < 0.8 else sides[::-1]
            return f"({a} {pick.choice(('<', '<=', '>', '>=', '==', '!=', '<', '<'))} {b})"

        def one() -> str:
            kind = pick.choice(("cut", "cut", "cut", "number", "loaded", "column", "plane", "value"))
            if kind == "number":
                return pick.choice(("(trips > 2)", "(delta < limit)", "(tl.program_id(0) == 0)"))
            if kind == "loaded" or (kind == "plane" and rank == 1):
                return f"(tl.load({self.array('int8')} + {self.positions(shape)}) > 0)"
            if kind == "column":
                axis = pick.randrange(rank)
                bits = f"(tl.load({self.array('int16')} + tl.arange(0, {shape[axis]})) > 0)"
                return self.placed(bits, shape, axis)[0]
            if kind == "plane":
                a, b = (
                    self.placed(f"tl.arange(0, {shape[d]})", shape, d)[0] for d in pick.sample(range(rank), 2)
                )
                return f"({a} + {b} * {pick.choice((1, 2, -1))} {pick.choice(('<', '>='))} limit)"
            if kind == "value":
                return self.pick(shape, ("int1",)).name
            return cut()

        text = one()
        for _ in range(pick.choice((0, 1, 1, 2))):
            text = f"({text} {pick.choice(('&', '&', '|', '^'))} {one()})"
        if pick.random() < 0.15:
            text = f"(~{text})"
        name = self.name()
        self.write(f"{name} = {text} & tl.full({shape}, 1, tl.int1)")
        self.values.append(Value(name, shape, "int1"))
        return name

    def positions(self, shape: tuple[int, ...]) -> str:
        """Each element of a tile at its own place in memory, dimensions in any order, forwards or backwards."""
        order = (
            self.random.sample(range(len(shape)), len(shape))
            if self.random.random() < 0.4
            else range(len(shape))
        )
        parts, stride = [], 1
        for axis in reversed(list(order)):
            line = f"tl.arange(0, {shape[axis]})"
            if self.random.random() < 0.15:
                line = f"({shape[axis] - 1} - {line})"
            parts.append(f"{self.placed(line, shape, axis)[0]} * {stride}")
            stride *= shape[axis]
        self.random.shuffle(parts)
        return "(" + " + ".join(parts) + ")"

    # ---- loads

    def load(self, shape: tuple[int, ...] | None = None) -> Value:
        shape = shape or (self.shape if self.random.random() < 0.6 else self.shapes())
        kinds = [self.through_pointer, self.through_pointer, self.guarded, self.through_descriptor]
        if BLOCK_POINTERS:
            kinds.append(self.through_block)
        return self.random.choice(kinds)(shape, self.pick_type())

    def other(self, shape: tuple[int, ...], dtype: str) -> str:
        kind = self.random.randrange(3)
        if kind == 0:
            return "3"
        if kind == 1:
            axis = self.random.randrange(len(shape))
            row = f"tl.load({self.array(dtype)} + tl.arange(0, {shape[axis]}))"
            return f"tl.broadcast_to({self.placed(row, shape, axis)[0]}, {shape})"
        return f"tl.full({shape}, 5, tl.{dtype})"

    def through_pointer(self, shape: tuple[int, ...], dtype: str) -> Value:
        pointer = self.pointer(shape, dtype).text
        if self.random.random() < 0.5:
            return self.let(f"tl.load({pointer})", shape, dtype)
        mask = self.mask(shape)
        if self.random.random() < 0.2:
            zero = f"tl.zeros({shape}, tl.{dtype})"
            return self.let(f"tl.where({mask}, tl.load({pointer}, mask={mask}), {zero})", shape, dtype)
        return self.let(f"tl.load({pointer}, mask={mask}, other={self.other(shape, dtype)})", shape, dtype)

    def guarded(self, shape: tuple[int, ...], dtype: str) -> Value:
        """Offsets that go anywhere, and a mask that keeps them inside."""
        terms = self.terms(shape, 4 * ROOM) or [self.whole(shape, ROOM)]
        offset = self.sum(terms, shape)
        by = self.random.choice((1, 3, 64))
        name = self.name()
        self.write(
            f"{name} = {self.to(offset, 'int64').text} * {by} + {self.random.choice(('delta', '0', 'limit'))}"
        )
        inside = f"({name} >= 0) & ({name} < {ROOM})"
        if self.random.random() < 0.4:
            inside = f"({name}.to(tl.uint64) < {ROOM})"
        if self.random.random() < 0.4:
            inside = f"{inside} & {self.mask(shape)}"
        return self.let(f"tl.load({self.array(dtype)} + {name}, mask={inside}, other=1)", shape, dtype)

    def through_block(self, shape: tuple[int, ...], dtype: str) -> Value:
        """A block pointer into a matrix that is larger or smaller than the block, moved or not."""
        pick, rank = self.random, len(shape)
        sizes = [max(1, n + pick.choice((0, 0, 3, -1, n))) for n in shape]
        order = pick.sample(range(rank), rank)
        strides, stride = [0] * rank, 1
        for axis in order:
            strides[axis] = stride
            stride *= sizes[axis] + pick.choice((0, 0, 1))
        if stride > ROOM:
            return self.through_pointer(shape, dtype)
        checked = tuple(range(rank))
        at = ", ".join(pick.choice(("0", "0", "1", "delta", "trips")) for _ in shape)
        block, name = f"{self.array(dtype)}, {sizes}, {strides}, [{at}], {list(shape)}, {order}", self.name()
        self.write(f"{name} = tl.make_block_ptr({block})")
        if pick.random() < 0.5:
            steps = ", ".join(pick.choice(("0", "1", "-2", "trips")) for _ in shape)
            self.write(f"{name} = tl.advance({name}, [{steps}])")
        return self.let(f'tl.load({name}, boundary_check={checked}, padding_option="zero")', shape, dtype)

    def through_descriptor(self, shape: tuple[int, ...], dtype: str) -> Value:
        pick, rank, size = self.random, len(shape), BITS[dtype] // 8
        if shape[-1] * size < 16:
            return self.through_pointer(shape, dtype)
        unit = 16 // size
        sizes = [max(1, n + pick.choice((0, 0, 3, -1, n))) for n in shape]
        strides, stride = [1] * rank, -(-sizes[-1] // unit) * unit
        for axis in reversed(range(rank - 1)):
            strides[axis] = stride
            stride *= sizes[axis]
        if stride > ROOM or max(shape) > 256:
            return self.through_pointer(shape, dtype)
        at = [pick.choice(("0", "0", "1", "delta", "trips")) for _ in shape[:-1]]
        at.append(pick.choice(("0", "0", f"trips * {unit}")))  # TMA begins where 16 bytes do
        name = self.name()
        self.write(
            f"{name} = tl.make_tensor_descriptor({self.array(dtype)}, {sizes}, {strides}, {list(shape)})"
        )
        return self.let(f"{name}.load([{', '.join(at)}])", shape, dtype)

    def through_integers(self) -> None:
        """Pointers made into integers, whose difference is a value, and back."""
        shape, dtype = self.shape, self.pick_type()
        pointer = self.pointer(shape, dtype).text
        base, size = f"x{len(self.inputs) - 1}", BITS[dtype] // 8
        base = next(f"x{i}" for i in reversed(range(len(self.inputs))) if self.inputs[i] == dtype)
        self.let(f"{pointer}.to(tl.int64) & {16 // size * size - 1}", shape, "int64")
        offset = self.whole(shape, 64)
        lifted = f"({base}.to(tl.int64) + (({offset.text}).to(tl.int64) + 128) * {size})"
        self.let(f"tl.load({lifted}.to(tl.pointer_type(tl.{dtype})))", shape, dtype)

    def carried(self) -> None:
        """A pointer, or an offset, that a loop carries."""
        pick, shape, dtype = self.random, self.shape, self.pick(dtypes=INTS).dtype
        trips, spare = 4, 1024
        pointer = self.pointer(shape, dtype, spare).text
        step = Term(str(pick.randint(-200, 200)), (), "int32", -200, 200)
        if pick.random() < 0.7:
            axis = pick.randrange(len(shape))
            step = self.vector(shape, axis, 100)
            if not -spare <= step.low * trips <= step.high * trips <= spare:
                step = self.scaled(dataclasses.replace(step, text=f"({step.text} & 15)", low=0, high=15), 8)
        offset, total, i = self.name(), self.name(), self.name()
        masked = f", mask={self.mask(shape)}, other=2" if pick.random() < 0.5 else ""
        counter = pick.choice(("range(0, trips)", "tl.range(0, 3)", "tl.static_range(2)", "range(4)"))
        carries = pick.choice(("pointer", "offset", "two", "chosen"))
        self.write(f"{total} = tl.zeros({shape}, tl.{dtype})")
        again = f"{total} = ({total} * 3 ^ tl.load({{}}{masked})).to(tl.{dtype})"
        if carries == "offset":
            self.write(f"{offset} = tl.zeros({shape}, tl.int64)", f"for {i} in {counter}:")
            self.write("    " + again.format(f"{pointer} + {offset}"), f"    {offset} += {step.text}")
        elif carries == "two":
            self.write(f"{offset} = {pointer} + 1", f"for {i} in {counter}:", "    " + again.format(pointer))
            self.write(f"    {pointer}, {offset} = {offset}, {pointer}")
        else:
            moved = f"{pointer} + {step.text}"
            if carries == "chosen":
                moved = f"tl.where({self.mask(shape)}, {moved}, {pointer})"
            self.write(f"for {i} in {counter}:", "    " + again.format(pointer), f"    {pointer} = {moved}")
        self.values.append(Value(total, shape, dtype))

    def chosen(self) -> None:
        """One of two pointers into arrays of one type, by a mask or a number."""
        dtype, shape = self.pick_type(), self.shape
        a, b = (self.pointer(shape, dtype).text for _ in range(2))
        if self.random.random() < 0.5:
            self.let(f"tl.load(tl.where({self.mask(shape)}, {a}, {b}))", shape, dtype)
            return
        name = self.name()
        self.write(f"{name} = {a}", "if trips > 1:", f"    {name} = {b}")
        self.let(f"tl.load({name})", shape, dtype)

    def trap(self) -> None:
        dtype = self.random.choice(INTS)
        pointer = self.pointer(self.shape, dtype, wild=WILD).text
        self.store(self.let(f"tl.load({pointer})", self.shape, dtype), masked=False)

    # ---- views of values

    def view(self) -> None:
        """One to four views, one of the other."""
        value, pick = self.pick(), self.random
        text, shape = value.name, value.shape
        for _ in range(pick.randint(1, 4)):
            kind = pick.choice(("reshape", "permute", "expand", "broadcast", "split", "join", "interleave"))
            if kind == "reshape":
                left, shape = math.prod(shape), ()
                for _ in range(pick.randint(0, 4)):
                    shape += (1 << pick.randint(0, left.bit_length() - 1),)
                    left //= shape[-1]
                shape += (left,)
                text = f"tl.reshape({text}, {shape})"
            elif kind == "permute" and len(shape) > 1:
                order = tuple(pick.sample(range(len(shape)), len(shape)))
                text, shape = f"tl.permute({text}, {order})", tuple(shape[d] for d in order)
            elif kind == "expand" and len(shape) < 5:
                axis = pick.randint(0, len(shape))
                text, shape = f"tl.expand_dims({text}, {axis})", (*shape[:axis], 1, *shape[axis:])
            elif kind == "broadcast" and 1 in shape and math.prod(shape) * 2 <= self.most:
                axis = pick.choice([d for d, n in enumerate(shape) if n == 1])
                n = 1 << pick.randint(1, (self.most // math.prod(shape)).bit_length() - 1)
                shape = (*shape[:axis], n, *shape[axis + 1 :])
                text = f"tl.broadcast_to({text}, {shape})"
            elif kind == "split" and shape[-1] == 2 and len(shape) > 1:
                low, high = self.name(), self.name()
                self.write(f"{low}, {high} = tl.split({text})")
                text, shape = pick.choice((low, high)), shape[:-1]
            elif kind == "join" and len(shape) < 5 and math.prod(shape) * 2 <= self.most:
                name = self.name()
                self.write(f"{name} = {text}")
                text, shape = f"tl.join({name}, {self.pick(shape, (value.dtype,)).name})", (*shape, 2)
            elif kind == "interleave" and math.prod(shape) * 2 <= self.most:
                name = self.name()
                self.write(f"{name} = {text}")
                text = f"tl.interleave({name}, {name})"
                shape = (*shape[:-1], shape[-1] * 2)
        self.let(text, shape, value.dtype)

    def spread(self) -> None:
        """A tile with what is the same along some of its axes: reduced, loaded, or a cut of another."""
        tile, pick = self.pick(dtypes=INTS), self.random
        shape = tile.shape
        if pick.random() < 0.5 and len(shape) > 1:
            axis = pick.randrange(len(shape))
            kind = pick.choice(("max", "min", "xor_sum"))
            other = f"tl.expand_dims(tl.{kind}({tile.name}, {axis}), {axis})"
        else:
            axis = pick.randrange(len(shape))
            row = f"tl.load({self.array(tile.dtype)} + tl.arange(0, {shape[axis]}))"
            other, _ = self.placed(row, shape, axis)
        name = self.name()
        self.write(f"{name} = ({other}).to(tl.{tile.dtype})")
        for _ in range(pick.randint(0, 2)):  # stays as small as it is
            self.write(f"{name} = ({self.expression(name, name, tile.dtype)}).to(tl.{tile.dtype})")
        self.let(self.expression(tile.name, name, tile.dtype), shape, tile.dtype)

    def outer(self) -> None:
        """Two lines along different axes."""
        shape, pick = self.shape, self.random
        dtype = pick.choice(INTS)
        if len(shape) < 2:
            return
        sides = []
        for axis in pick.sample(range(len(shape)), 2):
            row = f"tl.load({self.array(dtype)} + tl.arange(0, {shape[axis]}))"
            sides.append(self.term(*self.placed(row, shape, axis), dtype, 0, 0))
        small = broadcast(sides[0].shape, sides[1].shape)
        made = self.let(self.expression(sides[0].text, sides[1].text, dtype), small, dtype)
        if small != shape:
            self.let(f"tl.broadcast_to({made.name}, {shape})", shape, dtype)

    # ---- the whole

    def store(self, value: Value, masked: bool) -> None:
        if value.dtype == "int1":
            value = self.cast(value, "int8")
        size, out = math.prod(value.shape), f"out{len(self.outputs)}"
        self.outputs.append((value.dtype, size))
        mask = f", mask={self.mask(value.shape)}" if masked else ""
        at = [f"tl.program_id(0) * {size}", self.positions(value.shape)]
        self.random.shuffle(at)
        self.write(f"tl.store({out} + {' + '.join(at)}, {value.name}{mask})")

    def generate(self) -> Kernel:
        weights = {
            self.binary: 4, self.compare: 2, self.convert: 3, self.load: 8, self.carried: 3, self.chosen: 2,
            self.through_integers: 1, self.view: 6, self.spread: 4, self.outer: 2, self.loop: 1, self.branch: 1,
            self.atomic: 1,
        }  # fmt: skip
        self.load(self.shape)
        for _ in range(self.operations):
            self.random.choices(list(weights), list(weights.values()))[0]()
        if self.traps:
            self.trap()
        for value in self.values[-7:]:
            self.store(value, self.random.random() < 0.3)
        return dataclasses.replace(self.kernel(), elements=ROOM, traps=self.traps)

    def branch(self) -> None:
        a = self.pick(dtypes=INTS + FLOATS)
        b, out = self.pick(a.shape, (a.dtype,)).name, self.name()
        body = f"    {out} = ({self.expression(a.name, b, a.dtype)}).to(tl.{a.dtype})"
        self.write(f"{out} = {a.name}", f"if {self.random.choice(('trips > 2', 'delta < 0'))}:", body)
        self.values.append(Value(out, a.shape, a.dtype))


def generate_addresses(seed: int, operations: int = 7) -> Kernel:
    return Addresses(random.Random(seed).randrange(1 << 62) // 16 * 16 + seed % 16, operations).generate()
