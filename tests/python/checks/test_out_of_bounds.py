"""oob="report": every place that goes out of bounds, once, and the program goes on; and what a trap says of
the pointer and the loops."""

import json
import textwrap
from unittest import mock

import numpy as np
import pytest
import warm

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError, KernelTrap  # noqa: E402
from triton_runner._memory import registry  # noqa: E402

LEVELS = ("ttir", "ttgir", "ptx")


@triton_runner.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + at)  # line of the load
    tl.store(y_ptr + at, value + 1)  # line of the store
    tl.atomic_add(y_ptr + n + tl.program_id(0), 5)  # line of the atomic


@triton_runner.jit
def rows(x_ptr, y_ptr, count, stride, BLOCK: tl.constexpr):
    pointers = x_ptr + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(count):
        for _ in range(2):
            total += tl.load(pointers)
        pointers += stride
    tl.store(y_ptr + tl.arange(0, BLOCK), total)


@triton_runner.jit
def behind(table_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    pointers = tl.load(table_ptr + at).to(tl.pointer_type(tl.float32))
    tl.store(y_ptr + at, tl.load(pointers))


@pytest.fixture(autouse=True)
def forget():
    triton_runner.faults(clear=True)
    yield
    triton_runner.faults(clear=True)


def alone(values) -> torch.Tensor:
    """A tensor with memory around it that is nobody's: torch puts small ones side by side."""
    values = torch.as_tensor(values)
    room = 1 << 16
    buffer = bytearray(2 * room + values.nbytes)
    out = torch.frombuffer(buffer, dtype=values.dtype, count=values.numel(), offset=room)
    out.copy_(values)
    return out


def line_of(kernel, text):
    import inspect

    lines, first = inspect.getsourcelines(kernel.fn)
    return next(first + i for i, line in enumerate(lines) if text in line)


def by_kind() -> list[list]:
    """The faults of copy(): of its load, its store, its atomic. PTX may have several instructions of one."""
    order = (("tt.load", "ld."), ("tt.store", "st."), ("tt.atomic", "atom", "red"))
    found = [[f for f in triton_runner.faults() if f.op.startswith(names)] for names in order]
    assert all(found) and sum(map(len, found)) == len(triton_runner.faults())
    return found


def counts(level: str) -> list[int]:
    """How often each went wrong. At PTX several threads load the same element of a small tile."""
    load, store, atomic = (sum(fault.count for fault in faults) for faults in by_kind())
    return [load // 4 if level == "ptx" and load % 4 == 0 else load, store, atomic]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_each_place_is_noted_once_and_the_program_goes_on(level, threads, capsys):
    x = alone(torch.arange(100, dtype=torch.int32))
    y = alone(torch.full((120,), -1, dtype=torch.int32))
    with triton_runner.using(oob="report", threads=threads):
        copy[(4,)](x, y, 200, BLOCK=32, level=level)
    assert y[:100].tolist() == list(range(1, 101))
    assert y[100:].tolist() == [1] * 20  # what could not be read is 0
    (load,), (store,), (atomic,) = by_kind()
    lines = [line_of(copy, f"line of the {name}") for name in ("load", "store", "atomic")]
    found = [fault.line for fault in (load, store, atomic)]
    # LLVM counts the lines of Triton's inline assembly on: the load is in its second one.
    assert found == lines or (level == "ptx" and found == [lines[0] + 1, *lines[1:]])
    assert counts(level) == [28, 8, 4]
    assert load.program == (3, 0, 0) and store.program == (3, 0, 0) and atomic.program == (0, 0, 0)
    assert load.kind == "out of bounds" and load.argument == "x_ptr" and store.argument == "y_ptr"
    if level == "ptx":
        assert store.place == "y_ptr + 480 bytes"
    else:
        assert load.element == (4,) and load.place == "x_ptr + 100" and store.place == "y_ptr + 120"
        assert atomic.place == "y_ptr + 200"
    assert capsys.readouterr().err.count("[triton-runner] kernel 'copy'") == 3
    copy[(4,)](x, y, 200, BLOCK=32, level=level, oob="report")
    assert counts(level) == [56, 16, 8]
    assert not capsys.readouterr().err


@pytest.mark.parametrize("level", LEVELS)
def test_the_levels_leave_the_same(level):
    x = alone(torch.arange(1003, dtype=torch.int32))  # vectors at PTX are cut by the end
    y = alone(torch.zeros(1001, dtype=torch.int32))
    copy[(2,)](x, y, 2000, BLOCK=1024, level=level, oob="report")
    assert torch.equal(y, torch.arange(1, 1002, dtype=torch.int32))
    load, store, _ = (sum(fault.count for fault in faults) for faults in by_kind())
    assert (load, store) == (2048 - 1003, 2048 - 1001)


def test_without_it_the_first_is_a_trap():
    x, y = alone(torch.arange(100, dtype=torch.int32)), torch.zeros(128, dtype=torch.int32)
    with pytest.raises(KernelTrap, match=r"\(x_ptr \+ 100\)"):
        copy[(4,)](x, y, 0, BLOCK=32)
    assert not triton_runner.faults()
    with pytest.raises(DiagnosticError, match="unknown oob"):
        copy[(4,)](x, y, 0, BLOCK=32, oob="ignore")


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_a_trap_knows_its_pointer_and_its_iterations(level):
    x, y = alone(torch.zeros(64)), torch.zeros(16)
    with pytest.raises(KernelTrap) as trapped:
        rows[(1,)](x, y, 8, 16, BLOCK=16, level=level)
    error = trapped.value
    assert (
        error.argument == "x_ptr" and error.place == "x_ptr + 64"
    )  # through the pointers that a loop carries
    assert error.iterations[0] == 4  # TTGIR has unrolled the inner loop
    if level == "ttir":
        assert error.iterations == (4, 0) and "iterations (4, 0)" in str(error)
    assert "right at the end of argument 'x_ptr'" in str(error)
    with pytest.raises(KernelTrap) as trapped:  # the nearest tensor is not the one that was left
        rows[(1,)](x, y, 2**20, 2**20, BLOCK=16, level=level)
    assert trapped.value.argument == "x_ptr" and "x_ptr + 1048576" in str(trapped.value)


SCRIPT = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at))

room = bytearray(1 << 17)
x = torch.frombuffer(room, dtype=torch.float32, count=20, offset=1 << 16)
x.fill_(1)
double[(1,)](x, 20, BLOCK=32)
print(x.sum().item())
"""


@pytest.mark.parametrize("level", LEVELS)
def test_addresses_that_nobody_knows_cost_one_walk(level):
    """A walk over all that lives may take a second; a pointer that a kernel makes up is asked for once."""
    far = np.random.default_rng(3).integers(1 << 40, 1 << 46, 256) * 4
    with mock.patch.object(registry, "_walk", wraps=registry._walk) as walk:
        copy[(1,)](torch.from_numpy(far), torch.zeros(257, dtype=torch.int64), 256, BLOCK=256, level=level)
        assert walk.call_count == 0
        behind[(1,)](torch.from_numpy(far), torch.zeros(256), BLOCK=256, level=level, oob="report")
    assert triton_runner.faults() and walk.call_count <= 1


def test_run_reports_at_the_end(tmp_path):
    script = tmp_path / "double.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = warm.cli("run", "--device", "cpu", "--oob", "report", script)
    assert done.returncode == 1 and done.stdout.splitlines()[-1] == "40.0"
    assert "24 accesses out of bounds at 2 places" in done.stderr and "double.py:7" in done.stderr


def test_exec_says_so(tmp_path):
    text = """module {
  tt.func public @k(%x: !tt.ptr<i32>) {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %s = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %p = tt.addptr %s, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    tt.store %p, %r : tensor<8x!tt.ptr<i32>>
    tt.return
  }
}
"""
    file = tmp_path / "k.ttir"
    file.write_text(text)
    base = ["exec", file, "--grid", "1", "--json"]
    reports = ["--oob", "report"]
    done = warm.cli(*base, *reports, "--arg", "i32[6]=zeros")
    assert done.returncode == 1 and "2 accesses out of bounds at 1 place" in done.stderr
    assert json.loads(done.stdout)["changed"]
    done = warm.cli(*base, *reports, "--arg", "i32[8]=zeros")
    assert done.returncode == 0


@triton_runner.jit
def one_row(x_ptr, y_ptr, row, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + row * stride + at))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "row, stride, is_told",
    [
        (65536, 40000, True),  # 2,621,440,000 wraps to a negative number
        (100000, 50000, True),  # 5,000,000,000 to 705,032,704
        (1, 64, False), (-1, 64, False), (0, 0, None),
    ],
)  # fmt: skip
def test_a_far_address_may_come_of_an_overflow(level, row, stride, is_told):
    x, y = torch.zeros(64), torch.zeros(64)

    def launched(check):
        with triton_runner.using(level=level, device="cpu", check=check):
            one_row[(1,)](x, y, row, stride, BLOCK=64)

    if is_told is None:  # nothing is out of bounds
        return launched("")
    with pytest.raises(KernelTrap, match="out of bounds") as found:
        launched("")
    told = "so far from 'x_ptr', an integer may have overflowed: check=\"overflow\" says where one does"
    assert (told in found.value.notes) == is_told, found.value.notes
    with pytest.raises(KernelTrap, match="integer overflow" if is_told else "out of bounds") as found:
        launched("overflow")
    assert told not in found.value.notes


def test_the_command_line_names_its_option(tmp_path):
    (tmp_path / "far.py").write_text(
        "import torch, triton, triton.language as tl\n\n@triton.jit\n"
        "def far(x, y, row, stride, B: tl.constexpr):\n"
        "    at = tl.arange(0, B)\n    tl.store(y + at, tl.load(x + row * stride + at))\n\n"
        "far[(1,)](torch.zeros(64), torch.zeros(64), 65536, 40000, B=64)\n"
    )
    done = warm.cli("run", "--device", "cpu", str(tmp_path / "far.py"))
    assert "an integer may have overflowed: --check overflow says where one does" in done.stderr, done.stderr
