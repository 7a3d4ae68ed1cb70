"""Tests the CPU as Triton's device: plain triton.jit kernels, and what Triton and programs ask a driver
for."""

import subprocess
import sys

import numpy as np
import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton_runner  # noqa: E402
from kernels_for_tests import plain_add  # noqa: E402
from triton.runtime import driver  # noqa: E402
from triton_runner._memory.arguments import Arguments  # noqa: E402


def test_plain_kernels_run_on_cpu_tensors():
    x, out = torch.arange(100, dtype=torch.float32), torch.zeros(100)
    for level in ("ttir", "ttgir"):
        with triton_runner.using(level=level):
            plain_add[(2,)](x, x, out, 100, BLOCK=64)
        assert torch.equal(out, 2 * x)
        out.zero_()


def test_an_empty_grid_is_nothing_to_do():
    x = torch.zeros(4)
    plain_add[(0,)](x, x, x, 4, BLOCK=64)


def test_a_negative_grid_is_an_error():
    x = torch.zeros(4)
    with pytest.raises(triton_runner.DiagnosticError, match="grid"):
        plain_add[(-1,)](x, x, x, 4, BLOCK=64)


@pytest.mark.parametrize("target", ["cuda:42", "cuda:999", "hip:gfx943"])
def test_a_target_that_triton_does_not_compile_for(target):
    x = torch.zeros(4)
    with triton_runner.using(target=target), pytest.raises(triton_runner.DiagnosticError) as refused:
        plain_add[(1,)](x, x, x, 4, BLOCK=64)
    assert f"does not compile for {target}" in str(refused.value)


def test_what_programs_ask_the_driver():
    active = driver.active
    assert active.get_active_torch_device() == torch.device("cpu")
    target = active.get_current_target()
    assert (target.backend, target.warp_size) == ("cuda", 32)
    properties = active.utils.get_device_properties(active.get_current_device())
    assert properties["multiprocessor_count"] > 0 and properties["max_shared_mem"] > 48 * 1024
    with triton_runner.using(target="cuda:75"):
        assert active.get_current_target().arch == 75
        assert active.utils.get_device_properties(0)["max_shared_mem"] == 65536
        assert active.get_device_capability() == (7, 5)


def test_devices_differ_by_target_and_level():
    with triton_runner.using(target="cuda:80", level="ttir"):
        first = driver.active.get_current_device()
    with triton_runner.using(target="cuda:80", level="ttgir"):
        second = driver.active.get_current_device()
    assert first != second


def test_the_benchmarker_reads_the_clock():
    time = driver.active.get_benchmarker()
    fast = time(lambda: None, warmup=1, rep=5)
    slow = time(lambda: sum(range(100000)), warmup=1, rep=20)
    assert 0 <= fast < slow
    low, mid, high = time(lambda: sum(range(1000)), warmup=1, rep=5, quantiles=[0.2, 0.5, 0.8])
    assert low <= mid <= high


def test_another_driver_can_be_set():
    mine = object()
    before = driver.active
    driver.set_active(mine)
    try:
        assert driver.active is mine
    finally:
        driver.reset_active()
    assert driver.active is before


def test_launch_hooks_are_called():
    seen = []
    hook = lambda metadata: seen.append(metadata.get()["name"])  # noqa: E731
    holder = triton.knobs.runtime if hasattr(triton, "knobs") else triton.compiler.CompiledKernel
    before = holder.launch_enter_hook
    x = torch.zeros(64)
    plain_add[(1,)](x, x, x, 64, BLOCK=64)
    holder.launch_enter_hook = hook
    try:
        plain_add[(1,)](x, x, x, 64, BLOCK=64)
    finally:
        holder.launch_enter_hook = before
    assert len(seen) == 1


def test_wrapped_tensors():
    x, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    plain_add[(1,)](triton.reinterpret(x, triton.language.int32), x, out, 64, BLOCK=64)
    assert torch.equal(out, 2 * x)


@pytest.mark.parametrize("theirs, ours", [("float8e5", "f8E5M2"), ("int32", "i32")])
def test_wrapped_tensors_can_be_saved(theirs, ours):
    dtype = getattr(triton.language, theirs)
    x = torch.arange(64, dtype=torch.int32 if theirs == "int32" else torch.int8)
    (view,) = Arguments([("x", triton.reinterpret(x, dtype))]).views.values()
    assert view.dtype == ours


def test_integers_at_the_edges():
    @triton.jit
    def store(out, value):
        triton.language.store(out, value)

    for value in (2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)):
        out = torch.zeros(1, dtype=torch.int64)
        store[(1,)](out, value)
        assert out.item() == value


def test_object_with_only_an_address():
    class Pointer:
        def __init__(self, array):
            self.array, self.dtype = array, array.dtype

        def data_ptr(self):
            return self.array.ctypes.data

    array, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    pointer, target = Pointer(array), Pointer(out)
    plain_add[(1,)](pointer, pointer, target, 64, BLOCK=64)
    assert (out == 2 * array).all()


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_triton_compile_takes_ir_files(tmp_path, level):
    x, out = torch.arange(64, dtype=torch.float32), torch.zeros(64)
    with triton_runner.using(level=level):
        first = plain_add[(1,)](x, x, out, 64, BLOCK=64)
        for entry in ("ttir", "ttgir"):
            path = tmp_path / f"kernel.{entry}"
            path.write_text(first.asm[entry])
            out.zero_()
            kernel = triton.compile(str(path))
            kernel[(1, 1, 1)](x, x, out, 64)
            assert torch.equal(out, 2 * x)
            assert kernel.level == ("ttgir" if entry == "ttgir" else level)


def test_triton_compile_may_be_the_first_that_a_process_does(tmp_path):
    x = torch.zeros(64)
    path = tmp_path / "kernel.ttir"
    path.write_text(plain_add[(1,)](x, x, x, 64, BLOCK=64).asm["ttir"])
    code = f"import triton_runner, triton; print(triton.compile({str(path)!r}).level)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "ttir\n", done.stderr


def test_triton_compile_for_a_gpu_target_stays_triton_s(tmp_path):
    from triton.backends.compiler import GPUTarget

    x = torch.zeros(64)
    path = tmp_path / "kernel.ttir"
    path.write_text(plain_add[(1,)](x, x, x, 64, BLOCK=64).asm["ttir"])
    kernel = triton.compile(str(path), target=GPUTarget("cuda", 80, 32))
    assert ".target sm_80" in kernel.asm["ptx"] and kernel.asm["cubin"][:4] == b"\x7fELF"
