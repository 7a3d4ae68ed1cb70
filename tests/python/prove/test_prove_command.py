"""Tests triton-runner prove as a stranger uses it: programs, sizes, what is misspelt, contradictory or
late."""

import json
import sys
from unittest import mock

import proved_table as table
import pytest
import warm

pytest.importorskip("z3")

KERNEL = f"{table.KERNELS}:add"
SIGNATURE = ("-s", "*fp32, *fp32, *fp32, i32", "-c", "BLOCK=128", "-t", "cuda:80")
GIVEN = ("--given", table.ADD, "--grid", "cdiv(n, BLOCK)")
PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def product(x, y, out, M, N, K, stride_x, stride_y, stride_out, BLOCK: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(K):
        a = tl.load(x + m * stride_x + k, mask=m < M, other=0.0)
        b = tl.load(y + k * stride_y + n, mask=n < N, other=0.0)
        total += a[:, None] * b[None, :]
    on = (m[:, None] < {rows}) & (n[None, :] < N)
    tl.store(out + m[:, None] * stride_out + n[None, :], total, mask=on)

def of(x, y):
    assert x.shape[1] == y.shape[0]
    (M, K), N = x.shape, y.shape[1]
    out = torch.empty((M, N))
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
    product[grid](x, y, out, M, N, K, x.stride(0), y.stride(0), out.stride(0), BLOCK=16)
    return out

x, y = torch.rand(32, 32), torch.rand(32, 32)
torch.testing.assert_close(of(x, y), x @ y)
"""

TAKE = """
import torch, triton, triton.language as tl

@triton.jit
def take(x, index, out, n, V, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    place = tl.load(index + at, mask=at < n, other=0)
    tl.store(out + at, tl.load(x + place, mask=at < n), mask=at < n)

x, index = torch.rand(4), torch.tensor([0, 3, 1], dtype=torch.int32)
out = torch.empty(3)
take[(triton.cdiv(index.numel(), 16),)](x, index, out, index.numel(), x.numel(), BLOCK=16)
"""


ROWS = """
import torch, triton, triton.language as tl

@triton.jit
def rows(q, v, out, T, D, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    at = row * D + i
    value = tl.load(q + at, mask=i < D, other=0.0)
    value += tl.load(v + at, mask=i < D, other=0.0)
    tl.store(out + at, value, mask=i < D)

@triton.jit
def flagged(flags, other, out):
    i = tl.program_id(0)
    flag = tl.load(flags + i)
    value = tl.load(other + (((i ^ 5) ^ (i ^ 6)) ^ 3), mask=i > 9, other=0.0)
    tl.store(out + i, flag + value)

def of_rows(q, v):
    (B, T), D, out = q.shape[:2], v.shape[2], torch.empty_like(q)
    rows[(B * T,)](q, v, out, T, D, BLOCK=16)

def of_flags(x, flags):
    out = torch.empty(x.shape[0])
    flagged[(x.shape[0],)](flags, x, out)

{call}
"""


def prove(*words):
    done = warm.invoke("prove", "--json", "--timeout", "20", *words)
    return done.exit_code, json.loads(
        done.stdout[done.stdout.index("{") :]
    ) if "{" in done.stdout else done.output


def verdicts(result) -> dict:
    (proof,) = result["proofs"]
    return {answer["property"]: answer["verdict"] for answer in proof["answers"]}


@pytest.fixture
def program(tmp_path):
    def written(rows: str = "M") -> str:
        path = tmp_path / "product.py"
        path.write_text(PROGRAM.replace("{rows}", rows))
        return str(path)

    return written


def test_a_square_launch_proves_all_shapes(program):
    """M, N and K are told apart by where they come from, and not by their values, which are equal."""
    status, result = prove("--given", "numel < 2**28, stride_x < 2**28", program())
    assert status == 0, result
    (proof,) = result["proofs"]
    assert set(verdicts(result).values()) == {"proved", "nothing to prove"}
    texts = [one["text"] for one in proof["assumptions"]]
    assert {"M == x.shape[0]", "N == y.shape[1]", "K == y.shape[0]"} <= {
        text.replace("x.shape[1]", "y.shape[0]") for text in texts
    }
    assert any(text.startswith("x.shape[1] == y.shape[0]") for text in texts)
    assert not any(text.startswith(("M = ", "N = ", "K = ")) for text in texts)


def test_a_fault_that_a_square_launch_does_not_show(program):
    status, result = prove("--given", "numel < 2**28, stride_x < 2**28", program("N"))
    assert status == 1
    assert "refuted" in (verdicts(result)["bounds"], verdicts(result)["covered"])
    example = next(
        one["counter_example"] for one in result["proofs"][0]["answers"] if one["verdict"] == "refuted"
    )
    assert example["arguments"]["M"] != example["arguments"]["N"] and example["line"]


def test_without_sizes_nothing_is_claimed():
    status, result = prove(KERNEL, *SIGNATURE)
    assert status == 4 and verdicts(result)["bounds"] == "unknown"
    reasons = [one["text"] for one in result["proofs"][0]["answers"][0]["reasons"]]
    assert any("nothing says how large x is: --given 'x.numel == ...'" in text for text in reasons)


def test_a_program_that_launches_nothing(tmp_path):
    path = tmp_path / "idle.py"
    path.write_text("import triton\nprint('idle')\n")
    done = warm.cli("prove", str(path))
    assert done.returncode == 125 and "no kernel was launched: FILE.py:NAME looks at" in done.stdout


def test_a_kernel_that_takes_a_tuple_is_not_looked_at(tmp_path):
    path = tmp_path / "sizes.py"
    path.write_text("""
import torch, triton, triton.language as tl
@triton.jit
def copy(x, out, sizes, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, at < sizes[0]), at < sizes[1])
copy[(1,)](torch.ones(64), torch.empty(64), (60, 64), B=64)
""")
    done = warm.cli("prove", str(path))
    assert done.returncode == 125, done.stdout
    assert "not looked at: copy: error: its argument 'sizes' is a tuple" in done.stdout


def test_a_target_that_nothing_compiles_for(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(TAKE)
    done = warm.cli("prove", "-t", "cuda:999", str(path))
    assert done.returncode == 2 and "does not compile for cuda:999" in done.stderr
    assert "no kernel was launched" not in done.stdout + done.stderr


def test_a_launch_that_goes_wrong_is_looked_at(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(
        "import torch, triton, triton.language as tl\n@triton.jit\ndef copy(x, out, n, N: tl.constexpr):\n"
        "    at = tl.program_id(0) * N + tl.arange(0, N)\n"
        "    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at <= n)\n"
        "x = torch.ones(10)\ncopy[triton.cdiv(x.numel(), 64),](x, x.clone(), x.numel(), N=64)\n"
    )
    status, result = prove(str(path))
    assert status == 1 and result["status"] == 1 and verdicts(result)["bounds"] == "refuted"
    assert "n == x.numel" in [one["text"] for one in result["proofs"][0]["assumptions"]]


def test_programs_of_which_nothing_is_said():
    status, result = prove(KERNEL, *SIGNATURE, "--property", "disjoint", "--property", "overflow")
    (proof,) = result["proofs"]
    texts = [reason["text"] for answer in proof["answers"] for reason in answer["reasons"]]
    assert status == 4 and texts
    assert all(text.endswith("; nothing says how many programs there are: --grid") for text in texts)


def test_contradictory_assumptions():
    status, result = prove(KERNEL, *SIGNATURE, *GIVEN, "--given", "n < 4, n > 5, n < 100")
    assert status == 3 and not result["proofs"][0]["answers"]
    assert {one["text"] for one in result["proofs"][0]["contradictory"]} == {"n < 4", "n > 5"}


def test_a_kernel_without_a_size(tmp_path):
    path = tmp_path / "fixed.py"
    path.write_text(
        "import triton, triton.language as tl\n@triton.jit\ndef copy(x, out, N: tl.constexpr):\n"
        "    at = tl.arange(0, N)\n    tl.store(out + at, tl.load(x + at))\n"
    )
    words = (f"{path}:copy", "-s", "*fp32, *fp32", "-c", "N=64", "--grid", "1")
    status, result = prove(*words, "--given", "x.numel == N, out.numel == N")
    assert status == 0
    texts = [one["text"] for one in result["proofs"][0]["assumptions"]]
    assert any("no size is left open: this is about one launch" in one for one in texts)
    assert "it is compiled with N = 64" in texts
    status, result = prove(*words, "--given", "x.numel == N, out.numel == N - 1")
    assert status == 1 and verdicts(result)["bounds"] == "refuted"


def test_a_solver_that_does_not_answer():
    from triton_runner.verbs.prove import solver

    with (
        mock.patch.object(solver.Encoder, "check", lambda *_: None),
        mock.patch.object(solver.Encoder, "model", lambda *_: None),
    ):
        status, result = prove(KERNEL, *SIGNATURE, *GIVEN)
    assert status == 4 and verdicts(result)["bounds"] == "unknown"
    assert "Z3 did not answer" in json.dumps(result)


def test_without_z3_it_says_what_to_install():
    with mock.patch.dict(sys.modules, {"z3": None}):
        done = warm.invoke("prove", KERNEL, *SIGNATURE, *GIVEN)
    assert done.exit_code == 2 and "pip install z3-solver" in done.output + done.stderr


def test_declared_data():
    words = (
        "-s",
        "*fp32, *i32, *fp32, i32, i32",
        "-c",
        "BLOCK=128",
        "--grid",
        "cdiv(n, BLOCK)",
        "-t",
        "cuda:80",
    )
    sizes = "x.numel == V, index.numel == n, out.numel == n, V > 0"
    status, result = prove(f"{table.KERNELS}:gather", *words, "--given", sizes)
    assert status == 4 and verdicts(result)["bounds"] == "unknown"
    assert "--given 'index in 0..V'" in json.dumps(result)
    status, result = prove(f"{table.KERNELS}:gather", *words, "--given", f"{sizes}, index in 0..V")
    assert status == 0 and verdicts(result)["bounds"] == "proved"


def test_one_property():
    status, result = prove(KERNEL, *SIGNATURE, *GIVEN, "--property", "disjoint")
    assert status == 0 and verdicts(result) == {"disjoint": "proved"}


def test_verify_proves_too(tmp_path):
    path = tmp_path / "double.py"
    path.write_text(
        "import torch, triton, triton.language as tl\n@triton.jit\n"
        "def double(x, out, n, BLOCK: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)\n"
        "x = torch.rand(1000)\nout = torch.empty_like(x)\n"
        "double[((x.numel() + 1000) // 1024,)](x, out, x.numel(), BLOCK=1024)\n"
        "torch.testing.assert_close(out, 2 * x)\n"
    )
    done = warm.cli("verify", str(path))
    assert done.returncode == 0, done.stdout
    done = warm.cli("verify", "--prove", "--json", str(path))
    assert done.returncode == 1, done.stdout + done.stderr
    (proof,) = json.loads(done.stdout)["proofs"]
    assert {one["property"] for one in proof["answers"] if one["verdict"] == "refuted"} == {"covered"}


def test_a_launch_that_goes_against_what_is_declared(tmp_path):
    """The answers are about other launches, which the program does not make."""
    path = tmp_path / "take.py"
    path.write_text(TAKE)
    status, result = prove("--property", "bounds", "--given", "index in 0..V", str(path))
    assert status == 0 and verdicts(result) == {"bounds": "proved"} and result["broken"] == []
    status, result = prove("--property", "bounds", "--given", "index in 0..V - 1, V > 2", str(path))
    (reason,) = result["broken"]
    assert status == 3 and verdicts(result) == {"bounds": "proved"}
    assert reason["text"] == (
        "a launch of take goes against --given 'index in 0..V - 1': index[1] = 3, of 0..3"
    )


def test_a_batch_of_one(tmp_path):
    """A size of 1 that the program does not ask for is that of the tensor of the same shape."""
    path = tmp_path / "program.py"
    path.write_text(ROWS.replace("{call}", "of_rows(torch.rand(1, 7, 12), torch.rand(1, 7, 12))"))
    _, result = prove("--given", "numel < 2**30", "--property", "bounds", str(path))
    assert verdicts(result) == {"bounds": "proved"}, result
    assert "v has the shape (q.shape[0], q.shape[1], v.shape[2])" in json.dumps(result)


def test_a_size_that_stays_does_not_refute(tmp_path):
    """More programs than the launch had leave a tensor of which nothing says how large it is then; that
    another access is not proved does not make that a fault."""
    path = tmp_path / "program.py"
    path.write_text(ROWS.replace("{call}", "of_flags(torch.rand(5), torch.rand(6))"))
    _, result = prove("--property", "bounds", str(path))
    assert verdicts(result) == {"bounds": "unknown"}, result


def test_what_is_proposed_is_compared_with_the_launch(tmp_path):
    """Its index has a -1 for what is left out, which no proposed bound has room for."""
    path = tmp_path / "guarded.py"
    text = (
        "import torch, triton, triton.language as tl\n@triton.jit\n"
        "def guarded(x, index, out, n, BLOCK: tl.constexpr):\n"
        "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    i = tl.load(index + at, mask=at < n, other=0)\n"
        "    tl.store(out + at, tl.load(x + i, mask=(at < n) & (i != -1), other=0.0), mask=at < n)\n"
        "x, index = torch.rand(50), torch.arange(100, dtype=torch.int32) % 50\n"
        "index[7] = 3\nout = torch.empty(index.numel())\n"
        "guarded[(triton.cdiv(index.numel(), 64),)](x, index, out, index.numel(), BLOCK=64)\n"
    )
    for line, is_against in (("index[7] = 3", False), ("index[7] = -1", True)):
        path.write_text(text.replace("index[7] = 3", line))
        status, result = prove("--property", "bounds", "--given", "x.numel >= 1", str(path))
        (answer,) = (one for proof in result["proofs"] for one in proof["answers"])
        said = " ".join(reason["text"] for reason in answer["reasons"])
        assert status == 4 and "is proved with --given 'index in 0..x." in said, said
        against = "which its launch goes against: index holds -1 there, of 0..50"
        assert (against in said) == is_against, said
