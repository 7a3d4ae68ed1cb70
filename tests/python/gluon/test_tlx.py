"""triton_runner.tlx where the plug-in is not: a kernel in TLX is imported and runs from its artifacts
(test_examples.py), and compiling it says what to install. tests/releases/test_tlx.py has the plug-in."""

import sys

import corpus
import matrix
import pytest

pytest.importorskip("triton")
import triton_runner
from triton_runner import tlx


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.syspath_prepend(str(matrix.EXAMPLES))
    from kernels import harness, tlx_matmul

    return harness, tlx_matmul


def test_the_name_that_the_fork_has():
    import triton.language.extra
    import triton.language.extra.tlx as by_its_name

    assert by_its_name is tlx is triton.language.extra.tlx


def test_the_command_that_installs_it(kernels, monkeypatch):
    monkeypatch.setitem(sys.modules, "utlx_plugin", None)
    tlx._plugin.cache_clear()
    harness, kernel = kernels
    assert not tlx.available()
    command = f"{sys.executable} -m pip install triton==3.8.0 triton-utlx"
    with triton_runner.using(device="cpu"), pytest.raises(triton_runner.DiagnosticError) as refused:
        kernel.run(harness.Device())
    assert "TLX is not installed" in str(refused.value) and command in str(refused.value)


@pytest.mark.parametrize("check", ["race", "oob", "uninit"])
@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx", "cubin"])
@pytest.mark.parametrize("kernel", matrix.TLX)
def test_the_artifacts_are_clean_under_the_checks(kernels, kernel, level, check):
    import importlib

    harness = kernels[0]
    device = harness.Device()
    folder = str(corpus.folder(matrix.TLX_RELEASE) / f"sm{matrix.TLX[kernel]}")
    with triton_runner.using(device="cpu", check=check):
        found = importlib.import_module(f"kernels.{kernel}").run(device, **{f"{level}_dir": folder})
    for name, got, expected, tolerance in found:
        assert float(abs(device.host(got) - expected).max()) <= tolerance, name
