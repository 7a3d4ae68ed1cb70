"""Tests what a person sees of an error: a fault under `run` with its line and a caret, messages in place of
tracebacks, without Triton and with one that is not known, and processes that a program starts."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

import numpy
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
import triton_runner
from triton_runner import _core
from triton_runner._base import errors

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXEC = ROOT / "examples/exec"
ADD = ("--grid", "1", "--arg", "f32[64]=iota", "--arg", "f32[64]=1", "--arg", "f32[64]", "--arg", "64")
TRAP = """
import torch, triton, triton.language as tl

@triton.jit
def add_kernel(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) + 1)

def main():
    add_kernel[(2,)](torch.ones(100), torch.empty(128), B=64)

if __name__ == "__main__":
    main()
"""

LIBRARY = """
import sys

class Comparison:
    def compare(self, a, b):
        self.same = bool((a == b).all())

def added(x):
    out = torch.empty(128)
    add_kernel[(2,)](x[:int(sys.argv[1])].clone(), out, B=64)
    return out

def assert_same(a, b):
    comparison = Comparison()
    comparison.compare(a, b)
    for one in [comparison]:
        if not one.same:
            raise AssertionError
"""
CHECK = "addition.assert_same(out, torch.full((128,), 2.0))\n"


def run(*words, python=sys.executable, starts=False, **environment):
    """starts: in a process of its own."""
    warmed = python == sys.executable and not environment and not starts
    return (warm if warmed else subprocess).run(
        [str(python), "-W", "ignore", "-m", "triton_runner", *map(str, words)],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trap.py").write_text(TRAP)
    return tmp_path


# ---- a fault of a kernel


def test_a_trap_shows_its_line(here):
    done = run("run", "trap.py")
    first, line, caret, *notes = done.stderr.splitlines()
    assert done.returncode == 1
    assert first.startswith(
        "trap.py:7:22: error: kernel 'add_kernel': out of bounds in tt.load, program (1, 0, 0)"
    )
    assert line == TRAP.splitlines()[6] and caret == " " * 21 + "^"
    assert notes == [
        "  advice: mask the access with the size of the tensor",
        "  note: called at trap.py:10; --traceback shows all calls",
        "  note: to look at it: triton-runner debug trap.py",
    ]


@pytest.mark.parametrize(
    "file, is_of_one",
    [
        (numpy.__file__, True),
        (os.__file__, True),
        ("/usr/lib/python3/dist-packages/torch/testing/_comparison.py", True),
        ("/opt/base/lib64/python3.12/site-packages/torch/testing/_comparison.py", True),
        ("<string>", True),
        (__file__, False),
        ("/home/somebody/site_packages/kernels.py", False),
        ("kernels.py", False),
    ],
)
def test_the_files_of_libraries(file, is_of_one):
    assert errors.is_of_library(file) == is_of_one


def test_libraries_of_another_environment(here):
    """A virtual environment may see the packages of another one, by a .pth file or PYTHONPATH."""
    packages = here / "base/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    (packages / "addition.py").write_text(TRAP.partition("def main")[0] + LIBRARY)
    (here / "calls.py").write_text("import torch, addition\nout = addition.added(torch.ones(128))\n" + CHECK)
    said = run("run", "calls.py", "100", PYTHONPATH=str(packages)).stderr
    assert "note: called at calls.py:2;" in said
    done = run("verify", "calls.py", "128", PYTHONPATH=str(packages))
    assert "the result was compared by the program: assert_same at calls.py:3" in done.stdout
    assert done.stdout.endswith("verdict: right\n")


def test_the_interpreter_from_outside(here):
    said = run("verify", "trap.py", TRITON_INTERPRET="1").stderr
    assert "run in Triton's interpreter, where they are not looked at; unset it\n" in said


def test_a_trap_with_all_its_calls(here):
    said = run("run", "--traceback", "trap.py").stderr
    assert said.startswith("Traceback") and "line 10, in main" in said and "KernelTrap: kernel" in said


def test_other_exceptions_are_as_python_shows_them(here):
    (here / "fails.py").write_text("import json\njson.loads('{')\n")
    done = run("run", "fails.py")
    assert done.returncode == 1 and "Traceback" in done.stderr and "JSONDecodeError" in done.stderr


def test_exec_shows_the_line_too(here):
    done = run("exec", EXEC / "add_kernel.ttir", *ADD[:6], "--arg", "f32[40]", "--arg", "64")
    assert done.returncode == 1 and "out of bounds in tt.store, program" in done.stderr
    assert done.stderr.count("'add_kernel'") == 1 and "note: called at" not in done.stderr
    assert f"note: to look at it: triton-runner debug --grid 1 {EXEC}/add_kernel.ttir" in done.stderr


def test_the_note_s_command_stops_at_the_trap(here):
    said = run("run", "--check", "nan", "trap.py").stderr
    command = said.split("note: to look at it: triton-runner ")[1].split()
    assert command == ["debug", "--check", "nan", "trap.py"]
    assert "trap: kernel 'add_kernel': out of bounds" in run("debug", "-ex", "run", *command[1:]).stdout


@pytest.mark.parametrize("options", [("--shuffle", "3"), ("--quick",)])
def test_a_trap_that_the_debugger_may_not_come_to(here, options):
    said = run("run", *options, "trap.py").stderr
    assert "out of bounds" in said and "to look at it" not in said


# ---- messages in place of tracebacks

NOISE = bytes(range(256)) * 4
FILES = {
    "noise.ptx": NOISE, "noise.ttgir": NOISE, "noise.cubin": NOISE, "text.cubin": b".version 8.0\n",
    "elf.ptx": b"\x7fELF" + bytes(200), "zero.ptx": bytes(200),
}  # fmt: skip
JIT = """
import torch, triton_runner, triton.language as tl
@triton_runner.jit
def kernel(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)
"""
SHOWN = [
    (("report", "noise.ptx"), 2, "no level that could be shown"),
    (("report", "elf.ptx"), 2, "no level that could be shown"),
    (("map", "noise.ptx"), 2, "no level that could be mapped"),
    (("map", "zero.ptx", "--line", "1"), 2, "note: "),
    (("exec", "noise.ptx", "--grid", "1"), 2, "is not a text file"),
    (("resources", "noise.cubin"), 2, "does not begin with the ELF magic"),
    (("resources", "text.cubin"), 2, "it looks like text"),
    (
        ("exec", EXEC / "add_kernel.ttir", "--grid", "1", "--arg", "f32[99999999999]"),
        2,
        "372.5 GiB do not fit",
    ),
    (("exec", EXEC / "add_kernel.ttir", "--grid", "1", "--arg", "f32[4]=foo"), 2, "unknown contents 'foo'"),
    (("compile", ROOT / "examples/kernels/vector_add.py:add_kernel", "-s", "*f32"), 2, "'y_ptr' has no type"),
    (
        ("compile", ROOT / "examples/kernels/vector_add.py:add_kernel", "-s", "*f33"),
        2,
        "no element type 'f33'",
    ),
    *(
        (("compile", "wrong-type.py:add", "-s", f"{words},64"), 2, f"no element type '{name}'")
        for words, name in (
            ("*i33,*fp32,i32", "i33"),
            ("*fp32,*fp32,i33", "i33"),
            ("*fp32,*fp32,f33:16", "f33"),
            ("tensordesc<i33[64]>,*fp32,i32", "i33"),
        )
    ),
    (("report", "--dump", "nosuch", "right.py"), 2, "nothing of nosuch was recorded"),
    (("run", "grid.py"), 1, "the grid of kernel 'kernel' is the number 4"),
    (("run", "plain-grid.py"), 1, "note: as in kernel[(4,)](...)\nnote: called at"),
    (("run", "null.py"), 1, "argument 'add_kernel_param_3': expected an integer"),
    (("exec", "misspelt.ptx", *ADD), 2, "'addd' is not a PTX opcode"),
]


@pytest.mark.parametrize("words, status, said", SHOWN, ids=[" ".join(map(str, w))[-60:] for w, *_ in SHOWN])
def test_a_message_and_no_traceback(words, status, said, here):
    for name, content in FILES.items():
        (here / name).write_bytes(content)
    (here / "right.py").write_text(JIT + "kernel[(1,)](torch.zeros(64), B=64)\n")
    (here / "wrong-type.py").write_text(
        "import triton\nimport triton.language as tl\n"
        "@triton.jit\ndef add(x, y, n, B: tl.constexpr):\n    pass\n"
    )
    (here / "grid.py").write_text(JIT + "kernel[4](torch.zeros(64), B=64)\n")
    plain = (JIT + "kernel[4](torch.zeros(64), B=64)\n").replace("triton_runner", "triton")
    (here / "plain-grid.py").write_text(plain)
    ptx = (EXEC / "add_kernel.ptx").read_text()
    (here / "misspelt.ptx").write_text(ptx.replace("add.", "addd."))
    (here / "null.py").write_text(
        f"import numpy, triton_runner\nk = triton_runner.load({str(EXEC / 'add_kernel.ptx')!r})\n"
        "k[(1,)](numpy.ones(64, 'f'), None, None, None)\n"
    )
    done = run(*words)
    assert done.returncode == status and said in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert "looks like text" not in done.stderr or "text.cubin" in words
    assert done.stderr.count("is not a PTX opcode") <= 1
    if "misspelt.ptx" in words:
        assert "did you mean 'add'?" in done.stderr


def test_null_for_a_pointer_of_an_artifact():
    kernel = triton_runner.load(str(EXEC / "add_kernel.ptx"), device="cpu")
    x = numpy.ones(64, numpy.float32)
    with pytest.raises(triton_runner.KernelTrap, match="a read of 4 bytes at 0x0"):
        kernel[(1,)](x, None, x, 64)


# ---- without Triton, and with another one


@pytest.fixture(scope="module")
def other_python(tmp_path_factory):
    """other_python(version): an interpreter with our packages, but for torch, and a Triton of that version
    with nothing in it; None: without one."""
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    package = pathlib.Path(triton_runner.__file__).parent
    core = pathlib.Path(_core.__file__)

    def make(version):
        folder = tmp_path_factory.mktemp("python")
        venv.create(folder, with_pip=False)
        place = pathlib.Path(sysconfig.get_path("purelib", vars={"base": folder}))
        left_out = ("triton", "torch", "functorch", "_triton_runner", "__pycache__")
        for one in packages.iterdir():
            if not one.name.startswith(left_out) and one.suffix != ".pth":
                (place / one.name).symlink_to(one)
        shutil.copytree(
            package, place / "triton_runner", ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
        (place / "triton_runner" / core.name).symlink_to(core)
        if version:
            (place / "triton").mkdir()
            (place / "triton/__init__.py").write_text(f"__version__ = {version!r}\n")
            (place / f"triton-{version}.dist-info").mkdir()
            about = f"Metadata-Version: 2.1\nName: triton\nVersion: {version}\n"
            (place / f"triton-{version}.dist-info/METADATA").write_text(about)
        return folder / "bin" / "python"

    made = {}
    return lambda version: (
        made.setdefault(version, None) or made.update({version: make(version)}) or made[version]
    )


REASON = {
    None: "this needs Triton, which is not installed",
    "2.1.0": "Triton 2.1.0 is installed, which is too old",
    "4.0.0": "Triton 4.0.0 is installed, which is newer than what is known here",
}
NEEDS_TRITON = [
    ("exec", "--level", "ptx", EXEC / "add_kernel.ttir", *ADD),
    ("exec", "add_kernel.llir", "--grid", "1"),
    ("bench", "launch_latency"),
]
DOES_WITHOUT = [
    ("exec", EXEC / "add_kernel.ttir", *ADD), ("exec", EXEC / "add_kernel.ttir", *ADD, "--target", "cuda:80"),
    ("report", EXEC / "add_kernel.ttir", "-o", "page.html"), ("report", "kernel", "-o", "page.html"),
    ("map", "kernel"), ("env",), ("ops", "tt.dot"), ("versions",),
]  # fmt: skip


@pytest.mark.parametrize("version", REASON)
def test_another_triton(version, other_python, here):
    (here / "kernel").mkdir()
    shutil.copy(EXEC / "add_kernel.ptx", here / "kernel")
    (here / "add_kernel.llir").write_text(
        'target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @add_kernel() {\n  ret void\n}\n'
    )
    python, home = other_python(version), {"HOME": str(here), "TRITON_RUNNER_VERSIONS": str(here / "none")}
    for words in NEEDS_TRITON:
        done = run(*words, python=python, **home)
        assert done.returncode == 2 and REASON[version] in done.stderr, (words, done.stderr)
        assert "Traceback" not in done.stderr and "pip install triton==" in done.stderr
    for words in DOES_WITHOUT if version is None else DOES_WITHOUT[:1]:
        done = run(*words, python=python, **home)
        assert done.returncode == 0 and not done.stderr, (words, done.stderr)
    done = run("doctor", python=python, **home)
    assert done.returncode == 1 and REASON[version] in done.stdout and not done.stderr, (
        done.stdout,
        done.stderr,
    )
    for words, said in (
        (("run", "--pretend-cuda", "trap.py"), "this needs PyTorch, which is not installed"),
        # Without any Triton the program's own error comes first.
        (("verify", "trap.py"), REASON[version] if version else "No module named 'torch'"),
        (
            ("bisect", "trap.py"),
            f"{version}: Triton" if version else "no Triton release is here to be judged",
        ),
    ):
        done = run(*words, python=python, **home)
        assert done.returncode != 0 and said in done.stderr + done.stdout, (words, done)
        assert "triton_runner/" not in done.stderr, (words, done.stderr)


@pytest.mark.parametrize("version", REASON)
def test_the_package_without_a_triton_that_it_can_use(version, other_python, here):
    """import triton_runner; triton_runner.jit: the sentence of the command line."""
    words = [str(other_python(version)), "-W", "ignore", "-c", "import triton_runner\ntriton_runner.jit"]
    done = subprocess.run(words, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError: ") and REASON[version] in last, done.stderr
    assert "pip install triton==" in last and "_jit" not in done.stderr


# ---- processes that a program starts

SPAWNS = """
import multiprocessing, torch, triton, triton.language as tl

@triton.jit
def fill(x, value, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), value)

def one(value):
    x = torch.zeros(64, device={device})
    fill[(1,)](x, value, B=64)
    return x.mean().item()

if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(one, range(3)))
"""


@pytest.mark.parametrize("options", [(), ("--pretend-cuda",)], ids=["cpu", "cuda"])
@pytest.mark.parametrize(
    "more", [{}, {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1"}], ids=["", "more"]
)
def test_processes_that_are_spawned(options, more, here):
    """more: gives the processes of multiprocessing options of Python, which stand before its own words."""
    (here / "spawns.py").write_text(SPAWNS.format(device="'cuda'" if options else "'cpu'"))
    done = run("run", *options, "spawns.py", starts=True, **more)
    assert done.stdout == "spawn [0.0, 1.0, 2.0]\nforkserver [0.0, 1.0, 2.0]\n", done.stdout + done.stderr
