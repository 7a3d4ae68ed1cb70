"""Tracks memory that nothing has written yet: what check="uninit" knows about global memory beside the
kernels' own.

A block is the storage of a torch.empty, or an array of np.empty. It is filled with numbers that nobody writes
by chance, and has a mark for each byte that was not written (marks.py). Launches clear the marks of what they
store (exec::kNoteWrites), torch's ops what they write (uninit_torch.py). Whoever else writes, NumPy or C that
has an address, changes the numbers: then the whole block counts as written."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import math
import sys
import weakref
from collections.abc import Iterator

import numpy

from triton_runner import _core
from triton_runner._base.errors import package_folders
from triton_runner._memory.marks import Marks, Place
from triton_runner._memory.registry import Blocks, extent
from triton_runner._memory.torch_modes import untraced

MOST = 256 << 20  # bytes of a block: larger ones are not followed, as filling them would take their memory
# Launches whose stores are noted although no check looks: these take several times as long.
_NOTED_MOST = 1000
# Negative, finite and tiny in every floating-point type; far from what integers count, and no ASCII.
_FILL = (0xA0 | numpy.random.default_rng(20).integers(0, 32, 1 << 20)).astype(numpy.uint8)

_blocks = Blocks()  # (bytes, _Block)
_found: list[Unwritten] = []
_dead: list[Unwritten] = []
_tracking: list = []  # of each track_empty() that is open, the byte that it fills with
_paused = 0
_noted = 0
_following = False  # whether undefined values may be stored: what launches leave under marks is looked at


@dataclasses.dataclass(frozen=True)
class Unwritten:
    """An argument of which a kernel left elements as they were. used: what read them, or "" where nothing
    did; file and line: where that is, or else where the kernel was launched."""

    kernel: str
    level: str
    argument: str
    elements: int
    of: int
    first: int | list[int]
    used: str
    file: str
    line: int

    @property
    def message(self) -> str:
        verb = "element was" if self.of == 1 else "elements were"
        count = f"{self.elements:,} of {self.of:,}"
        return f"{self.argument}: {count} {verb} never written, the first is {self.first}"

    def __str__(self) -> str:
        place = f" at {self.file}:{self.line}" if self.file else ""
        what = f"they are read by {self.used}{place}" if self.used else f"launched{place}"
        return f"kernel '{self.kernel}': {self.message}; {what}"


class _Block:
    """A block of memory: its owner, a storage or an array, the elements that it was made of (shape, steps and
    offset in bytes), and its marks. source: where undefined elements came from, when an op has copied them
    here."""

    def __init__(self, owner, shape, steps, itemsize: int, offset: int = 0, marks=None, source=None):
        self.address, self.nbytes = extent(owner)
        self.owner = weakref.ref(owner, self._died)
        self.place = Place(tuple(shape), tuple(steps), itemsize, offset)
        self.marks = Marks(self.address, self.nbytes) if marks is None else marks
        self.source = source
        self.writer: Unwritten | None = None  # the last launch that wrote to it; its counts are not known yet
        self.given: Unwritten | None = None  # the last launch that got it
        # Elements that nobody wrote, of how many, and the first, when they were last asked for.
        self.counts = (0, 0, 0)
        self.is_used = False
        # The contents of marked bytes, by the pieces of the block with marks; None: _FILL.
        self.held: dict[int, numpy.ndarray] | None = None
        if source is not None:
            self.hold()

    def bytes(self) -> numpy.ndarray:
        return numpy.frombuffer((ctypes.c_uint8 * self.nbytes).from_address(self.address), numpy.uint8)

    def fill(self, start: int = 0, byte: int | None = None) -> None:
        """Puts the numbers there by which it is known whether somebody has written."""
        here = self.bytes()
        if byte is not None:
            here[start:] = byte
            return self.hold()
        for at in range(start, self.nbytes, _FILL.size):
            here[at : at + _FILL.size] = _FILL[: min(_FILL.size, self.nbytes - at)]

    def is_there(self) -> bool:
        owner = self.owner()
        return owner is not None and extent(owner) == (self.address, self.nbytes)

    def is_intact(self) -> bool:
        """Returns whether what is marked still holds what it was filled with."""
        if not self.is_there():
            return False
        for at, part in self._marked():
            want = _FILL[: part.size] if self.held is None else self.held[at]
            if ((part != want) & self.marks.flags(at, at + part.size)).any():
                return False
        return True

    def _marked(self) -> Iterator[tuple[int, numpy.ndarray]]:
        """(where it begins, its bytes in place) of each piece of the block that has marks."""
        here = self.bytes()
        for at in range(0, self.nbytes, _FILL.size):
            part = here[at : at + _FILL.size]
            if self.marks.any(at, at + part.size):
                yield at, part

    def hold(self) -> None:
        """Takes the present contents as what marked bytes hold."""
        self.held = {at: part.copy() for at, part in self._marked()}

    def count(self) -> int:
        """Returns how many elements nobody has written, which `counts` keeps."""
        count, first = 0, None
        for part, where in self.marks.parts(self.place):
            count += int(numpy.count_nonzero(where))
            if where.any():
                here = numpy.unravel_index(int(where.argmax()), where.shape)
                here = [start + int(i) for start, i in zip(part.start, here, strict=True)] or [0]
                first = here if first is None else min(first, here)
        if first is not None:
            self.counts = (count, math.prod(self.place.shape), first[0] if len(first) == 1 else first)
        return count

    def described(self, used: str = "") -> Unwritten | None:
        """Returns the finding on the block. None: no kernel had it, or all was written."""
        root = self.source or self
        by = root.writer or (root.given if used else None)
        if by is None or (root is self and not self.count()):
            return None
        elements, of, first = root.counts
        place = user_frame() if used else (by.file, by.line)
        return dataclasses.replace(
            by, elements=elements, of=of, first=first, used=used, file=place[0], line=place[1]
        )

    @untraced
    def _died(self, _) -> None:
        if (known := _blocks.get(self.address)) is not None and known[1] is self:
            _blocks.drop(self.address)
        if self.writer and not (self.is_used or self.source) and (it := self.described()):
            _dead.append(it)


def user_frame() -> tuple[str, int]:
    """The line of the program that is running: neither ours nor Triton's nor torch's nor NumPy's."""
    own = (*package_folders(), *_torch_folder(), numpy.__path__[0], "<")
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)


def _torch_folder() -> tuple:
    torch = sys.modules.get("torch")
    return (torch.__path__[0],) if torch is not None else ()


# --- blocks


def is_tracking() -> bool:
    return bool(_tracking)


def is_known() -> bool:
    """Returns whether there is any block."""
    return len(_blocks) > 0


def add(owner, shape, steps, itemsize: int, offset: int = 0) -> None:
    """A storage or an array that was just made, and holds nothing."""
    start, size = extent(owner)
    _blocks.drop_within(start, start + size)
    if not 0 < size < MOST:
        return
    block = _Block(owner, shape, steps, itemsize, offset)
    block.fill(byte=_tracking[-1] if _tracking else None)
    _blocks.put(start, (size, block))


def add_copied(owner, source: _Block) -> _Block:
    """The block of a storage into which undefined elements of another come; it is written but for these."""
    start, size = extent(owner)
    block = find(start)
    if block is None:
        root = source.source or source
        if root is source:
            root.count()
        block = _Block(owner, (), (), 1, 0, Marks(start, size, is_written=True), root)
        _blocks.put(start, (size, block))
    return block


def add_grown(owner, before: int, known, shape, steps, itemsize: int, offset: int) -> None:
    """A storage that resize_() has made larger than `before` bytes, which had the marks `known`, if it had
    any."""
    start, size = extent(owner)
    _blocks.drop_within(start, start + size)
    if not before < size < MOST:
        return
    marks = Marks(start, size)
    marks.set_flags(0, numpy.zeros(before, bool) if known is None else known.flags(0, before))
    block = _Block(owner, shape, steps, itemsize, offset, marks)
    block.fill(before)
    block.hold()
    _blocks.put(start, (size, block))


def add_left(owner, flags: numpy.ndarray | None = None) -> None:
    """A storage whose bytes with a flag count as never written, whatever they hold; None: none of them, as
    long as nothing undefined is stored there. A block that is known stays as it is."""
    start, size = extent(owner)
    if not 0 < size < MOST or (flags is None and find(start) is not None):
        return
    block = _Block(owner, (size,), (1,), 1, 0, Marks(start, size, is_written=True))
    if flags is not None:
        block.marks.set_flags(0, flags)
        block.hold()
    _blocks.put(start, (size, block))


def find(address: int) -> _Block | None:
    """The block that holds an address."""
    found = _blocks.before(address)
    if found is None or address >= found[0] + found[1][0]:
        return None
    block = found[1][1]
    if not block.is_there():
        _blocks.drop(found[0])
        return None
    return block


def forget(block: _Block) -> None:
    """Somebody that nobody saw has written: all of it counts as written."""
    _blocks.drop(block.address)
    block.writer = block.given = None


def settled(block: _Block) -> _Block | None:
    """The block, unless somebody that nobody saw has written to it."""
    if block.is_intact():
        return block
    forget(block)
    return None


# --- launches


class _Launch:
    """A launch whose stores are noted in the marks of blocks."""

    def __init__(self, blocks: list[tuple]):
        self._noted = blocks  # (block, the launch as its writer, marks before)

    def blocks(self) -> list[tuple]:
        return [(block.address, block.nbytes, block.marks.address) for block, _, _ in self._noted]

    @untraced
    def ended(self, has_trapped: bool) -> None:
        for block, by, before in self._noted:
            if has_trapped:  # what is left unwritten is a consequence
                forget(block)
                continue
            left = block.marks.count()
            block.given = by
            if left < before:
                block.writer = by
            if not left:
                _blocks.drop(block.address)
            elif _following:
                block.hold()


@untraced
def begin(kernel: str, level: str, pointers: list[tuple], looks: bool) -> _Launch | None:
    """A launch begins, with (parameter, address) of what it gets; looks: check="uninit" is on. None: none of
    its stores are to be noted."""
    global _noted
    if _paused and not looks:
        return None
    blocks: dict[int, tuple] = {}
    for name, address in pointers:
        block = find(address)
        if block is None or block.address in blocks or settled(block) is None:
            continue
        by = Unwritten(kernel, level, name, 0, 0, 0, "", *user_frame())
        blocks[block.address] = (block, by, block.marks.count())
    if not blocks:
        return None
    if not looks and (_noted := _noted + 1) > _NOTED_MOST:
        for block, *_ in blocks.values():
            forget(block)
        return None
    return _Launch([*blocks.values()])


def is_following() -> bool:
    return _following


@contextlib.contextmanager
def following():
    """Launches inside may store undefined values (follows_undefined of the settings)."""
    global _following
    before, _following = _following, True
    try:
        yield
    finally:
        _following = before


@contextlib.contextmanager
def paused():
    """Launches inside are made by those who judge, and are undone."""
    global _paused
    _paused += 1
    try:
        yield
    finally:
        _paused -= 1


def snapshot() -> dict:
    """Returns the present state of all blocks, for put_back()."""
    return {at: (block, block.marks.copy(), block.writer, block.given) for at, (_, block) in _blocks.items()}


def put_back(undefined: dict) -> None:
    """Makes what was never written when the snapshot was taken so again: its launch is to be repeated."""
    _blocks.clear()
    for address, (block, marks, writer, given) in undefined.items():
        if block.owner() is not None:
            _blocks.put(address, (block.nbytes, block))
            block.marks.put_back(marks)
            block.writer, block.given = writer, given


# --- what is found


def use(block: _Block, how: str) -> None:
    """Elements that nothing wrote were read."""
    root = block.source or block
    if root.is_used or _paused:
        return
    if (it := block.described(how)) is not None:
        root.is_used = True
        _found.append(it)


def finish(ends: bool = True) -> list[Unwritten]:
    """Returns what was found since the last call: elements that were read, and those that were left. ends: no
    launch comes after it, so that blocks that still live are looked at too."""
    for _, (_, block) in _blocks.items() if ends else ():
        if block.writer and not (block.is_used or block.source) and block.is_intact():
            if (it := block.described()) is not None:
                _dead.append(it)
            block.writer = None
    found = [*_found, *_dead]
    _found.clear()
    _dead.clear()
    return found


def opened(byte: int | None) -> bool:
    """track_empty() begins; whether it is the only one that is open."""
    global _noted
    _tracking.append(byte)
    if len(_tracking) > 1:
        return False
    _noted = 0
    _core.set_tracking(True)
    return True


def closed() -> None:
    """The last track_empty() that began ends."""
    _tracking.pop()
    if not _tracking:
        _core.set_tracking(False)
        _blocks.clear()
