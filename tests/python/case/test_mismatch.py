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
    scale[(GRID,)](x, out, x.numel(), BLOCK=64)
    return out

x = torch.arange(256.0)
out = scaled(x)
want = 2 * x
CHECK
"""
NAMED = "is compared with"


@pytest.fixture
def said(tmp_path):
    def of(check: str, factor: str = "3", grid: str = "4") -> str:
        text = PROGRAM.replace("CHECK", check).replace("FACTOR", factor).replace("GRID", grid)
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
