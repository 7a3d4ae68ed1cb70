"""Tests LLIR and PTX on the CPU through Python: entries, levels, metadata and its absence, messages."""

import json

import numpy as np
import pytest

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from kernels_for_tests import add, scale  # noqa: E402
from triton_runner import DiagnosticError, KernelTrap  # noqa: E402
from triton_runner._base.releases import installed  # noqa: E402

N = 300
GRID = ((N + 127) // 128,)


def inputs(n=N):
    return np.arange(n, dtype=np.float32), np.full(n, 2, np.float32), np.zeros(n, np.float32)


@pytest.fixture(scope="module")
def ptx():
    """PTX of add for blocks of 128 elements, compiled for sm_80."""
    x, y, out = inputs()
    return add.warmup(x, y, out, N, BLOCK=128, grid=(1,), target="cuda:80", level="ptx").asm["ptx"]


@pytest.mark.parametrize("target", ["cuda:75", "cuda:80", "cuda:90", "cuda:100", "cuda:120"])
def test_jit_executes_ptx(target):
    x, y, out = inputs()
    kernel = add[GRID](x, y, out, N, BLOCK=128, level="ptx", target=target, device="cpu")
    assert (out == x + 2).all()
    assert f".target sm_{target[5:]}" in kernel.asm["ptx"] and kernel.metadata.shared == 0


def test_jit_executes_llir_as_the_ptx_of_it():
    x, y, out = inputs()
    kernel = add[GRID](x, y, out, N, BLOCK=128, level="llir", device="cpu")
    assert (out == x + 2).all() and "ptx" in kernel.asm


def test_scalars_of_every_kind():
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    scale[(1,)](x, out, 32, 2.5, 2, None, level="ptx", device="cpu")
    assert (out[:32] == x[::2] * 2.5).all() and not out[32:].any()
    scale[(1,)](x, out, 32, 0.5, 1, np.ones(1, np.float32), level="ptx", device="cpu")
    assert (out[:32] == x[:32] * 0.5 + 1).all()


def test_load_without_metadata(ptx):
    kernel = triton_runner.load(ptx)
    x, y, out = inputs()
    kernel[GRID](x, y, out, N)
    assert (out == x + 2).all() and kernel.level == "ptx" and kernel.target == "cuda:80"
    # All of the text's parameters, Triton's own too.
    assert len(kernel.params) == 4 + installed().hidden_pointers


def test_load_counts_hidden_parameters(ptx):
    kernel = triton_runner.load(ptx)
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match=r"parameters.*arguments do not fit"):
        kernel[GRID](x)
    kernel[GRID](x, y, out, N)
    assert (out == x + 2).all()


def test_a_fault_names_the_python_line_and_the_thread(ptx):
    x, y, out = inputs(200)
    with pytest.raises(KernelTrap) as caught:
        add[GRID](x, y, out, N, BLOCK=128, level="ptx", device="cpu")
    trap = caught.value
    assert trap.kind == "out of bounds" and trap.program == (1, 0, 0)
    # The memory behind x and y may be another argument, which may be read.
    assert trap.op.startswith(("ld.global", "st.global"))
    assert trap.file.endswith("kernels_for_tests.py") and trap.line > 0
    assert "thread" in str(trap) and "argument" in trap.nearest
    assert not out[128:].any() or trap.op.startswith("st.global")


def test_malformed_ptx_is_located(ptx, tmp_path):
    path = tmp_path / "bad.ptx"
    path.write_text(ptx.replace("ld.param", "ldd.param", 1))
    x, y, out = inputs()
    with pytest.raises(DiagnosticError) as caught:
        triton_runner.load(path)[GRID](x, y, out, N)
    line = path.read_text().split("ldd.param")[0].count("\n") + 1
    assert caught.value.line == line and caught.value.file == str(path) and "ldd" in str(caught.value)


def test_malformed_llir_is_located_and_does_not_end_the_process(tmp_path):
    x, y, out = inputs()
    kernel = add.warmup(x, y, out, N, BLOCK=128, grid=(1,), target="cuda:80")
    text = kernel.asm["llir"]
    bad = text.replace(" = fadd ", " = faddd ", 1)
    assert bad != text
    with pytest.raises(DiagnosticError, match="expected instruction opcode") as caught:
        add[GRID](x, y, out, N, BLOCK=128, llir_src=bad, target="cuda:80", device="cpu")
    assert caught.value.line == bad.split("faddd")[0].count("\n") + 1
    add[GRID](x, y, out, N, BLOCK=128, llir_src=text, target="cuda:80", device="cpu")
    assert (out == x + 2).all()


def test_metadata_gives_the_shared_memory(ptx):
    metadata = {"num_warps": 4, "shared": 4096, "name": "add"}
    kernel = triton_runner.load(ptx, json.dumps(metadata))
    x, y, out = inputs()
    kernel[GRID](x, y, out, N)
    assert (out == x + 2).all() and kernel.metadata.shared == 4096
    with pytest.raises(DiagnosticError, match="shared memory"), triton_runner.using(shared=10**6):
        kernel[GRID](x, y, out, N)


def test_more_shared_memory_than_the_target_has():
    torch = pytest.importorskip("torch")
    from kernels.matmul import matmul_kernel
    from triton.runtime.errors import OutOfResources

    a = torch.ones(128, 128, dtype=torch.float16)
    arguments = (a, a, a.clone(), 128, 128, 128, 128, 1, 128, 1, 128, 1)
    meta = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128, "GROUP_M": 8, "ACTIVATION": ""}
    with pytest.raises(OutOfResources, match="shared memory"):
        matmul_kernel[(1,)](*arguments, **meta, num_stages=4, level="ptx", target="cuda:80", device="cpu")


def test_ptx_of_an_amd_target():
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match="has no level ptx"):
        add[GRID](x, y, out, N, BLOCK=128, level="ptx", target="hip:gfx942", device="cpu")


def test_a_level_above_the_entry(ptx):
    x, y, out = inputs()
    with pytest.raises(DiagnosticError, match="cannot go back"):
        add[GRID](x, y, out, N, BLOCK=128, ptx_src=ptx, level="ttgir", device="cpu")


def test_a_timeout_stops_a_kernel(tmp_path):
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry forever()
.reqntid 32
{
loop:
  bra loop;
}
"""
    with pytest.raises(KernelTrap) as caught, triton_runner.using(timeout=0.2):
        triton_runner.load(text)[(1,)]()
    assert caught.value.kind == "timeout"
