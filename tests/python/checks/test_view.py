"""check="view" at each level: an access beside the view that was passed, inside of its storage, is reported;
one of an element is not, whatever the strides. Without the check nothing is."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
import triton_runner
import warm
from triton_runner._memory.views import pieces

LEVELS = ["ttir", "ttgir", "ptx", pytest.param("cubin", marks=pytest.mark.machine)]


@triton.jit
def rows(x, out, stride, step, n, BLOCK: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + k * step, mask=k < n, other=0.0)
    tl.store(out + row * BLOCK + k, v)


@triton.jit
def fill(out, n, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    tl.store(out + k, k.to(tl.float32), mask=k < n)


def taken(x, columns=None, stride=None, step=None, check="view", level="ttir"):
    """Reads rows of x by its own strides, or by others."""
    out = torch.zeros(x.shape[0], 16)
    stride = x.stride(0) if stride is None else stride
    step = x.stride(1) if step is None else step
    with triton_runner.using(device="cpu", level=level, check=check):
        rows[(x.shape[0],)](x, out, stride, step, columns or x.shape[1], BLOCK=16)
    return out


def base():
    return torch.arange(256.0).reshape(16, 16)


VIEWS = {
    "columns": lambda: base()[:, :10],
    "every other column": lambda: base()[:, ::2],
    "every other row": lambda: base()[::2],
    "transposed": lambda: base().t()[:, 3:9],
    "expanded": lambda: base()[3:4, :8].expand(4, 8),
    "overlapping": lambda: base().as_strided((6, 8), (5, 1), 20),
    "from an offset": lambda: base()[2:9, 4:12],
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", VIEWS)
def test_all_elements_of_a_view_may_be_read(name, level):
    x = VIEWS[name]()
    assert torch.equal(taken(x, level=level)[:, : x.shape[1]], x)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["columns", "every other row", "from an offset"])
def test_what_lies_beside_a_view_may_not(name, level):
    x = VIEWS[name]()
    more = x.shape[1] + 3 if name != "every other row" else None
    by = x.stride(0) // 2 if name == "every other row" else None
    assert taken(x, more, by, check="", level=level).shape == (x.shape[0], 16)  # off by default
    with pytest.raises(triton_runner.KernelTrap) as caught:
        taken(x, more, by, level=level)
    trap = caught.value
    assert trap.kind == "outside of a view" and trap.line and "in the storage of argument 'x'" in trap.nearest
    assert "strides [" in trap.nearest and "pass all of the tensor" in trap.advice


@pytest.mark.parametrize("level", LEVELS)
def test_stores_beside_a_view_are_reported(level):
    whole = torch.zeros(64)
    with triton_runner.using(device="cpu", level=level, check="view"):
        fill[(1,)](whole[:24], 24, BLOCK=32)
        with pytest.raises(triton_runner.KernelTrap, match="outside of a view"):
            fill[(1,)](whole[:24], 25, BLOCK=32)
    assert whole[23] == 23 and whole[24] == 0


def test_beyond_the_storage_it_is_out_of_bounds_as_ever():
    with pytest.raises(triton_runner.KernelTrap) as caught:
        with triton_runner.using(device="cpu", check="view"):
            fill[(1,)](torch.zeros(64)[40:], 32, BLOCK=32)
    assert caught.value.kind == "out of bounds"


def test_other_arguments_of_the_storage_count_as_elements():
    """A limit, as reference/checks.md says: two views of one storage may be touched by either pointer."""
    whole = torch.zeros(64)
    with triton_runner.using(device="cpu", check="view"):
        rows[(1,)](whole[:32], whole[32:], 0, 1, 16, BLOCK=16)


def test_arrays_of_numpy():
    whole, filled = np.zeros(64, np.float32), triton_runner.jit(fill.fn)
    with triton_runner.using(device="cpu", check="view"):
        filled[(1,)](whole[:24], 24, BLOCK=32)
        with pytest.raises(triton_runner.KernelTrap, match="outside of a view"):
            filled[(1,)](whole[:24], 30, BLOCK=32)


def test_pieces():
    x = torch.zeros(8, 10)
    start, size = x.data_ptr(), 4

    def found(view):
        return [((address - start) // size, count // size) for address, count in pieces(view)[1]]

    assert found(x) == [(0, 80)] and pieces(x[:, :0])[1][0][1] == 0
    assert found(x[:2, 1:4]) == [(1, 3), (11, 3)] == found(x[:2, 1:4].t())
    assert found(x[0, ::4]) == [(0, 1), (4, 1), (8, 1)]
    assert found(x[5:6].expand(3, 10)) == [(50, 10)]
    assert found(x.as_strided((3, 4), (2, 1))) == [(0, 8)]
    assert found(torch.zeros(()).as_strided((), ()))[0][1] == 1
    array = np.zeros((4, 6), np.float32)
    address = array.__array_interface__["data"][0]
    assert pieces(array[::-1, ::-1]) == ("float32[4, 6], strides [-6, -1]", [(address, 96)])


PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def sums(x, out, stride, n, B: tl.constexpr):
    k = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * stride + k, mask=k < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(v, 0))

x, out = torch.zeros(4, 32, device="cuda")[:, :20], torch.zeros(4, device="cuda")
sums[(4,)](x, out, 32, 32, B=32)
assert torch.equal(out, x.sum(1))
"""


def test_verify_warns_and_strict_makes_it_a_fault(tmp_path):
    (tmp_path / "padded.py").write_text(PROGRAM)
    done = warm.cli("verify", "--pretend-cuda", "--check", "oob,view", "padded.py", cwd=tmp_path)
    assert done.returncode == 0 and "warning, view at ttir, ttgir, ptx" in done.stdout, done.stdout
    assert "memory of the program's own, as padding is" in done.stdout
    done = warm.cli("verify", "--pretend-cuda", "--strict", "--check", "view", "padded.py", cwd=tmp_path)
    assert done.returncode == 1 and "fault, view" in done.stdout, done.stdout
    assert "advice: mask the access with the sizes of the view" in done.stdout
