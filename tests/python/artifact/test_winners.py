"""Tests autotune_cubin_dir=: what autotuning found is saved and loaded, with nothing compiled or timed."""

import json
import os
import sys
import textwrap

import pytest
import triton
import triton.language as tl
import triton_runner
import warm
from triton_runner._jit import winners

torch = pytest.importorskip("torch")
CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((16, 2), (32, 4), (64, 4))]
PROGRAM = """
import sys, torch, triton, triton.language as tl, triton_runner
folder, n = sys.argv[1], int(sys.argv[2])
timed = []
configs = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((16, 2), (32, 4), (64, 4))]

def bench(launch, quantiles=None, **_):
    timed.append(launch())
    return [len(timed) % 3 + 1.0] * 3  # the last of three wins

@triton_runner.autotune(configs, key=["n"], do_bench=bench, autotune_cubin_dir=folder)
@triton_runner.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def go(x, n):
    y = torch.zeros(n + 5)
    kernel = twice[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, n)
    assert (y[:n] == 2 * x[:n]).all() and not y[n:].any()
    return kernel

x = torch.arange(200.0)
kernels = [go(x, n), go(x, n), go(x[1:], n)]
print(len(timed), *(type(kernel).__name__ for kernel in kernels))
"""


def launched(folder, n=100, **environment):
    program = folder.parent / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    done = warm.run(
        [sys.executable, program, folder, str(n)], capture_output=True, text=True,
        env={**os.environ, "TRITON_RUNNER_PROD": "1", **environment})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.long
def test_winners_are_loaded_by_other_processes(tmp_path):
    folder = tmp_path / "winners"
    # One key, two alignments of x: what Triton specialises apart is tuned apart.
    first = launched(folder)
    assert first[2] == "ArtifactKernel" and int(first[0]) >= 3
    assert launched(folder) == ["0", *["ArtifactKernel"] * 3]
    index = json.loads((folder / "index.json").read_text())
    assert len(index) == 2 and {entry["kwargs"]["BLOCK"] for entry in index.values()} == {64}
    for entry in index.values():
        assert sorted(path.name for path in (folder / entry["folder"]).iterdir()) == [
            "twice.json", "twice.ttir", "winner.json"
        ]  # fmt: skip
    assert launched(folder, 64)[0] != "0"  # another key
    assert launched(folder, TRITON_RUNNER_LEVEL="ttgir")[0] != "0"
    (folder / "index.json").write_text("{")
    with pytest.raises(AssertionError, match="is not JSON"):
        launched(folder)


@triton_runner.jit
def scaled(x, y, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)


def test_a_winner_as_a_configuration(tmp_path):
    """As the original has it: the folders of winners are what is tuned over."""
    x = torch.arange(64.0)
    for block in (16, 32):
        kernel = scaled.warmup(x, x, 64, 3, BLOCK=block, grid=(1,))
        folder = tmp_path / str(block)
        folder.mkdir()
        (folder / "scaled.ttir").write_text(kernel.asm["ttir"])
        (folder / "winner.json").write_text(json.dumps({"level": "ttir", "kwargs": {"BLOCK": block}}))
    tuned = triton_runner.autotune(
        [triton.Config({"autotune_cubin_dir": str(tmp_path / str(block))}) for block in (16, 32)], key=["n"]
    )(scaled)
    y = torch.zeros(64)
    tuned[lambda meta: (64 // meta["BLOCK"],)](x, y, 64, 3)
    assert (y == 3 * x).all()


def test_folders_of_the_original(tmp_path):
    said = "(('g', '*fp32', 'D', False), ('D', 'constexpr', 12, False), ('BT', 'constexpr', 128, True))"
    (tmp_path / "k.json").write_text(json.dumps({"kernel_signature": said}))
    assert winners.expand({"autotune_cubin_dir": str(tmp_path), "x": 1}) == {
        "x": 1, "BT": 128, "cubin_dir": str(tmp_path)
    }  # fmt: skip
    with pytest.raises(triton_runner.DiagnosticError, match=r"holds no winner\.json"):
        winners.expand({"autotune_cubin_dir": str(tmp_path / "none")})


def test_plain_kernels_are_refused(tmp_path):
    with pytest.raises(triton_runner.DiagnosticError, match=r"needs a kernel of triton_runner\.jit"):
        triton_runner.autotune(CONFIGS, key=["n"], autotune_cubin_dir=tmp_path)(triton.jit(scaled.fn))
