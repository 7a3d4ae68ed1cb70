"""tracking.following() finds what depends on bytes that count as never written: the judge sees by it that a
result follows from what an earlier call has left in memory."""

import numpy
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
from triton_runner import KernelTrap, using  # noqa: E402
from triton_runner._memory import registry, tracking, uninit, uninit_torch  # noqa: E402


@triton.jit
def copies(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) * 2)


@triton.jit
def adds(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(out + i, tl.load(x + i))


@triton.jit
def exchanges(x, out, was, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(was + i, tl.atomic_xchg(out + i, tl.load(x + i)))


@triton.jit
def counts(count, out):
    tl.store(out, tl.atomic_add(count, 1))


@triton.jit
def branches(x, out):
    if tl.load(x) > 0:
        tl.store(out, 1.0)
    else:
        tl.store(out, 2.0)


def launch(kernel, *tensors, **named):
    for one in tensors:
        uninit.add_left(registry.storage_of(one))
    with using(device="cpu", check="uninit", follows_undefined=True):
        kernel[(1,)](*tensors, **named)


def undefined(tensor) -> list[int]:
    view = uninit_torch.view_of(tensor)
    return [] if view is None else [int(i) for i in numpy.flatnonzero(view.undefined)]


def left(tensor, *elements):
    """A tensor's storage, and the flags of its bytes: those of some elements are set."""
    flags = numpy.zeros((tensor.numel(), tensor.element_size()), bool)
    flags[[*elements]] = True
    return registry.storage_of(tensor), flags.reshape(-1)


def test_a_store_carries_it_from_memory_to_memory():
    x, y, z = torch.ones(16), torch.zeros(16), torch.zeros(16)
    with tracking.following([left(x, 3, 5)]):
        launch(copies, x, y, B=16)
        launch(copies, y, z, B=16)
        assert undefined(y) == undefined(z) == [3, 5] and torch.equal(z, torch.full((16,), 4.0))
        launch(copies, torch.ones(16), y, B=16)
        assert undefined(y) == []  # it was written anew
    assert not uninit.is_known()


def test_operators_of_torch_carry_it():
    x, places, table = torch.ones(16), torch.arange(8), torch.rand(32)
    with tracking.following([left(x, 1), left(places, 2)]):
        assert undefined(x + 1) == [1] and undefined(x[:8].sum(0, keepdim=True)) == [0]
        assert undefined(torch.where(torch.arange(16) < 1, x, 0.0)) == []
        assert undefined(x[2:].clone()) == []
        assert 2 in undefined(table[places])  # no other number is an index: all of it may depend
        x.zero_()
        assert undefined(x) == []


def test_atomics_carry_it():
    x, out, was = torch.ones(16), torch.zeros(16), torch.zeros(16)
    with tracking.following([left(x, 4), left(out, 7)]):
        launch(adds, x, out, B=16)
        assert undefined(out) == [4, 7]
        launch(exchanges, torch.ones(16), out, was, B=16)
        assert undefined(out) == [] and undefined(was) == [4, 7]
    count, out = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with tracking.following([left(count, 0)]):
        launch(counts, count, out)
        assert undefined(out) == undefined(count) == [0]


def test_a_branch_is_a_trap():
    x, out = torch.ones(1), torch.zeros(1)
    with tracking.following([left(x, 0)]), pytest.raises(KernelTrap, match="the branch depends"):
        launch(branches, x, out)
    with tracking.following([left(out, 0)]):
        launch(branches, x, out)
        assert undefined(out) == []


def test_without_following_a_store_is_a_trap():
    with tracking.track_empty():
        x, out = torch.empty(16), torch.zeros(16)
        with using(device="cpu", check="uninit"), pytest.raises(KernelTrap, match="what is stored depends"):
            copies[(1,)](x, out, B=16)
