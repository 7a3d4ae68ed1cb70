"""A random kernel made of addresses, from a seed: on tiles of rank 1 to 5, with pointers that are sums of
anything in any order.

Pointers and offsets are broadcast, turned, reshaped, chosen, carried by loops; loads also go through tensor
descriptors and, up to Triton 3.8, block pointers. Masks take every form, and may be all that keeps a pointer
inside. Values go through views of views. One kernel in sixteen leaves its array on purpose and has to trap at
every level.
"""

import dataclasses
import importlib.metadata
import math
import random

from generate import BITS, FLOATS, INTS, Kernel, Value
from offsets import ROOM, Offsets, Term, broadcast

BLOCK_POINTERS = tuple(map(int, importlib.metadata.version("triton").split(".")[:2])) < (3, 9)
WILD = 1 << 40  # elements behind an array, where nothing lies


class Addresses(Offsets):
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
        base, size = f"x{len(self.inputs)}", BITS[dtype] // 8
        pointer = self.pointer(shape, dtype).text
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
            self.through_integers: 1, self.view: 6, self.spread: 4, self.outer: 2, self.loop: 1,
            self.branch: 1, self.atomic: 1,
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
