"""Stores that a dump puts into a kernel, executed at PTX: the arrays are those of the tile engine."""

import re

import numpy
import pytest
import torch
import triton.language as tl
import triton_runner
import triton_runner.language as dl
from kernels_for_dumps import collatz, matmul, outer_product, row_sums
from triton_runner import _core
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._kernel.dumps import instrument, requests
from triton_runner._pipeline.stages import compile_onward
from triton_runner._settings.keywords import Entry


@triton_runner.jit
def types(x_ptr, o_ptr, B: tl.constexpr):
    offsets = tl.arange(0, B)
    x = tl.load(x_ptr + offsets)
    small = x.to(tl.float8e5)
    brain = x.to(tl.bfloat16)
    positive = x > 0
    whole = x.to(tl.int8)
    wide = x.to(tl.float64) * 3.0
    address = o_ptr + offsets
    tl.store(
        address, tl.where(positive, small.to(tl.float32) + brain.to(tl.float32), whole + wide.to(tl.float32))
    )


def on_tile(kernel, arguments, constexprs, grid, level, target, **request):
    wanted = requests.request(["*"], kernel, level=level, **request)
    recorder = wanted.recorder((kernel.__name__,))
    with triton_runner.using(level=level, target=target, recorder=recorder):
        kernel[grid](*arguments, **constexprs)
    return {series.site.value: series for series in recorder.take()[0].series}


def at_ptx(kernel, arguments, constexprs, grid, level, target, selectors=("*",), **request):
    wanted = requests.request(selectors, kernel, level=level, **request)
    with triton_runner.using(level="ptx", target=target):
        return instrument.run(wanted, kernel, None, arguments, constexprs, grid)[1:]


def is_address(site):
    return "ptr" in site.type_text or "memdesc" in site.type_text


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
@pytest.mark.parametrize("every_iteration", [True, False])
def test_every_value_has_the_tile_engines_bits(level, every_iteration):
    torch.manual_seed(0)
    arguments = (torch.randn(3, 100).half(), torch.zeros(3), 100)
    given = (row_sums, arguments, {"B": 32}, (3,), level, "cuda:80")
    recording, changes = at_ptx(*given, every_iteration=every_iteration)
    expected = on_tile(*given, every_iteration=every_iteration)
    compared = 0
    for series in recording.series:
        other = expected[series.site.value]
        assert numpy.array_equal(series.programs, other.programs), series.site.value
        assert numpy.array_equal(series.iterations, other.iterations), series.site.value
        if not is_address(series.site):
            assert numpy.array_equal(series.data, other.data), series.site.value
            compared += 1
    assert compared > 20
    assert changes[0] == "outputs: the same as the plain kernel's"


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "cuda:100"])
def test_accumulators(target):
    torch.manual_seed(0)
    a, b = torch.randn(128, 96).half(), torch.randn(96, 64).half()
    arguments = (a, b, torch.zeros(128, 64), 128, 64, 96)
    blocks = {"BM": 64, "BN": 64, "BK": 32}
    given = (matmul, arguments, blocks, (2,), "ttir", target, ["tt.dot"])
    (series,) = at_ptx(*given, every_iteration=True)[0].series
    assert series.iterations.ravel().tolist() == [0, 1, 2] * 2
    found = series.data.view(numpy.float32).reshape(2, 3, 64, 64)
    for program in range(2):
        for k in range(3):
            exact = a[program * 64 :][:64, : 32 * (k + 1)].double() @ b[: 32 * (k + 1)].double()
            assert numpy.allclose(found[program, k], exact.numpy(), atol=1e-3)
    # At TTGIR the last tensor-core op's values are what the kernel goes on with.
    text = None
    with triton_runner.using(target=target, level="ttgir"):
        text = matmul.warmup(*arguments, grid=(2,), **blocks).asm["ttgir"]
    dots = [line.split("=")[0].strip() for line in text.splitlines() if " ttng.warp_group_dot " in line]
    if target == "cuda:90":
        assert dots
        recording, _ = at_ptx(
            matmul, arguments, blocks, (2,), "ttgir", target, dots[-1:], every_iteration=True
        )
        assert numpy.array_equal(recording.series[0].data, series.data)
        assert any("a wait stands before it is stored" in note for note in recording.notes)


def test_loops_that_cannot_be_counted():
    x = torch.tensor([6, 27], dtype=torch.int32)
    given = (collatz, (x, torch.zeros(2, dtype=torch.int32)), {"B": 1}, (2,), "ttir", "cuda:80", ["half"])
    recording, _ = at_ptx(*given, every_iteration=True, max_bytes=2048)
    (series,) = recording.series
    values = series.data.view(numpy.int32).ravel()
    programs = series.programs[:, 0]
    assert values[programs == 0].tolist() == [3, 1, 5, 2, 8, 4, 2, 1]
    kept = values[programs == 1].tolist()
    assert kept[:4] == [13, 41, 20, 62] and len(kept) < 111
    assert series.dropped == 111 - len(kept)
    assert "cannot be counted" in recording.notes[0]


def test_types():
    x = torch.linspace(-3, 3, 64)
    given = (types, (x, torch.zeros(64)), {"B": 64}, (1,), "ttir", "cuda:90")
    recording, _ = at_ptx(*given)
    expected = on_tile(*given)
    found = {series.site.type for series in recording.series}
    assert {"f8E5M2", "bf16", "i1", "i8", "f64", "f32"} <= found
    for series in recording.series:
        if not is_address(series.site):
            assert numpy.array_equal(series.data, expected[series.site.value].data), series.site.value
    (addresses,) = [s for s in recording.series if s.site.variable == "address" and s.site.op == "tt.addptr"]
    assert set(numpy.diff(addresses.data.view(numpy.int64).ravel())) == {4}


def test_programs_and_the_cap():
    x = torch.randn(8, 64).half()
    given = (row_sums, (x, torch.zeros(8), 64), {"B": 32}, (8,), "ttgir", "cuda:80", ["row"])
    recording, _ = at_ptx(*given, programs=[2, 5])
    assert recording.series[0].programs[:, 0].tolist() == [2, 5]
    assert recording.series[0].data.view(numpy.int32).ravel().tolist() == [2, 5]
    recording, _ = at_ptx(*given, max_bytes=450)  # room for a few
    assert recording.series[0].programs[:, 0].tolist() == list(range(len(recording.series[0])))
    assert 0 < len(recording.series[0]) < 8
    assert recording.series[0].dropped == 8 - len(recording.series[0])
    assert "max_bytes" in recording.notes[0]
    with pytest.raises(triton_runner.DiagnosticError, match=r"program \(9, 0, 0\) is not in the grid"):
        at_ptx(*given, programs=[9])


def test_statements_at_ptx():
    @triton_runner.jit
    def add(x_ptr, o_ptr, B: tl.constexpr):
        pid = tl.program_id(0)
        x = tl.load(x_ptr + pid * B + tl.arange(0, B))
        dl.dump(x, 4, (1,))
        dl.dump_grids(x + 1.0)
        tl.store(o_ptr + pid * B + tl.arange(0, B), x)

    x = torch.arange(64, dtype=torch.float32)
    with triton_runner.using(level="ptx", target="cuda:80"):
        add[(4,)](x, torch.zeros(64), B=16)
    (dump,) = triton_runner.dumps()
    assert "outputs: the same as the plain kernel's" in dump.changes
    one, all_programs = list(dump)
    assert one.programs.tolist() == [[1, 0, 0]] and one.to_numpy().ravel().tolist() == x[16:32].tolist()
    assert all_programs.to_numpy().ravel().tolist() == (x + 1).tolist()


def test_what_the_stores_change_is_said():
    x = torch.randn(2, 64).half()
    _, changes = at_ptx(row_sums, (x, torch.zeros(2), 64), {"B": 128}, (2,), "ttgir", "cuda:80")
    assert changes[0].startswith("outputs: the same")
    assert changes[1] == "shared memory: 16 bytes, unchanged"
    assert changes[2].startswith("registers: ")
    assert changes[3].startswith("waits and barriers: ")


def test_shared_memory_overflow_is_said_before_launching(monkeypatch):
    monkeypatch.setattr(_core, "max_shared_bytes", lambda arch: 8)
    out = torch.zeros(2)
    with pytest.raises(triton_runner.DiagnosticError, match="16 bytes of shared memory, the device has 8"):
        at_ptx(row_sums, (torch.ones(2, 64).half(), out, 64), {"B": 128}, (2,), "ttgir", "cuda:80", ["total"])
    assert out.tolist() == [0, 0]


def test_a_trap_leaves_what_was_computed():
    x = torch.randn(2, 64).half()  # the third row is not there
    request = requests.request(["tt.get_program_id"], row_sums, level="ttgir")
    with (
        triton_runner.using(level="ptx", target="cuda:80", threads=1),
        pytest.raises(triton_runner.KernelTrap) as caught,
    ):
        instrument.run(request, row_sums, None, (x, torch.zeros(3), 64), {"B": 64}, (3,))
    recording, changes = caught.value.recorded
    assert recording.series[0].programs[:, 0].tolist()[:2] == [0, 1]
    assert not any(change.startswith("outputs") for change in changes)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_amd_compiles(level):
    """No AMD GPU is here: the instrumented kernel compiles to a code object."""
    target = "hip:gfx942"
    with triton_runner.using(target=target, level="ttgir"):
        x = torch.randn(2, 64).half()
        kernel = row_sums.warmup(x, torch.zeros(2), 64, B=32, grid=(2,))
    wanted = requests.request(["*"], row_sums, level=level, every_iteration=True)
    compiled = compiled_of(kernel)
    named = [("x_ptr", x), ("o_ptr", x), ("columns", 64)]
    insertion, _ = instrument.with_stores(wanted, compiled, level, (2, 1, 1), named)
    made = compile_onward(
        insertion.text, "ttgir", "hsaco", target, instrument.options_of(compiled), "row_sums"
    )
    assert made.asm["hsaco"][:4] == b"\x7fELF"
    assert made.asm["amdgcn"].count("store_") > 20


@pytest.mark.parametrize("every_iteration", [True, False])
def test_a_file_that_no_pass_has_seen(every_iteration, tmp_path, monkeypatch):
    """On a GPU tests/gpu/dump_source.py: the text calls `zeros`, and holds a value that nothing uses."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    signature = {"a_ptr": "*bf16:16", "b_ptr": "*bf16:16", "o_ptr": "*bf16:16", "N": "i32", "K": "i32:16"}
    sizes = {"M": 64, "B": 32}
    text = triton_runner.compile(outer_product, signature, sizes, target="cuda:90", to="ttir").asm["source"]
    (value,) = re.findall(r"(%\w+) = arith.extf .* to tensor<1x32xf32>", text)
    (tmp_path / "outer_product.source").write_text(text)
    a, b = torch.randn(64, 7).bfloat16(), torch.randn(7, 64).bfloat16()
    out = torch.zeros(64, 64).bfloat16()
    wanted = requests.request([value], outer_product, every_iteration=every_iteration, level="ttir")
    entry = Entry("ttir", "dir", str(tmp_path))
    with triton_runner.using(level="ptx", target="cuda:90"):
        _, recording, changes = instrument.run(wanted, outer_product, entry, (a, b, out, 7, 64), sizes, (2,))
    rows = b if every_iteration else b[-1:]
    expected = torch.cat([rows[:, :32], rows[:, 32:]]).float()
    [series] = recording.series
    assert torch.equal(torch.from_numpy(series.data.view(numpy.float32).reshape(-1, 32)), expected)
    assert torch.allclose(out.float(), a.float() @ b.float(), atol=0.3)
    assert changes[0] == "outputs: the same as the plain kernel's"
