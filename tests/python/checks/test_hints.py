"""Tests check="hints": what Triton puts into the IR of a kernel's promises, against the values."""

import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import KernelTrap  # noqa: E402


@triton_runner.jit
def wrapped(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(at % n, BLOCK), BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.load(x + at))


def launch(n: int, **more) -> torch.Tensor:
    x, out = torch.arange(64.0), torch.zeros(64)
    wrapped[(2,)](x, out, n, BLOCK=32, **more)
    return out


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_offsets_that_wrap_inside_of_a_block(level):
    """As the rows of a product do whose length is no multiple of the block."""
    with pytest.raises(KernelTrap) as caught:
        launch(48, level=level, check="hints")
    error = caught.value
    assert error.kind == "false hint" and error.program == (1, 0, 0) and list(error.element) == [16]
    assert "tt.contiguity = 32" in str(error) and error.op == "arith.remsi"
    assert error.file.endswith("test_hints.py")
    assert (launch(32, level=level, check="hints") == launch(32, level=level)).all()


def test_an_argument_that_is_not_aligned():
    """A text that was compiled for aligned pointers, with one that is not."""
    text = """module {
  tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %one = arith.constant 1.0 : f32
    tt.store %x, %one : !tt.ptr<f32>
    tt.return
  }
}
"""
    kernel = triton_runner.load(text, device="cpu", check="hints")
    x = torch.zeros(8)
    kernel[(1,)](x)
    assert x[0] == 1
    with pytest.raises(KernelTrap, match=r"argument '%x' is 0x[0-9a-f]+, no multiple of 16"):
        kernel[(1,)](x[1:])


def test_ptx_has_no_hints():
    with pytest.raises(triton_runner.DiagnosticError, match="'hints' is for TTIR and TTGIR"):
        launch(32, level="ptx", check="hints")
