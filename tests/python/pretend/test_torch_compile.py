"""Tests torch.compile on the CPU engine, both ways: a sample of the list that tests/compile/run.py
walks."""

import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("triton")
torch = pytest.importorskip("torch")

RUN = pathlib.Path(__file__).resolve().parents[2] / "compile" / "run.py"
SAMPLE = {
    "cpu_backend": ["sin_mul_relu", "softmax", "integers", "users_kernel"],
    "--pretend-cuda": ["swiglu", "rms_norm", "casts", "factories", "scans", "flex_causal", "dynamic_softmax"],
}
LARGE = {"cpu_backend": ["transformer_block"], "--pretend-cuda": ["transformer_block"]}


@pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="this torch is too old for cpu_backend")
@pytest.mark.parametrize(
    "sample", [SAMPLE, pytest.param(LARGE, marks=pytest.mark.long)], ids=["small", "large"]
)
@pytest.mark.parametrize("way", SAMPLE)
def test_sample(way, sample):
    flags = [way] if way.startswith("--") else []
    command = [sys.executable, str(RUN), *flags, "--trace", "--exactly", *sample[way]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout
    assert f"{len(sample[way])} of {len(sample[way])} as eager" in done.stdout, done.stdout


@pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="this torch is too old for cpu_backend")
def test_a_kernel_of_inductor_is_dumped_and_replaced():
    example = RUN.parents[2] / "examples" / "compile" / "with_inductor.py"
    words = f"-m triton_runner run --device cpu --pretend-cuda {example}".split()
    command = [sys.executable, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout
    assert all(f"{step}: " in done.stdout for step in ("dumped", "replaced", "as before")), done.stdout
