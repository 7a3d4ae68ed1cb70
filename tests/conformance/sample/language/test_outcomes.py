"""One test of each outcome that run.py tells apart; tests/python/package/test_conformance.py expects them."""

import os
import signal
import time

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(X, Z, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(Z + at, tl.load(X + at))


def copy(device, size=32, room=32):
    x = torch.arange(size, device=device)
    z = torch.zeros(room, dtype=x.dtype, device=device)
    copy_kernel[(1,)](x, z, size)
    return torch.equal(z, x)


def test_passes_before(device):
    assert copy(device)


def test_fails(device):
    copy(device, room=16)


def test_fails_with_known_cause(device):
    raise NotImplementedError("the case of a known failure")


def test_skips():
    pytest.skip("its own condition")


@pytest.mark.xfail(reason="its own expectation")
def test_expected_to_fail():
    raise AssertionError


@pytest.mark.parametrize("how", ["signal", "exit"])
def test_dies(how):
    if how == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    os._exit(3)


def test_does_not_end():
    time.sleep(600)


def test_absent_name(device):
    assert tl.of_another_release


@pytest.mark.parametrize("listed", [0, 1])
def test_listed_but_passes(listed, device):
    assert copy(device)


def test_assembly_text(device):
    x = torch.zeros(32, device=device)
    assert "as another release writes it" in copy_kernel[(1,)](x, x, 32).asm["ttir"]


def test_passes_behind(device):
    assert copy(device)
