"""Arguments holds the arguments of a launch and the memory that they lie in: it is read, put back, copied,
compared.

Arguments that share memory share a block, so that what runs a launch again has each block once and runs with
it shared."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import dataclasses
import functools
import sys
import weakref
from collections.abc import Callable

import numpy

from triton_runner import _core
from triton_runner._base.errors import fail
from triton_runner._memory import contents, registry, uninit
from triton_runner._memory.arrays import ArrayArgument, bytes_of
from triton_runner._memory.contents import Contents, Pages
from triton_runner._memory.files import DTYPES, kind_of, numpy_named
from triton_runner._memory.ghost_memory import ghost_at


@dataclasses.dataclass(frozen=True)
class View:
    """The view that an argument is of a block: elements of a type from an offset (in bytes) on, shape and
    strides (in elements)."""

    block: int
    offset: int
    dtype: str  # as arguments name it: "f16"
    shape: tuple
    strides: tuple

    @property
    def type(self) -> numpy.dtype:
        return numpy_named(DTYPES[self.dtype][0])

    @property
    def steps(self) -> tuple:
        """The strides in bytes."""
        return tuple(step * self.type.itemsize for step in self.strides)

    def of(self, data: numpy.ndarray) -> numpy.ndarray:
        """The elements in the bytes of the block."""
        return numpy.ndarray(self.shape, self.type, data, self.offset, self.steps)

    def passed(self, data: numpy.ndarray):
        """The argument in the bytes of the block, as launches take it."""
        array = self.of(data)  # NumPy looks whether shape and strides stay inside
        if array.flags.c_contiguous and self.shape:
            return array
        argument = ArrayArgument(data, _address(data) + self.offset, DTYPES[self.dtype][0])
        argument.shape, argument.strides, argument.itemsize = self.shape, self.steps, self.type.itemsize
        return argument

    def of_tensor(self, data):
        """The same in a tensor of bytes."""
        import torch

        shape, strides = self._one_dimension_at_least()
        if min(strides) < 0:  # torch has no such tensor; flag_gems' flip passes an object of its own
            return self.of_memory(data.untyped_storage())
        empty = torch.empty(0, dtype=getattr(torch, DTYPES[self.dtype][0]), device=data.device)
        return empty.set_(data.untyped_storage(), self.offset // empty.element_size(), shape, strides)

    def of_memory(self, owner) -> MemoryView:
        """The same in memory that its owner tells: data_ptr(), nbytes, device."""
        address, dtype = owner.data_ptr() + self.offset, DTYPES[self.dtype][0]
        return MemoryView(owner, address, dtype, *self._one_dimension_at_least())

    def _one_dimension_at_least(self) -> tuple:
        return (self.shape, self.strides) if self.shape else ((1,), (1,))

    def is_whole(self, nbytes: int) -> bool:
        """Returns whether it is all of a block of so many bytes, in order."""
        count = int(numpy.prod(self.shape, dtype=numpy.int64))
        pairs = zip(self.strides, _dense(self.shape), self.shape, strict=True)
        is_dense = all(a == b or n == 1 for a, b, n in pairs)
        return self.offset == 0 and count * self.type.itemsize == nbytes and is_dense


@dataclasses.dataclass(frozen=True)
class MemoryView:
    """An argument in memory that no tensor shows: a storage under negative strides (in elements), a GPU's own
    (_core.device.Memory)."""

    owner: object
    pointer: int
    dtype: str  # "float16"
    shape: tuple
    strides: tuple

    @property
    def device(self):
        return self.owner.device

    def data_ptr(self) -> int:
        return self.pointer

    def stride(self) -> tuple:
        return self.strides


def strides_of(value, shape: tuple) -> tuple:
    """The strides of an argument of that shape, in elements."""
    if not shape:
        return ()
    if hasattr(value, "stride"):
        return tuple(int(n) for n in value.stride())
    if getattr(value, "strides", None):
        return tuple(n // value.itemsize for n in value.strides)
    return _dense(shape)


def _dense(shape: tuple) -> tuple:
    """The strides of an array in order."""
    return tuple(int(numpy.prod(shape[i + 1 :], dtype=numpy.int64)) for i in range(len(shape)))


def is_descriptor(value) -> bool:
    """Returns whether a value is a host-side tensor descriptor."""
    return hasattr(value, "block_shape") and hasattr(value, "base") and hasattr(value, "strides")


def is_array(value) -> bool:
    return not is_descriptor(value) and (
        hasattr(value, "data_ptr") or (hasattr(value, "__array_interface__") and len(value.shape) > 0)
    )


def has_memory(value) -> bool:
    """Returns whether a value tells all the memory that it belongs to."""
    value = value.base if is_descriptor(value) else value
    return hasattr(value, "untyped_storage") or isinstance(value, (numpy.ndarray, ArrayArgument))


@dataclasses.dataclass(frozen=True, eq=False)
class _Block:
    """Memory that arguments lie in. owner: what keeps it alive."""

    address: int
    size: int
    writable: bool
    owner: object

    @property
    def extent(self) -> tuple[int, int]:
        return self.address, self.size

    @property
    def is_on_gpu(self) -> bool:
        return getattr(getattr(self.owner, "device", None), "type", "cpu") != "cpu"  # NumPy's is a text

    @property
    def is_logged(self) -> bool:
        """Returns whether a launch on the CPU can change it."""
        return self.writable and not self.is_on_gpu

    def holds(self, address: int) -> bool:
        return self.address <= address < self.address + max(self.size, 1)

    def overlaps(self, other: _Block) -> bool:
        return self.holds(other.address) or other.holds(self.address)

    def joined(self, other: _Block) -> _Block:
        start = min(self.address, other.address)
        end = max(self.address + self.size, other.address + other.size)
        whole = [block.owner for block in (self, other) if block.extent == (start, end - start)]
        owner = whole[0] if whole else [self.owner, other.owner]
        return _Block(start, end - start, self.writable or other.writable, owner)

    def bytes(self) -> numpy.ndarray:
        """In place; of a GPU's a copy."""
        return _bytes_on(self.owner) if self.is_on_gpu else _bytes_at(self.address, self.size)

    def write(self, pages: Pages) -> None:
        """Puts these bytes into it."""
        if not pages.parts or not (self.writable or self.is_on_gpu):
            return
        if not self.is_on_gpu:
            here = _bytes_at(self.address, self.size)
            for start, data in pages:
                for at in range(0, data.nbytes, contents.PART):
                    now, then = here[start + at :][: contents.PART], data[at : at + contents.PART]
                    if not numpy.array_equal(now := now[: then.size], then):
                        now[:] = then
            return
        data = pages.read(self.bytes(), 0, self.size)
        if isinstance(self.owner, _core.device.Memory):
            self.owner.write(data.tobytes())
        else:
            import torch

            bytes_of(self.owner).copy_(torch.from_numpy(data))


class Arguments:
    """The arguments of a launch, (name, value), and the blocks of memory that they lie in. Blocks do not
    overlap: arguments that share a byte share a block.

    The memory still holds what it held at first, unless a launch was watched() or keep() was told first
    contents. Inside of kept() a launch may change it. pointed: (name, tensor) that a launch has the addresses
    of and is not given: their memory belongs to the blocks too.
    """

    def __init__(self, named: list, pointed: list = ()):
        self.named, self.pointed = list(named), list(pointed)
        self._blocks: list[_Block] = []
        arrays = {
            name: value.base if is_descriptor(value) else value
            for name, value in (*self.named, *self.pointed)
        }
        places = {name: (array, self._add(name, array)) for name, array in arrays.items() if is_array(array)}
        order = [start for _, start in places.values()]
        self._blocks.sort(key=lambda block: next(i for i, start in enumerate(order) if block.holds(start)))
        self.views = {name: self._view(name, *place) for name, place in places.items()}
        self._held: Contents | None = None  # what the blocks held at first, if that is not in place
        self._known: weakref.WeakSet[Contents] = weakref.WeakSet()

    def _add(self, name: str, value) -> int:
        """Adds the memory of an argument to the blocks. Gives where it begins."""
        start, size, writable, owner = _block_of(name, value, _address(value))
        if ghost_at(start) is not None:
            raise fail(
                f"argument '{name}' is a ghost of {size / 2**30:,.1f} GiB, which cannot be kept and put back",
                "what runs a launch several times needs real tensors; a launch under checks takes ghosts",
            )
        block = _Block(start, size, writable, owner)
        apart = []
        for other in self._blocks:
            if other.overlaps(block):
                block = other.joined(block)
            else:
                apart.append(other)
        self._blocks = [*apart, block]
        return start

    def _view(self, name: str, value, start: int) -> View:
        number = self._number(start)
        shape = tuple(int(n) for n in getattr(value, "shape", ()))
        strides = strides_of(value, shape)
        offset = _address(value) - self._blocks[number].address
        return View(number, offset, _dtype(name, value), shape, strides)

    def _number(self, address: int) -> int:
        """Returns the number of the block that holds an address."""
        return next(i for i, block in enumerate(self._blocks) if block.holds(address))

    @property
    def first(self) -> Contents:
        """The contents that the blocks held at first."""
        return self._held or self._contents([Pages() for _ in self._blocks])

    @property
    def saved(self) -> list[numpy.ndarray]:
        """The bytes of the blocks as they were at first."""
        return self.first.blocks()

    @property
    def nbytes(self) -> int:
        return sum(block.size for block in self._blocks)

    def address(self, block: int) -> int:
        """Returns where a block lies."""
        return self._blocks[block].address

    def size(self, block: int) -> int:
        """Returns how many bytes a block has."""
        return self._blocks[block].size

    def _contents(self, pages: list[Pages], undefined=None) -> Contents:
        return Contents(self.views, self._base, pages, undefined)

    @functools.cached_property
    def _base(self) -> list[numpy.ndarray]:
        """The bytes of the blocks in place; of those on a GPU as they were at first."""
        return [block.bytes() for block in self._blocks]

    def now(self) -> Contents:
        """Returns what the blocks hold now; that holds as long as nobody changes them."""
        pages = [Pages([(0, block.bytes())] if block.is_on_gpu else []) for block in self._blocks]
        return self._contents(pages)

    def live(self) -> list[numpy.ndarray]:
        """The bytes of the blocks in place; of a GPU's copies of them."""
        return [block.bytes() for block in self._blocks]

    def taken(self) -> list[numpy.ndarray]:
        """The bytes of the blocks as they are now."""
        return [data.copy() for data in self.live()]

    def state(self) -> Contents:
        """Returns what the blocks hold now, and what of torch.empty's memory nobody has written yet: for
        put_back(), whatever happens to them."""
        return self._contents([Pages([(0, data)]) for data in self.taken()], uninit.snapshot())

    def put_back(self, contents: Contents | None = None) -> None:
        """Makes contents so again; those of the beginning."""
        contents = contents or self.first
        for block, pages in zip(self._blocks, contents.pages, strict=True):
            block.write(pages)
        if contents.undefined is not None:
            uninit.put_back(contents.undefined)

    def keep(self, first_of: Callable) -> None:
        """Keeps what the blocks held at first: first_of(address, nbytes)."""
        held = [first_of(block.address, block.size) for block in self._blocks]
        self._held = self._contents([Pages([(0, numpy.frombuffer(data, numpy.uint8))]) for data in held])

    @contextlib.contextmanager
    def kept(self):
        """Runs a block that begins with the first contents, and may change them. Gives a function of what
        they are then; that holds as long as nobody else changes them. They are put back in the end."""
        assert self._held is None, "the memory holds something else than at first"
        undefined = uninit.snapshot()
        with self._log() as log:
            try:
                yield lambda: self._seen(self._changed(log), self.live())
            finally:
                log.put_back()
                for block, base in zip(self._blocks, self._base, strict=True):
                    if block.is_on_gpu and not numpy.array_equal(base, block.bytes()):
                        block.write(Pages([(0, base)]))
                uninit.put_back(undefined)

    @contextlib.contextmanager
    def watched(self):
        """Runs the program's own launch inside: `first` is still what was there before, and put_back() undoes
        it."""
        undefined, base = uninit.snapshot(), self._base
        with self._log() as log:
            try:
                yield
            finally:
                pages: list[Pages] = []
                for block, held, ranges in zip(self._blocks, base, self._changed(log), strict=True):
                    read = [(at, log.read(block.address + at, size)) for at, size in ranges]
                    first = [(at, numpy.frombuffer(data, numpy.uint8)) for at, data in read]
                    pages.append(Pages([(0, held)] if block.is_on_gpu else first))
                self._held = self._contents(pages, undefined)

    @contextlib.contextmanager
    def _log(self):
        """A log of what launches on the CPU write to the memory."""
        log = _core.UndoLog([block.extent for block in self._blocks if block.is_logged])
        try:
            yield log
        finally:
            log.end()

    def _changed(self, log) -> list[list[tuple[int, int]]]:
        """(offset, bytes) of what has changed, by block."""
        by_block: list[list] = [[] for _ in self._blocks]
        for address, size in log.changed():
            number = self._number(address)
            contents.add(by_block[number], address - self._blocks[number].address, size)
        for number, block in enumerate(self._blocks):
            if block.is_on_gpu:
                by_block[number] = contents.changed(self._base[number], block.bytes())
        return by_block

    def _seen(self, ranges: list, blocks: list[numpy.ndarray]) -> Contents:
        """Returns what the blocks hold in these ranges; elsewhere it is what is in place."""
        known = [other.pages for other in self._known]
        pages = [
            contents.taken(data, parts, [each[number] for each in known])
            for number, (data, parts) in enumerate(zip(blocks, ranges, strict=True))
        ]
        seen = self._contents(pages)
        self._known.add(seen)
        return seen

    def as_in(self, copies: Arguments) -> Contents:
        """Returns what copied() arguments hold now, as contents of these."""
        blocks = copies.live()
        ranges = [contents.changed(base, data) for base, data in zip(self._base, blocks, strict=True)]
        return self._seen(ranges, blocks)

    def arrays(self, blocks: list[numpy.ndarray] | None = None) -> dict[str, numpy.ndarray]:
        """The arguments' elements in the bytes of the blocks, by name; as they are now."""
        blocks = self.taken() if blocks is None else blocks
        return {name: view.of(blocks[view.block]) for name, view in self.views.items()}

    def is_on(self, device: str) -> bool:
        """Returns whether all of it lies on a device."""
        return all(block.is_on_gpu == (device != "cpu") for block in self._blocks)

    def copied(
        self, device: str = "", allocate: Callable | None = None, alignment: int = 0, first: bool = False
    ) -> Arguments:
        """The arguments in copies of the blocks as they are now; first: as they were at first. They lie where
        the arguments do, or on another device. There they are tensors where they were or the device is a GPU,
        or lie in what allocate(nbytes) gives. The addresses of blocks are multiples of `alignment`, where one
        is given."""
        held = self.saved if first else self.live()
        if allocate is None:
            held = [aligned(data, alignment) if alignment else data.copy() for data in held]
        on_gpu = any(block.is_on_gpu for block in self._blocks) if not device else device != "cpu"
        tensors: dict = {}  # of the blocks, or memory on a GPU

        def value_of(name: str, value):
            view = self.views.get(name)
            if view is None:
                return value
            whole = value.base if is_descriptor(value) else value
            if allocate is not None:
                if view.block not in tensors:
                    tensors[view.block] = allocate(held[view.block].nbytes)
                    tensors[view.block].write(held[view.block].tobytes())
                moved = view.of_memory(tensors[view.block])
            elif not on_gpu and not hasattr(whole, "untyped_storage"):
                moved = view.passed(held[view.block])
            else:
                import torch

                if view.block not in tensors:
                    tensors[view.block] = torch.from_numpy(held[view.block])
                    if on_gpu:  # as torch calls AMD's devices too
                        tensors[view.block] = tensors[view.block].to("cuda")
                moved = view.of_tensor(tensors[view.block])
            if not is_descriptor(value):
                return moved
            value = copy.copy(value)
            object.__setattr__(value, "base", moved)
            return value

        return Arguments([(name, value_of(name, value)) for name, value in self.named])


def _address(value) -> int:
    return value.data_ptr() if hasattr(value, "data_ptr") else value.__array_interface__["data"][0]


def _dtype(name: str, value) -> str:
    text = str(getattr(value, "dtype", ""))
    if (ours := kind_of(text)) in DTYPES:
        return ours
    text = text.removeprefix("torch.") or "no type"
    raise fail(f"argument '{name}' has elements of {text}", f"types: {', '.join(DTYPES)}")


def _bytes_on(owner) -> numpy.ndarray:
    """The bytes of memory on a GPU, here."""
    if isinstance(owner, _core.device.Memory):
        return numpy.frombuffer(owner.read(), numpy.uint8)
    return bytes_of(owner).cpu().numpy()


def _block_of(name: str, value, address: int) -> tuple:
    """(address, bytes, writable, owner) of all the memory that an argument belongs to."""
    if isinstance(value, MemoryView):
        nbytes = value.owner.nbytes
        return value.owner.data_ptr(), nbytes() if callable(nbytes) else nbytes, True, value.owner
    torch = sys.modules.get("torch")
    tensor = value
    while torch is not None and not isinstance(tensor, torch.Tensor) and hasattr(tensor, "base"):
        tensor = tensor.base  # a view of Triton's
    if torch is not None and isinstance(tensor, torch.Tensor):
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes(), True, storage
    if isinstance(value, numpy.ndarray):
        whole = value
        while isinstance(whole.base, numpy.ndarray) and whole.base.flags.c_contiguous:
            whole = whole.base
        return _address(whole), whole.nbytes, value.flags.writeable, whole
    if isinstance(value, ArrayArgument):
        return _address(value.base), value.base.nbytes, True, value.base
    region = registry.around(value, address)
    if region is None:
        raise fail(
            f"argument '{name}' is {type(value).__name__}, and its size is not known (at {address:#x})",
            "triton_runner.register_memory(address, nbytes) sets it",
        )
    start, size, _, writable, owner = region
    return start, size, writable, owner


def _bytes_at(address: int, size: int) -> numpy.ndarray:
    return numpy.frombuffer((ctypes.c_uint8 * size).from_address(address), numpy.uint8) if size else _NONE


_NONE = numpy.zeros(0, numpy.uint8)


def aligned(data, alignment: int, past: int = 0) -> numpy.ndarray:
    """Bytes in memory of their own, at an address `past` a multiple of `alignment`. data: these bytes, or how
    many zeros. It is an array of its own, and no view: the room around it belongs to nobody."""
    size = data if isinstance(data, int) else len(memoryview(data))
    room = numpy.zeros(size + 2 * alignment, numpy.uint8)
    start = (past - _address(room)) % alignment
    out = numpy.frombuffer(memoryview(room)[start : start + size], numpy.uint8)
    if not isinstance(data, int):
        out[:] = numpy.frombuffer(data, numpy.uint8)
    return out


# --- arrays on their way to another process


def host(value) -> numpy.ndarray:
    """The elements of an array or tensor as NumPy has them, in order; a copy where they lie elsewhere."""
    if not hasattr(value, "detach"):
        return numpy.asarray(value, order="C")
    import torch

    flat = value.detach().cpu().contiguous()
    data = flat.reshape(-1).view(torch.uint8).numpy()
    return data.view(numpy_named(str(value.dtype).removeprefix("torch."))).reshape(tuple(value.shape))


def packed(array: numpy.ndarray) -> list:
    """An array as messages between processes carry it: [dtype, shape, bytes]."""
    return [str(array.dtype), list(array.shape), array.tobytes()]


def unpacked(content: list) -> numpy.ndarray:
    """The array again, read-only."""
    dtype, shape, data = content
    return numpy.frombuffer(data, numpy_named(dtype)).reshape(shape)
