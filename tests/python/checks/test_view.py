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

# At machine code nobody knows by which argument's pointer an access came.
KNOWN = ["ttir", "ttgir", "ptx"]
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


@triton.jit
def moved(x, out, by, BLOCK: tl.constexpr):
    k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + k, tl.load(x + k + by) + 1)


@pytest.mark.parametrize("level", LEVELS)
def test_rows_of_all_threads_beside_a_view_are_reported(level):
    """Each thread takes an element, as native code does it, and a row lies in the storage whole."""
    whole = torch.arange(2048.0)
    with triton_runner.using(device="cpu", level=level, check="view"):
        moved[(8,)](whole[:1024], out := torch.zeros(1024), 0, BLOCK=128)
        assert torch.equal(out, whole[:1024] + 1)
        with pytest.raises(triton_runner.KernelTrap, match="outside of a view"):
            moved[(8,)](whole[:1024], torch.zeros(1024), 512, BLOCK=128)


def test_beyond_the_storage_it_is_out_of_bounds_as_ever():
    with pytest.raises(triton_runner.KernelTrap) as caught:
        with triton_runner.using(device="cpu", check="view"):
            fill[(1,)](torch.zeros(64)[40:], 32, BLOCK=32)
    assert caught.value.kind == "out of bounds"


@triton.jit
def copied(x, y, x_step, y_step, n, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    tl.store(y + k * y_step, tl.load(x + k * x_step, mask=k < n) + 1, mask=k < n)


# Two views of one storage: (x, its step), (y, its step), elements.
SHARED = {
    "halves": ("[:24]", 1, "[24:48]", 1, 24),
    "apart": ("[2:10]", 1, "[40:48]", 1, 8),
    "every other": ("[:32:2]", 2, "[30::2]", 2, 16),
    "overlapping": ("[:40]", 1, "[8:48]", 1, 40),
    "a part of the other": ("[8:24]", 1, "", 1, 16),
    "the same": ("[8:24]", 1, "[8:24]", 1, 16),
}


def shared(name, level, more=0, check="view"):
    """The storage after a launch that goes so many elements further than the smaller of its two views."""
    whole = torch.arange(64.0)
    x_part, x_step, y_part, y_step, n = SHARED[name]
    x, y = (eval(f"whole{part}", {"whole": whole}) for part in (x_part, y_part))
    with triton_runner.using(device="cpu", level=level, check=check):
        copied[(1,)](x, y, x_step, y_step, n + more, BLOCK=64)
    return whole


@pytest.mark.parametrize(
    "name, level", [*((name, "ttir") for name in SHARED), ("halves", "ttgir"), ("overlapping", "ptx")]
)
def test_views_of_one_storage(name, level):
    """Each pointer may touch the elements of its own view, and all see what is written."""
    assert torch.equal(shared(name, level), shared(name, level, check=""))
    if name != "the same":
        assert shared(name, level, 1, check="").shape == (64,)
    with pytest.raises(triton_runner.KernelTrap) as caught:
        shared(name, level, 1)
    assert (
        caught.value.kind == "outside of a view" and "in the storage of argument 'x'" in caught.value.nearest
    )


def test_what_a_trap_leaves_is_put_back():
    whole = torch.zeros(64)
    with triton_runner.using(device="cpu", check="view"):
        with pytest.raises(triton_runner.KernelTrap):
            two_stores[(1,)](whole[:16], whole[16:32], BLOCK=16)
    assert whole[:16].sum() == 16 and whole[16:].sum() == 0


@triton.jit
def two_stores(x, y, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    tl.store(x + k, tl.full((BLOCK,), 1.0, tl.float32))
    tl.store(y + k + 1, tl.full((BLOCK,), 2.0, tl.float32))


def test_beside_a_check_of_races():
    with pytest.raises(triton_runner.KernelTrap, match=r"outside of a view.*storage of argument 'x'"):
        shared("halves", "ttir", 1, check="view,race,uninit")
    whole = torch.zeros(64)
    with pytest.raises(triton_runner.KernelTrap, match="data race"):
        with triton_runner.using(device="cpu", check="view,race"):
            racing[(2,)](whole[:40], whole[24:])


@triton.jit
def racing(x, y):
    program = tl.program_id(0)
    if program == 0:
        tl.store(x + 30, 1.0)
    else:
        tl.store(y + 6, 2.0)


@triton.jit
def far(x, out, step, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    tl.store(out + k, tl.load(x + k) + tl.load(x + k + step))


@pytest.mark.parametrize("level", KNOWN)
@pytest.mark.parametrize("is_argument", [True, False])
def test_what_lands_in_another_tensor_is_out_of_bounds(level, is_argument):
    """An address that lies in some tensor of the program is a fault where another pointer led to it."""
    x, out, other = (torch.from_numpy(part) for part in np.ones((3, 1024), np.float32))
    step = ((out if is_argument else other).data_ptr() - x.data_ptr()) // 4
    for check in ("", "race,uninit"):
        with triton_runner.using(device="cpu", level=level, check=check):
            far[(1,)](x, out, step, BLOCK=64)  # a limit of the other checks
    with pytest.raises(triton_runner.KernelTrap) as caught:
        with triton_runner.using(device="cpu", level=level, check="view"):
            far[(1,)](x, out, step, BLOCK=64)
    assert caught.value.kind == "out of bounds" and "the end of argument 'x'" in caught.value.nearest
    with triton_runner.using(device="cpu", level=level, check="view"):
        far[(1,)](x, out, 1024 - 64, BLOCK=64)
    assert (out[:64] == 2).all()


@triton.jit
def by_table(table, out):
    tl.store(tl.load(table).to(tl.pointer_type(tl.float32)) + 1, 5.0)
    tl.store(out, 7.0)


@triton.jit(noinline=True)
def copy_each(p, q, n):
    for i in range(n):
        tl.store(q + i, tl.load(p + i) + 1)


@triton.jit(noinline=True)
def beyond(p, far):
    return p + far


@triton.jit
def by_calls(x, y, z, n, far, which):
    copy_each(x, y, n)
    copy_each(y, z, n)
    p = x
    if which > 0:
        p = beyond(y, far)
    tl.store(z + n, tl.load(p))


@pytest.mark.parametrize("level", KNOWN)
def test_pointers_that_functions_are_given_and_give_back(level):
    x, y, z = torch.ones(8), torch.zeros(8), torch.zeros(9)
    with triton_runner.using(device="cpu", level=level, check="view"):
        by_calls[(1,)](x, y, z, 8, 7, 1)
        assert z.tolist() == [3] * 8 + [2]
        by_calls[(1,)](x, y, z, 8, 7, 0)
        assert z[8] == 1
        with pytest.raises(triton_runner.KernelTrap, match="out of bounds"):
            by_calls[(1,)](x, y, z, 9, 7, 1)


@triton.jit
def chosen(x, y, z, table, which):
    p = x
    if which > 0:
        p = tl.load(table).to(tl.pointer_type(tl.float32))
    for _ in range(which):
        p += 1
    tl.store(z, tl.load(p))
    tl.store(z + 1, tl.load(tl.where(which > 1, y, x) + 2))


@pytest.mark.parametrize("level", KNOWN)
@pytest.mark.parametrize("which", [0, 1, 3])
def test_pointers_that_are_chosen(which, level):
    x, y, z, other = torch.arange(8.0), torch.arange(8.0) + 10, torch.zeros(2), torch.arange(8.0) + 20
    with triton_runner.using(device="cpu", level=level, check="view"):
        chosen[(1,)](x, y, z, torch.tensor([other.data_ptr()]), which)
    assert z.tolist() == [20 + which if which else 0, 12 if which > 1 else 2]


def test_a_pointer_in_memory_and_an_argument_write_to_one_tensor():
    out = torch.zeros(4)
    with triton_runner.using(device="cpu", check="view"):
        by_table[(1,)](torch.tensor([out.data_ptr()]), out)
    assert out.tolist() == [7, 5, 0, 0]


def test_empty_tensors_and_none_have_no_address_of_their_own():
    whole = torch.zeros(8)
    with triton_runner.using(device="cpu", check="view"):
        maybe[(1,)](torch.empty(0), None, whole)
    assert whole[0] == 1


@triton.jit
def maybe(x, bias, out):
    if bias is None:
        tl.store(out, (x.to(tl.int64) == 0).to(tl.float32))


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


HALVES = """
import torch, triton, triton.language as tl

@triton.jit
def copied(x, y, n, B: tl.constexpr):
    k = tl.arange(0, B)
    tl.store(y + k, tl.load(x + k, mask=k < n), mask=k < 32)

whole = torch.zeros(64, device="cuda")
copied[(1,)](whole[:32], whole[32:], 33, B=64)
"""


def test_verify_tells_whose_pointer_it_is(tmp_path):
    (tmp_path / "halves.py").write_text(HALVES)
    words = ("verify", "--pretend-cuda", "--check", "oob,race,view", "halves.py")
    done = warm.cli(*words, cwd=tmp_path)
    assert "warning, view at ttir" in done.stdout and "in the storage of argument 'x'" in done.stdout, (
        done.stdout
    )


ANOTHER = """
import numpy, torch, triton, triton.language as tl

@triton.jit
def scaled(x, y, step, B: tl.constexpr):
    k = tl.arange(0, B)
    tl.store(y + k, tl.load(x + k) * tl.load(x + step))

x, y, other = (torch.from_numpy(part) for part in numpy.ones((3, 64), numpy.float32))
scaled[(1,)](x, y, 128 if WRONG else 63, B=64)
assert (y == 1).all()
"""


@pytest.mark.parametrize("is_wrong", [True, False])
def test_verify_finds_an_access_that_lands_in_another_tensor(is_wrong, tmp_path):
    (tmp_path / "another.py").write_text(ANOTHER.replace("WRONG", str(is_wrong)))
    done = warm.cli("verify", "--pretend-cuda", "another.py", cwd=tmp_path)
    assert done.returncode == is_wrong, done.stdout
    if is_wrong:
        assert "fault, oob at ttir, ttgir, ptx: kernel 'scaled': out of bounds in tt.load" in done.stdout
        assert "past the end of argument 'x' (f32[64])\n    it lands in another tensor" in done.stdout


def test_verify_warns_and_strict_makes_it_a_fault(tmp_path):
    (tmp_path / "padded.py").write_text(PROGRAM)
    done = warm.cli("verify", "--pretend-cuda", "--check", "oob,view", "padded.py", cwd=tmp_path)
    assert done.returncode == 0 and "warning, view at ttir, ttgir, ptx" in done.stdout, done.stdout
    assert "memory of the program's own, as padding is" in done.stdout
    done = warm.cli("verify", "--pretend-cuda", "--strict", "--check", "view", "padded.py", cwd=tmp_path)
    assert done.returncode == 1 and "fault, view" in done.stdout, done.stdout
    assert "advice: mask the access with the sizes of the view" in done.stdout
