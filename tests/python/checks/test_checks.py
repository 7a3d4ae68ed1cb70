"""Tests check="nan,uninit,race" and shuffle=: keywords, settings, environment, options of the command
line."""

import inspect
import textwrap

import numpy as np
import pytest
import warm

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_tests import add  # noqa: E402
from triton_runner import DiagnosticError, KernelTrap  # noqa: E402

ALL = "oob,nan,uninit,race"


@triton_runner.jit
def mean(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + row * BLOCK + offsets, mask=offsets < n, other=0.0)
    tl.store(out + row, tl.sum(value, 0) / n.to(tl.float32))  # line of the fault


@triton_runner.jit
def row_max(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets, mask=offsets < n)
    tl.store(out, tl.max(value, 0))


@triton_runner.jit
def double(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask=offsets < n, other=0.0), mask=offsets < n)


@triton_runner.jit
def count(out, n):
    for _ in range(n):
        tl.store(out, tl.load(out) + 1)


@triton_runner.jit
def count_atomically(out, n):
    for _ in range(n):
        tl.atomic_add(out, 1)


@triton_runner.jit
def add_under_lock(lock, out):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def line_of(kernel, text):
    """The number of the source line of a kernel that holds `text`, as a text."""
    lines, first = inspect.getsourcelines(kernel.fn)
    return str(next(first + i for i, line in enumerate(lines) if text in line))


def test_nan_names_the_line_that_makes_it():
    with pytest.raises(KernelTrap) as trapped:
        mean[(3,)](torch.ones(24), torch.zeros(3), 0, BLOCK=8, check="nan")
    error = trapped.value
    assert error.kind == "not a number" and error.op == "arith.divf"
    assert error.location.split(":")[-2] == line_of(mean, "line of the fault")
    assert "= 0, %" in str(error)
    mean[(3,)](torch.ones(24), torch.zeros(3), 0, BLOCK=8)  # without the check it is a value like any other


def test_a_nan_of_the_input_is_reported_only_when_asked_for():
    x = torch.full((1000,), float("nan"))
    add[(4,)](x, x, torch.zeros(1000), 1000, BLOCK=256, check="nan")
    with pytest.raises(KernelTrap, match=r"tt\.load"):
        add[(4,)](x, x, torch.zeros(1000), 1000, BLOCK=256, check="nanload")
    with pytest.raises(KernelTrap, match=r"the result is inf"):
        add[(4,)](torch.full((1000,), 3e38), torch.full((1000,), 3e38), x, 1000, BLOCK=256, check="inf")


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_uninitialised_lanes_that_reach_a_result(level):
    x, out = torch.arange(8.0), torch.zeros(1)
    row_max[(1,)](x, out, 8, BLOCK=8, check="uninit", level=level)
    assert out[0] == 7
    with pytest.raises(KernelTrap) as trapped:
        row_max[(1,)](x, out, 5, BLOCK=8, check="uninit", level=level)
    error = trapped.value
    assert error.kind == "uninitialized value" and error.op == "tt.store"
    assert any("comes from tt.load" in note and "element [5]" in note for note in error.notes)


def test_torch_empty_until_it_is_written():
    out = torch.zeros(16)
    with triton_runner.track_empty(), triton_runner.using(check="uninit"):
        x = torch.empty(16)
        with pytest.raises(KernelTrap, match="never written"):
            double[(1,)](x, out, 16, BLOCK=16)
        x[:] = 1  # a torch op writes
        double[(1,)](x, out, 16, BLOCK=16)
        assert (out == 2).all()

        y = torch.empty_like(out)
        double[(1,)](x, y, 10, BLOCK=16)  # a kernel writes ten of them
        double[(1,)](y, out, 10, BLOCK=16)
        with pytest.raises(KernelTrap) as trapped:
            double[(1,)](y, out, 11, BLOCK=16)
        assert any("element [10]" in note for note in trapped.value.notes)

        z = torch.empty(16)
        z.numpy()[:] = 3  # somebody else may write from here on
        double[(1,)](z, out, 16, BLOCK=16)
        w = torch.empty(16)
        double[(1,)](x, w, 16, BLOCK=16, check="oob")  # a launch that does not look
        double[(1,)](w, out, 16, BLOCK=16)
    double[(1,)](torch.empty(16), out, 16, BLOCK=16, check="uninit")  # outside of the block nothing is known


RELEASING_STORE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 out)
.reqntid 32
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.release.gpu.global.b32 [%rd3], %r1;
  ret;
}
"""


def test_a_releasing_store_reads_nothing():
    with triton_runner.track_empty(), triton_runner.using(check="uninit"):
        out = torch.empty(32, dtype=torch.int32)
        triton_runner.load(RELEASING_STORE)[(1,)](out)
    assert out.tolist() == list(range(32))


def test_races_between_programs():
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(KernelTrap) as trapped:
        count[(4,)](out, 3, check="race")
    error = trapped.value
    assert error.kind == "data race" and "which program (" in str(error)
    assert (
        str(line_of(count, "tl.store")) in error.notes[0]
        and str(line_of(count, "tl.store")) in error.location
    )
    count_atomically[(4,)](out, 3, check=ALL)
    lock = torch.zeros(1, dtype=torch.int32)
    for seed in range(4):
        add_under_lock[(8,)](lock, out, check=ALL, shuffle=seed)


def test_shuffled_programs_lose_updates_the_same_way_each_time():
    def run(kernel, seed):
        out = torch.zeros(1, dtype=torch.int32)
        kernel[(16,)](out, 4, shuffle=seed)
        return int(out[0])

    assert len({run(count, seed) for seed in range(6)}) > 1
    assert [run(count, 3) for _ in range(3)] == [run(count, 3)] * 3
    assert {run(count_atomically, seed) for seed in range(4)} == {64}


def test_load_takes_check_and_shuffle():
    text = dict(count.warmup(torch.zeros(1, dtype=torch.int32), 3, grid=(1,)).asm)["ttir"]
    out = np.zeros(1, np.int32)
    triton_runner.load(text)[(4,)](out, 3)
    assert out[0] == 12
    with pytest.raises(KernelTrap, match="data race"):
        triton_runner.load(text, check="race")[(4,)](out, 3)
    out[0] = 0
    triton_runner.load(text, shuffle=1)[(16,)](out, 3)
    assert 0 < out[0] < 48
    with pytest.raises(DiagnosticError, match="unknown check 'races'"):
        triton_runner.load(text, check="races")


def command(*arguments, **environment):
    return warm.cli(*arguments, variables=environment)


def test_environment_and_command_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import torch, triton, triton.language as tl

            @triton.jit
            def copy(x, out, N: tl.constexpr):
                tl.store(out + tl.arange(0, N), tl.load(x + tl.arange(0, N)))

            copy[(1,)](torch.empty(8), torch.zeros(8), N=8)
            """
        )
    )
    assert command("run", str(script)).returncode == 0
    for done in (
        command("run", "--check=uninit", str(script)),
        command("run", str(script), TRITON_RUNNER_CHECK="oob,uninit"),
    ):
        assert done.returncode == 1
        assert "uninitialized value in tt.store" in done.stderr and "script.py:6" in done.stderr
    ttir = tmp_path / "count.ttir"
    ttir.write_text(dict(count.warmup(torch.zeros(1, dtype=torch.int32), 3, grid=(1,)).asm)["ttir"])
    arguments = ("exec", str(ttir), "--grid", "16", "--arg", "i32[1]=zeros", "--arg", "3")
    # One thread: two threads lose counts of this racy kernel now and then.
    assert "[48]" in command(*arguments, TRITON_RUNNER_THREADS="1").stdout
    assert "[48]" not in command(*arguments, "--shuffle", "2").stdout
    assert (
        command(*arguments, TRITON_RUNNER_SHUFFLE="2").stdout.splitlines()[1:]
        == (command(*arguments, "--shuffle", "2").stdout.splitlines()[1:])
    )
    assert "data race" in command(*arguments, "--check", "race").stderr


def test_timing():
    with pytest.raises(DiagnosticError, match="unknown timing 'soon'"):
        triton_runner.using(timing="soon").__enter__()
    out = torch.zeros(1, dtype=torch.int32)
    for timing in ("eager", "late", 7, "7"):
        count_atomically[(4,)](out, 3, timing=timing)
    with triton_runner.using(timing="late"):
        count_atomically[(4,)](out, 3)
    assert int(out[0]) == 60
