"""Tests what launches leave in memory, as the pages that changed: read, hashed, compared without the rest."""

import tracemalloc

import numpy
import pytest
from triton_runner._kernel.cases.noise import Noise
from triton_runner._memory import contents
from triton_runner._memory.arguments import Arguments, MemoryView, View
from triton_runner._memory.contents import Contents, Pages, Pair, parts_of


def held(data, ranges, known=()):
    return contents.taken(data, ranges, list(known))


def test_pages_over_what_is_in_place():
    base = numpy.arange(100, dtype=numpy.uint8)
    pages = Pages([(10, numpy.full(5, 200, numpy.uint8)), (50, numpy.full(10, 201, numpy.uint8))])
    want = base.copy()
    want[10:15], want[50:60] = 200, 201
    for low in range(0, 100, 3):
        for high in range(low, 101, 7):
            assert pages.read(base, low, high).tolist() == want[low:high].tolist()
            assert [start for start, _ in pages.touching(low, high)] == [
                start for start, end in ((10, 15), (50, 60)) if start < high and end > low
            ]


def test_what_is_the_same_is_kept_once():
    data = numpy.arange(100, dtype=numpy.uint8)
    first = held(data, [(0, 10), (40, 20)])
    assert held(data, [(0, 10), (40, 20)], [first]) is first
    data[45] = 0
    other = held(data, [(0, 10), (40, 20)], [first])
    assert other is not first and other.parts[0][1] is first.parts[0][1]
    assert other.parts[1][1][5] == 0 and first.parts[1][1][5] == 45


def test_what_is_nearly_the_same_takes_little_room():
    """The levels of a sum differ in the last bits of its elements; others that differ do so everywhere."""
    generator = numpy.random.default_rng(3)
    numbers = generator.standard_normal(1 << 20, numpy.float32)
    moved = numpy.nextafter(numbers, numpy.float32(9)).copy()
    moved[::3] = numbers[::3]
    own, near, far = (array.view(numpy.uint8) for array in (numbers, moved, generator.permutation(numbers)))
    first = held(own, [(0, own.size)])
    tracemalloc.start()
    second = held(near, [(0, near.size)], [first])
    room = tracemalloc.get_traced_memory()[0]
    third = held(near, [(0, near.size)], [first, second])
    assert third is second
    other = held(far, [(4096, far.size - 8192)], [first])
    tracemalloc.stop()
    assert room < own.size / 4
    base = numpy.zeros_like(own)
    assert (second.read(base, 0, own.size) == near).all()
    assert (second.read(base, 70001, 70005) == near[70001:70005]).all()
    assert (other.read(far, 0, far.size) == far).all()
    assert b"".join(data.tobytes() for _, data in second) == near.tobytes()
    assert all(second.shares_with(third, part) for part in parts_of(View(0, 0, "f32", (1 << 20,), (1,))))


def test_pages_that_changed():
    base = numpy.zeros(3 * contents.PART + 100, numpy.uint8)
    now = base.copy()
    now[[0, 5000, contents.PART - 1, contents.PART, 3 * contents.PART + 99]] = 1
    assert contents.changed(base, base.copy()) == []
    assert contents.changed(base, now) == [
        (0, 8192), (contents.PART - 4096, 8192), (3 * contents.PART, 100)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((3000, 1000), (1000, 1)),
        ((1000, 3000), (1, 1000)),  # transposed
        ((2, 5, 700, 300), (1050000, 210000, 300, 1)),
        ((700, 128), (4096, 1)),  # columns of a wider array
        ((1500, 1500), (0, 1)),  # repeated
        ((3000000,), (-1,)),
        ((7,), (1,)),
        ((), ()),
        ((0, 5), (5, 1)),
    ],
    ids=str,
)
def test_the_parts_of_an_argument_are_its_elements(shape, strides, monkeypatch):
    monkeypatch.setattr(contents, "PART", 1 << 16)
    parts_of.cache_clear()
    offset = 4 * sum(-(n - 1) * step for n, step in zip(shape, strides, strict=True) if step < 0)
    view = View(0, offset, "i32", shape, strides)
    data = numpy.random.default_rng(0).integers(0, 255, 1 << 24, dtype=numpy.uint8)
    whole, seen = view.of(data), numpy.zeros(shape, bool)
    it = Contents({"x": view}, [data], [Pages()])
    for part in parts_of(view):
        at = tuple(slice(start, start + n) for start, n in zip(part.start, part.shape, strict=True))
        assert not seen[at].any() and (it.part(view, part) == whole[at]).all()
        assert part.high - part.low <= 1 << 16 and it.part(view, part).nbytes <= 1 << 16
        seen[at] = True
    assert seen.all()
    parts_of.cache_clear()


def two(shape=(3000, 1000), dtype="f32", places=()):
    """Contents of one array of zeros, in place and with these elements 1."""
    view = View(0, 0, dtype, shape, tuple(numpy.cumprod((1, *shape[:0:-1]))[::-1]))
    data = numpy.zeros(int(numpy.prod(shape)) * view.type.itemsize, numpy.uint8)
    now = data.copy()
    for place in places:
        view.of(now)[place] = 1
    views = {"x": view}
    pages = held(now, contents.changed(data, now))
    base = [data]
    return Contents(views, base, [Pages()]), Contents(views, base, [pages])


def test_only_parts_that_differ_are_looked_at():
    first, other = two(places=[(2, 5), (2999, 999)])
    pair = first.pair("x", other)
    assert [start for start, _, _ in pair.differing()] == [(0, 0), (2871, 0)]
    assert not pair.is_same() and first.pair("x", first).is_same()
    assert first.hashes == {} and len(other.hashes["x"]) == 16
    again = two(places=[(2, 5), (2999, 999)])[1]
    assert again.hashes == other.hashes != two(places=[(2, 5), (2999, 998)])[1].hashes


def test_a_hash_of_one_part_is_that_of_its_bytes():
    import hashlib

    _, other = two((10, 10), places=[(1, 1)])
    assert other.hashes["x"] == hashlib.sha256(other.array("x").tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("exact", [True, False])
def test_a_comparison_by_parts_is_that_of_whole_arrays(exact, monkeypatch):
    generator = numpy.random.default_rng(1)
    shape = (3000, 1000)
    view = View(0, 0, "f32", shape, (1000, 1))
    base = generator.standard_normal(shape, numpy.float32)
    near = base * (1 + 1e-6 * generator.standard_normal(shape, numpy.float32))
    moved = base * (1 + 1e-6 * generator.standard_normal(shape, numpy.float32))
    moved[7, 7] += 1  # decided otherwise
    far = near.copy()
    far[2500, 3] += 5

    def both(x, y):
        base, views = [x.view(numpy.uint8).ravel()], {"x": view}
        pages = [held(array.view(numpy.uint8).ravel(), [(0, array.nbytes)]) for array in (x, y)]
        first, other = (Contents(views, base, [one]) for one in pages)
        return Pair.of_arrays(x, y), first.pair("x", other), other.beside("x", x), Pair.of_arrays(x, y)

    found = []
    for number in range(4):
        monkeypatch.setattr(contents, "PART", 1 << 30 if number == 0 else 1 << 20)
        parts_of.cache_clear()
        noise = Noise()
        before = noise.compare("x", both(base, near)[number], exact)
        noise.add("x", both(base, moved)[number])
        bits = [noise.compare("x", both(base, other)[number], exact) for other in (near, far)]
        found.append(
            (before, *bits, [noise.is_rounding("x", both(base, other)[number]) for other in (near, far)])
        )
    parts_of.cache_clear()
    for whole, parts in ((found[0][i], found[number][i]) for i in range(3) for number in range(1, 4)):
        assert whole.allowed == pytest.approx(parts.allowed, rel=1e-3)
        assert {**vars(whole), "allowed": 0} == {**vars(parts), "allowed": 0}
    assert [it[3] for it in found] == 4 * [[True, False]]
    assert (found[0][0].agrees, found[0][1].agrees) == (not exact, True)


def test_the_memory_of_arguments_that_overlap_is_one_block():
    data = numpy.arange(100, dtype=numpy.int32)

    class Owner:
        device = "cpu"

        def __init__(self, first, count):
            self.first, self.nbytes = first, 4 * count

        def data_ptr(self):
            return data.ctypes.data + 4 * self.first

    def argument(first, count):
        owner = Owner(first, count)
        return MemoryView(owner, owner.data_ptr(), "int32", (count,), (1,))

    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)):
        four = [
            ("a", argument(0, 40)),
            ("b", argument(30, 40)),
            ("c", argument(60, 10)),
            ("d", argument(80, 5)),
        ]
        arguments = Arguments([four[i] for i in order])
        assert sorted(block.nbytes for block in arguments.live()) == [20, 280]
        arrays = arguments.arrays()
        assert {name: int(array[0]) for name, array in arrays.items()} == {"a": 0, "b": 30, "c": 60, "d": 80}
        with arguments.kept() as now:
            data[35] = -1
            seen = now()
        assert data[35] == 35 and seen.array("a")[35] == seen.array("b")[5] == -1
        copies = arguments.copied()
        copies.live()[copies.views["a"].block][140:144] = 255
        assert copies.arrays()["b"][5] == -1 and data[35] == 35
