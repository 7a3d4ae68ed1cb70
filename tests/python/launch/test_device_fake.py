"""Launches on a GPU, up to the driver: programs run on tests/gpu/fake_cuda.cpp in place of libcuda.so.1."""

import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

import fake_build
import pytest
import warm
from suite.assembled import assemble

ROOT = Path(__file__).resolve().parents[3]

PRELUDE = """
import sys, warnings
import triton, triton.language as tl
import triton_runner

class Tensor:
    def __init__(self, address, dtype="float32"):
        self.address, self.dtype = address, dtype
    def data_ptr(self):
        return self.address

@triton_runner.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + scale * tl.load(y_ptr + offsets, mask=mask), mask=mask)

x, y, out = Tensor(4096), Tensor(8192), Tensor(12288)
folder = sys.argv[1] if len(sys.argv) > 1 else ""
"""

COMPILE = """
import json
from triton.backends.compiler import GPUTarget
from triton_runner import _core
from triton.compiler import ASTSource
with triton_runner.using(device="cpu"):
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "scale": "fp32",
                 "BLOCK": "constexpr"}
    source = ASTSource(triton.jit(add_kernel.fn), signature, {"BLOCK": 128})
    kernel = triton.compile(source, target=GPUTarget("cuda", int(sys.argv[2]), 32))
for level in ("ttir", "ttgir", "llir", "ptx", "cubin"):
    _core.artifact.write(f"{folder}/add_kernel.{level}", kernel.asm[level])
fields = {k: v for k, v in kernel.metadata._asdict().items() if k != "target"}
fields["target"] = vars(kernel.metadata.target)
_core.artifact.write(f"{folder}/add_kernel.json", json.dumps(fields, default=str))
"""


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    """The folder with the fake libcuda.so.1, and what makes torch's tensors say that they are on a GPU."""
    folder = tmp_path_factory.mktemp("cuda")
    fake_build.build("fake_cuda", folder / "libcuda.so.1")
    fake_build.build("gpu_tensors", folder / "gpu_tensors.so")
    return folder


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory):
    """add_kernel at every level for sm_90, and for sm_80, with metadata."""
    folder = tmp_path_factory.mktemp("artifacts")
    for sm in (80, 90):
        run_program(PRELUDE + COMPILE, folder / str(sm), str(sm), TRITON_RUNNER_DEVICE="cpu")
    return folder


@pytest.fixture
def alone(artifacts, tmp_path):
    """alone(*levels): a folder with add_kernel for sm_90 at these levels, without metadata."""

    def made(*levels):
        (tmp_path / "alone").mkdir()
        for level in levels:
            shutil.copy(artifacts / "90" / f"add_kernel.{level}", tmp_path / "alone")
        return tmp_path / "alone"

    return made


def launch_of(level: str) -> str:
    return f"add_kernel[(3,)](x, y, out, 300, 0.5, BLOCK=128, {level}_dir=folder)"


def run_program(program: str, *arguments, **environment):
    # Triton reads a kernel's source from its file.
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(program)
        file.flush()
        result = warm.run(
            [sys.executable, file.name, *map(str, arguments)], env={**os.environ, **environment}, text=True,
            capture_output=True)  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result


def on_fake(fake, tmp_path, body: str, folder="", params="8,8,8,4,4,8,8", **environment):
    """Runs the body behind PRELUDE; gives (what it printed, what the driver saw)."""
    log = tmp_path / "log.json"
    result = run_program(
        PRELUDE + textwrap.dedent(body), folder, LD_LIBRARY_PATH=str(fake), FAKE_CUDA_LOG=str(log),
        FAKE_CUDA_PARAMS=params, FAKE_CUDA_MEMORY="4096=0,8192=0,12288=0,16384=1",
        TRITON_RUNNER_DEVICE="cuda", **environment)  # fmt: skip
    return result.stdout, json.loads(log.read_text()) if log.exists() else {}


def error_of(fake, tmp_path, body: str, folder="", **environment) -> str:
    body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    guarded = f"try:\n{body}\nexcept Exception as e:\n    print(type(e).__name__, e)\n"
    return on_fake(fake, tmp_path, guarded, folder, **environment)[0]


@pytest.mark.parametrize("level", ["ttir", "ttgir", "llir", "ptx", "cubin"])
def test_every_level_reaches_the_driver(fake, artifacts, tmp_path, level):
    body = f"kernel = {launch_of(level)}\nprint(kernel.name, kernel.level)"
    printed, seen = on_fake(fake, tmp_path, body, artifacts / "90")
    assert printed.splitlines()[-1] == "add_kernel cubin"
    assert seen["binary"]
    (launch,) = seen["launches"]
    assert launch["grid"] == [3, 1, 1] and launch["block"] == [128, 1, 1] and launch["attributes"] == []
    words = [int.from_bytes(bytes.fromhex(p), "little") for p in launch["params"]]
    assert words == [4096, 8192, 12288, 300, 0x3F000000, 0, 0]


@pytest.mark.parametrize("level", ["ttgir", "llir", "ptx"])
def test_older_architecture_goes_through_the_drivers_compiler(fake, artifacts, tmp_path, level):
    _, seen = on_fake(fake, tmp_path, launch_of(level), artifacts / "80")
    assert not seen["binary"] and len(seen["launches"]) == 1


def test_ttir_is_compiled_for_the_device_at_hand(fake, artifacts, tmp_path):
    _, seen = on_fake(fake, tmp_path, launch_of("ttir"), artifacts / "80")
    assert seen["binary"]


def test_without_metadata_counting_settles_the_parameters(fake, alone, tmp_path):
    body = """
        warnings.simplefilter("always")
        add_kernel[(3,)](x, y, out, 300, 0.5, BLOCK=128, ptx_dir=folder)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            add_kernel[(3,)](x, y, out, 300, 0.5, BLOCK=128, cubin_dir=folder)
        for warning in said:
            print(warning.message)
        add_kernel[(3,)](x, y, out, 300, 0.5, BLOCK=128, cubin_dir=folder, shared=512)
    """
    printed, seen = on_fake(fake, tmp_path, body, alone("ptx", "cubin"))
    told = "how much dynamic shared memory kernel 'add_kernel' needs: launched with the most there is, 232448"
    assert told in printed
    assert "nothing says whether kernel 'add_kernel' uses scratch memory" in printed
    shared = [launch["shared"] for launch in seen["launches"]]
    assert shared[0] == 0 and shared[1:] == [232448, 512]


def test_what_is_refused_before_the_launch(fake, artifacts, tmp_path):
    def said(arguments, level="ptx", **environment):
        body = f"add_kernel[(3,)]({arguments}, BLOCK=128, {level}_dir=folder)"
        return error_of(fake, tmp_path, body, artifacts / "90", **environment)

    text = said("Tensor(99), y, out, 300, 0.5")
    assert "argument 'x_ptr'" in text and "cannot reach (a CPU tensor?)" in text
    assert "lies on device 1, and the kernel runs on cuda:0" in said("Tensor(16384), y, out, 300, 0.5")
    array = "__import__('numpy').zeros(4, 'float32')"
    assert "is a NumPy array in host memory" in said(f"{array}, y, out, 300, 0.5")
    assert "n" in (text := said("x, y, out, 1 << 40, 0.5")) and "range" in text
    assert "missing argument" in said("x, y, out")
    text = said("x, y, out, 300, 0.5", "cubin", FAKE_CUDA_SM="80")
    assert "is for cuda:90, and Fake GPU is cuda:80" in text


def test_driver_errors_carry_the_calls_name(fake, artifacts, tmp_path):
    body = launch_of("cubin")
    text = error_of(fake, tmp_path, body, artifacts / "90", FAKE_CUDA_FAIL="cuModuleLoadDataEx=209")
    assert "cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU" in text
    text = error_of(fake, tmp_path, body, artifacts / "90", FAKE_CUDA_FAIL="cuLaunchKernelEx=700")
    assert "cuLaunchKernelEx: CUDA_ERROR_ILLEGAL_ADDRESS" in text and "grid (3, 1, 1)" in text


def test_other_level_there_names_its_keyword(fake, alone, tmp_path):
    text = error_of(fake, tmp_path, launch_of("ttgir"), alone("ptx"))
    assert "holds kernel 'add_kernel' at ptx: use ptx_dir=" in text


def test_text_that_llvm_or_ptxas_refuse_is_an_error_message(fake, artifacts, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    llir = (artifacts / "90" / "add_kernel.llir").read_text()
    (broken / "add_kernel.llir").write_text(llir.replace("ret void", "ret nonsense"))
    ptx = (artifacts / "90" / "add_kernel.ptx").read_text()
    (broken / "add_kernel.ptx").write_text(ptx.replace("ret;", "bar.sync 99;\n\tret;", 1))
    text = error_of(fake, tmp_path, launch_of("llir"), broken)
    assert "DiagnosticError" in text and "does not accept" in text and "add_kernel.llir:" in text
    text = error_of(fake, tmp_path, launch_of("ptx"), broken)
    assert "DiagnosticError" in text and "ptxas" in text and "does not accept" in text


def test_a_machine_whose_driver_fails_has_no_gpu(fake, tmp_path):
    body = "from triton_runner._settings import devices\nprint(devices.gpu())"
    assert on_fake(fake, tmp_path, body, FAKE_CUDA_FAIL="cuInit=100")[0].strip() == "None"
    launch = "add_kernel[(3,)](x, y, out, 300, 0.5, BLOCK=128)"
    text = error_of(fake, tmp_path, launch, FAKE_CUDA_FAIL="cuInit=100")
    assert "device 'cuda' was asked for, and this machine has no such device" in text


def test_load_without_the_python_kernel(fake, alone, tmp_path):
    body = """
        kernel = triton_runner.load(folder + "/add_kernel.ptx", device="cuda")
        kernel[(2, 3)](x, y, out, 300, 0.5)
        print(kernel.name)
        try:
            kernel[(1,)](x, y)
        except triton_runner.DiagnosticError as error:
            print(error)
    """
    printed, seen = on_fake(fake, tmp_path, body, alone("ptx"))
    assert "add_kernel" in printed and "2 arguments do not fit" in printed
    (launch,) = seen["launches"]
    assert launch["grid"] == [2, 3, 1]


def test_a_cubin_without_a_block_takes_that_of_load(fake, artifacts, tmp_path):
    ptx = (artifacts / "90" / "add_kernel.ptx").read_text()
    bare, count = re.subn(r"\n\.reqntid .*", "", ptx)
    assert count == 1
    cubin, _ = assemble(bare, "sm_90")
    body = f"""
        try:
            triton_runner.load({str(cubin)!r}, device="cuda")
        except triton_runner.DiagnosticError as error:
            print(error)
        for path in ({str(cubin)!r}, folder + "/add_kernel.ptx"):
            kernel = triton_runner.load(path, device="cuda", block=(64, 2, 1), cluster=(2, 1, 1))
            kernel[(2, 3)](x, y, out, 300, 0.5)
    """
    (tmp_path / "add_kernel.ptx").write_text(bare)
    printed, seen = on_fake(fake, tmp_path, body, tmp_path)
    assert "does not say how many threads a block has" in printed and "block=(128, 1, 1)" in printed
    for launch in seen["launches"]:
        assert launch["block"] == [64, 2, 1] and launch["grid"] == [4, 3, 1]
    assert len(seen["launches"]) == 2


def test_verify_runs_the_gpu_where_tensors_pretend_to_be_on_it(fake, tmp_path):
    """Their copies lie in memory of the driver's. This driver executes nothing, so the output stays zero."""
    program = """
        import torch, triton, triton.language as tl
        @triton.jit
        def double(x, out, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(out + i, tl.load(x + i) * 2)
        double[(1,)](torch.ones(64, device="cuda"), torch.zeros(64, device="cuda"), BLOCK=64)
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    log = tmp_path / "log.json"
    fakes = {"LD_LIBRARY_PATH": str(fake), "FAKE_CUDA_LOG": str(log), "FAKE_CUDA_PARAMS": "8,8,8,8"}
    variables = {**fakes, "TRITON_RUNNER_DEVICE": "cpu"}
    result = warm.cli("verify", "--pretend-cuda", tmp_path / "program.py", variables=variables)
    assert result.returncode == 1, result.stderr
    message = "cubin gives another result than ptx in 'out': 64 of 64 elements differ, by at most 2.0"
    assert message in result.stdout
    seen = json.loads(log.read_text())
    assert len(seen["launches"]) == 1 and seen["binary"]


def test_memory_of_a_gpu(fake, tmp_path):
    printed, seen = on_fake(fake, tmp_path, """
        from triton_runner._core.device import driver
        memory = driver("cuda").allocate(8)
        memory.write(b"12345678")
        print(memory.nbytes, memory.device.type, memory.read(), driver("cuda").pointer(memory.data_ptr())[0])
        try:
            memory.write(b"short")
        except ValueError as error:
            print(error)
        del memory
    """)  # fmt: skip
    assert printed == "8 cuda b'12345678' 0\nthe memory has 8 bytes, not 5\n"
    assert seen["calls"][-1] == "cuMemFreeAsync"
