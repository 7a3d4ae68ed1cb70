"""Kernels of plain triton.jit and gluon.jit are recorded at every level, as triton_runner.jit's are."""

import numpy
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
import triton_runner.language as dl  # noqa: E402
from triton_runner import dumping  # noqa: E402
from triton_runner._kernel.dumps import plain  # noqa: E402

X = numpy.arange(128, dtype=numpy.float32)
SUMS = X[64:].reshape(4, 16).cumsum(0)  # of program 1, after each iteration
LEVELS = ["ttir", "ttgir", "llir", "ptx", "cubin"]


@triton.jit
def add_up(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(n):
        total += tl.load(x_ptr + (tl.program_id(0) * n + i) * BLOCK + offsets)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offsets, total)


@triton.jit
def stated(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(n):
        total += tl.load(x_ptr + (tl.program_id(0) * n + i) * BLOCK + offsets)
    dl.dump(total, 0, 1)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offsets, total)


def launch(kernel, **keywords):
    out = torch.zeros(32)
    kernel[(2,)](torch.from_numpy(X), out, 4, BLOCK=16, **keywords)
    assert (out[16:].numpy() == SUMS[-1]).all()


@pytest.mark.parametrize("level", LEVELS)
def test_around_a_launch(level, capfd):
    with (
        triton_runner.using(target="cuda:80"),
        dumping(add_up, "total", level=level, every_iteration=True) as d,
    ):
        launch(add_up, num_warps=1)
    assert len(d.launches) == 1
    assert [(d["total"][1, i] == sums).all() for i, sums in enumerate(SUMS)] == [True] * 4
    assert not capfd.readouterr().out  # the lines about the cache are those of triton_runner.jit
    launch(add_up)  # outside: as if nothing had been
    assert len(d.launches) == 1 and not triton_runner.dumps()


@pytest.mark.parametrize("level", LEVELS)
def test_statements(level):
    with triton_runner.using(target="cuda:80", level=level):
        launch(stated)
        [dump] = triton_runner.dumps()
        assert (next(iter(dump)).to_numpy() == SUMS[-1]).all()
        with triton_runner.using(dump=False):
            launch(stated)
        assert not triton_runner.dumps()


def test_under_an_autotuner():
    configs = [triton.Config({}, num_warps=warps) for warps in (1, 2)]
    tuned = triton.autotune(configs, key=["n"])(add_up)
    with triton_runner.using(target="cuda:80"), dumping(add_up, "total", level="ptx") as d:
        launch(tuned)
    assert (d["total"][1] == SUMS[-1]).all()


def test_gluon():
    gluon = pytest.importorskip("triton.experimental.gluon")
    gl = pytest.importorskip("triton.experimental.gluon.language")

    @gluon.jit
    def copy(in_ptr, out_ptr, BLOCK: gl.constexpr):
        offsets = gl.arange(0, BLOCK, layout=gl.BlockedLayout([1], [32], [4], [0]))
        x = gl.load(in_ptr + offsets)
        gl.store(out_ptr + offsets, x)

    with triton_runner.using(target="cuda:80"), dumping(copy, "x", level="ptx") as d:
        copy[(1,)](torch.from_numpy(X), torch.zeros(128), BLOCK=128)
    assert (d["x"][0] == X).all()


def test_the_same_kernel_keeps_what_it_compiled():
    launch(add_up)
    recorded = plain.recorded(add_up)
    assert recorded.__dict__ is add_up.__dict__ and isinstance(recorded, type(add_up))
    assert not hasattr(add_up, "launch")  # Triton's own object stays as it is
