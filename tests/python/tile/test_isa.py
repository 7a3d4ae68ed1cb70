"""TRITON_RUNNER_ISA: launches as on a machine with less, to the same bits; what a machine lacks is said."""

import functools
import os
import subprocess
import sys
import tempfile

import pytest

PROGRAM = """
import hashlib
import torch
import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def kernel(a, b, out, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x, y = tl.load(a + i * N + j), tl.load(b + i * N + j)
    p = tl.softmax(x.to(tl.float32)) + tl.dot(x, y)
    p += tl.cumsum(tl.exp(p * 1e-2), 1) / (1 + tl.max(tl.abs(p), 0))[None, :]
    tl.store(out + i * N + j, tl.sort(p.to(tl.bfloat16)).to(tl.float32))


torch.manual_seed(1)
a, b = torch.randn(64, 64).half(), torch.randn(64, 64).half()
digest = hashlib.sha256()
for level in ("ttir", "ttgir", "ptx"):
    out = torch.zeros(64, 64)
    kernel[(1,)](a, b, out, N=64, device="cpu", target="cuda:80", level=level)
    digest.update(out.numpy().tobytes())
print(triton_runner._core.isa(), digest.hexdigest())
"""


@functools.cache
def run(isa: str):
    env = {**os.environ, "TRITON_RUNNER_ISA": isa, "TRITON_RUNNER_PROD": "1", "PYTHONWARNINGS": "ignore"}
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(PROGRAM)
        file.flush()
        return subprocess.run([sys.executable, file.name], capture_output=True, text=True, env=env)


def test_every_instruction_set_gives_the_same_bits():
    pytest.importorskip("torch")
    isa, bits = run("").stdout.split()
    for lesser in ("avx2", "portable"):
        if lesser == "avx2" and isa == "portable":
            continue  # test_what_is_not_there_is_said has it
        done = run(lesser)
        assert done.stdout.split() == [lesser, bits], done.stdout + done.stderr


@pytest.mark.parametrize("isa", ["avx512", "avx2", "sse9"])
def test_what_is_not_there_is_said(isa):
    code = "from triton_runner import _core, _settings; _settings.current(); print(_core.isa())"

    def asked(isa):
        env = {**os.environ, "TRITON_RUNNER_ISA": isa}
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)

    done, best = asked(isa), asked("").stdout.strip()
    order = ("portable", "avx2", "avx512")
    if isa in order and order.index(isa) <= order.index(best):
        assert done.stdout.strip() == isa
    else:
        assert done.returncode != 0 and f"TRITON_RUNNER_ISA is '{isa}'".replace(
            "'", ""
        ) in done.stderr.replace("'", "")
