"""Tests lockstep: a bug that was put into one level's IR is pinned to the op that has it."""

import dataclasses
import json
import pathlib
import re

import numpy
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402

pytestmark = pytest.mark.skipif(
    not triton.__version__.startswith("3.9"), reason="the edits are of the TTGIR that 3.9 writes"
)


@triton_runner.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    a_at = a + rows[:, None] * K + depth[None, :]
    b_at = b + depth[:, None] * N + columns[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a_at, mask=(depth[None, :] + k) < K, other=0.0)
        y = tl.load(b_at, mask=(depth[:, None] + k) < K, other=0.0)
        acc = tl.dot(x, y, acc)
        a_at += BK
        b_at += BK * N
    out = acc * 0.5
    tl.store(c + rows[:, None] * N + columns[None, :], out)


M = N = 64
K = 100
BLOCKS = {"BM": 32, "BN": 32, "BK": 32}
TARGET = "cuda:80"


def arguments():
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(M, K, generator=generator).half()
    b = torch.full((128, N), float("nan"), dtype=torch.float16)  # what no mask keeps out is seen
    b[:K] = torch.randn(K, N, generator=generator).half()
    return [a, b, torch.zeros(M, N), M, N, K]


@pytest.fixture(scope="module")
def ttgir():
    with triton_runner.using(device="cpu", level="ttgir", target=TARGET):
        return matmul[(2, 2)](*arguments(), **BLOCKS).asm["ttgir"]


def line_of(text: str) -> int:
    source = pathlib.Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(source, 1) if line.strip().startswith(text))


def run(levels=("ttir", "ttgir"), **options):
    with triton_runner.using(target=TARGET):
        return triton_runner.lockstep(matmul, arguments(), BLOCKS, grid=(2, 2), levels=levels, **options)


def edited(text: str, pattern: str, replacement: str) -> str:
    changed, count = re.subn(pattern, replacement, text)
    assert count == 1, (count, pattern)
    return changed


def test_two_levels_of_a_right_kernel_agree():
    found = run()
    assert found.diverged is None and not found.differences and not found.outputs
    assert found.compared["ttir and ttgir"] >= 40
    assert "no value differs" in str(found)


# The change in the TTGIR, and the line and op that the difference is pinned to.
BUGS = {
    "a changed constant": (r"dense<5.000000e-01>", "dense<5.100000e-01>", "out = acc", "arith.mulf"),
    "a swapped operand": (
        r"(%x_\d+ = arith.cmpi slt, )(%\w+), (%\w+)( : tensor<1x32)",
        r"\1\3, \2\4",
        "x = tl.load",
        "arith.cmpi",
    ),
    "a wrong operand": (
        r"(%rows_\d+ = arith.addi )%rows_\d+, (%rows_\d+)( : tensor<32xi32, #ttg.slice<\{dim = 1, parent = "
        r"#blocked\}>>)",
        r"\1\2, \2\3",
        "rows = ",
        "arith.addi",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_pinned_to_its_op(ttgir, bug, tmp_path):
    pattern, replacement, line, op = BUGS[bug]
    file = tmp_path / "bad.ttgir"
    file.write_text(edited(ttgir, pattern, replacement))
    found = run(sources={"ttgir": file})
    first = found.diverged
    assert (first.line, first.op, first.other_op) == (line_of(line), op, op), str(found)
    assert first.file.endswith("test_lockstep.py") and first.run == "ttir" and first.other_run == "ttgir"
    assert found.outputs or found.traps
    assert json.loads(found.to_json())["diverged"]["line"] == first.line
    a, b = first.numbers
    assert a != b and first.max_error >= abs(a - b) > 0


def in_loop(ttgir: str) -> tuple[str, str]:
    head, tail = ttgir.split("scf.for", 1)
    return head + "scf.for", tail


def test_a_dropped_mask_shows_in_the_load(ttgir):
    head, loop = in_loop(ttgir)
    copy = re.search(r"ttg.async_copy_global_to_local %\w+, %\w+ mask (%\w+) ", loop)
    mask = re.search(rf"{copy[1]} = arith.andi (%\w+), %\w+", loop)
    bad = head + loop.replace(mask[0], f"{copy[1]} = arith.andi {mask[1]}, {mask[1]}")
    found = run(sources={"ttgir": bad})
    assert found.diverged.line == line_of("y = tl.load") and found.diverged.op == "tt.load", str(found)
    assert found.diverged.iteration == (3,) and numpy.isnan(found.diverged.numbers[1])


def test_a_missing_wait_shows_in_what_is_read_too_early(ttgir):
    head, loop = in_loop(ttgir)
    wait = re.search(r"\n *(%\w+) = ttg.async_wait [^\n]*", loop)
    bad = head + loop.replace(wait[0], "").replace(f" token {wait[1]}", "")
    found = run(sources={"ttgir": bad})
    first = found.diverged
    assert (first.line, first.op, first.other_op) == (line_of("y = tl.load"), "tt.load", "ttg.local_load")
    assert first.elements == first.of == 1024


def test_a_trap_is_part_of_the_answer(ttgir):
    head, loop = in_loop(ttgir)
    bad = head + re.sub(r" mask %\w+ other %\w+", "", loop, count=1)
    found = run(sources={"ttgir": bad})
    assert "out of bounds in ttg.async_copy_global_to_local" in found.traps["ttgir"]
    assert "ttgir stopped" in str(found)


def test_the_arguments_are_as_the_first_run_finds_them():
    given = arguments()
    given[2].fill_(7)
    with triton_runner.using(target=TARGET):
        triton_runner.lockstep(matmul, given, BLOCKS, grid=(2, 2))
    assert (given[2] == 7).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"levels": ["ttir"]}, "two runs or more"),
        ({"levels": ["ttir", "sass"]}, "lockstep at level 'sass'"),
        ({"levels": []}, "lockstep at level"),
    ],
)
def test_bad_requests(options, message):
    with pytest.raises(DiagnosticError, match=message):
        run(**options)


@pytest.fixture(scope="module")
def ptx():
    with triton_runner.using(device="cpu", level="ptx", target=TARGET):
        return matmul[(2, 2)](*arguments(), **BLOCKS).asm["ptx"]


def test_registers_of_ptx_agree_with_ttgir():
    found = run(levels=["ttir", "ttgir", "ptx"])
    assert found.diverged is None and not found.outputs, str(found)
    assert found.compared["ttgir and ptx"] >= 60


def test_a_wrong_ldmatrix_offset_is_pinned_to_what_it_loads(ptx):
    last = list(re.finditer(r"(ldmatrix[^\[]*\[%r\d+)(\+\d+)?\]", ptx))[-1]
    offset = int((last[2] or "+0")[1:])
    bad = f"{ptx[: last.start()]}{last[1]}+{offset + 64}]{ptx[last.end() :]}"
    first = run(levels=["ttgir", "ptx"], sources={"ptx": bad}).diverged
    assert (first.line, first.op) == (line_of("y = tl.load"), "ttg.local_load")
    assert (first.level, first.other_level) == ("ttgir", "ptx") and first.value == first.other_value


def test_a_missing_wait_in_ptx(ptx):
    bad = re.sub(r"\n\s*cp.async.wait_group[^\n]*", "", ptx, count=1)
    first = run(levels=["ttgir", "ptx"], sources={"ptx": bad}).diverged
    assert (first.line, first.op) == (line_of("y = tl.load"), "ttg.local_load")


def test_a_missing_barrier_in_ptx_is_a_race(ptx):
    bad = re.sub(r"\n\s*bar.sync[^\n]*", "", ptx)
    found = run(levels=["ttgir", "ptx"], sources={"ptx": bad}, check="race")
    assert "data race in ldmatrix" in found.traps["ptx"]
    assert f"test_lockstep.py:{line_of('x = tl.load')}" in found.traps["ptx"]


def test_numpy_arguments_by_name_and_views_keep_their_storage():
    a, b, c, *sizes = arguments()
    named = dict(zip(("a", "b", "c", "M", "N", "K"), (a.numpy(), b.numpy(), c.numpy(), *sizes), strict=True))
    with triton_runner.using(target=TARGET):
        found = triton_runner.lockstep(matmul, named, BLOCKS, grid=(2, 2))
        assert found.diverged is None and not found.outputs
        view = torch.cat([b, b])[: b.shape[0]]  # what lies behind a view is not its own
        found = triton_runner.lockstep(matmul, [a, view, c, *sizes], BLOCKS, grid=(2, 2))
    assert found.diverged is None and not found.traps


def test_the_same_run_without_a_recording_is_compared(monkeypatch):
    from triton_runner._artifact.relaunch import Relaunch
    from triton_runner._memory.contents import Pages

    found = triton_runner.lockstep(matmul, arguments(), BLOCKS, grid=(2, 2))
    assert found.unobserved == [] and found.diverged is None
    run = Relaunch.run

    def otherwise(launch, level, how, **more):
        outcome = run(launch, level, how, **more)
        if how != "ttgir, not recorded":
            return outcome
        number = outcome.contents.views["c"].block
        block = outcome.contents.block(number)
        outcome.contents.views["c"].of(block)[3, 4] += 100
        outcome.contents.pages[number] = Pages([(0, block)])
        trap = "kernel 'matmul': out of bounds in tt.load at x.py:1:2, program (0, 0, 0): far off"
        return dataclasses.replace(outcome, trap=trap)

    monkeypatch.setattr(Relaunch, "run", otherwise)
    found = triton_runner.lockstep(matmul, arguments(), BLOCKS, grid=(2, 2))
    assert [difference["name"] for difference in found.unobserved] == ["", "c"]
    assert found.unobserved[1]["elements"] == 1 and found.unobserved[1]["run"] == "ttgir, not recorded"
    assert "ttgir, not recorded: kernel 'matmul': out of bounds" in str(found)
    assert json.loads(found.to_json())["unobserved"]


@triton_runner.jit
def squares(out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, index * index)


def test_a_copy_that_other_threads_hold():
    # 32 elements, and four warps that hold all of them: the first one stores.
    given = [numpy.zeros(32, numpy.int32)]
    with triton_runner.using(device="cpu", level="ptx", target=TARGET):
        own = squares[(1,)](*given, N=32, num_warps=4).asm["ptx"]
    bad, edits = re.subn(r"(and\.b32\s+%r\d+, %r\d+, )31;", r"\g<1>63;", own, count=1)
    assert edits == 1
    more = {"grid": (1,), "levels": ["ttgir", "ptx"]}
    assert not triton_runner.lockstep(squares, given, {"N": 32}, **more).differences
    found = triton_runner.lockstep(squares, given, {"N": 32}, sources={"ptx": bad}, **more)
    first = found.diverged
    assert not found.outputs and first.copy == {"block": 0, "thread": 32} and first.element == (0,)
    assert first.numbers == (0, 32) and first.elements == 64 and "in the copy of thread 32" in str(first)


@triton_runner.jit
def in_parts(a, b, c, out, N: tl.constexpr, HOW: tl.constexpr):
    index = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    product = tl.dot(tl.load(a + index), tl.load(b + index), tl.load(c + index), input_precision=HOW)
    tl.store(out + index, product)


@pytest.mark.parametrize("how", ["tf32x3", "bf16x3", "bf16x6"])
def test_products_in_parts_have_the_bits_of_ttgir(how):
    a, b, c = numpy.random.default_rng(0).standard_normal((3, 32, 32)).astype(numpy.float32)
    a[0, 0], a[3, 5], b[7, 9] = numpy.inf, 1e-42, numpy.nan  # what has no rest, or none that is a number
    results = []
    for level in ("ttir", "ttgir"):
        out = numpy.zeros_like(c)
        with triton_runner.using(device="cpu", level=level, target=TARGET):
            text = in_parts[(1,)](a, b, c, out, N=32, HOW=how).asm[level]
        assert (f"inputPrecision = {how}" in text) == (level == "ttir")
        results.append(out)
    numpy.testing.assert_array_equal(*results)
    exact = a[1:3].astype(float) @ b[:, :7].astype(float) + c[1:3, :7]
    allowed = {"tf32x3": 1e-5, "bf16x3": 1e-3, "bf16x6": 1e-5}[how]
    assert numpy.abs(results[0][1:3, :7] - exact).max() < allowed


@triton_runner.jit
def halves(x, out, N: tl.constexpr):
    index = tl.arange(0, N)
    half = tl.load(x + index) * 0.5
    tl.store(out + index, tl.maximum(half, 1.0))


@pytest.mark.parametrize("is_faulty", [False, True])
def test_values_of_machine_code(is_faulty, tmp_path):
    """A cubin that was made of another text than the PTX of its lines stands for a fault of ptxas."""
    from triton_runner.verbs.assemble import assemblers

    given = [numpy.arange(128, dtype=numpy.float32), numpy.zeros(128, numpy.float32)]
    sources = {"cubin": tmp_path / "halves.cubin"}
    with triton_runner.using(device="cpu", target=TARGET):
        ptx = halves.warmup(*given, N=128, grid=(1,)).asm["ptx"]
        text = ptx.replace("0f3F000000", "0f3F400000") if is_faulty else ptx  # 0.5 and 0.75
        assert (text != ptx) == is_faulty
        sources["cubin"].write_bytes(assemblers.assemble(text, assemblers.default()))
        levels = ["ttgir", "ptx", "cubin"]
        found = triton_runner.lockstep(halves, given, {"N": 128}, grid=(1,), levels=levels, sources=sources)
    assert found.compared["ttgir and cubin"] >= 3, str(found)
    assert (found.diverged is not None) == is_faulty == bool(found.outputs), str(found)
    if is_faulty:
        assert (found.diverged.line, found.diverged.op) == (line_of("half = "), "arith.mulf")
        assert found.diverged.other_level == "cubin" and found.diverged.numbers[1] == 0.75
        assert found.dumps["cubin"][found.diverged.value].registers
