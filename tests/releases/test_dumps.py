"""dl.dump in its argument forms and the examples that dump, with this release, on NumPy arrays."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
import triton_runner
import triton_runner.language as dl

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RELEASE = tuple(int(part) for part in triton.__version__.split(".")[:2])
# LLIR and PTX are compiled from 3.9's TTGIR, which releases from 3.5 on read.
SINCE = {"gluon": (3, 4), "llir": (3, 5), "ptx": (3, 5), "tlx": (3, 5)}
SCRIPTS = sorted(
    path.relative_to(EXAMPLES).as_posix()
    for path in EXAMPLES.glob("d[ue]*/*/*/*.py")
    if SINCE.get(path.parts[-3], RELEASE) <= RELEASE
    and path.parts[-3:-1] != ("tlx", "python")  # needs the plug-in: test_tlx.py
)
BLOCK, PROGRAMS = 16, 4


@triton_runner.jit
def helper(x, offset):
    dl.dump(tl.max(x, 0), offset, 1)
    return x + 1


@triton_runner.jit
def forms_kernel(x_ptr, out_ptr, last, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    dl.dump(x)
    dl.dump(x, BLOCK, 3)
    dl.dump(x, 2 * BLOCK, (3, 0))
    dl.dump(x[:, None], 3 * BLOCK, (3, 0, 0))
    dl.dump(x.to(tl.bfloat16), pid * BLOCK + 2 * BLOCK, (last, tl.program_id(1)))
    dl.dump_boundary(x, 5 * BLOCK)
    dl.dump_grids(x, offset=6 * BLOCK)
    dl.dump(last, 10 * BLOCK)
    dl.dump((tl.sum(x, 0), last), 10 * BLOCK + 1)
    tl.store(out_ptr + offsets, helper(x, 10 * BLOCK + 3))


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_forms(level):
    x = np.arange(BLOCK * PROGRAMS, dtype=np.float32)
    out, dump = np.zeros_like(x), np.full(10 * BLOCK + 4, -1, np.float32)
    kernel = forms_kernel[(PROGRAMS,)](x, out, 2, BLOCK=BLOCK, dump_tensor=dump, level=level)
    assert "tt.print" in kernel.asm["ttir"]
    np.testing.assert_array_equal(out, x + 1)
    blocks = x.reshape(PROGRAMS, BLOCK)
    of_programs = [0, 3, 3, 3, 2, 3, 0, 1, 2, 3]
    np.testing.assert_array_equal(dump[: 10 * BLOCK].reshape(-1, BLOCK), blocks[of_programs])
    assert dump[10 * BLOCK :].tolist() == [2, blocks[0].sum(), 2, blocks[1].max()]


def test_switched_off(monkeypatch):
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "0")
    x = np.arange(BLOCK * PROGRAMS, dtype=np.float32)
    for _ in range(2):
        for wanted in (True, False):
            with triton_runner.using(dump=wanted):
                kernel = forms_kernel[(PROGRAMS,)](x, np.zeros_like(x), 2, BLOCK=BLOCK)
            assert ("tt.print" in kernel.asm["ttir"]) == wanted
    triton_runner.dumps()


def test_value_by_name():
    x = np.arange(BLOCK * PROGRAMS, dtype=np.float32)
    launch = lambda **more: forms_kernel[(PROGRAMS,)](x, np.zeros_like(x), 2, BLOCK=BLOCK, **more)  # noqa: E731
    [name] = [line.split()[0] for line in launch().asm["ttir"].splitlines() if "= tt.load " in line]
    triton_runner.dumps()
    launch(dump_value=name, dump_grid=1)
    [recorded] = triton_runner.dumps()
    [loaded] = [values for values in recorded.values if not values.site.marker]
    np.testing.assert_array_equal(loaded[1], x[BLOCK : 2 * BLOCK])
    launch(dump_value="x", dump_grid=2, level="ttgir")
    [recorded] = triton_runner.dumps()
    np.testing.assert_array_equal(
        recorded["x"][2], x[2 * BLOCK : 3 * BLOCK], err_msg="by the variable's name"
    )


@pytest.mark.parametrize("script", SCRIPTS)
def test_example(script, capfd):
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / script))
    said = capfd.readouterr().out
    assert not ended.value.code, said
    assert "The maximum difference between numpy and dump is" in said
    assert "✅ Triton and NumPy match" in said
