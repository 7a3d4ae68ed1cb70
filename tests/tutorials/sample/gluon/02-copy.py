"""A script as Triton's Gluon tutorials are: tests with parameters, and benchmarks where it is the program."""

import pytest
import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def copy_kernel(source, out, n, BLOCK: gl.constexpr, layout: gl.constexpr):
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=layout)
    gl.store(out + i, gl.load(source + i, mask=i < n), mask=i < n)


def copy(source, out, BLOCK=1024):
    layout = gl.BlockedLayout([1], [32], [4], [0])
    return copy_kernel[(triton.cdiv(source.numel(), BLOCK),)](source, out, source.numel(), BLOCK, layout)


@pytest.mark.parametrize("n", [40, 500])
@pytest.mark.parametrize("BLOCK", [128, 256])
@pytest.mark.parametrize("kind", ["skipped", "run"])
def test_copy(n, BLOCK, kind):
    if kind == "skipped":
        pytest.skip("not this one")
    source = torch.randn(n, device="cuda")
    out = torch.empty_like(source)
    copy(source, out, BLOCK)
    torch.testing.assert_close(source, out, atol=0, rtol=0)


if __name__ == "__main__":
    source = torch.randn(2 << 28, device="cuda")  # 2 GiB
    out = torch.empty_like(source)
    assert copy(source, out).asm["ptx"]
    assert (source[:5000:7] != 0).any() and (source.view(-1)[-1] != 0).item()
    ms = triton.testing.do_bench(lambda: copy(source, out))
    print(f"copied in {ms:.3f} ms")
    torch.testing.assert_close(source[:2048], out[:2048], atol=0, rtol=0)
