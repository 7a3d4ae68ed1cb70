"""Tests triton-runner verify: right kernels that tempt a check are not called wrong, and what is wrong
still is."""

import json
import re

import numpy
import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner._kernel.cases import noise  # noqa: E402
from triton_runner._memory.contents import Pair  # noqa: E402


@triton_runner.jit
def safe_softmax(x, out, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + at)
    m = tl.max(v, 0)
    e = tl.exp(v - m)
    tl.store(out + row * N + at, tl.where(m == -float("inf"), 0.0, e / tl.sum(e, 0)))


@triton_runner.jit
def softmax(x, out, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * N + at)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * N + at, e / tl.sum(e, 0))


@triton_runner.jit
def masked_quotient(x, y, out, n, B: tl.constexpr):
    at = tl.arange(0, B)
    m = at < n
    tl.store(out + at, tl.load(x + at, m, other=0) // tl.load(y + at, m, other=0), m)


@triton_runner.jit
def quotient(x, y, out, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at) // tl.load(y + at))


@triton_runner.jit
def compact(x, out, slots, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + at, at < n, other=0.0)
    keep = (v > 0).to(tl.int32)
    first = tl.atomic_add(slots, tl.sum(keep, 0))
    tl.store(out + first + tl.cumsum(keep, 0) - keep, v, v > 0)


@triton_runner.jit
def product(a, b, out, N: tl.constexpr, HOW: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for k in range(4):
        acc = tl.dot(
            tl.load(a + k * N * N + i * N + j), tl.load(b + k * N * N + i * N + j), acc, input_precision=HOW
        )
    tl.store(out + i * N + j, acc)


def rows_of_infinities():
    x = numpy.random.default_rng(0).standard_normal((4, 32)).astype(numpy.float32)
    x[1] = -numpy.inf
    return x


def test_a_nan_that_is_selected_away():
    found = triton_runner.verify(
        safe_softmax, [rows_of_infinities(), numpy.zeros((4, 32), numpy.float32)], {"N": 32}, grid=(4,)
    )
    assert found and found.verdict == "no fault found", found
    nan = next(f for f in found.findings if f["check"] == "nan")
    assert nan["severity"] == "warning" and nan["why"].startswith("harmless for these inputs")


def test_a_nan_that_reaches_an_output():
    found = triton_runner.verify(
        softmax, [rows_of_infinities(), numpy.zeros((4, 32), numpy.float32)], {"N": 32}, grid=(4,)
    )
    nan = next(f for f in found.findings if f["check"] == "nan")
    assert found.verdict == "wrong" and nan["severity"] == "fault" and "'out'" in nan["reaches"]


def test_a_division_by_zero_in_elements_that_are_masked():
    x, y = numpy.arange(50, dtype=numpy.int32), numpy.arange(1, 51, dtype=numpy.int32)
    found = triton_runner.verify(masked_quotient, [x, y, x.copy(), 50], {"B": 64}, grid=(1,))
    assert found.verdict == "no fault found", found
    assert [f["severity"] for f in found.findings if f["check"] == "zerodiv"] == ["warning"]
    strict = triton_runner.verify(masked_quotient, [x, y, x.copy(), 50], {"B": 64}, grid=(1,), strict=True)
    assert strict.verdict == "wrong"


PROGRAM = """
import sys, torch, triton, triton.language as tl
@triton.jit
def logs(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.log(tl.load(x + at)))
x, out = torch.tensor([1.0, -1.0] * 32), torch.empty(64)
logs[(1,)](x, out, N=64)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else int(not torch.equal(out.isnan(), x < 0)))
"""


def test_a_nan_that_the_program_means(tmp_path):
    """log(-1) is a NaN at every level, and the program's own check passes, which sees NaNs and no numbers;
    without a check it is a fault."""
    (tmp_path / "program.py").write_text(PROGRAM)
    answer = warm.invoke("verify", "--json", tmp_path / "program.py")
    (launch,) = json.loads(answer.stdout)["launches"]
    nan, *below = [f for f in launch["findings"] if f["check"] == "nan"]
    assert answer.exit_code == 0 and launch["verdict"] == "no fault found", answer.output
    assert "own check passes" in nan["why"] and "another number in one element" in launch["idle_check"]
    # PTX computes it of infinities, in steps that TTIR does not have.
    assert [f["levels"] for f in below] == [["ptx"]] and "it is the compiler's" in below[0]["why"]
    assert not [f for f in launch["findings"] if f["check"] == "nanload"]
    answer = warm.invoke("verify", "--json", "--strict", tmp_path / "program.py")
    assert answer.exit_code == 1
    answer = warm.invoke("verify", "--json", tmp_path / "program.py", "3")
    (launch,) = json.loads(answer.stdout)["launches"]
    assert answer.exit_code == 1 and launch["verdict"] == "wrong"


def test_slots_that_an_atomic_hands_out():
    """Each program takes the next slots: no pass and no level is blamed for the order."""
    x = numpy.random.default_rng(1).standard_normal(1000).astype(numpy.float32)
    args = [x, numpy.zeros(1000, numpy.float32), numpy.zeros(1, numpy.int32), 1000]
    found = triton_runner.verify(compact, args, {"B": 128}, grid=(8,))
    assert found and found.verdict == "nondeterministic" and found.status == 0, found
    (order,) = found.findings
    assert (order["check"], order["kind"], order["argument"]) == ("order", "nondeterministic", "out")
    assert [line["op"] for line in order["lines"]] == ["tt.atomic_rmw"] and order["lines"][0]["line"] > 0
    strict = triton_runner.verify(compact, args, {"B": 128}, grid=(8,), strict=True)
    assert not strict and strict.verdict == "nondeterministic" and strict.status == 1


@triton_runner.jit
def total(x, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + at)))


def test_a_float_sum_by_atomics():
    x = (10 ** numpy.random.default_rng(0).uniform(-3, 3, 1024)).astype(numpy.float32)
    found = triton_runner.verify(total, [x, numpy.zeros(1, numpy.float32)], {"B": 128}, grid=(8,))
    assert found.verdict == "nondeterministic", found
    assert {f["check"] for f in found.findings} <= {"order", "drift"}


@pytest.mark.parametrize("how", ["tf32", "ieee"])
def test_products_of_rounded_operands(how):
    """PTX rounds f32 operands to tf32. So does TTGIR with numerics="hardware", which verify compares then."""
    chance = numpy.random.default_rng(2)
    a, b = (chance.standard_normal((4, 32, 32)).astype(numpy.float32) * 4 for _ in range(2))
    found = triton_runner.verify(
        product, [a, b, numpy.zeros((32, 32), numpy.float32)], {"N": 32, "HOW": how}, grid=(1,)
    )
    assert found.verdict == "no fault found", found
    bits = next(
        one for one in found.launches[0]["bits"] if "ptx" in one["levels"] and one["argument"] == "out"
    )
    assert bits["agrees"] and (how == "ieee" or bits["bits_equal"])


def test_noise_explains_as_much_as_it_showed():
    base = {"x": numpy.linspace(1, 2, 100).astype(numpy.float32), "n": numpy.arange(100)}
    moved = {"x": base["x"] * numpy.float32(1 + 1e-3), "n": base["n"].copy()}
    moved["n"][7] += 1
    seen = noise.Noise()
    for name, array in base.items():
        seen.add(name, Pair.of_arrays(array, moved[name]))

    def agrees(noise, name: str, got, exact: bool) -> bool:
        return noise.compare(name, Pair.of_arrays(base[name], got), exact).agrees

    near, far = base["x"] * numpy.float32(1 + 3e-3), base["x"] * numpy.float32(1 + 2e-2)
    assert agrees(seen, "x", near, True)
    assert not agrees(seen, "x", far, True)
    assert not agrees(noise.Noise(), "x", near, True)
    other, many = base["n"].copy(), base["n"] + 1
    other[50] = 0  # a decision that fell otherwise elsewhere
    assert agrees(seen, "n", other, False)
    assert not agrees(seen, "n", many, False)


ROWS_OF_119 = """
import torch, triton, triton.language as tl
@triton.jit
def rows(x, o, M, N, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, 16)[:, None] * 128 + tl.arange(0, B)[None, :])
    tl.make_tensor_descriptor(o, [M, N], [128, 1], [16, B]).store([0, 0], v)
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
x, o = torch.ones(16, 128).bfloat16(), torch.zeros(16, 128, dtype=torch.bfloat16)
rows[(1,)](x, o, 16, 119, B=128)
assert torch.equal(o[:, :119], x[:, :119])
"""


def test_what_tma_writes_past_a_tensor(tmp_path):
    """Chunks of 16 bytes, inside of the allocation: column 119 is written by the hardware, and no fault."""
    (tmp_path / "program.py").write_text(ROWS_OF_119)
    answer = warm.invoke("verify", "--json", tmp_path / "program.py")
    (launch,) = json.loads(answer.stdout)["launches"]
    (tail,) = launch["findings"]
    assert (answer.exit_code, launch["verdict"]) == (0, "right"), answer.output
    assert (tail["check"], tail["severity"], tail["evidence"]["elements"]) == ("tail", "warning", 16)


def test_the_same_text_whatever_else_the_machine_does():
    """Launches run in one order on any number of threads, so that the verdict and its evidence repeat."""
    chance = numpy.random.default_rng(4)
    x = chance.standard_normal(1000).astype(numpy.float32)
    texts = set()
    for threads in (1, 2, 8):
        args = [x, numpy.zeros(1000, numpy.float32), numpy.zeros(1, numpy.int32), 1000]
        with triton_runner.using(threads=threads):
            found = triton_runner.verify(compact, args, {"B": 128}, grid=(8,))
        texts.add(re.sub(r"[0-9.]+ s\b", "", str(found)))
    assert len(texts) == 1, texts


IN_ONE_LINE = """
import torch, triton, triton.language as tl
@triton.jit
def double(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.load(x + tl.arange(0, N)) * 2)
def doubled(x):
    out = torch.empty_like(x); double[(1,)](x, out, N=64); return out
x = torch.arange(64.0)
out = doubled(x); error = (out - 2 * x).abs().max().item(); assert error < 1e-6
"""


@pytest.mark.parametrize("options", [(), ("--prove",)])
def test_statements_that_stand_in_one_line(tmp_path, options):
    """The check is a number, so that the program runs again; what was proved is in the report then, too."""
    (tmp_path / "program.py").write_text(IN_ONE_LINE)
    answer = warm.invoke("verify", *options, tmp_path / "program.py")
    assert answer.exit_code == 0, answer.output
    done = warm.cli("verify", "--json", *options, tmp_path / "program.py")
    found = json.loads(done.stdout)
    assert (found["verdict"], done.returncode) == ("right", 0) and bool(found.get("proofs")) == bool(options)
