"""Tests tl.sort and tl.topk, which run as one instruction, against torch and against the same kernel op by
op."""

import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
tl = pytest.importorskip("triton.language")
import triton_runner  # noqa: E402


@triton_runner.jit
def sort_rows(x_ptr, out_ptr, ROWS: tl.constexpr, COLS: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), descending=DESCENDING))


@triton_runner.jit
def sort_twice(x_ptr, out_ptr, again_ptr, COLS: tl.constexpr):
    at = tl.arange(0, COLS)
    up = tl.sort(tl.load(x_ptr + at))
    tl.store(out_ptr + at, up)
    tl.store(again_ptr + at, tl.sort(up, descending=True))


@triton_runner.jit
def top(x_ptr, out_ptr, COLS: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, COLS))
    tl.store(out_ptr + tl.arange(0, K), tl.topk(x, K))


def same_bits(a, b):
    return a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
@pytest.mark.parametrize("shape", [(1, 2), (1, 16), (4, 64), (2, 512)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64"])
def test_sort(level, shape, dtype):
    torch.manual_seed(0)
    x = (torch.rand(shape) * 250).to(getattr(torch, dtype))
    if dtype.startswith(("f", "int")):
        x -= 100
    for descending in (False, True):
        out, plain = torch.zeros_like(x), torch.zeros_like(x)
        sort_rows[(1,)](x, out, *shape, descending, level=level)
        assert torch.equal(out, x.sort(1, descending=descending)[0])
        # A shuffled launch runs op by op.
        with triton_runner.using(shuffle=1):
            sort_rows[(1,)](x, plain, *shape, descending, level=level)
        assert same_bits(out, plain)


def test_values_that_do_not_compare():
    x = torch.randn(256)
    x[::7], x[3::11], x[5::13], x[6::17] = float("nan"), 0.0, -0.0, float("inf")
    results = []
    for shuffle in (None, 1):
        out, again = torch.zeros(256), torch.zeros(256)
        with triton_runner.using(shuffle=shuffle):
            sort_twice[(1,)](x, out, again, 256)
        results.append((out, again))
    assert same_bits(results[0][0], results[1][0]) and same_bits(results[0][1], results[1][1])


def test_results_on_the_way_are_kept():
    x, out, again = torch.randn(128), torch.zeros(128), torch.zeros(128)
    sort_twice[(1,)](x, out, again, 128)
    assert torch.equal(out, x.sort()[0]) and torch.equal(again, x.sort(descending=True)[0])


@pytest.mark.parametrize("k", [1, 4, 32, 128])
def test_topk(k):
    if not hasattr(tl, "topk"):
        pytest.skip("this release has no tl.topk")
    x, out = torch.randn(128), torch.zeros(k)
    top[(1,)](x, out, 128, k)
    assert torch.equal(out, x.topk(k)[0])
