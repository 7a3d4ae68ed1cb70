"""Kernels in TLX from Python, on the engines of the CPU at every level that has one."""

import importlib
import os
import runpy
import subprocess
import sys
from pathlib import Path

import matrix
import pytest
import triton
import triton_runner

if not triton.__version__.startswith("3.8."):
    pytest.skip("TLX is a plug-in of Triton 3.8", allow_module_level=True)
if not triton_runner.tlx.available():
    pytest.skip("triton-utlx is not installed beside this Triton 3.8", allow_module_level=True)


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
@pytest.mark.parametrize("kernel", matrix.TLX)
def test_it_matches(kernel, level):
    harness = importlib.import_module("kernels.harness")
    device = harness.Device()
    with triton_runner.using(device="cpu", target=f"cuda:{matrix.TLX[kernel]}", check="race"):
        found = importlib.import_module(f"kernels.{kernel}").run(device, level=level)
    for name, got, expected, tolerance in found:
        assert float(abs(device.host(got) - expected).max()) <= tolerance, name


@pytest.mark.parametrize("level", ["ttir", "ptx"])
def test_the_name_that_the_fork_has(level, tmp_path, monkeypatch):
    """Scripts of the original import triton.language.extra.tlx."""
    source = Path(importlib.import_module("kernels.tlx_matmul").__file__).read_text()
    text = source.replace("from triton_runner import tlx", "import triton.language.extra.tlx as tlx")
    assert text != source
    (tmp_path / "of_the_fork.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    harness = importlib.import_module("kernels.harness")
    device = harness.Device()
    with triton_runner.using(device="cpu", target="cuda:90"):
        found = importlib.import_module("of_the_fork").run(device, level=level)
    for name, got, expected, tolerance in found:
        assert float(abs(device.host(got) - expected).max()) <= tolerance, name


@pytest.mark.parametrize("kernel", ["in_one_place", "of_one_spec"])
@pytest.mark.parametrize("level", ["ttgir", "ptx"])
def test_buffers_in_the_place_of_others(kernel, level):
    harness = importlib.import_module("kernels.harness")
    device = harness.Device()
    with triton_runner.using(device="cpu", target="cuda:90", check="race"):
        found = getattr(importlib.import_module("tlx_kernels"), f"run_{kernel}")(device, level=level)
    for name, got, expected, tolerance in found:
        assert float(abs(device.host(got) - expected).max()) <= tolerance, name


@pytest.mark.parametrize("script, target", [("dump_acc", "cuda:90"), ("dump_tcgen05", "cuda:100")])
@pytest.mark.parametrize("level", ["ttgir", "ptx"])
def test_a_variable_is_dumped(script, target, level, capfd):
    """The accumulator of the product's loop, by its name in the source."""
    path = Path(__file__).resolve().parents[2] / "examples/dump/tlx/python" / f"{script}.py"
    with triton_runner.using(device="cpu", target=target, level=level), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path))
    assert not ended.value.code and "match" in capfd.readouterr().out


def test_an_artifact_brings_the_plug_in():
    """The plug-in brings what lowers the ops of TLX in a TTGIR; nothing else imports it."""
    script = Path(__file__).resolve().parents[2] / (
        "examples/runner/tlx/v3.8.0/ttgir/sm90/hopper-fa-ws-pipelined-pingpong.py"
    )
    environment = {**os.environ, "TRITON_RUNNER_LEVEL": "ptx"}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "match" in done.stdout, done.stderr[-2000:]
