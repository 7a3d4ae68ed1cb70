"""Tests operators of torch under --pretend-cuda, for types that CUDA has and the build for the CPU lacks."""

import textwrap

import pytest
import warm

pytest.importorskip("triton")
torch = pytest.importorskip("torch")

BEGIN = """
import torch
import torch.nn.functional as F
torch.manual_seed(0)
on = {"device": "cuda"}

def both(half, *shape):
    wide = torch.randn(*shape, **on).to(half).float().requires_grad_()
    return wide.detach().to(half).requires_grad_(), wide

def same(call, narrow, wide):
    ours, theirs = call(narrow), call(wide)
    assert ours.dtype == narrow.dtype and ours.is_cuda
    assert torch.equal(ours, theirs.to(narrow.dtype)), (ours, theirs)
    ours.sum().backward(), theirs.sum().backward()
    assert torch.equal(narrow.grad, wide.grad.to(narrow.dtype)), (narrow.grad, wide.grad)

def refused(error, text, call):
    try:
        call()
    except error as raised:
        assert text in str(raised), raised
    else:
        raise SystemExit(f"no {error.__name__} with '{text}'")
"""

PROGRAMS = {
    "histograms": """
for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
    x = torch.tensor([0, 1, 1, 2, 3, 7, 9, 9, 100], dtype=dtype, **on)
    counts = torch.histc(x, 10, min=0, max=10)
    assert counts.dtype == dtype and counts.is_cuda and counts.tolist() == [1, 2, 1, 1, 0, 0, 0, 1, 0, 2]
    assert torch.histc(x, 3).tolist() == [8, 0, 1]  # from the least to the most
    assert torch.histc(x[1:3], 2).tolist() == [0, 2]  # of one number: one to each side
    assert torch.histc(x[:0], 2).tolist() == [0, 0]
    out = torch.empty(0, dtype=dtype, **on)
    assert torch.histc(x, 5, out=out) is out and out.tolist() == [8, 0, 0, 0, 1]
    refused(RuntimeError, "max over min", lambda: torch.histc(x, 3, min=4, max=2))
    refused(RuntimeError, "it needs bins", lambda: torch.histc(x, 0))
assert torch.histc(torch.arange(99, **on), 49, min=0, max=49).tolist() == [1] * 48 + [2]
assert torch.histc(torch.tensor([1.0, 2, 2], **on), 2).tolist() == [1, 2]
""",
    "halves": """
for half in (torch.float16, torch.bfloat16):
    same(lambda x: F.avg_pool3d(x, 2), *both(half, 2, 3, 4, 4, 6))
    for mode in ("bilinear", "bicubic"):
        resized = lambda x: F.interpolate(x, (5, 4), mode=mode, antialias=True)
        same(resized, *both(half, 1, 3, 8, 8))
    same(lambda x: F.multi_margin_loss(x, torch.tensor([0, 1, 2], **on)), *both(half, 3, 4))
    labels = torch.tensor([[0, 1, -1, -1]] * 3, **on)
    same(lambda x: F.multilabel_margin_loss(x, labels), *both(half, 3, 4))
x = torch.randn(64, dtype=torch.float16, **on).requires_grad_()
y = F.rrelu(x, training=True)
y.sum().backward()
slopes = x.grad[x < 0].float()
assert y.dtype == x.dtype and (x.grad[x > 0] == 1).all()
assert (slopes > 0.124).all() and (slopes < 0.334).all() and slopes.std() > 0.01
""",
    "transforms": """
x = torch.randn(4, 8, dtype=torch.float16, **on).requires_grad_()
spectrum = torch.fft.rfft(x)
assert spectrum.dtype == torch.complex32 and spectrum.is_cuda
parts, exact = torch.view_as_real(spectrum).float(), torch.view_as_real(torch.fft.rfft(x.float()))
assert torch.allclose(parts, exact, atol=0.02)
back = torch.fft.irfft(spectrum)
assert back.dtype == torch.float16 and torch.allclose(back, x, atol=0.01)
back.sum().backward()
assert x.grad.dtype == torch.float16 and torch.allclose(x.grad.float(), torch.ones(4, 8, **on), atol=0.01)
assert torch.fft.fft2(x).dtype == torch.complex32 and torch.fft.fftn(x, s=(8,)).shape == (4, 8)
assert torch.fft.ihfft(x, n=16).shape == (4, 9) and torch.fft.hfft(spectrum, n=8).dtype == torch.float16
for call in (
    lambda: torch.fft.rfft(x, n=6), lambda: torch.fft.fft(x, n=6), lambda: torch.fft.irfft(x, n=6),
    lambda: torch.fft.fft2(x, s=(4, 6)), lambda: torch.fft.rfftn(torch.zeros(3, 8, **on).half()),
):
    refused(RuntimeError, "powers of two", call)
refused(RuntimeError, "Unsupported dtype BFloat16", lambda: torch.fft.fft(x.bfloat16()))
assert torch.fft.fft(x.float()).dtype == torch.complex64
""",
    "others": """
assert torch.trace(torch.eye(3, dtype=torch.bool, **on)).item() == 3 and torch.trace(torch.eye(2, **on)) == 2
for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
    x = torch.rand(4, 3, **on).to(dtype)
    assert x.flip(0).dtype == dtype and torch.equal(x.flip(0, 1).float(), x.float().flip(0, 1))
for dtype in (torch.uint16, torch.uint32, torch.uint64):
    assert torch.arange(3, **on).to(dtype).flip(0).tolist() == [2, 1, 0]
assert torch.arange(3, **on).flip(0).tolist() == [2, 1, 0]
refused(NotImplementedError, "where --pretend-cuda computes. If CUDA has it,", lambda: x.median())
""",
}


@pytest.mark.parametrize("check", ["", "uninit"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_types_that_cuda_has(tmp_path, name, check):
    if not hasattr(torch.library, "get_kernel"):
        pytest.skip("torch of before 2.10 keeps its own operators")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(BEGIN + PROGRAMS[name]) + "print('right')\n")
    checks = ["--check", check] if check else []
    done = warm.cli("run", "--device", "cpu", "--pretend-cuda", *checks, str(script))
    assert done.returncode == 0 and done.stdout.endswith("right\n"), done.stdout + done.stderr
