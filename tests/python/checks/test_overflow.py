"""Tests check="overflow" at each level: what is reported, and what a comment on the line says is meant."""

import pytest
import torch
import triton
import triton.language as tl
import triton_runner
from overflowing import FAULTS, MEANT

LEVELS = [
    pytest.param("ttir"),
    pytest.param("ttgir", marks=pytest.mark.share),
    pytest.param("ptx", marks=pytest.mark.share),
]


CUT = "LLVM multiplies in 32 bits and cuts the product, as many kernels do on purpose"
NOT_AT_PTX = {"sixteen_bits": CUT, "eight_bits": CUT, "stored_index": "what is stored is data at PTX"}


def tables(x):
    return x, torch.ones(32, dtype=torch.int32), torch.zeros(4096, dtype=torch.int32)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[0].__name__)
def test_a_fault_is_found_and_the_same_kernel_without_one_is_not_called_wrong(fault, level):
    kernel, wrong, right = fault
    if level == "ptx" and kernel.__name__ in NOT_AT_PTX:
        pytest.skip(NOT_AT_PTX[kernel.__name__])
    with triton_runner.using(device="cpu", level=level, check="overflow"):
        kernel[(1,)](*tables(torch.arange(4096, dtype=torch.int32)), *right)
        with pytest.raises(triton_runner.KernelTrap) as caught:
            kernel[(1,)](*tables(triton_runner.ghost(2**31, torch.int32)), *wrong)
    assert caught.value.kind == "integer overflow" and "it overflowed in" in str(caught.value)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("meant", MEANT, ids=lambda meant: meant[0].__name__)
def test_what_wraps_on_purpose_is_not_called_wrong(meant, level):
    kernel, arguments = meant
    with triton_runner.using(device="cpu", level=level, check="overflow"):
        kernel[(1,)](*tables(torch.arange(4096, dtype=torch.int32)), *arguments)


@triton.jit
def row(table, out, number, stride, BLOCK: tl.constexpr):
    offsets = number * stride + tl.arange(0, BLOCK)
    tl.store(out + tl.arange(0, BLOCK), tl.load(table + offsets))


@triton.jit
def ring(table, out, number, stride, BLOCK: tl.constexpr):
    offsets = number * stride + tl.arange(0, BLOCK)  # triton_runner: wraps
    tl.store(out + tl.arange(0, BLOCK), tl.load(table + offsets))


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_an_offset_that_does_not_fit_is_reported_unless_its_line_says_that_it_wraps(level):
    table, out = torch.arange(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
    with triton_runner.using(device="cpu", level=level, check="overflow"):
        with pytest.raises(triton_runner.KernelTrap) as caught:
            row[(1,)](table, out, 65536, 65536, BLOCK=32)
        assert caught.value.kind == "integer overflow" and "give 4294967296" in str(caught.value)
        row[(1,)](table, out, 0, 65536, BLOCK=32)
        ring[(1,)](table, out, 65536, 65536, BLOCK=32)
    assert torch.equal(out, table)


def test_offsets_that_an_access_of_amd_adds_count_too():
    table, out = torch.arange(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
    with (
        triton_runner.using(device="cpu", level="ttgir", target="hip:gfx942", check="overflow"),
        pytest.raises(triton_runner.KernelTrap, match=r"integer overflow in amdg\.buffer_load"),
    ):
        row[(1,)](table, out, 65536, 65536, BLOCK=32)


def test_machine_code_refuses_it():
    table, out = torch.arange(32, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
    with (
        triton_runner.using(device="cpu", level="cubin", check="overflow"),
        pytest.raises(triton_runner.DiagnosticError, match="'overflow' is for TTIR, TTGIR and PTX"),
    ):
        row[(1,)](table, out, 0, 32, BLOCK=32)
