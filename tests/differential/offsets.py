"""Offsets, pointers and masks of random kernels: sums of anything, in any order, on tiles of rank 1 to 5.

A term is a row, a column, a tile or a number of any integer type, from an index, a load, `%`, `//`, a shift,
a comparison. It knows its least and greatest value, so that sums stay inside of their types and the arrays.
"""

import dataclasses
import math

from generate import BITS, INTS, Generator, Value

ROOM = 1 << 14  # elements of each array


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
    """Returns what Triton makes of two integer types."""
    if a.startswith("u") == b.startswith("u"):
        return max(a, b, key=BITS.get)
    unsigned, signed = (a, b) if a.startswith("u") else (b, a)
    return unsigned if BITS[unsigned] >= BITS[signed] else signed


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(max, a, b)) if a and b else a or b


class Offsets(Generator):
    """addresses.py builds loads and stores from these."""

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
            ("tl.program_id(0)", 0, 3), ("trips", 0, 4), ("delta", -9, 9), ("limit", 0, 64),
            ("trips * 8", 0, 32),
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
        """Adds two terms, one of which may be a pointer."""
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
        """Each element of a tile at a place of its own, dimensions in any order, forwards or backwards."""
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
