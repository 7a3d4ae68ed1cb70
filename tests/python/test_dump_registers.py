"""Dumps from the registers of PTX: a value that is put together from the threads that hold it is the tile
engine's value of TTGIR, and the program that runs is the compiler's own."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import triton_runner
from triton_runner import DiagnosticError

TARGETS = ("cuda:80", "cuda:90")


@triton_runner.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :])
        right = tl.load(b + (k + ks)[:, None] * N + columns[None, :])
        acc = tl.dot(left, right, acc)
    scaled = acc * 2.0
    tl.store(c + rows[:, None] * N + columns[None, :], scaled)


@triton_runner.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + offsets, mask=offsets < n, other=-float("inf"))
    largest = tl.max(value, 0)
    power = tl.exp(value - largest)
    total = tl.sum(power, 0)
    tl.store(y + row * n + offsets, power / total, mask=offsets < n)


@triton_runner.jit
def attention(q, k, v, o, n, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + columns[None, :])
    best = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        keys = start + tl.arange(0, BN)
        key = tl.load(k + keys[None, :] * D + columns[:, None])
        score = tl.dot(query, key)
        new_best = tl.maximum(best, tl.max(score, 1))
        weight = tl.exp(score - new_best[:, None])
        shrink = tl.exp(best - new_best)
        total = total * shrink + tl.sum(weight, 1)
        acc = acc * shrink[:, None]
        value = tl.load(v + keys[:, None] * D + columns[None, :])
        acc = tl.dot(weight.to(tl.float16), value, acc)
        best = new_best
    tl.store(o + rows[:, None] * D + columns[None, :], acc / total[:, None])


@triton_runner.jit
def nested(x, y, n, m, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets)
    for i in range(n):
        for j in range(m):
            value = value * 2.0 + i
            if j > 0:
                value += tl.load(x + offsets + j)
        value = value - 1.0
    tl.store(y + offsets, value)


def matmul_arguments():
    torch.manual_seed(0)
    a, b = torch.randn(64, 96).half(), torch.randn(96, 64).half()
    return a, b, torch.zeros(64, 64)


def launch(kernel, level, target, *selectors, every_iteration=True, **options):
    """The dump of a launch of one of the kernels above, and what the launch wrote."""
    torch.manual_seed(1)
    with triton_runner.dumping(
        kernel, *selectors, level=level, every_iteration=every_iteration, **options
    ) as dump:
        if kernel is matmul:
            a, b, out = matmul_arguments()
            matmul[(2, 2)](a, b, out, 64, 96, BM=32, BN=32, BK=32, device="cpu", target=target)
        elif kernel is softmax:
            out = torch.zeros(3, 500)
            softmax[(3,)](torch.randn(3, 500), out, 500, BLOCK=512, device="cpu", target=target)
        elif kernel is attention:
            q, k, v = (torch.randn(64, 32).half() for _ in range(3))
            out = torch.zeros(64, 32)
            attention[(2,)](q, k, v, out, 64, BM=32, BN=32, D=32, device="cpu", target=target)
        else:
            out = torch.zeros(256)
            nested[(1,)](torch.randn(260), out, 3, 2, BLOCK=256, device="cpu", target=target)
    return dump.last, out


def same(here, there, tolerance):
    assert here.site.value == there.site.value
    assert (here.programs == there.programs).all() and (here.iterations == there.iterations).all()
    ours, theirs = here.to_numpy(), there.to_numpy()
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if ours.dtype.kind == "f":
        np.testing.assert_allclose(ours.astype("f8"), theirs.astype("f8"), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(ours, theirs)


CASES = [
    (matmul, ("scaled",), 1e-5),
    (matmul, ("acc",), 1e-5),
    (softmax, ("value", "largest"), 0),
    (softmax, ("power", "total"), 1e-6),
    (attention, ("total", "new_best"), 1e-5),
    (attention, ("score", "weight"), 1e-5),
    (nested, ("value",), 0),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel, names, tolerance", CASES, ids=lambda v: getattr(v, "__name__", None))
def test_a_value_of_ttgir(kernel, names, tolerance, target):
    above, _ = launch(kernel, "ttgir", target, *names)
    below, _ = launch(kernel, "ptx", target, *names)
    assert len(list(below)) > 0
    for name in [value.site.value for value in below]:
        same(below[name], above[name], tolerance)
