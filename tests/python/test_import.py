"""What `import triton_runner` does not do: open a driver, import torch, print, or take long."""

import subprocess
import sys

import pytest

pytest.importorskip("triton")

DRIVERS = ("libcuda.so", "libcudart", "libamdhip64", "libnvidia", "libhsa-runtime")


def child(code: str) -> str:
    """What a fresh interpreter prints on both streams."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_import_opens_no_driver_and_no_torch():
    code = (
        "import sys, warnings, triton\n"
        "show = warnings.showwarning\n"
        "before = set(sys.modules)\n"
        "import triton_runner\n"
        "assert warnings.showwarning is show\n"
        "assert 'torch' not in set(sys.modules) - before\n"
        "import pathlib\n"
        "maps = pathlib.Path('/proc/self/maps').read_text()\n"
        f"assert not [d for d in {DRIVERS!r} if d in maps]\n"
    )
    assert child(code) == ""


def test_import_takes_under_50_ms():
    code = (
        "import time, triton\n"
        "begin = time.perf_counter()\n"
        "import triton_runner\n"
        "print((time.perf_counter() - begin) * 1e3)\n"
    )
    times = [float(child(code)) for _ in range(5)]
    assert min(times) < 50, times


def test_public_names_have_docstrings():
    import triton_runner

    for name in triton_runner.__all__:
        value = getattr(triton_runner, name)
        assert value.__doc__, name
