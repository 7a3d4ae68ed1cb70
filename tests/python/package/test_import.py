"""Tests what `import triton_runner` does not do: open a driver, import torch, print, or take long."""

import subprocess
import sys

import pytest

pytest.importorskip("triton")

DRIVERS = ("libcuda.so", "libcudart", "libamdhip64", "libnvidia", "libhsa-runtime")


def child(code: str) -> str:
    """Returns what a fresh interpreter prints on both streams."""
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


def test_import_takes_less_than_half_of_what_triton_takes():
    """50 ms beside the 140 ms of Triton, on any machine: both in one process, by CPU time."""
    code = (
        "import time\n"
        "begin = time.process_time()\n"
        "import triton\n"
        "middle = time.process_time()\n"
        "import triton_runner\n"
        "print((time.process_time() - middle) / (middle - begin))\n"
    )
    ratios = [float(child(code)) for _ in range(5)]
    assert min(ratios) < 0.5, ratios


def test_pickle_may_ask_every_module_for_a_name():
    """As it does for objects without a module; torch's compiler makes the keys of its cache so."""
    code = (
        "import pickle, sys, triton_runner\n"
        "from triton_runner import gluon, language, ptx, ir, testing, tlx, torch_utils\n"
        "sys.modules['utlx_plugin'] = None\n"
        "assert pickle.whichmodule(object(), 'a_name_of_nobody') == '__main__'\n"
        "assert not hasattr(tlx, 'local_alloc') and hasattr(gluon, 'amd')\n"
    )
    assert child(code) == ""


def test_public_names_have_docstrings():
    import triton_runner

    for name in triton_runner.__all__:
        value = getattr(triton_runner, name)
        assert value.__doc__, name
