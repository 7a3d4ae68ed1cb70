"""Keeps what the memory of a launch's arguments held at one moment, as what differs from what is there.

A launch of three programs on a table of 5 GB writes a few pages. Contents has these pages and nothing else,
and two Contents are compared where one of them has pages. What several runs leave alike is kept once, and
what a run leaves nearly as another did is kept as what differs (Near): the levels of a sum differ in the last
bits of its elements. Pair goes through an argument's elements in parts of a MiB, so that no comparison makes
arrays of the size of the argument.
"""

from __future__ import annotations

import bisect
import functools
import hashlib
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy

PART = 1 << 20  # bytes of an argument that are compared at once
_PIECE = 64 << 10  # and that are kept at once: this many or fewer
_PAGE = 4096
_SAMPLE = 4 << 10  # bytes that tell whether a piece is worth packing
_WORTH = 0.7  # of the room that it takes unpacked


class Near:
    """Bytes that differ a little from others, which are kept."""

    def __init__(self, other: numpy.ndarray, now: numpy.ndarray, packed: bytes):
        self._other, self._packed = other, packed
        self.nbytes, self._hash = now.nbytes, hash(now.tobytes())

    @classmethod
    def of(cls, other: numpy.ndarray, now: numpy.ndarray) -> Near | None:
        """None: they differ in so much that it is not worth it."""
        different = numpy.bitwise_xor(now, other)
        if len(zlib.compress(different[:_SAMPLE], 1)) > _WORTH * min(_SAMPLE, now.nbytes):
            return None
        packed = zlib.compress(different, 1)
        return cls(other, now, packed) if len(packed) < _WORTH * now.nbytes else None

    def array(self) -> numpy.ndarray:
        return numpy.bitwise_xor(numpy.frombuffer(zlib.decompress(self._packed), numpy.uint8), self._other)

    def is_same(self, now: numpy.ndarray) -> bool:
        return hash(now.tobytes()) == self._hash and numpy.array_equal(self.array(), now)


class Pages:
    """The parts of a block that are not as they are in place: bytes, or a Near, by offset, in order."""

    def __init__(self, parts: list[tuple[int, numpy.ndarray]] = ()):
        self.parts = list(parts)
        self._starts = [start for start, _ in self.parts]
        self.hashes: dict = {}  # of the arguments in it, by View

    def __iter__(self) -> Iterator[tuple[int, numpy.ndarray]]:
        """(offset, bytes) of all parts."""
        return ((start, bytes_of(data)) for start, data in self.parts)

    def touching(self, low: int, high: int) -> Iterator[tuple[int, numpy.ndarray | Near]]:
        """The parts that share a byte with low to high."""
        first = max(bisect.bisect_right(self._starts, low) - 1, 0)
        for start, data in self.parts[first : bisect.bisect_left(self._starts, high)]:
            if start + data.nbytes > low:
                yield start, data

    def shares_with(self, other: Pages, part: Part) -> bool:
        """Returns whether both have the same bytes of a part, and keep them once."""
        if self is other:
            return True
        mine, theirs = ([id(data) for _, data in one.touching(part.low, part.high)] for one in (self, other))
        return mine == theirs

    def read(self, base: numpy.ndarray, low: int, high: int) -> numpy.ndarray:
        """A copy of these bytes of the block."""
        out = base[low:high].copy()
        for start, data in self.touching(low, high):
            begin, end = max(start, low), min(start + data.nbytes, high)
            out[begin - low : end - low] = bytes_of(data)[begin - start : end - start]
        return out


def bytes_of(data: numpy.ndarray | Near) -> numpy.ndarray:
    return data.array() if isinstance(data, Near) else data


def taken(base: numpy.ndarray, ranges: list[tuple[int, int]], known: list[Pages]) -> Pages:
    """Copies of these parts of a block, (offset, bytes). What one of the `known` has already is shared:
    levels that leave the same bits take the memory of one."""
    shared: dict = {}
    for pages in known:
        for start, data in pages.parts:
            shared.setdefault((start, data.nbytes), []).append(data)
    parts = []
    for start, size in _pieces(ranges):
        parts.append((start, _taken(base[start : start + size], shared.get((start, size), ()))))
    for pages in known:
        if len(pages.parts) == len(parts) and all(
            a[1] is b[1] for a, b in zip(pages.parts, parts, strict=True)
        ):
            return pages
    return Pages(parts)


def _taken(now: numpy.ndarray, known: list) -> numpy.ndarray | Near:
    """These bytes as they are now; known: what others left there."""
    plain = None
    for data in known:
        if data.is_same(now) if isinstance(data, Near) else numpy.array_equal(data, now):
            return data
        plain = data if plain is None and not isinstance(data, Near) else plain
    return (None if plain is None else Near.of(plain, now)) or now.copy()


def _pieces(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges, cut at multiples of _PIECE."""
    for start, size in ranges:
        for low in range(start // _PIECE * _PIECE, start + size, _PIECE):
            first, end = max(low, start), min(low + _PIECE, start + size)
            yield first, end - first


def changed(base: numpy.ndarray, now: numpy.ndarray) -> list[tuple[int, int]]:
    """(offset, bytes) of the pages in which two blocks differ, neighbours as one."""
    ranges: list[tuple[int, int]] = []
    for low in range(0, base.nbytes, PART):
        a, b = base[low : low + PART], now[low : low + PART]
        if numpy.array_equal(a, b):
            continue
        for start in range(0, a.nbytes, _PAGE):
            if (a[start : start + _PAGE] != b[start : start + _PAGE]).any():
                add(ranges, low + start, min(_PAGE, a.nbytes - start))
    return ranges


def add(ranges: list[tuple[int, int]], start: int, size: int) -> None:
    """Adds a range to those before it, to the last if it follows that."""
    if ranges and sum(ranges[-1]) == start:
        ranges[-1] = (ranges[-1][0], ranges[-1][1] + size)
    else:
        ranges.append((start, size))


class Contents:
    """The contents of the blocks of some Arguments. base: the bytes in place, which stay as they are as long
    as this is used; undefined: what of torch.empty's memory nobody had written; None: that is not known."""

    def __init__(self, views: dict, base: list[numpy.ndarray], pages: list[Pages], undefined=None):
        self.views, self.base, self.pages, self.undefined = views, base, pages, undefined

    def block(self, number: int) -> numpy.ndarray:
        """The bytes of a block."""
        return self.pages[number].read(self.base[number], 0, self.base[number].nbytes)

    def blocks(self) -> list[numpy.ndarray]:
        return [self.block(number) for number in range(len(self.base))]

    def is_plain(self) -> bool:
        """Returns whether it is what is in place."""
        return not any(pages.parts for pages in self.pages)

    def array(self, name: str) -> numpy.ndarray:
        """The elements of an argument, a copy."""
        view = self.views[name]
        return view.of(self.block(view.block))

    def part(self, view, part: Part) -> numpy.ndarray:
        """The elements of a part of an argument, a copy."""
        data = self.pages[view.block].read(self.base[view.block], part.low, part.high)
        return numpy.ndarray(part.shape, view.type, data, part.offset - part.low, view.steps)

    def pair(self, name: str, other: Contents) -> Pair:
        """An argument as it is here and in another Contents."""
        view = self.views[name]
        mine, theirs = self.pages[view.block], other.pages[view.block]
        is_same = functools.partial(mine.shares_with, theirs) if self.base is other.base else None
        return Pair(view, lambda part: self.part(view, part), lambda part: other.part(view, part), is_same)

    def beside(self, name: str, array: numpy.ndarray) -> Pair:
        """An argument as `array` has it, and as it is here."""
        view = self.views[name]
        return Pair(view, lambda part: array[(*part.index, ...)], lambda part: self.part(view, part))

    @functools.cached_property
    def hashes(self) -> dict[str, str]:
        """A hash of each argument that is not as it was at first."""
        return {name: digest for name, view in self.views.items() if (digest := self._hash(view))}

    def _hash(self, view) -> str:
        known = self.pages[view.block].hashes
        if view not in known:
            digest, parts = hashlib.sha256(), parts_of(view)
            is_changed = False
            for part in parts:
                if not any(True for _ in self.pages[view.block].touching(part.low, part.high)):
                    continue
                now = self.part(view, part).tobytes()
                if now == Contents.part(self._first, view, part).tobytes():
                    continue
                is_changed = True
                if len(parts) > 1:
                    digest.update(repr(part.start).encode())
                digest.update(now)
            known[view] = digest.hexdigest()[:16] if is_changed else ""
        return known[view]

    @functools.cached_property
    def _first(self) -> Contents:
        return Contents(self.views, self.base, [Pages() for _ in self.base])


class Arrays(Mapping):
    """The arguments of a Contents by name, as arrays that are made when somebody asks for them."""

    def __init__(self, contents: Contents):
        self._contents, self._made = contents, {}

    def __getitem__(self, name: str) -> numpy.ndarray:
        if name not in self._made:
            self._made[name] = self._contents.array(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents.views)

    def __len__(self) -> int:
        return len(self._contents.views)


# --- an argument in parts


class Part:
    """Some elements of an argument. start, shape: the index of the first, and how many there are of each
    dimension; low, high: the bytes of the block that they lie in; offset: where the first lies."""

    __slots__ = ("high", "low", "offset", "shape", "start")

    def __init__(self, start: tuple, shape: tuple, offset: int, steps: tuple, itemsize: int):
        self.start, self.shape, self.offset = start, shape, offset
        ends = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
        self.low = offset + sum(min(end, 0) for end in ends)
        self.high = offset + sum(max(end, 0) for end in ends) + itemsize

    @property
    def index(self) -> tuple:
        """By which the whole argument gives it."""
        return tuple(slice(first, first + n) for first, n in zip(self.start, self.shape, strict=True))


@functools.lru_cache(maxsize=256)
def parts_of(view) -> list[Part]:
    """All of an argument's elements, in parts of at most PART bytes: the same ones each time."""
    size = view.type.itemsize
    # The dimensions with the largest steps are cut first.
    order = sorted(range(len(view.shape)), key=lambda axis: -abs(view.steps[axis]))
    parts: list[Part] = []

    def extent(axes) -> int:
        return sum((view.shape[axis] - 1) * abs(view.steps[axis]) for axis in axes)

    def cut(start: list, shape: list, offset: int, axes: list) -> None:
        whole = Part(tuple(start), tuple(shape), offset, view.steps, size)
        if not axes or max(whole.high - whole.low, math.prod(shape) * size) <= PART:
            parts.append(whole)
            return
        axis, *rest = axes
        n, step = view.shape[axis], view.steps[axis]
        room = PART - extent(rest)
        most = math.prod(view.shape[other] for other in rest)
        count = max(1, min(room // abs(step) if step else n, PART // size // max(most, 1)))
        for first in range(0, n, count):
            start[axis], shape[axis] = first, min(count, n - first)
            cut(start, shape, offset + first * step, rest)
        start[axis], shape[axis] = 0, n

    if math.prod(view.shape):
        cut([0] * len(view.shape), list(view.shape), view.offset, order)
    return parts


class _Whole(NamedTuple):
    """The facts that parts_of() has to know of an array whose elements are asked for by index."""

    shape: tuple
    type: numpy.dtype
    steps: tuple
    offset: int = 0


class Pair:
    """An argument as two runs left it, part by part: x(part) and y(part) are its elements. is_same(part):
    whether they are known to be the same."""

    def __init__(self, view, x: Callable, y: Callable, is_same: Callable | None = None):
        self.shape, self.dtype = view.shape, view.type
        self._view, self._x, self._y, self._is_same = view, x, y, is_same

    @classmethod
    def of_arrays(cls, x: numpy.ndarray, y: numpy.ndarray) -> Pair:
        steps = numpy.cumprod((x.itemsize, *x.shape[:0:-1]))[::-1] if x.ndim else ()
        whole = _Whole(x.shape, x.dtype, tuple(map(int, steps)))
        return cls(whole, lambda part: x[(*part.index, ...)], lambda part: y[(*part.index, ...)])

    def differing(self) -> Iterator[tuple]:
        """(index of the first element, both arrays) of the parts in which bits differ."""
        for part in parts_of(self._view):
            if self._is_same is not None and self._is_same(part):
                continue
            x, y = self._x(part), self._y(part)
            if x.tobytes() != y.tobytes():
                yield part.start, x, y

    def whole(self) -> Iterator[numpy.ndarray]:
        """All parts as the first run left them."""
        return (self._x(part) for part in parts_of(self._view))

    def is_same(self) -> bool:
        return next(self.differing(), None) is None

    @property
    def size(self) -> int:
        return math.prod(self.shape)
