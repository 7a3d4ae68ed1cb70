"""Dumps from the registers of PTX: a value that is put together from the threads that hold it is the tile
engine's value of TTGIR, and the program that runs is the compiler's own."""

import dataclasses
import inspect
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_dumps import described, softmax, two_blocks  # noqa: E402
from triton_runner import DiagnosticError, KernelTrap, _settings  # noqa: E402
from triton_runner._kernel.dumps import registers, requests  # noqa: E402
from triton_runner._settings import keywords  # noqa: E402

TARGETS = ("cuda:80", "cuda:90")


@triton_runner.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :])
        right = tl.load(b + (k + ks)[:, None] * N + columns[None, :])
        acc = tl.dot(left, right, acc)
    scaled = acc * 2.0
    tl.store(c + rows[:, None] * N + columns[None, :], scaled)


@triton_runner.jit
def attention(q, k, v, o, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + columns[None, :])
    best = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        keys = start + tl.arange(0, BN)
        key = tl.load(k + keys[None, :] * D + columns[:, None])
        score = tl.dot(query, key)
        new_best = tl.maximum(best, tl.max(score, 1))
        weight = tl.exp(score - new_best[:, None])
        shrink = tl.exp(best - new_best)
        total = total * shrink + tl.sum(weight, 1)
        acc = acc * shrink[:, None]
        value = tl.load(v + keys[:, None] * D + columns[None, :])
        acc = tl.dot(weight.to(tl.float16), value, acc)
        best = new_best
    tl.store(o + rows[:, None] * D + columns[None, :], acc / total[:, None])


@triton_runner.jit
def nested(x, y, n, m, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets)
    for i in range(n):
        for j in range(m):
            value = value * 2.0 + i
            if j > 0:
                value += tl.load(x + offsets + j)
        value = value - 1.0
    tl.store(y + offsets, value)


def matmul_arguments():
    torch.manual_seed(0)
    a, b = torch.randn(64, 96).half(), torch.randn(96, 64).half()
    return a, b, torch.zeros(64, 64)


def launch(kernel, level, target, *selectors, every_iteration=True, **options):
    """The dump of a launch of one of the kernels above, and what the launch wrote."""
    torch.manual_seed(1)
    with triton_runner.dumping(
        kernel, *selectors, level=level, every_iteration=every_iteration, **options
    ) as dump:
        if kernel is matmul:
            a, b, out = matmul_arguments()
            matmul[(2, 2)](a, b, out, 64, 96, BM=32, BN=32, BK=32, device="cpu", target=target)
        elif kernel is softmax:
            out = torch.zeros(3, 500)
            softmax[(3,)](torch.randn(3, 500), out, 500, B=512, device="cpu", target=target)
        elif kernel is attention:
            q, k, v = (torch.randn(64, 32).half() for _ in range(3))
            out = torch.zeros(64, 32)
            attention[(2,)](q, k, v, out, 64, BM=32, BN=32, D=32, device="cpu", target=target)
        else:
            out = torch.zeros(256)
            nested[(1,)](torch.randn(260), out, 3, 2, BLOCK=256, device="cpu", target=target)
    return dump.last, out


def same(here, there, tolerance):
    assert here.site.value == there.site.value
    assert (here.programs == there.programs).all() and (here.iterations == there.iterations).all()
    ours, theirs = here.to_numpy(), there.to_numpy()
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if "!tt.ptr" in here.site.type_text:  # of other tensors
        assert (ours - ours.min() == theirs - theirs.min()).all()
    elif ours.dtype.kind == "f":
        np.testing.assert_allclose(ours.astype("f8"), theirs.astype("f8"), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(ours, theirs)


CASES = [
    (matmul, ("scaled",), 1e-5),
    (matmul, ("acc",), 1e-5),
    (softmax, ("x", "largest"), 0),
    (softmax, ("weights", "total"), 1e-6),
    (attention, ("total", "new_best"), 1e-5),
    (attention, ("score", "weight"), 1e-5),
    (nested, ("value",), 0),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel, names, tolerance", CASES, ids=lambda v: getattr(v, "__name__", None))
def test_a_value_of_ttgir(kernel, names, tolerance, target):
    above, _ = launch(kernel, "ttgir", target, *names)
    below, _ = launch(kernel, "ptx", target, *names)
    assert len(list(below)) > 0
    for name in [value.site.value for value in below]:
        same(below[name], above[name], tolerance)


@pytest.mark.parametrize(
    "kernel, names, target",
    [
        (matmul, ("scaled",), "cuda:80"),
        (matmul, ("scaled",), "cuda:90"),
        (matmul, ("ttg.local_load",), "cuda:80"),  # f16, two to a register
        (softmax, ("x", "largest", "weights", "total"), "cuda:80"),
        (attention, ("score", "weight"), "cuda:90"),
        (nested, ("value",), "cuda:80"),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_the_program_runs_untouched(kernel, names, target):
    dump, _ = launch(kernel, "ptx", target, *names)
    assert dump.changes == []


@pytest.mark.parametrize("kernel", [matmul, softmax, attention, nested], ids=lambda k: k.__name__)
def test_every_value_at_once(kernel):
    above, _ = launch(kernel, "ttgir", "cuda:80", "*")
    below, _ = launch(kernel, "ptx", "cuda:80", "*")
    values = [value for value in above if "memdesc" not in value.site.type_text]
    inside = [value for value in values if value.site.value not in below]
    assert (
        all("repeats for each pair" in note for note in below.notes if "memdesc" not in note) or inside == []
    )
    assert len(list(below)) >= len(values) - len(inside) > 20
    for value in below:
        same(value, above[value.site.value], 1e-5)


def test_warp_specialised_regions():
    every_value(described, (1,), "cuda:100", "warp_specialize", lambda: (
        torch.randn(64, 128).half(), torch.randn(128, 64).half(), torch.zeros(64, 64).half(), 64, 128
    ), BLOCK=64, SPECIALIZE=True)  # fmt: skip


def test_clusters():
    every_value(two_blocks, (2,), "cuda:90", '"ttg.num-ctas" = 2',
                lambda: (torch.randn(1024), torch.zeros(1024)), B=512, num_ctas=2)  # fmt: skip


def every_value(kernel, grid, target, has, arguments, **options):
    """Compares all values of a launch."""
    dumps = []
    for level in ("ttgir", "ptx"):
        torch.manual_seed(2)
        with triton_runner.dumping(kernel, "*", level=level, every_iteration=True) as dump:
            launched = kernel[grid](*arguments(), device="cpu", target=target, **options)
        dumps.append(dump.last)
    assert has in launched.asm["ttgir"]
    above, below = ({v.site.value: v for v in d} for d in dumps)
    assert len(below) > 10 and set(below) <= set(above)
    for name, value in below.items():
        same(value, above[name], 1e-3)


def test_where_the_taps_change_the_program_the_dump_says_so():
    dump, _ = launch(matmul, "ptx", "cuda:80", "acc")
    assert len(dump.changes) == 1 and dump.changes[0].startswith("what ran is the program compiled with taps")


def test_a_product_that_is_under_way_is_read_when_it_is_complete():
    @triton_runner.jit
    def one(a, b, c, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, BLOCK), tl.float32)
        for k in range(0, 128, BLOCK):
            left = tl.load(a + i[:, None] * 128 + (k + i)[None, :])
            right = tl.load(b + (k + i)[:, None] * BLOCK + i[None, :])
            acc = tl.dot(left, right, acc)
        tl.store(c + i[:, None] * BLOCK + i[None, :], acc)

    a, b, c = torch.randn(64, 128).half(), torch.randn(128, 64).half(), torch.zeros(64, 64)
    with triton_runner.dumping(one, "acc", level="ptx") as dump:
        one[(1,)](a, b, c, BLOCK=64, device="cpu", target="cuda:90")
    (value,) = dump.last
    assert value.site.op == "scf.for"
    np.testing.assert_array_equal(value.to_numpy()[0], c.numpy())
    assert any("is still being computed by the tensor cores" in note for note in dump.last.notes)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.int16, torch.int64, torch.bfloat16, torch.float16, torch.float64, torch.bool]
)
def test_types(dtype):
    @triton_runner.jit
    def copy(x, y, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        value = tl.load(x + i)
        pointer = y + i
        odd = value != 0
        tl.store(pointer, value, mask=odd)

    x = (torch.arange(256) % 3 - 1).to(dtype)
    for name in ("value", "pointer", "odd"):
        arrays = []
        for level in ("ttgir", "ptx"):
            with triton_runner.dumping(copy, name, level=level) as dump:
                copy[(1,)](x, torch.zeros_like(x), BLOCK=256, device="cpu", target="cuda:80")
            arrays.append(dump.last[name])
        ours, theirs = arrays
        same(ours, theirs, 0)


def test_only_the_last_iteration_and_chosen_programs():
    every, _ = launch(matmul, "ptx", "cuda:80", "scaled")
    one, _ = launch(matmul, "ptx", "cuda:80", "scaled", programs=[(1, 0)])
    assert every["scaled"].programs.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert one["scaled"].programs.tolist() == [[1, 0, 0]]
    np.testing.assert_array_equal(one["scaled"].to_numpy()[0], every["scaled"].to_numpy()[1])
    last, _ = launch(attention, "ptx", "cuda:80", "score", every_iteration=False)
    every, _ = launch(attention, "ptx", "cuda:80", "score")
    assert every["score"].iterations.tolist() == [[0], [1], [0], [1]]
    assert last["score"].iterations.tolist() == [[1], [1]]
    np.testing.assert_array_equal(last["score"].to_numpy(), every["score"].to_numpy()[1::2])


def test_a_kernel_that_traps_leaves_what_it_computed():
    @triton_runner.jit
    def outside(x, y, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        doubled = tl.load(x + i) * 2.0
        tl.store(y + i + 4, doubled)

    x = torch.arange(128, dtype=torch.float32)
    dump = triton_runner.dumping(outside, "doubled", level="ptx")
    with pytest.raises(KernelTrap), dump:
        outside[(1,)](x, torch.zeros(4), BLOCK=128, device="cpu", target="cuda:80")
    np.testing.assert_array_equal(dump.last["doubled"].to_numpy()[0], x.numpy() * 2)


# ---- registers and lines of the PTX


def asm(level):
    a, b, c = matmul_arguments()
    kernel = matmul[(2, 2)](a, b, c, 64, 96, BM=32, BN=32, BK=32, device="cpu", level="ptx", target="cuda:80")
    return kernel.asm[level]


def test_a_register_by_name():
    names = re.search(r"mma\.sync\S+\s+\{ (%r\d+), (%r\d+), (%r\d+), (%r\d+) \}", asm("ptx")).groups()
    _, out = launch(matmul, "ptx", "cuda:80", "scaled")
    vector = "{" + ",".join(names) + "}"
    dump, _ = launch(matmul, "ptx", "cuda:80", vector, names[1], every_iteration=False)
    series = dump[vector]
    assert series.to_numpy().shape == (4, 128, 4) and series.to_numpy().dtype == np.float32
    # Thread 1 has row 0, columns 2 and 3, and row 8 of its warp's tile (PTX ISA, mma.m16n8k16).
    ours = series.to_numpy()[0, 1]
    np.testing.assert_array_equal(ours * 2, torch.cat([out[0, 2:4], out[8, 2:4]]).numpy())
    np.testing.assert_array_equal(dump[names[1]].to_numpy()[0, :, ...], series.to_numpy()[0, :, 1])


def test_an_opcode_and_a_line_of_the_source(tmp_path):
    dump, _ = launch(matmul, "ptx", "cuda:80", "mma.sync", every_iteration=False)
    products = dump.all("mma.sync")
    assert {v.site.op for v in products} == {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}
    assert all(v.to_numpy().shape == (4, 128, 4) for v in products)
    source, first = inspect.getsourcelines(matmul.fn)
    line = first + next(i for i, text in enumerate(source) if "tl.dot" in text)
    place = f"test_dump_registers.py:{line}"
    (tmp_path / "matmul.ptx").write_text(asm("ptx"))
    a, b, c = matmul_arguments()
    with triton_runner.using(device="cpu"), triton_runner.dumping("matmul", place, level="ptx") as alone:
        triton_runner.load(tmp_path / "matmul.ptx")[(2, 2)](a, b, c, 64, 96)  # a text, with nothing behind it
    found = alone.last.all(place)
    assert {v.site.op for v in found} >= {v.site.op for v in products}
    assert all(v.site.stack.startswith(f"{place}:") for v in found)


def test_a_guarded_write_leaves_the_other_threads_out():
    @triton_runner.jit
    def masked(x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(y + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

    x = torch.arange(128, dtype=torch.float32)
    kernel = masked[(1,)](x, x.clone(), 100, BLOCK=128, device="cpu", level="ptx", target="cuda:80")
    loaded = re.search(r"@%p\d+ ld\.global\.b32 \{ (%r\d+) \}", kernel.asm["ptx"])[1]
    line = next(i for i, t in enumerate(kernel.asm["ptx"].split("\n"), 1) if "ld.global.b32" in t)
    with triton_runner.dumping(masked, f"masked.ptx:{line}", level="ptx") as dump:
        masked[(1,)](x, x.clone(), 100, BLOCK=128, device="cpu", target="cuda:80")
    (value,) = dump.last
    assert value.site.value == loaded and value.mask[0].tolist() == [True] * 100 + [False] * 28
    np.testing.assert_array_equal(value.to_numpy()[0, :100].view(np.float32), x.numpy()[:100])


@pytest.mark.parametrize(
    "name, said",
    [
        ("%r99999", "has no register %r99999"),
        ("ldmatrix.synk", "has no instruction 'ldmatrix.synk'"),
        ("{%r1,%p1}", "no instruction writes all of {%r1,%p1}"),
        ("nothing", "there is no variable 'nothing'"),
    ],
)
def test_names_that_are_not_there(name, said):
    with pytest.raises(DiagnosticError) as error:
        launch(matmul, "ptx", "cuda:80", name)
    assert said in str(error.value)


# ---- LLIR


def test_a_value_of_llir():
    name = re.search(r"^  (%\d+) = fmul float", asm("llir"), re.M)[1]
    dump, out = launch(matmul, "llir", "cuda:80", name)
    (value,) = dump
    assert value.site.op == "fmul" and value.site.type == "f32" and dump.changes == []
    assert value.to_numpy().shape == (4, 128) and value.to_numpy()[0, 0] == out[0, 0]


def test_a_value_of_llir_that_is_in_no_register():
    name = re.search(r"^  (%\d+) = insertvalue|^  (%\d+) = .*call \{", asm("llir"), re.M)
    wanted = name[1] or name[2]
    with pytest.raises(DiagnosticError, match="which is in no single register"):
        launch(matmul, "llir", "cuda:80", wanted)


# ---- PTX that somebody edited


def edited(text, ttgir):
    request = dataclasses.replace(
        requests.request(("x", "weights", "total"), softmax, True), ttgir=ttgir, level="ptx"
    )
    entry = keywords.Entry("ptx", "src", text, '{"num_warps": 4, "shared": 16}')
    torch.manual_seed(1)
    x, out = torch.randn(3, 500), torch.zeros(3, 500)
    with _settings.using(device="cpu", level="ptx", target="cuda:80"):
        _, recording, changes = registers.run(request, softmax, entry, (x, out, 500), {}, (3,))
    return request.dump(recording, changes)


def test_values_of_edited_ptx():
    x, out = torch.zeros(3, 500), torch.zeros(3, 500)
    kernel = softmax[(3,)](x, out, 500, B=512, device="cpu", level="ptx", target="cuda:80")
    ptx, ttgir = kernel.asm["ptx"], kernel.asm["ttgir"]
    above, _ = launch(softmax, "ttgir", "cuda:80", "x", "weights", "total")
    clean = edited(ptx, ttgir)
    for value in clean:
        same(value, above[value.site.value], 1e-6)
    wrong = edited(ptx.replace("0f3FB8AA3B", "0f3F800000"), ttgir)  # log2(e), by which exp is ex2
    assert [note.startswith("edited: ") for note in wrong.notes].count(True) == 4
    finite = np.isfinite(above["x"].to_numpy())
    np.testing.assert_array_equal(wrong["x"].to_numpy()[finite], above["x"].to_numpy()[finite])
    assert np.abs(wrong["weights"].to_numpy() - above["weights"].to_numpy()).max() > 0.1
    fewer = edited("\n".join(line for line in ptx.split("\n") if "bar.sync" not in line), ttgir)
    assert "the TTGIR compiles to: bar.sync \t0;" in fewer.notes
    same(fewer["x"], above["x"], 0)
