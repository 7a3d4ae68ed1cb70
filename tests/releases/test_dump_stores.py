"""Stores that a dump puts into a kernel, in the syntax of the release at hand: compiled by it, executed at
PTX, and compared with what the tile engine hands over."""

import re

import numpy
import pytest
import triton.language as tl
import triton_runner
from triton_runner._core import probe
from triton_runner._kernel.dumps import instrument, registers, requests
from triton_runner._memory import arrays
from triton_runner._settings.keywords import Entry


@triton_runner.jit
def rows(x_ptr, o_ptr, columns, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, columns, B):
        where = start + tl.arange(0, B)
        block = tl.load(x_ptr + row * columns + where, mask=where < columns, other=0.0).to(tl.float32)
        if start > 0:
            block = block * 0.5
        total += block
    tl.store(o_ptr + row, tl.sum(total, axis=0))


@triton_runner.jit
def products(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, B)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc)


def wrapped(arguments):
    return tuple(arrays.wrap(f"#{i}", value) for i, value in enumerate(arguments))


def compare(kernel, arguments, constexprs, grid, level, target):
    wanted = requests.request(["*"], kernel, every_iteration=True, level=level)
    with triton_runner.using(level="ptx", target=target):
        _, recording, changes = instrument.run(wanted, kernel, None, wrapped(arguments), constexprs, grid)
    recorder = wanted.recorder((kernel.__name__,))
    with triton_runner.using(level=level, target=target, recorder=recorder):
        kernel[grid](*arguments, **constexprs)
    expected = {series.site.value: series for series in recorder.take()[0].series}
    close = same = 0
    for series in recording.series:
        other = expected[series.site.value]
        assert numpy.array_equal(series.programs, other.programs), series.site.value
        assert numpy.array_equal(series.iterations, other.iterations), series.site.value
        if "ptr" in series.site.type_text or "memdesc" in series.site.type_text:
            continue
        if numpy.array_equal(series.data, other.data):
            same += 1
        else:  # what sums of a tensor core give
            mine, theirs = series.data.view(numpy.float32), other.data.view(numpy.float32)
            assert numpy.allclose(mine, theirs, atol=1e-3), series.site.value
            close += 1
    assert changes[0] == "outputs: the same as the plain kernel's"
    return same, close


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_rows(level):
    x = numpy.random.default_rng(0).standard_normal((3, 100)).astype(numpy.float16)
    arguments = (x, numpy.zeros(3, numpy.float32), 100)
    same, close = compare(rows, arguments, {"B": 32}, (3,), level, "cuda:80")
    assert same > 15 and not close


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_products(level, target):
    generator = numpy.random.default_rng(1)
    a, b = (generator.standard_normal(shape).astype(numpy.float16) for shape in ((64, 96), (96, 64)))
    arguments = (a, b, numpy.zeros((64, 64), numpy.float32), 96)
    same, close = compare(products, arguments, {"M": 64, "N": 64, "B": 32}, (1,), level, target)
    assert same > 15 and close < 8


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_registers_of_ptx(target):
    """Stored by the PTX itself (before 3.3 it has no parameters of Triton's own), and read from it."""
    x = numpy.random.default_rng(0).standard_normal((3, 100)).astype(numpy.float16)
    arguments = (x, numpy.zeros(3, numpy.float32), 100)
    names = ["%r1", "%r5", "%rd1", "%p1", "add.f32", "shfl.sync", "setp", "ld.global"]
    found = []
    for run in (instrument.run, registers.run):
        with triton_runner.using(level="ptx", target=target):
            text = rows.warmup(*arguments, grid=(3,), B=32).asm["ptx"]
            known = [name for name in names if probe.names_registers(text, "k.ptx", "rows", name)]
            wanted = requests.request(known, rows, every_iteration=True, level="ptx")
            given = wrapped(arguments) if run is instrument.run else arguments
            found.append(run(wanted, rows, None, given, {"B": 32}, (3,)))
    (_, stored, changes), (_, read, _) = found
    assert len(stored.series) > 5 and changes[0] == "outputs: the same as the plain kernel's"
    for mine, theirs in zip(stored.series, read.series, strict=True):
        assert mine.site.value == theirs.site.value
        assert len(mine.programs) and numpy.array_equal(mine.programs, theirs.programs)
        assert numpy.array_equal(mine.iterations, theirs.iterations)
        assert numpy.array_equal(mine.mask, theirs.mask)
        assert numpy.array_equal(mine.data, theirs.data), mine.site.op


@triton_runner.jit
def outer_product(a_ptr, b_ptr, o_ptr, N, K, M: tl.constexpr, B: tl.constexpr):
    columns = tl.program_id(0) * B + tl.arange(0, B)
    a_ptrs = a_ptr + tl.arange(0, M)[:, None] * N
    total = tl.zeros((M, B), tl.float32)
    for n in range(N):
        a = tl.load(a_ptrs + n)
        b = tl.load(b_ptr + columns[None, :] + n * K)
        c = b.to(tl.float32)
        total += a.to(tl.float32) * c
    tl.store(o_ptr + tl.arange(0, M)[:, None] * K + columns[None, :], total)


@pytest.mark.parametrize("stage", ["source", "ttir"])
def test_a_value_in_a_loop_of_a_text(stage, tmp_path, monkeypatch):
    """`c` as this release names it. The front end's text calls `zeros`, which only the TTIR stage inlines."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    rows, steps, columns = 16, 5, 64
    generator = numpy.random.default_rng(2)
    a = generator.standard_normal((rows, steps)).astype(numpy.float16)
    b = generator.standard_normal((steps, columns)).astype(numpy.float16)
    out = numpy.zeros((rows, columns), numpy.float32)
    types = {"a_ptr": "*fp16", "b_ptr": "*fp16", "o_ptr": "*fp32", "N": "i32", "K": "i32"}
    sizes = {"M": rows, "B": 32}
    text = triton_runner.compile(outer_product, types, sizes, target="cuda:90", to="ttir").asm[stage]
    assert stage == "ttir" or "tt.call" in text
    value = re.search(r"(%\w+) = arith.extf .* to tensor<1x32xf32>", text)[1]
    wanted = requests.request([value], outer_product, every_iteration=True, level="ttir")
    entry, arguments = Entry("ttir", "src", text), wrapped((a, b, out, steps, columns))
    with triton_runner.using(level="ptx", target="cuda:90"):
        _, recording, changes = instrument.run(wanted, outer_product, entry, arguments, sizes, (2,))
    [series] = recording.series
    expected = numpy.concatenate([b[:, :32], b[:, 32:]]).astype(numpy.float32)
    assert numpy.array_equal(series.data.view(numpy.float32).reshape(2 * steps, 32), expected)
    assert changes[0] == "outputs: the same as the plain kernel's"
    product = a.astype(numpy.float32) @ b.astype(numpy.float32)
    numpy.testing.assert_allclose(out, product, atol=1e-5)
