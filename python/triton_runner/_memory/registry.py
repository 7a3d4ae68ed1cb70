"""Finds memory that nobody passed to a launch: behind pointers that a kernel finds in memory, and around the
address of an object that only has data_ptr(). It belongs to live tensors and arrays, or to blocks that were
registered: register_memory() is public. The core calls resolve() by name (python/bindings/launch.cpp).

It is tested through tests/python/launch/test_pointer_objects.py and tests/python/launch/test_jit.py."""

from __future__ import annotations

import bisect
import contextlib
import gc
import inspect
import sys
import types
import weakref

from triton_runner._base.errors import fail
from triton_runner._memory.torch_modes import without_modes


class Blocks:
    """Blocks of memory that do not overlap, by address."""

    def __init__(self):
        self._starts: list[int] = []
        self._blocks: dict[int, tuple] = {}

    def put(self, start: int, block: tuple) -> None:
        if start not in self._blocks:
            bisect.insort(self._starts, start)
        self._blocks[start] = block

    def drop(self, start: int) -> None:
        if self._blocks.pop(start, None) is not None:
            self._starts.remove(start)

    def drop_within(self, start: int, end: int) -> None:
        """Drops the blocks, (bytes, ...), that share a byte with start to end."""
        last = bisect.bisect_left(self._starts, end)
        while last and (first := self._starts[last - 1]) + self._blocks[first][0] > start:
            self.drop(first)
            last -= 1

    def __len__(self) -> int:
        return len(self._blocks)

    def get(self, start: int):
        return self._blocks.get(start)

    def before(self, address: int):
        """(start, block) with the largest start up to the address, or None."""
        i = bisect.bisect_right(self._starts, address) - 1
        return (self._starts[i], self._blocks[self._starts[i]]) if i >= 0 else None

    def items(self) -> list[tuple]:
        return list(self._blocks.items())

    def clear(self) -> None:
        self._starts.clear()
        self._blocks.clear()


_registered = Blocks()  # (bytes, label)
_met = Blocks()  # (bytes, label, weak reference to the storage or array): what the last walks came by


# The last answers by address, as long as they hold: a launch asks for each argument again.
_recent: dict[int, tuple] = {}
_RECENT_MOST = 4096


def register_memory(ptr: int, nbytes: int, label: str = "") -> None:
    """Lets kernels on the CPU access `nbytes` at `ptr`.

    It is for pointers whose size is not known otherwise: memory of another library, or an address that is
    stored in memory. Blocks that were registered before and overlap these bytes are removed, because their
    memory must have been freed. With 0 bytes it removes the block that begins at `ptr`.
    """
    if not isinstance(ptr, int) or not isinstance(nbytes, int) or ptr <= 0 or nbytes < 0:
        raise fail(f"register_memory({ptr!r}, {nbytes!r}): expected an address and a size in bytes")
    _registered.drop(ptr)
    _recent.clear()
    if nbytes:
        _registered.drop_within(ptr, ptr + nbytes)
        _registered.put(ptr, (nbytes, label or f"registered memory at {ptr:#x}"))


def extent(owner):
    """(start, bytes) of a storage of PyTorch or an array of NumPy, as it is now."""
    if callable(owner.nbytes):
        return owner.data_ptr(), owner.nbytes()
    start = owner.__array_interface__["data"][0]
    if owner.__array_interface__["strides"] is None:
        return start, owner.nbytes
    ends = [(n - 1) * step for n, step in zip(owner.shape, owner.strides, strict=True)]
    low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
    return start + low, high - low + owner.itemsize if owner.size else 0


def storage_of(tensor):
    """The storage of a tensor in host memory, else None."""
    try:
        storage = tensor.untyped_storage()
        if storage.device.type != "cpu":  # the tensor may say cuda: --pretend-cuda
            return None
        storage.data_ptr()
        return storage
    except (RuntimeError, NotImplementedError):
        return None  # tensors without storage: fake, sparse


def _meet(value) -> None:
    """Notes the memory of a tensor, a storage or an array; of anything else nothing."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    kind = type(value)
    if torch is not None and issubclass(kind, torch.Tensor):
        owner, label = storage_of(value), f"a live tensor ({value.dtype}{list(value.shape)})"
    elif torch is not None and issubclass(kind, torch.UntypedStorage):
        owner = value if value.device.type == "cpu" else None
        label = "a live storage"
    elif numpy is not None and issubclass(kind, numpy.ndarray):
        owner = value
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        if torch is not None and isinstance(owner.base, torch.Tensor):
            owner = storage_of(owner.base)
        label = f"a live array ({value.dtype}{list(value.shape)})"
    else:
        return
    if owner is None:
        return
    start, size = extent(owner)
    block = _met.get(start)
    if size and (block is None or block[0] <= size or block[2]() is None):
        _met.put(start, (size, label, weakref.ref(owner)))


def _known(address: int):
    """(start, bytes, label, writable, owner) of a block met before that holds the address and still lives."""
    while (block := _met.before(address)) is not None:
        start, (size, label, reference) = block
        owner = reference()
        if owner is not None and extent(owner) == (start, size):
            if address >= start + size:
                return None
            writable = not hasattr(owner, "flags") or owner.flags.writeable
            return start, size, label, writable, owner
        _met.drop(start)
    return None


def _in_blocks(address: int):
    block = _registered.before(address)
    if block is not None and address < block[0] + block[1][0]:
        return block[0], *block[1], True, None
    return _known(address)


def _without_overrides(function, *args):
    """The call, with torch as it is: classes of tensors and modes may change what they answer."""
    with without_modes():
        return function(*args)


_HELD_DEPTH = 4  # how far from an object its memory may be: object, wrapper, list, tensor
_HELD_MOST = 1000


def _meet_held(value) -> None:
    """Notes what the object itself holds: mostly it keeps its own memory alive."""
    level, seen = [value], {id(value)}
    for _ in range(_HELD_DEPTH):
        behind = []
        for item in level:
            if isinstance(item, (type, types.ModuleType)):
                continue
            if isinstance(item, types.FunctionType):
                behind += item.__closure__ or ()
            else:
                behind += gc.get_referents(item)
        level = [item for item in behind if not (id(item) in seen or seen.add(id(item)))]
        for item in level:
            _meet(item)
        if len(seen) > _HELD_MOST:
            return


def living(*kinds):
    """Walks over all objects of these classes that the collector knows."""
    return (candidate for candidate in gc.get_objects() if issubclass(type(candidate), kinds))


def _meet_tensors() -> None:
    torch = sys.modules.get("torch")
    if torch is None:
        return
    for candidate in living(torch.Tensor, torch.UntypedStorage):
        _meet(candidate)


def _meet_arrays() -> None:
    """Notes all arrays of NumPy: the collector does not know them, but what holds them; and frames do."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    for item in gc.get_referents(*gc.get_objects()):
        if issubclass(type(item), numpy.ndarray):
            _meet(item)
    for frame in sys._current_frames().values():
        while frame is not None:
            _meet_locals(frame)
            frame = frame.f_back


_READ_LOCALS = frozenset(("locals", "vars", "eval", "exec"))


def _meet_locals(frame) -> None:
    values = frame.f_locals
    for item in list(values.values()):
        _meet(item)
    # Before 3.13 the frame keeps the copy of its variables that it gave us: what dies there would live on.
    is_copy = sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    if is_copy and sys.gettrace() is None and _READ_LOCALS.isdisjoint(frame.f_code.co_names):
        values.clear()


def _walk(address: int, *walks):
    _met.clear()
    for walk in walks:
        walk()
        block = _known(address)
        if block is not None:
            return block
    return None


def held(value, address: int):
    """(start, bytes, label, writable, owner) of the registered block, live storage or array that holds the
    address of an object, found in the object itself, or None. Its shape and strides are not asked: the
    elements of a wrapper may have another order than in memory (triton_kernels.tensor.Tensor)."""
    recent = _recent.get(address)
    if recent is not None:
        reference, *block = recent
        owner = reference()
        if owner is not None and extent(owner) == (block[0], block[1]):
            return *block, owner
    block = _in_blocks(address)
    if block is None:
        _without_overrides(_meet_held, value)
        block = _known(address)
    return _noted(address, block)


def around(value, address: int):
    """As held(), for an object that tells nothing and holds nothing: it is found once, by a walk over
    everything that lives."""
    return _noted(address, _without_overrides(_walk, address, _meet_tensors, _meet_arrays))


def _noted(address: int, block):
    if block is not None and block[4] is not None:
        if len(_recent) >= _RECENT_MOST:
            _recent.clear()
        _recent[address] = (weakref.ref(block[4]), *block[:4])
    return block


_settled: bool | None = None  # whether a walk has been made inside of settled(); None: outside of it


@contextlib.contextmanager
def settled():
    """Inside, nobody makes tensors: one walk over all that lives answers for every address."""
    global _settled
    before, _settled = _settled, False
    try:
        yield
    finally:
        _settled = before


_closed = False


@contextlib.contextmanager
def closed():
    """Inside, launches reach nothing but their arguments."""
    global _closed
    before, _closed = _closed, True
    try:
        yield
    finally:
        _closed = before


def resolve(address: int, walks: bool = True):
    """(start, bytes, label, writable) of the live tensor or registered block that holds an `address` found in
    memory, or None. walks: whether those are looked for that were not met before."""
    global _settled
    if _closed:
        return None
    block = _in_blocks(address)
    if block is None and walks and not _settled:
        block = _without_overrides(_walk, address, _meet_tensors)
        _settled = None if _settled is None else True
    return None if block is None else block[:4]
