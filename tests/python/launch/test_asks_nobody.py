"""A launch on its own arguments never looks for other memory: a walk over all objects of the process costs
more than most launches. Masks leave out what lies past the end of the tensors here."""

import pytest

pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner._memory import registry  # noqa: E402

LEVELS = [("ttir", "cuda:80"), ("ttgir", "cuda:80"), ("ptx", "cuda:80"), ("cubin", "cuda:80"),
          ("amdgcn", "hip:gfx942"), ("hsaco", "hip:gfx942")]  # fmt: skip


@triton.jit
def rows(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    x = tl.load(x_ptr + row + at, mask=at < cols, other=0.0)
    tl.store(out_ptr + row + at, x + 1.0, mask=at < cols)


@triton.jit
def either(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    """The lanes of one load go to two tensors."""
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(tl.where(at < N // 2, x_ptr + at, y_ptr + at)))


@pytest.mark.parametrize("level, target", LEVELS, ids=[level for level, _ in LEVELS])
@pytest.mark.parametrize("check", [None, "oob,uninit,race"], ids=["plain", "checked"])
def test_no_walk(level, target, check, monkeypatch):
    walks = []
    walk = registry._walk
    monkeypatch.setattr(registry, "_walk", lambda *words: walks.append(words) or walk(*words))
    x, out = torch.randn(5, 781), torch.empty(5, 781)
    a, b, both = torch.randn(256), torch.randn(256), torch.empty(256)
    with triton_runner.using(level=level, target=target, check=check):
        rows[(5,)](x, out, 781, BLOCK=1024)
        either[(1,)](a, b, both, N=256)
    assert torch.equal(out, x + 1) and torch.equal(both, torch.cat([a[:128], b[128:]]))
    assert not walks
