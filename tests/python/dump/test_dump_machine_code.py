"""Tests registers of machine code on the CPU: by name, and the values of TTGIR that they hold, as at
PTX."""

import numpy
import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
import torch
import triton_runner
from kernels_for_dumps import add, matmul, softmax

TARGET = "cuda:90"


def inputs():
    torch.manual_seed(0)
    return torch.randn(1000), torch.randn(1000), torch.zeros(1000), 1000


def dumped(kernel, args, options, grid, *names, level="cubin", **more):
    with triton_runner.using(device="cpu", target=TARGET):
        with triton_runner.dumping(kernel, *names, level=level, **more) as d:
            kernel[grid](*args, **options)
    return d


def test_registers_by_name():
    args = inputs()
    d = dumped(add, args, {"B": 256}, (4,), "FADD", programs=[1])
    sums = numpy.stack([v.to_numpy()[0] for v in d.values])
    assert sums.shape == (2, 128) and d.values[0].type == "f32" and d.values[0].level == "cubin"
    expected = (args[0] + args[1])[256:512].numpy()
    assert sorted(sums.ravel()) == sorted(expected)
    assert torch.equal(args[2], args[0] + args[1])


def test_predicates_addresses_lines_and_everything():
    everything = dumped(add, inputs(), {"B": 256}, (4,), "*", programs=[3])
    predicates = [v for v in everything.values if v.name.startswith("P")]
    assert predicates and all(v.type == "i1" for v in predicates)
    one = predicates[0]
    address = one.name.partition("#")[2]
    at = dumped(add, inputs(), {"B": 256}, (4,), address, programs=[3])
    assert (at[one.name].to_numpy() == one.to_numpy()).all()
    line = f"kernels_for_dumps.py:{one.line}"
    assert one.name in [v.name for v in dumped(add, inputs(), {"B": 256}, (4,), line).values]


def test_what_is_not_there_is_an_error():
    with pytest.raises(triton_runner.DiagnosticError, match="named 'FADDX' writes a register"):
        dumped(add, inputs(), {"B": 256}, (4,), "FADDX")


CASES = {
    "add": (add, inputs, {"B": 256}, (4,), ["x", "y", "total", "offsets"]),
    "softmax": (
        softmax,
        lambda: (torch.randn(3, 500), torch.zeros(3, 500), 500),
        {"B": 512},
        (3,),
        ["shifted", "weights", "result", "largest"],
    ),
    "matmul": (
        matmul,
        lambda: (
            torch.randn(32, 128).half(), torch.randn(128, 64).half(), torch.zeros(32, 64).half(), 32, 64, 128,
        ),
        {"BM": 32, "BN": 32, "BK": 32, "num_warps": 2, "num_stages": 2},
        (2,),
        ["acc"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_ptx(name):
    kernel, made, options, grid, names = CASES[name]
    torch.manual_seed(1)
    args = made()
    out = args[2 if name != "softmax" else 1]
    ours = dumped(kernel, args, options, grid, *names, every_iteration=True)
    result = out.clone()
    out.zero_()
    theirs = dumped(kernel, args, options, grid, *names, level="ptx", every_iteration=True)
    assert torch.equal(result, out) and out.any()
    compared = 0
    for variable in names:
        his_of = {value.name: value for value in theirs.all(variable)}
        for mine in ours.all(variable):
            his = his_of[mine.name]
            kept = numpy.ones(mine.to_numpy().shape, bool) if mine.mask is None else mine.mask != 0
            kept = kept.reshape(mine.to_numpy().shape)
            assert numpy.array_equal(mine.to_numpy()[kept], his.to_numpy()[kept], equal_nan=True)
            compared += int(kept.sum())
    assert compared > 500
