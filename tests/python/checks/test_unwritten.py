"""Tests memory of torch.empty that launches leave as it was: right programs, and wrong ones, in which
something reads it."""

import pytest

pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import numpy as np  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
import unwritten_kernels as kernels  # noqa: E402
from triton_runner._memory import uninit  # noqa: E402
from unwritten_right import RIGHT  # noqa: E402
from unwritten_wrong import WRONG  # noqa: E402


def found(function, **settings) -> list:
    """Returns what is found while the function runs: what was read, then what was left."""
    with triton_runner.track_empty(), triton_runner.using(device="cpu", **settings):
        function()
        return uninit.finish()


def used(function, **settings) -> list:
    return [it for it in found(function, **settings) if it.used]


@pytest.mark.parametrize("check", ["", "uninit"])
@pytest.mark.parametrize("name", RIGHT)
def test_right(name, check):
    assert not used(RIGHT[name], check=check)


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name):
    (it,) = used(WRONG[name])
    assert it.file == WRONG[name].__code__.co_filename and it.line and it.argument in ("y", "cache")


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx", "cubin"])
def test_levels(level):
    (it,) = found(WRONG["a_persistent_step_that_is_one_too_long"], level=level)
    assert (it.elements, it.of, it.first, it.level) == (48, 200, 48, level)
    assert it.message == "y: 48 of 200 elements were never written, the first is 48" and it.used == "item()"
    assert not used(RIGHT["only_the_beginning_is_read"], level=level)


@triton.jit
def thirds(x, out, BLOCK: tl.constexpr):
    """Lanes do not take elements in order."""
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * 3 % BLOCK))


@triton.jit
def pipelined(x, out, BLOCK: tl.constexpr):
    """Reads x by asynchronous copies."""
    i = tl.arange(0, 16)
    total = tl.zeros((16, 16), tl.float32)
    for k in range(0, BLOCK, 16):
        left = tl.load(x + i[:, None] * BLOCK + k + i[None, :])
        total += tl.dot(left, left)
    tl.store(out + i[:, None] * 16 + i[None, :], total)


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
@pytest.mark.parametrize(
    "kernel, elements, dtype", [(thirds, 64, torch.float32), (pipelined, 1024, torch.float16)]
)
def test_a_kernel_that_reads_what_no_launch_wrote(kernel, elements, dtype, level):
    for written in (elements, elements - 4):
        with triton_runner.track_empty(), triton_runner.using(device="cpu", target="cuda:80", level=level):
            x = torch.empty(elements, dtype=dtype)
            kernels.copy[(1,)](torch.ones(elements, dtype=dtype), x, written, 1024)
            with triton_runner.using(check="uninit"):
                if written == elements:
                    kernel[(1,)](x, torch.zeros(256), BLOCK=64)
                else:
                    with pytest.raises(triton_runner.KernelTrap, match="uninitialized value"):
                        kernel[(1,)](x, torch.zeros(256), BLOCK=64)
            assert not uninit.finish()  # the trap has said it


@triton.jit
def half_then_trap(out, beyond, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i, mask=i < n // 2)
    tl.store(beyond + i, i)


@pytest.mark.parametrize("lives", [True, False])
def test_what_a_launch_that_traps_leaves_is_a_consequence(lives):
    held = []

    def leave():
        out, other = torch.empty(64), torch.empty(64)
        kernels.copy[(1,)](torch.ones(64), other, 60, 64)
        with pytest.raises(triton_runner.KernelTrap):
            half_then_trap[(1,)](out, torch.empty(32), 64, BLOCK=64)
        if lives:
            held.append(out)

    (it,) = found(leave)
    assert it.kernel == "copy" and it.elements == 4  # of another launch it is a finding


def test_what_nobody_reads_is_left():
    def leave():
        kernels.copied(120, 100)

    (it,) = found(leave)
    assert not it.used and it.kernel == "copy" and (it.elements, it.of, it.first) == (20, 120, 100)


def test_two_dimensions():
    (it,) = found(WRONG["a_last_column"])
    assert (it.elements, it.of, it.first) == (4, 40, [0, 9])


def test_an_array_of_numpy_is_left():
    def leave():
        y = np.empty(120, np.float32)
        kernels.copy_arrays[(4,)](np.ones(100, np.float32), y, 100, B=32)
        return y

    with triton_runner.track_empty(), triton_runner.using(device="cpu"):
        y = leave()
        (it,) = uninit.finish()
        assert not it.used and it.elements == 20
        y = leave()
        y[100:] = 0
        assert not uninit.finish()


def test_a_kernel_reads_it():
    def read():
        y = kernels.copied(120, 100)
        kernels.copy[(4,)](y, torch.empty(120), 120, B=32)

    for check in ("oob", "uninit"):
        with triton_runner.track_empty(), triton_runner.using(device="cpu", check=check):
            if check == "oob":
                read()
            else:
                with pytest.raises(triton_runner.KernelTrap, match="never written"):
                    read()


def test_random_numbers_come_as_ever():
    def draw():
        torch.manual_seed(3)
        y = kernels.copied(120, 100)
        y[100:].normal_()
        return y.bernoulli_(0.5).tolist(), torch.rand(3).tolist()

    alone = draw()
    with triton_runner.track_empty(), triton_runner.using(device="cpu"):
        assert draw() == alone


def test_nothing_is_followed_outside():
    own = torch.Tensor.numpy, torch.Tensor.__repr__, np.empty
    with triton_runner.track_empty():
        assert torch.Tensor.numpy is not own[0]
    assert (torch.Tensor.numpy, torch.Tensor.__repr__, np.empty) == own
    assert not uninit.is_known() and triton.cdiv(3, 2) == 2
