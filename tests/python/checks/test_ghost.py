"""Tests ghosts: arguments of any size, of which only what is written takes memory."""

import numpy
import pytest
import torch
import triton
import triton.language as tl
import triton_runner
from triton_runner._memory.files import dtype_named
from triton_runner._memory.ghost_memory import Ghost, ghost_at

BIG = 25_000_000_000  # f32: 100 GB


@triton.jit
def add_one(x, out, n, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    pid = tl.program_id(0)
    if WIDE:
        pid = pid.to(tl.int64)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask) + 1, mask=mask)


def elements(part) -> list:
    """The elements of a small part of a ghost."""
    return part.clone().tolist()


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_the_last_program_of_a_launch_on_100_GB(level):
    x = triton_runner.ghost((BIG,), torch.float32, fill=lambda i: i % 7)
    out = triton_runner.ghost((BIG,), torch.float32)
    last = triton.cdiv(BIG, 1024) - 1
    settings = {"device": "cpu", "level": level, "check": "overflow,uninit,race,nan", "program": str(last)}
    with triton_runner.using(**settings):
        add_one[(last + 1,)](x, out, BIG, BLOCK=1024, WIDE=True)
    written = ghost_at(out.data_ptr()).written()
    rest = BIG - last * 1024
    assert written.size == rest and written[0] == last * 1024 and written[-1] == BIG - 1
    assert elements(out[-4:]) == [value + 1 for value in elements(x[-4:])]
    assert elements(out[:2]) == [0, 0]


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_its_offsets_do_not_fit_into_32_bits(level):
    x, out = (triton_runner.ghost((BIG,), torch.float32) for _ in range(2))
    last = triton.cdiv(BIG, 1024) - 1
    with (
        triton_runner.using(device="cpu", level=level, check="overflow", program=str(last)),
        pytest.raises(triton_runner.KernelTrap) as caught,
    ):
        add_one[(last + 1,)](x, out, BIG, BLOCK=1024, WIDE=False)
    assert caught.value.kind == "integer overflow" and caught.value.program == (last, 0, 0)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i8", "i64"])
def test_the_rest_repeats_the_first_part(dtype):
    ghost = Ghost((5, 1 << 22), dtype_named(dtype), lambda i: i % 100)
    flat = ghost.array.reshape(-1)
    at = numpy.array([0, 1, 99, ghost.period - 1, ghost.period, 3 * ghost.period + 17, ghost.count - 1])
    assert flat[at].astype(int).tolist() == (at % ghost.period % 100).tolist()
    flat[12345678] = 7
    flat[at[2]] = 99  # what it was
    assert ghost.written().tolist() == [12345678]
    ghost.refill(3)
    assert flat[at].astype(int).tolist() == [3] * len(at) and ghost.written().size == 0


def test_views_are_ghosts_and_whatever_touches_all_of_it_says_what_to_do():
    ghost = triton_runner.ghost((50_000, 500_000), "f32", fill=2)
    for view in (
        ghost.view(-1), ghost.T, ghost[3:], ghost[:, 5], ghost.unsqueeze(0), ghost.detach(),
        torch.empty_like(ghost),
    ):  # fmt: skip
        assert type(view) is type(ghost)
    assert elements(ghost[7, :3]) == [2, 2, 2]
    ghost[0, :3].fill_(5)
    assert elements(ghost[0, :4]) == [5, 5, 5, 2]
    ghost.zero_()
    assert elements(ghost[0, :4]) == [0, 0, 0, 0]
    for touch in (
        lambda: ghost + 1,
        ghost.sum,
        ghost.clone,
        lambda: ghost.to(torch.float16),
        lambda: torch.cat([ghost, ghost]),
    ):
        with pytest.raises(
            triton_runner.DiagnosticError, match=r"of a ghost of shape \(50000, 500000\): it would touch all"
        ) as caught:
            touch()
        assert "views, fill_, zero_ and empty_like" in str(caught.value)


def test_what_runs_a_launch_several_times_refuses_it():
    x, out = (triton_runner.ghost((BIG,), torch.float32) for _ in range(2))
    with pytest.raises(triton_runner.DiagnosticError, match=r"argument 'x' is a ghost of 93\.1 GiB"):
        triton_runner.verify(add_one, (x, out, BIG), {"BLOCK": 1024, "WIDE": True}, grid=(4,))


def test_a_program_that_is_not_in_the_grid():
    x = torch.zeros(64)
    with (
        triton_runner.using(device="cpu", program="4"),
        pytest.raises(
            triton_runner.DiagnosticError, match=r"program \(4, 0, 0\) is not in the grid \(4, 1, 1\)"
        ),
    ):
        add_one[(4,)](x, x, 64, BLOCK=16, WIDE=True)
    with pytest.raises(triton_runner.DiagnosticError, match="unknown program 'last'"):
        triton_runner.using(program="last").settings()


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_only_that_program_runs(level):
    x, out = torch.arange(64.0), torch.zeros(64)
    with triton_runner.using(device="cpu", level=level, program="2"):
        add_one[(4,)](x, out, 64, BLOCK=16, WIDE=True)
    assert out.nonzero().flatten().tolist() == list(range(32, 48))
