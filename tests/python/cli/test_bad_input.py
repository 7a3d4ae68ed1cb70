"""Bad input that lives in Python: each gives a message that names what is wrong and what to do, and no crash.

Faults of an IR file alone are in tests/cases/bad-input.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import triton_runner

CASES = pathlib.Path(__file__).resolve().parents[2] / "cases" / "bad-input"


def source(case: str) -> str:
    """The IR of a golden case."""
    return (CASES / case).read_text().split("// ---- expected")[0]


ADD = source("masked-out-of-bounds.ttir")
ENDLESS = source("bad-endless.ttir")


@pytest.fixture
def add():
    return triton_runner.load(ADD, device="cpu")


def arrays(n: int = 64) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n, dtype=np.float32), np.zeros(n, dtype=np.float32)


def test_good(add):
    x, y = arrays()
    add[(1,)](x, y, 64)
    assert (y == 2 * x).all()


KINDS = (TypeError, ValueError)
# The arguments that are passed in place of (x, y, 64), what they raise, and what that says.
WRONG = {
    **{
        f"{n} arguments": (lambda x, y, n=n: [x, y, 64, 1][:n], KINDS, "argument|parameter")
        for n in (0, 2, 4)
    },
    **{f"n={n!r}": (lambda x, y, n=n: [x, y, n], KINDS, "n") for n in ("64", 64.0, None, [64])},
    **{
        f"n={n}": (lambda x, y, n=n: [x, y, n], (OverflowError, ValueError), "range|fit|i32")
        for n in (2**32, -(2**31) - 1, 2**64, 10**30)
    },
    "a number for a pointer": (lambda x, y: [1.5, y, 64], KINDS, ""),
    "the element type": (lambda x, y: [x.astype(np.float64), y, 64], KINDS, "f32|float32"),
    "not contiguous": (lambda x, y: [np.repeat(x, 2)[::2], y, 64], ValueError, "contiguous"),
    "an object without memory": (lambda x, y: [object(), y, 64], KINDS, ""),
}


@pytest.mark.parametrize(("passed", "raised", "says"), WRONG.values(), ids=WRONG)
def test_arguments(add, passed, raised, says):
    x, y = arrays()
    with pytest.raises(raised, match=says):
        add[(1,)](*passed(x, y))
    assert not y.any()


def test_read_only_numpy_is_never_written(add):
    x, y = arrays()
    y.flags.writeable = False
    with pytest.raises((ValueError, RuntimeError), match=r"read-only|not writable|writable"):
        add[(1,)](x, y, 64)
    assert not y.any()


def test_tensor_on_another_device(add):
    torch = pytest.importorskip("torch")
    _x, y = arrays()
    with pytest.raises((TypeError, ValueError), match="meta"):
        add[(1,)](torch.empty(64, device="meta"), y, 64)
    assert not y.any()


@pytest.mark.parametrize(
    "grid", [(0,), (-1,), (1, 0), (1, 65536), (1, 1, 65536), (2**31,), (1, 1, 1, 1), (), ("1",), (1.5,)]
)
def test_grid(add, grid):
    x, y = arrays()
    with pytest.raises((TypeError, ValueError), match="grid"):
        add[grid](x, y, 64)
    assert not y.any()


def test_out_of_bounds_leaves_the_neighbours_alone(add):
    x, y = arrays(192)
    with pytest.raises(RuntimeError, match="out of bounds") as caught:
        add[(2,)](x, y[:64], 128)  # the view's storage is the whole array: that much may be touched, no more
        add[(2,)](x[:64].copy(), y[:64].copy(), 128)
    # The memory behind x may be y, which may be read.
    assert re.search(r"tt\.(load|store) .*program", str(caught.value))


def test_missing_file():
    with pytest.raises((OSError, ValueError), match=r"no_such\.ttir"):
        triton_runner.load("no_such.ttir", device="cpu")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("secret.ttir", None, r"secret\.ttir"),  # a folder, unreadable for root too
        ("cut.ttir", ADD[:700].encode(), r"cut\.ttir:\d+:\d+"),
        ("k.cubin", b"\x7fELF" + bytes(60), r"k\.cubin"),
    ],
)
def test_files(tmp_path, name, content, says):
    path = tmp_path / name
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises((OSError, ValueError), match=says):
        triton_runner.load(str(path), device="cpu")


def test_kernel_not_in_the_file():
    with pytest.raises(ValueError, match="add_kernel"):
        triton_runner.load(ADD, name="add_kernl", device="cpu")


def test_ptx_that_does_not_say_its_block(tmp_path):
    path = tmp_path / "k.ptx"
    path.write_text(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n")
    with pytest.raises(ValueError, match="how many threads a block has"):
        triton_runner.load(str(path), device="cpu")[(1,)]()
    triton_runner.load(str(path), device="cpu", block=(32, 1, 1))[(1,)]()


def run_child(code: str, **environment: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code, ENDLESS],
        env=os.environ | {"TRITON_RUNNER_DEVICE": "cpu"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


# A shell that starts a job in the background has it ignore SIGINT, and so do the job's children.
SPIN = """
import signal, sys, numpy as np, triton_runner
signal.signal(signal.SIGINT, signal.default_int_handler)
kernel = triton_runner.load(sys.argv[1], device="cpu")
print("running", flush=True)
kernel[(1,)](np.zeros(1, dtype=np.int32))
"""


def test_timeout():
    child = run_child(SPIN, TRITON_RUNNER_TIMEOUT="0.3")
    output, _ = child.communicate()
    assert child.returncode == 1 and "KernelTrap" in output and "time" in output.lower(), output


def test_ctrl_c_stops_a_kernel_at_once():
    child = run_child(SPIN)
    assert child.stdout.readline().strip() == "running"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    try:
        output, _ = child.communicate()
    finally:
        child.kill()
    assert "KeyboardInterrupt" in output, output


def test_the_process_goes_on_after_a_trap(add):
    x, y = arrays()
    for _ in range(3):
        with pytest.raises(RuntimeError):
            add[(100,)](x, y, 6400)
        y[:] = 0
    add[(1,)](x, y, 64)
    assert (y == 2 * x).all()
