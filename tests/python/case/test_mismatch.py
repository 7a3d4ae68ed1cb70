"""verify says what a kernel does to the first element that the program's own comparison finds wrong, and
nothing where the comparison holds, where no launch is compared, or where the arguments are gone."""

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")

PROGRAM = """
import sys, torch, triton, triton.language as tl

@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * FACTOR, at < n)

def scaled(x):
    out = torch.zeros_like(x)
    scale[(GRID,)](x, out, x.numel(), BLOCK=WIDTH)
    return out

x = torch.arange(256.0)
out = scaled(x)
want = 2 * x
CHECK
"""
NAMED = "is compared with"


@pytest.fixture
def said(tmp_path):
    def of(check: str, factor: str = "3", grid: str = "4", width: str = "64") -> str:
        text = PROGRAM.replace("CHECK", check).replace("FACTOR", factor).replace("GRID", grid)
        text = text.replace("WIDTH", width)
        (tmp_path / "program.py").write_text(text)
        return warm.cli("verify", "program.py", cwd=tmp_path).stdout

    return of


@pytest.mark.parametrize(
    "check",
    [
        "assert torch.equal(out, want)",
        "assert torch.allclose(want, out)",
        "assert (out - want).abs().max() < 1e-3",
        "torch.testing.assert_close(out, want)",
        "if not torch.allclose(out, want): sys.exit(1)",
    ],
)
def test_the_store_of_the_element_that_differs(said, check):
    text = said(check)
    element = "out[255] is 765" if "max()" in check else "out[1] is 3"
    assert element in text and NAMED in text, text
    assert "tt.store at program.py:7, program (" in text, text


def test_what_no_program_writes(said):
    text = said("assert torch.equal(out, want)", "2", "3")
    assert "out[192] is 0, and is compared with 384; 64 of 256 elements differ" in text
    assert "no program of scale writes it; 192 of 256 elements of out are written" in text
    assert "64 of 256 elements of x are read by no program, the first is x[192]" in text


@pytest.mark.parametrize(
    ("check", "factor"),
    [
        ("assert torch.equal(out, want)", "2"),
        ("assert not torch.equal(out, want)", "3"),  # it is meant to differ
        ("assert len(out) == 3", "2"),
        ("del x, want; assert out.sum() == 0", "3"),
    ],
)
def test_nothing_is_said_where_nothing_is_compared_in_vain(said, check, factor):
    assert NAMED not in said(check, factor)


@pytest.mark.parametrize(
    "check",
    [
        "torch.testing.assert_close(out[64:], want[64:])",  # a view
        "torch.testing.assert_close(out.reshape(16, 16).t(), want.reshape(16, 16).t())",
        "torch.testing.assert_close(out.double() + 0, want.double())",  # a copy, as its contents show
        "torch.testing.assert_close(scaled(x), want)",  # nobody else has the tensor
    ],
)
def test_views_copies_and_tensors_that_are_gone(said, check):
    text = said(check)
    element = "out[64] is 192" if "64:" in check else "out[16] is 48" if "t()" in check else "out[1] is 3"
    assert element in text, text
    assert "each of them is 1.5 times what it is compared with" in text
    assert "x[64]" in text or "x[16]" in text or "x[1]: tt.load at program.py:7" in text


def test_a_number_that_is_computed_of_the_result(said):
    text = said("torch.testing.assert_close(out.sum(), want.sum())")
    assert "what differs is computed from out: it is 97920, and is compared with 65280" in text
    assert "tt.store at program.py:7, program (0, 0, 0), writes it" in text


def test_large_arguments_that_are_gone_are_not_kept(said):
    large = "big = torch.ones(1 << 23); torch.testing.assert_close(scaled(big)[:4096], 2 * big[:4096])"
    assert NAMED not in said(large, "3", "1024", "8192")


TABLE = """
import torch, triton, triton.language as tl

@triton.jit
def add(table, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    there = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(there + at, tl.load(there + at, at < n) + 1, at < n)

tensors = [torch.zeros(40), torch.zeros(40)]
for _ in range(2):
    add[(2,)](torch.tensor([one.data_ptr() for one in tensors]), 40, BLOCK=64)
for one in tensors:
    torch.testing.assert_close(one, torch.full((40,), WANT))
"""


@pytest.mark.parametrize(("want", "verdict"), [("2.0", "right"), ("3.0", "wrong")])
def test_tensors_behind_a_table_of_pointers_are_put_back(tmp_path, want, verdict):
    (tmp_path / "program.py").write_text(TABLE.replace("WANT", want))
    text = warm.cli("verify", "program.py", cwd=tmp_path).stdout
    assert text.splitlines()[-1] == f"verdict: {verdict}", text
    assert ("*table[0][0] is 2, and is compared with 3" in text) == (verdict == "wrong")


@pytest.mark.parametrize(("factor", "named"), [("3", True), ("2", False), ("2.001", False)])
def test_a_difference_that_is_printed_has_its_element_if_it_is_large(said, factor, named):
    text = said("print('max diff', (out - want).abs().max().item())", factor)
    assert text.splitlines()[-1] == "verdict: no fault found", text
    assert ("out[255] is 765, and is compared with 510" in text) == named, text
    assert ("which is not near:" in text) == named


def test_a_difference_that_is_not_measured_is_no_comparison(said):
    assert NAMED not in said("print((out - want).mean())", "3")
