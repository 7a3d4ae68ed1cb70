"""A conclusion from an assumption holds where the assumption does: on its path, in its launch."""

from pathlib import Path

import pytest
import warm

pytest.importorskip("z3")

from triton_runner._base.errors import DiagnosticError
from triton_runner.verbs.prove import run

KERNELS = str(Path(__file__).with_name("kernels_assumed.py"))
B = {"BLOCK": 128}
BLOCKS = "cdiv(n, BLOCK)"

# kernel: (types, constants, grid, assumptions, what is answered)
SAID = [
    ("declared_elsewhere", "*i32, *fp32, i32, i32", {}, "1",
     "index.numel == n, out.numel == V, index in 0..V", {"bounds": "refuted"}),
    ("declared_and_written", "*i32, *fp32, i32", {}, "1",
     "index.numel == 1, out.numel == V, index in 0..V", {"bounds": "unknown"}),
    ("declared_bytes", "*u8, *fp32, i32", B, "1",
     "index.numel == n, out.numel == 128, index in 0..200", {"bounds": "refuted"}),
    ("declared_bytes", "*u8, *fp32, i32", B, "1",
     "index.numel == n, out.numel == 200, index in 0..200", {"bounds": "proved"}),
    ("assumed_in_its_branch", "*fp32, i32", B, BLOCKS, "out.numel == n", {"covered": "refuted"}),
    ("assumed_in_its_branch", "*fp32, i32", B, BLOCKS, "out.numel == n, n < 99", {"covered": "proved"}),
    ("assumed_both_ways", "*fp32, i32", B, BLOCKS, "out.numel == n", {"covered": "proved"}),
    ("waits", "*i32, *fp32, i32", B, BLOCKS, "flag.numel == 1, out.numel == n",
     {"bounds": "proved", "covered": "unknown", "ends": "unknown"}),
    ("reads_a_counter", "*fp32, i32", {}, "n", "x.numel == n", {"bounds": "proved", "disjoint": "refuted"}),
    ("reads_a_counter", "*fp32, i32", {}, "n", "x.numel == n, n == 1", {"disjoint": "proved"}),
    ("without_a_sign", "*i8, u32", B, BLOCKS, "out.numel == n, n >= 0", {"covered": "unknown"}),
    ("without_a_sign", "*i8, u32", B, BLOCKS, "out.numel == n, n < 2**31", {"covered": "proved"}),
    ("under_a_flag", "*fp32, i32, i1", B, BLOCKS, "out.numel == n, flag == 1", {"covered": "proved"}),
    ("under_a_flag", "*fp32, i32, i1", B, BLOCKS, "out.numel == n", {"covered": "refuted"}),
    ("reads_by_its_address", "*fp32, *fp32", B, "1", "x.numel == 128, out.numel == 128",
     {"bounds": "unknown", "disjoint": "unknown"}),
    ("sum_of_lengths", "*i32, *fp32, i32", {"COUNT": 4}, "1", "lengths.numel == 4, out.numel == n, n > 0",
     {"bounds": "unknown"}),
]  # fmt: skip


def proof(kernel, types, constants, grid, given):
    how = {"signature": types, "constexprs": constants, "target": "cuda:80", "options": {}}
    subject = run.of_kernel(f"{KERNELS}:{kernel}", kernel, how)
    subject.assume((given,), grid)
    subject.simplify()
    return run.proof(subject)


def verdicts(done) -> dict:
    assert not done.contradictory
    return {answer.property: answer.verdict for answer in done.answers}


@pytest.mark.parametrize(("kernel", "types", "constants", "grid", "given", "expected"), SAID)
def test_what_follows(kernel, types, constants, grid, given, expected):
    found = verdicts(proof(kernel, types, constants, grid, given))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "given",
    [
        "x.numel == out.numel, out.numel == n", "n == x.numel, n == out.numel", "x.numel == out.numel == n",
        "x.shape == (out.shape[0],), out.shape == (n,)",
        "x.shape == (n,), out.shape == (n,), x.stride == (1,)",
        "out.numel == n, x.numel == n, n in 0..5000",
    ],
)  # fmt: skip
def test_the_order_of_words_does_not_matter(given):
    found = verdicts(proof("copy", "*fp32, *fp32, i32", B, BLOCKS, given))
    assert set(found.values()) == {"proved", "nothing to prove"}, found


def test_a_lower_bound_of_a_size():
    found = verdicts(proof("copy", "*fp32, *fp32, i32", B, BLOCKS, "x.numel >= n, out.numel >= n"))
    assert (found["bounds"], found["covered"]) == ("proved", "refuted")


def test_two_sizes_of_one_tensor_contradict():
    done = proof("copy", "*fp32, *fp32, i32", B, BLOCKS, "x.numel == n, x.numel == n + 5, out.numel == n")
    assert not done.answers
    assert {one.text for one in done.contradictory} == {"x.numel == n", "x.numel == n + 5"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("x.shape == (n,), x.stride == (1, 2)", "x has 1 dimensions"),
        ("x.shape == (n, n), x.shape[3] == n", "x has 2 dimensions"),
        ("n < cdiv(n, 0)", "a divisor is at least 1"),
    ],
)
def test_words_that_do_not_fit(given, message):
    words = ("-s", "*fp32, *fp32, i32", "-c", "BLOCK=64", "--given", given)
    done = warm.invoke("prove", f"{KERNELS}:copy", *words)
    assert done.exit_code == 2 and message in done.output + done.stderr


PROGRAM = """
import math, sys
import torch, triton
sys.path.insert(0, {folder!r})
from kernels_assumed import copy
import triton.language as tl

@triton.jit
def unmasked(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))

x = torch.zeros(1024)
out = torch.empty_like(x)
n = x.numel()
{launch}
"""


def of_program(tmp_path, launch: str, given=()) -> list:
    from triton_runner.verbs.prove import launches

    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(folder=str(Path(KERNELS).parent), launch=launch))
    watching = launches.Watching((), 16, "cuda:80")
    assert watching.run(str(path)) == 0
    for subject in watching.subjects:
        subject.assume(given, None)
        subject.simplify()
    return [run.proof(subject) for subject in watching.subjects]


CHOICE = "kernel = {}\nkernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK=128)"


@pytest.mark.parametrize(
    "launch",
    [
        CHOICE.format("copy if n % 128 else unmasked"), CHOICE.format("unmasked if not n % 128 else copy"),
        CHOICE.format("copy if n & 127 else unmasked"), CHOICE.format("copy if (n / 128) % 1 else unmasked"),
        CHOICE.format("unmasked if n & (n - 1) == 0 else copy"),
        CHOICE.format("unmasked if n > 1023.5 and n < 1024.5 else copy"),
        "copy[(math.ceil(n / 128),)](x, out, n, BLOCK=128)",
        "copy[(int((n + 127) / 128),)](x, out, n, BLOCK=128)",
        "copy[(triton.cdiv(len(x), 128),)](x, out, n, BLOCK=128)",
        "copy[((n + 127) >> 7,)](x, out, n, BLOCK=128)",
    ],
)  # fmt: skip
def test_a_right_program_is_not_refuted(tmp_path, launch):
    (found,) = of_program(tmp_path, launch)
    assert set(verdicts(found).values()) == {"proved", "nothing to prove"}, found.assumptions


def test_a_grid_that_a_ceiling_decides_holds_for_all_sizes(tmp_path):
    (found,) = of_program(tmp_path, "copy[(math.ceil(n / 128),)](x, out, n, BLOCK=128)")
    assert not any("1024" in one.text for one in found.assumptions)
    assert any("at most 2**31 - 1" in one.text for one in found.assumptions)


def test_each_way_to_launch_a_kernel_is_looked_at(tmp_path):
    right, wrong = (f"copy[({grid},)](x, out, n, BLOCK=128)" for grid in ("triton.cdiv(n, 128)", "n // 128"))
    found = of_program(tmp_path, f"{right}\n{wrong}\n{right}")
    assert [verdicts(one)["covered"] for one in found] == ["proved", "refuted"]


def test_a_tensor_that_changed_in_place(tmp_path):
    """The numbers of a shape are those of the tensor as it is now."""
    launch = "x = torch.zeros(2, 512)\nx.shape\nx.t_()\nn = x.shape[0]"
    (found,) = of_program(tmp_path, f"{launch}\ncopy[(triton.cdiv(n, 128),)](x, out, n, BLOCK=128)")
    assert any(one.text == "n == x.shape[0]" for one in found.assumptions)


def test_a_declaration_that_no_memory_can_hold():
    """A kernel that reads it would be proved, as no launch could reach the read."""
    words = "declared_elsewhere", "*i32, *fp32, i32, i32", {}, "1"
    sizes = "index.shape == (n,), out.numel == V"
    done = proof(*words, f"{sizes}, index in 0..V, V == 0")
    assert done.contradictory and not done.answers
    with pytest.raises(DiagnosticError, match="holds for no number"):
        proof(*words, f"{sizes}, index in 5..3")


ROWS = """
@triton.jit
def rows(x, out, M, N, stride, BLOCK: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    on = (m[:, None] < M) & (n[None, :] < N)
    at = m[:, None] * stride + n[None, :]
    tl.store(out + at, tl.load(x + at, on), on)

x = torch.zeros(30, 20)
out, flat = torch.empty_like(x), x.reshape(-1, x.shape[-1])
M, N = flat.shape
stride = {stride}
grid = lambda meta: (triton.cdiv(meta["M"], meta["BLOCK"]), triton.cdiv(meta["N"], meta["BLOCK"]))
rows[grid](x, out, M, N, stride, BLOCK=32)
"""
BATCHES = """
@triton.jit
def batches(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at, on = at.to(tl.int64) + tl.program_id(1).to(tl.int64) * n, at < n
    tl.store(out + at, tl.load(x + at, on), on)

x, other = torch.zeros(1, 500), torch.zeros(1, 500)
out, n = torch.empty_like(x), x.shape[1]
batches[(triton.cdiv(n, 64), other.shape[0])](x, out, n, BLOCK=64)
"""


def test_no_launch_that_the_program_cannot_make_refutes(tmp_path):
    """The grid has the sizes that Triton hands it; a stride of a view and the number of batches, which are
    1 here, may be those of x, or not."""
    small = ("numel < 2**28",)
    (found,) = of_program(tmp_path, ROWS.format(stride="N"), small)
    assert verdicts(found)["covered"] == "proved" and "refuted" not in verdicts(found).values()
    (found,) = of_program(tmp_path, ROWS.format(stride="flat.stride(0)"), small)
    assert verdicts(found)["covered"] == verdicts(found)["bounds"] == "unknown"
    assert "--given 'stride == ...'" in str(found.answers)
    (found,) = of_program(tmp_path, BATCHES, small)
    assert verdicts(found)["bounds"] == "unknown" and "--given 'x.numel == ...'" in str(found.answers)


# Sizes that are equal in a launch: by torch's own doing, by the first sizes of another tensor, by the number
# that the kernel is compiled for.
ALIKE = """
@triton.jit
def scaled(x, scale, out, B, N, rows, columns, D: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, D)
    s = tl.load(scale + row)
    tl.store(out + row * D + at, tl.load(x + row * D + at) * s)

x = torch.zeros({shape}, 64)
scale = {scale}
rows, columns = {asked}
assert scale.numel() > 1
out = torch.empty_like(x)
B, N, D = x.shape if x.dim() == 3 else (1, *x.shape)
scaled[(B * N,)](x, scale, out, B, N, rows, columns, D=D)
"""
TWICE = "torch.repeat_interleave(torch.zeros(25), 2)"  # of whose shape nothing is known
ASKED = "scale.numel(), 0"


@pytest.mark.parametrize(
    ("shape", "scale", "asked", "given", "verdict", "words"),
    [
        ("3, 50", "x[:, :, 0].contiguous()", "scale.shape", "", "proved", ""),
        ("3, 50", "torch.zeros(3, 50)", "scale.shape", "", "proved", "scale has the first sizes of x"),
        ("64", "torch.zeros(64)", "0, 0", "", "unknown", "--given 'scale.numel == ...'"),
        ("50", "torch.zeros(50)", ASKED, "", "refuted", ""),
        ("50", TWICE, ASKED, "", "unknown", "--given 'scale.numel == x.shape[0]'"),
        ("50", TWICE, ASKED, ", scale.numel == x.shape[0]", "proved", ""),
        ("50", TWICE, ASKED, ", scale.numel == 40", "refuted", ""),
    ],
)  # fmt: skip
def test_a_size_that_is_equal_in_the_launch(tmp_path, shape, scale, asked, given, verdict, words):
    program = ALIKE.format(shape=shape, scale=scale, asked=asked)
    (found,) = of_program(tmp_path, program, (f"numel < 2**28{given}",))
    assert verdicts(found)["bounds"] == verdict, found.answers[0]
    assert words in "".join(one.text for one in (*found.answers[0].reasons, *found.answers[0].assumptions))


def test_a_divisor_that_is_a_stride_of_another_tensor(tmp_path):
    """A quotient depends on it, also where it may be 0, which it never is in the program."""
    launch = """
@triton.jit
def repeated(x, out, n, step, last, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i // step, i < n), i < n)

short, other = torch.zeros(4), torch.zeros(8, 256)
repeated[(8,)](short, out, n, other.stride(0), short.numel(), BLOCK=128)
"""
    (found,) = of_program(tmp_path, launch, ("numel < 2**30",))
    answer = next(one for one in found.answers if one.property == "bounds")
    assert answer.verdict == "unknown", answer
    assert "step, the stride of a tensor that is not an argument" in answer.reasons[0].text


# The program compares strides by way of a tensor that is not an argument.
COMPARED = """
@triton.jit
def added(x, y, out, N, stride, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    both = tl.load(x + row * stride + i, i < N) + tl.load(y + row * stride + i, i < N)
    tl.store(out + row * N + i, both, i < N)

x, y, other = (torch.zeros(30, 20) for _ in range(3))
M, N = x.shape
assert x.shape == y.shape and {check}
out = torch.empty(M, N)
added[(M,)](x, y, out, N, x.stride(0), BLOCK=triton.next_power_of_2(N))
"""


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        ("x.stride() == other.stride() == y.stride()", "proved"),
        ("other.stride() == y.stride() and x.stride() == other.stride()", "proved"),
        ("x.stride() == other.stride()", "refuted"),
        ("other.is_contiguous() and y.stride() == other.stride() and N == other.shape[1]", "refuted"),
    ],
)
def test_equal_by_way_of_another_tensor(tmp_path, check, verdict):
    (found,) = of_program(tmp_path, COMPARED.format(check=check), ("numel < 2**28",))
    assert verdicts(found)["bounds"] == verdict, (found.assumptions, found.answers[0])


# A tensor of which the program asks for the sizes elsewhere, and that has those of another one in the launch.
PAIR = """
@triton.jit
def pair(q, k, h, out, T, K: tl.constexpr, BLOCK: tl.constexpr):
    b, i, j = tl.program_id(1), tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, K)
    at, mask = (b * T + i[:, None]) * K + j[None, :], (i < {last})[:, None] & (j[None, :] < K)
    tl.store(out + at, tl.load(q + at, mask) + tl.load(k + at, mask) + tl.load(h), mask)

q, k = torch.zeros({shape}), torch.zeros({shape})
out = torch.empty_like(q)
h = torch.zeros(k.shape[0], k.shape[1], out.shape[2])
assert k.shape[2] <= 256
B, T, K = q.shape
pair[(triton.cdiv(T, 16) * triton.cdiv(out.shape[2], 32), B)](q, k, h, out, T, K=K, BLOCK=16)
"""


@pytest.mark.parametrize("shape", ["3, 100, 32", "100, 100, 32", "32, 32, 32", "1, 100, 32"])
@pytest.mark.parametrize("last", ["T", "tl.cdiv(T, 4) * 4"])
def test_tensors_of_one_shape_are_not_parted_to_refute(tmp_path, shape, last):
    (found,) = of_program(tmp_path, PAIR.format(shape=shape, last=last), ("numel < 2**28",))
    answer, is_right = found.answers[0], last == "T"
    if is_right:
        assert answer.verdict == "proved", answer
        assert any("k has the shape of q" in one.text for one in answer.assumptions)
    else:  # of a cube it may be the sizes that the kernel is compiled for
        assert answer.verdict == ("unknown" if shape == "32, 32, 32" else "refuted"), answer


def test_somebody_says_the_shape_of_a_tensor_that_is_alike(tmp_path):
    program = PAIR.format(shape="3, 100, 32", last="T")
    (found,) = of_program(tmp_path, program, ("numel < 2**28, k.shape == (2, 50, 32), h.numel == 3200",))
    assert found.answers[0].verdict == "refuted", found.answers[0]
    (found,) = of_program(tmp_path, program, ("numel < 2**28, k.shape == (q.shape[0], q.shape[1], 32)",))
    assert found.answers[0].verdict == "proved", found.answers[0]
