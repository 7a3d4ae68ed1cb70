"""Tests programs of the CUDA driver API on this package's libcuda.so.1: `triton-runner cuda`."""

import ctypes.util
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import cuda_variables
import numpy as np
import psutil
import pytest
import triton_runner
from triton_runner import open_case
from triton_runner._base import tools
from triton_runner._kernel.cases import archive

PROGRAM = pathlib.Path(__file__).with_name("cuda_calls.py")
CPP = """
#include <cstdio>
extern "C" int cuInit(unsigned), cuDeviceGetCount(int*), cuDeviceComputeCapability(int*, int*, int);
int main() {
  int devices = 0, major = 0, minor = 0;
  if (cuInit(0) || cuDeviceGetCount(&devices) || cuDeviceComputeCapability(&major, &minor, 0)) return 1;
  std::printf("%d device of %d.%d\\n", devices, major, minor);
}
"""


def run(*words, options=(), **environment):
    command = [sys.executable, "-m", "triton_runner", "cuda", *map(str, options), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.mark.parametrize("is_child", (0, 1))
def test_a_program_runs_unchanged(is_child):
    done = run(PROGRAM, 0, is_child, 0)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right on Triton Runner H100 (CPU)\n"
    assert done.stderr == ""


def test_functions_that_strangers_look_up_when_they_start_are_there():
    """Taichi asks for first spellings of functions that have a second one, Dr.Jit for those of graphics."""
    names = "cuEventDestroy cuStreamDestroy cuCtxDestroy cuCtxCreate cuLinkCreate cuMemHostRegister"
    names += " cuGraphicsGLRegisterBuffer cuGLGetDevices cuGraphicsEGLRegisterImage"
    program = (
        "import ctypes, sys; cuda = ctypes.CDLL('libcuda.so.1');"
        "print([getattr(cuda, name) for name in sys.argv[1:]]);"
        "print(cuda.cuInit(0), cuda.cuGraphicsGLRegisterBuffer(0, 0, 0), cuda.cuEventDestroy(0))"
    )
    done = run(sys.executable, "-c", program, *names.split())
    assert done.stdout.endswith("\n0 801 400\n"), done.stderr
    assert "cuGraphicsGLRegisterBuffer is not part of this driver: CUDA_ERROR_NOT_SUPPORTED" in done.stderr


def test_an_interpreters_own_words_are_not_told():
    done = run(sys.executable, "-m", "platform")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    done = run(sys.executable, "-c", "", "--check", "race")
    assert "--check stands after" in done.stderr


def test_a_program_on_the_path_goes_before_a_folder_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env").mkdir()
    assert run("env").returncode == 0
    (tmp_path / "env" / "__main__.py").write_text("print('the folder')")
    assert run("env").stdout == "the folder\n"


def test_the_chip_is_named():
    done = run(PROGRAM, 0, 0, 0, options=("--chip", "a100"))
    assert done.stdout == "right on Triton Runner A100 (CPU)\n"


def test_an_access_out_of_bounds_is_the_error_of_the_launch_with_its_line():
    done = run(PROGRAM, 1, 0, 0)
    assert done.returncode == 1
    assert "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS" in done.stderr
    assert "kernel 'twice': out of bounds in ld.global.f32 at twice.cu:3:5, program (3, 0, 0)" in done.stderr
    assert "right at the end of block 1 (cuMemAlloc, 400 bytes)" in done.stderr


def test_launches_are_printed():
    done = run(PROGRAM, 0, 0, 0, options=("--launches",))
    shown = "twice grid (4, 1, 1) block (32, 1, 1) (block 1 (cuMemAlloc, 400 bytes), 0x64)"
    assert done.stderr.startswith(f"triton-runner: launch 0: {shown}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("is_unwritten", (0, 1))
def test_uninit_finds_memory_that_nobody_wrote(is_unwritten):
    done = run(PROGRAM, 0, 0, is_unwritten, options=("--check", "uninit"))
    assert (done.returncode != 0) == bool(is_unwritten)
    assert ("CUDA_ERROR_LAUNCH_FAILED" in done.stderr) == bool(is_unwritten)


def test_a_race_between_streams_is_found():  # its rules are src/driver/races_test.cpp's
    program = PROGRAM.parents[3] / "examples" / "cuda" / "streams.py"
    done = run(program, options=("--check", "race"))
    assert done.returncode == 1
    assert "a race between streams: launch 1 (kernel 'increase'), ld.global.u32 at <module>" in done.stderr
    assert "which launch 0 (kernel 'increase'), st.global.u32 at <module>" in done.stderr
    assert "in stream 1 writes, and nothing orders the two" in done.stderr
    assert run(program, "wait", options=("--check", "race")).stdout == "right\n"


@pytest.mark.parametrize("surplus", (0, 1))
def test_launches_are_captured_as_cases(tmp_path, surplus):
    done = run(PROGRAM, surplus, 0, 0, options=("--capture", tmp_path))
    assert done.returncode == surplus
    case = tmp_path / "twice-0.trcase"
    assert f"launch 0 of twice: triton-runner debug {case}" in done.stderr
    assert list(tmp_path.iterdir()) == [case]
    opened = open_case(case)
    ran = opened.run()
    if surplus:
        assert (ran.trap.kind, ran.trap.line) == ("out of bounds", 3)
    else:
        assert ran.trap is None
        assert opened.differences(ran) == {}
        (array,) = [value for value in ran.arrays.values() if getattr(value, "shape", ())]
        np.testing.assert_array_equal(array, np.arange(100, dtype=np.float32) * 2)


def test_the_launch_that_stops_is_debugged():
    command = [sys.executable, "-m", "triton_runner", "cuda", "--debug", PROGRAM, "1", "0", "0"]
    done = subprocess.run(list(map(str, command)), input="continue\nquit\n", capture_output=True, text=True)
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in done.stderr
    assert "out of bounds in ld.global.f32" in done.stdout


@pytest.fixture
def variables(request, tmp_path):
    """The words of cuda_variables.py by which it loads PTX or machine code."""
    if request.param == "ptx":
        return []
    made = tmp_path / "kernel.cubin"
    compiled = triton_runner.compile(cuda_variables.PTX, target="cuda:90", from_="ptx", to="cubin")
    made.write_bytes(compiled.asm["cubin"])
    return [made]


@pytest.mark.parametrize("variables", ("ptx", "cubin"), indirect=True)
@pytest.mark.parametrize("surplus", (0, 1))
def test_a_case_has_the_variables_as_the_launch_found_them(tmp_path, variables, surplus):
    program, cases = PROGRAM.with_name("cuda_variables.py"), tmp_path / "cases"
    done = run(program, surplus, "", *variables, options=("--capture", cases))
    assert done.returncode == surplus, done.stderr
    assert "launch 0 of math::scale: triton-runner debug" in done.stderr
    opened = open_case(cases / "scale-0.trcase")
    ran = opened.run()
    if surplus:
        assert ran.trap.kind == "out of bounds"
        return
    assert ran.trap is None and opened.differences(ran) == {}
    (array,) = [value for value in ran.arrays.values() if getattr(value, "shape", ())]
    np.testing.assert_array_equal(array.view(np.float32), np.arange(100, dtype=np.float32) * 3 + 5)
    if variables:
        words = ["dump", "-v", "total", cases / "scale-0.trcase"]
        done = subprocess.run([sys.executable, "-m", "triton_runner", *words], capture_output=True, text=True)
        assert done.returncode == 2, done.stderr
        assert "entered as a cubin: of its machine code registers are recorded" in done.stderr
    else:  # machine code keeps its names
        assert opened.name == "scale"
        assert cuda_variables.KERNEL not in opened.archive.text(archive.artifact("scale", "ptx"))


@pytest.mark.parametrize("variables", ("ptx", "cubin"), indirect=True)
def test_a_variable_that_holds_an_address_is_the_reason_why_there_is_no_case(tmp_path, variables):
    program, cases = PROGRAM.with_name("cuda_variables.py"), tmp_path / "cases"
    done = run(program, 0, "pointer", *variables, options=("--capture", cases))
    assert done.returncode == 0, done.stderr
    assert (
        "launch 0 of math::scale is not captured: variable 'table' holds an address of block" in done.stderr
    )
    assert not list(cases.glob("*"))


def test_machine_code_that_is_to_be_linked_is_refused_by_its_function(tmp_path):
    ptxas = tools.toolkit("ptxas")
    if ptxas is None:
        pytest.skip("ptxas is not installed here: pip install nvidia-cuda-nvcc")
    head, entry, rest = cuda_variables.PTX.partition(".visible .entry")
    other = """.visible .func other(.param .b32 x)
{ .reg .b32 %r<2>; ld.param.b32 %r1,[x]; st.global.u32 [factor],%r1; ret; }
"""
    call = " { .param .b32 x; st.param.b32 [x],%r1; call.uni other,(x); }\n ret;\n}"
    (tmp_path / "kernel.ptx").write_text(head + other + entry + rest.replace(" ret;\n}", call))
    made = tmp_path / "kernel.cubin"
    subprocess.run([ptxas, "-c", "-arch", "sm_90", tmp_path / "kernel.ptx", "-o", made], check=True)
    done = run(PROGRAM.with_name("cuda_variables.py"), 0, "unset", made)
    assert done.returncode == 1
    assert "its code names the function 'other', which is in another section" in done.stderr
    assert "cuLaunchKernel: 801" in done.stderr


def test_a_captured_case_is_reduced(tmp_path):
    program, cases = PROGRAM.with_name("cuda_variables.py"), tmp_path / "cases"
    assert run(program, 1, "", options=("--capture", cases)).returncode == 1
    small = triton_runner.reduce(str(cases / "scale-0.trcase"), "trap:oob")
    assert small.size[0] <= 4 < small.size_before[0]
    assert ".global" not in small.text.replace(".global.", "")  # variables leave, too
    with pytest.raises(triton_runner.DiagnosticError, match="does not say how many threads a block has"):
        triton_runner.reduce(cuda_variables.PTX, "trap", grid=(1,), args=[np.zeros(100, np.float32), 101])


def test_nothing_is_captured_of_another_kernel(tmp_path):
    done = run(PROGRAM, 0, 0, 0, options=("--capture", tmp_path, "--kernel", "thrice"))
    assert done.returncode == 0
    assert "the program has launched no kernel 'thrice': there is nothing to capture\n" in done.stderr
    assert "triton-runner: it has launched twice\n" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_program_without_launches_is_not_debugged(tmp_path):
    (tmp_path / "idle.py").write_text("")
    done = run(tmp_path / "idle.py", options=("--debug",))
    assert done.returncode == 0
    text = "triton-runner: the program has launched no kernel: there is nothing to debug\n"
    assert done.stderr == text


def left_behind(folder) -> list:
    return [*folder.iterdir(), *pathlib.Path("/dev/shm").glob("*triton*")]


@pytest.mark.parametrize("words", ((), ("streams",)), ids=("a thread each", "one thread"))
def test_eight_streams_leave_nothing(tmp_path, words):
    program = PROGRAM.with_name("cuda_threads.py")
    done = run(program, *words, options=("--check", "race"), TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert left_behind(tmp_path) == []


@pytest.mark.skipif(sys.platform != "linux", reason="processes end with their parent on Linux")
@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGKILL))
def test_a_program_ends_with_the_process_that_started_it(tmp_path, number):
    command = [sys.executable, "-m", "triton_runner", "cuda", PROGRAM.with_name("cuda_threads.py"), "wait"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as runner:
        assert int(runner.stdout.readline()) != runner.pid
        runner.send_signal(number)
        runner.communicate(timeout=300)  # the program holds these pipes, too: it has ended
    assert runner.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert left_behind(tmp_path) == []


def test_a_program_that_is_killed_in_a_kernel_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "triton_runner", "cuda", PROGRAM.with_name("cuda_threads.py"), "spin"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as runner:
        program = psutil.Process(int(runner.stdout.readline()))
        began = sum(program.cpu_times()[:2])
        while sum(program.cpu_times()[:2]) < began + 0.5:  # nothing but the kernel takes so long
            time.sleep(0.05)
        program.kill()
        runner.communicate(timeout=300)  # all processes that held these pipes have ended
    assert runner.returncode == 128 + signal.SIGKILL
    assert left_behind(tmp_path) == []


AS_A_CHILD = (
    "-c",
    "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)",
    sys.executable,
)


@pytest.mark.parametrize("before", ((), (sys.executable, *AS_A_CHILD)), ids=("program", "child"))
@pytest.mark.parametrize("word", ("spin", "spin-thread"))
def test_a_long_launch_says_what_it_is_at_and_ends_at_ctrl_c(before, word):
    program = PROGRAM.with_name("cuda_threads.py")
    command = [sys.executable, "-m", "triton_runner", "cuda", *before, program, word]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    hears = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background job does not
    with subprocess.Popen(command, start_new_session=True, preexec_fn=hears, **pipes) as runner:
        try:
            runner.stdout.readline()
            line = runner.stderr.readline()
            os.killpg(runner.pid, signal.SIGINT)  # as a terminal does
            rest = runner.communicate(timeout=300)[1]
        except BaseException:
            os.killpg(runner.pid, signal.SIGKILL)  # it would be waited for
            raise
    assert re.fullmatch(r"\.\.\. cuda: launch 24: running 'forever', block \d+ of 200, \d+ s\n", line)
    assert "KeyboardInterrupt" in rest
    if not before and word == "spin":  # Python does not wait for children and threads then
        assert "kernel 'forever': interrupted" in rest, rest
    assert runner.returncode not in (0, -signal.SIGKILL)


def test_the_library_alone_says_how_it_is_started():
    place = pathlib.Path(__import__("triton_runner")._core.__file__).parent / "_cuda"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(place)}
    environment.pop("TRITON_RUNNER_CUDA_CHIP", None)
    done = subprocess.run(
        [sys.executable, PROGRAM, "0", "0", "0"], capture_output=True, text=True, env=environment
    )
    assert "CUDA_ERROR_NO_DEVICE" in done.stderr
    assert "start the program with `triton-runner cuda PROGRAM`" in done.stderr


def test_the_status_is_that_of_the_program(tmp_path):
    program = tmp_path / "ends.py"
    program.write_text(
        "import os, signal, sys\nsys.argv[1:] and os.kill(os.getpid(), signal.SIGKILL)\nsys.exit(5)\n"
    )
    assert run(program).returncode == 5
    done = run(program, "kill")
    assert done.returncode == 128 + signal.SIGKILL
    assert "the program was ended by SIGKILL" in done.stderr


def test_a_program_in_cpp(tmp_path):
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler here")
    (tmp_path / "program.cpp").write_text(CPP)
    place = pathlib.Path(__import__("triton_runner")._core.__file__).parent / "_cuda"
    built = [compiler, "program.cpp", "-o", "program", str(place / "libcuda.so.1")]
    subprocess.run(built, cwd=tmp_path, check=True)
    done = run(tmp_path / "program", options=("--chip", "rtx4090"))
    assert done.stdout == "1 device of 8.9\n", done.stderr


@pytest.mark.skipif(bool(ctypes.util.find_library("cuda")), reason="NVIDIA's driver is here")
def test_run_names_the_verb_that_has_a_driver(tmp_path):
    (tmp_path / "loads.py").write_text("import ctypes\nctypes.CDLL('libcuda.so.1')\n")
    words = [sys.executable, "-m", "triton_runner", "run", tmp_path / "loads.py"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    hint = "triton-runner: this program asks for NVIDIA's driver, which is not here: `triton-runner cuda"
    assert hint in done.stderr, done.stderr
    (tmp_path / "loads.py").write_text("raise OSError('libz.so.1')\n")
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1 and hint not in done.stderr


LAUNCHES = """
import ctypes, sys
cuda, made = ctypes.CDLL("libcuda.so.1"), [ctypes.c_void_p() for _ in range(3)]
context, module, kernel = made
text = b".version 8.0\\n.target sm_80\\n.address_size 64\\n"
text += b".visible .entry twice(.param .u64 x, .param .u64 n) { ret; }"
assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not cuda.cuCtxSetCurrent(context) and not cuda.cuModuleLoadData(ctypes.byref(module), text)
assert not cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"twice")
grid, block, shared, has_list, size = map(int, sys.argv[1:])
n = ctypes.c_uint64(7)
values = (ctypes.c_void_p * 2)(ctypes.addressof(n), ctypes.addressof(n)) if has_list else None
buffer, size = (ctypes.c_uint64 * 2)(), ctypes.c_size_t(size)
extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
extra = extra if size.value else None
sys.exit(cuda.cuLaunchKernel(kernel, grid, 1, 1, block, 1, 1, shared, None, values, extra))
"""


@pytest.mark.parametrize(
    "words, why",
    (
        ((1, 32, 0, 1, 0), ""),
        ((1, 32, 0, 0, 16), ""),
        ((0, 32, 0, 1, 0), "a grid has 1 to (2147483647, 65535, 65535) blocks, and this one (0, 1, 1)"),
        ((1, 1025, 0, 1, 0), "a block has 1 to (1024, 1024, 64) threads, and this one (1025, 1, 1)"),
        (
            (1, 32, 50000, 1, 0),
            "it has at most 49152 bytes of dynamic shared memory, and the launch asks for 50000",
        ),
        (
            (1, 32, 0, 0, 12),
            "its 2 parameters have 16 bytes, and the launch gives 12: an argument is missing",
        ),
        ((1, 32, 0, 0, 0), "it has 2 parameters, and the launch gives none"),
        ((1, 32, 0, 1, 16), "its parameters are given twice"),
    ),
)
def test_a_launch_that_is_refused_says_why(words, why):
    done = run(sys.executable, "-c", LAUNCHES, *words)
    assert done.returncode == bool(why), done.stderr
    assert (f"triton-runner: kernel 'twice' is not launched: {why}" in done.stderr) == bool(why), done.stderr
