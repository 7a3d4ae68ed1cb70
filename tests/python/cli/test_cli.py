"""The command line: programs under run, artifacts under exec, lists, exit status 0, 1 and 2."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import warm

pytest.importorskip("triton")

PLAIN = """
import sys
import torch, triton, triton.language as tl
DEVICE = "cuda" if "cuda" in sys.argv else triton.runtime.driver.active.get_active_torch_device()

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)

x = torch.rand(300, device=DEVICE)
out = torch.empty_like(x)
assert x.device == out.device
add[lambda meta: (triton.cdiv(300, meta["BLOCK"]),)](x, x, out, 300, BLOCK=128)
assert torch.equal(out, x + x)
milliseconds = triton.testing.do_bench(lambda: add[(3,)](x, x, out, 300, BLOCK=128), warmup=1, rep=3)
assert milliseconds > 0
print(x.device, triton.runtime.driver.active.get_current_target().arch)
if "cuda" in sys.argv:
    assert x.is_cuda and torch.cuda.is_available() and torch.cuda.device_count() == 1
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record(); end.record(); torch.cuda.synchronize()
    assert start.elapsed_time(end) >= 0
    assert torch.nn.Linear(4, 4).cuda()(torch.zeros(2, 4, device="cuda:0")).device.type == "cuda"
    assert x.cpu().numpy().shape == (300,)
if "fault" in sys.argv:
    add[(4,)](x, x, out, 5000, BLOCK=128)
sys.exit(int(sys.argv[-1]) if sys.argv[-1].isdigit() else None)
"""
COPY = """module {
  tt.func public @copy(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %v = tt.load %xp : tensor<8x!tt.ptr<f32>>
    %os = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %op = tt.addptr %os, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    tt.store %op, %v : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""


def cli(*arguments, cwd=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_RUNNER")}
    return warm.run(
        [sys.executable, "-W", "ignore", "-m", "triton_runner", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd,
        env=clean | {"PYTHONWARNINGS": "ignore"},
    )  # fmt: skip


@pytest.fixture
def script(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "program.py"
    path.write_text(PLAIN)
    return path


@pytest.fixture
def copy(tmp_path):
    path = tmp_path / "copy.ttir"
    path.write_text(COPY)
    return path


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_run_a_script(script, level):
    done = cli("run", "--device", "cpu", "--level", level, "--target", "cuda:80", script)
    assert done.returncode == 0 and "cpu 80" in done.stdout, done.stdout


def test_run_a_module(script):
    done = cli("run", "--device", "cpu", "-m", "program", "x", "7", cwd=script.parent)
    assert done.returncode == 7 and "cpu 90" in done.stdout, done.stdout


def test_pretend_cuda(script):
    done = cli("run", "--device", "cpu", "--pretend-cuda", script, "cuda")
    assert done.returncode == 0 and "cuda:0 90" in done.stdout, done.stdout


def test_pretend_cuda_is_the_device_whose_kernels_triton_keeps(tmp_path):
    (tmp_path / "program.py").write_text(
        "import torch, triton\n"
        "print('numbers', torch.cuda.current_device(), triton.runtime.driver.active.get_current_device())\n"
    )
    done = cli("run", "--device", "cpu", "--pretend-cuda", str(tmp_path / "program.py"))
    assert "numbers 0 0" in done.stdout, done.stdout


def test_a_program_for_cuda_is_told_how_to_run(script):
    done = cli("run", "--device", "cpu", script, "cuda")
    assert done.returncode == 1 and "on the CPU with --pretend-cuda" in done.stdout, done.stdout


def test_a_fault_is_shown_in_its_line(script):
    done = cli("run", "--device", "cpu", script, "fault")
    assert done.returncode == 1 and "out of bounds" in done.stdout and "    ^" in done.stdout, done.stdout
    assert "Traceback" not in done.stdout


def test_a_fault_is_a_traceback_of_the_script(script):
    done = cli("run", "--device", "cpu", "--traceback", script, "fault")
    assert done.returncode == 1 and "Traceback" in done.stdout, done.stdout
    assert "KernelTrap" in done.stdout and "out of bounds" in done.stdout, done.stdout
    assert "runpy" not in done.stdout and 'program.py", line' in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [("run", "nosuch.py"), ("run",), ("nosuch",), ("run", "--level", "nosuch", __file__), ("exec", "x.ttir")],
)
def test_bad_usage(arguments):
    done = cli(*arguments)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stdout


def test_exec(copy, tmp_path):
    saved = tmp_path / "out.npy"
    done = cli("exec", copy, *f"--grid 1 --arg f32[8]=iota --arg f32[8] --save 1={saved} --json".split())
    assert done.returncode == 0, done.stdout
    result = json.loads(done.stdout)
    assert result["kernel"] == "copy" and result["level"] == "ttir" and result["device"] == "cpu"
    assert [array["name"] for array in result["changed"]] == ["out"]
    import numpy

    assert (numpy.load(saved) == numpy.arange(8)).all()
    done = cli("exec", copy, "--grid", "1", "--arg", saved, "--arg", "f32[8]=zeros")
    assert done.returncode == 0 and "out float32[8]: [0. 1. 2. 3. 4. 5. 6. 7.]" in done.stdout, done.stdout
    done = cli("exec", copy, "--grid", "1", "--arg", saved, "--arg", saved)
    assert done.returncode == 0 and "no array changed" in done.stdout, done.stdout


AMD = pathlib.Path(__file__).parents[3] / "examples/runner/v3.9.0/amdgcn/gfx942/add_kernel.amdgcn"


@pytest.mark.parametrize(
    ("level", "status", "words"),
    [
        ("hsaco", 0, "add_kernel (hsaco) on cpu"),  # the file says the target
        ("ttir", 2, "enters at amdgcn: execution cannot go back"),
        ("ptx", 2, "hip:gfx942 has no level ptx"),
    ],
)
def test_exec_of_amds_code_at_a_level(level, status, words):
    pytest.importorskip("triton")
    arrays = [word for _ in range(3) for word in ("--arg", "f32[64]=iota")]
    done = cli("exec", "--level", level, AMD, "--grid", "1", *arrays, "--arg", "i32=64")
    assert done.returncode == status and words in done.stdout, done.stdout


def test_exec_without_metadata_warns_in_a_line(tmp_path):
    (tmp_path / "add.amdgcn").write_text(AMD.read_text())
    arrays = [word for _ in range(3) for word in ("--arg", "f32[64]=iota")]
    done = cli("exec", tmp_path / "add.amdgcn", "--grid", "1", *arrays, "--arg", "i32=64")
    assert done.returncode == 0 and "\nwarning: num_warps = 4 " in "\n" + done.stdout, done.stdout
    assert "click" not in done.stdout and "RuntimeWarning" not in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "note: --target hip:gfx942 has it"),
        ("hip:gfx1030", "does not execute machine code of hip:gfx1030"),
    ],
)
def test_a_level_of_amd_for_another_target(script, target, words):
    done = cli("run", "--level", "amdgcn", *(["--target", target] if target else []), script)
    assert done.returncode == 2 and words in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--grid", "1", "--arg", "f32[4]=iota", "--arg", "f32[8]"), 1, "out of bounds"),
        (("--grid", "1", "--arg", "f32[8]=iota"), 2, "takes 2 arguments"),
        (("--grid", "0", "--arg", "f32[8]=iota", "--arg", "f32[8]"), 2, "grid"),
        (("--grid", "x", "--arg", "f32[8]=iota", "--arg", "f32[8]"), 2, "grid"),
        (("--grid", "1", "--arg", "f32[8]=sevens", "--arg", "f32[8]"), 2, "sevens"),
        (("--grid", "1", "--arg", "f99[8]", "--arg", "f32[8]"), 2, "f99"),
        (("--grid", "1", "--arg", "nosuch.npy", "--arg", "f32[8]"), 2, "nosuch.npy"),
        (("--grid", "1", "--arg", "f32[8]", "--arg", "f32[8]", "--kernel", "cop"), 2, "copy"),
    ],
)
def test_exec_failures(copy, arguments, status, words):
    done = cli("exec", copy, *arguments)
    assert done.returncode == status and words in done.stdout, done.stdout
    assert "Traceback" not in done.stdout


def test_ops():
    table = json.loads(cli("ops", "--json").stdout)
    names = {op["name"]: op for op in table}
    assert names["tt.load"]["status"] == "executed" and names["tt.load"]["operands"] and len(table) > 200
    assert "tt.load" in cli("ops").stdout


def test_opcodes_of_ptx():
    table = json.loads(cli("ops", "--level", "ptx", "--json").stdout)
    opcodes = {row["opcode"]: row for row in table}
    assert opcodes["add"]["executed"] and opcodes["add"]["section"] == "9.7.1.1" and len(table) > 100
    assert "opcodes: " in cli("ops", "--level", "ptx", "mma").stdout
    assert cli("ops", "--level", "ptx", "--dialect", "tt").returncode == 2


def test_doctor():
    facts = json.loads(cli("doctor", "--json").stdout)
    assert facts["cores"] > 0 and facts["isa"] in facts["isas built"].split(", ") and "triton" in facts
    expected = "device level target check oob mma numerics fmad shuffle timing threads programs timeout"
    expected += " program shared perturb dump"
    assert " ".join(facts["settings"]) == expected


@pytest.mark.parametrize("variable, cache", [("TRITON_CACHE_DIR", ""), ("TRITON_HOME", ".triton/cache")])
def test_cache(variable, cache, tmp_path, script):
    clean = {k: v for k, v in os.environ.items() if k not in ("TRITON_CACHE_DIR", "TRITON_HOME")}
    clean |= {variable: str(tmp_path / "cache"), "TRITON_RUNNER_DEVICE": "cpu"}
    command = [sys.executable, "-W", "ignore", "-m", "triton_runner"]
    warm.run([*command, "run", str(script)], env=clean, check=True, stdout=subprocess.PIPE)
    listed = json.loads(warm.run([*command, "cache", "--json"], env=clean, stdout=subprocess.PIPE).stdout)
    assert [entry["kernel"] for entry in listed["entries"]] == ["add"]
    assert listed["entries"][0]["levels"] == ["ttir"]
    warm.run([*command, "cache", "--clear"], env=clean, check=True, stdout=subprocess.PIPE)
    assert not list((tmp_path / "cache" / cache).iterdir())


def test_the_first_page_of_help_fits_a_screen():
    from triton_runner import _cli
    from triton_runner._cli import help

    done = warm.cli("--help")
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) <= 24 and max(map(len, lines)) <= 80
    places = [command.listed[:2] for command in _cli.main.commands.values()]
    assert {group for group, _ in places} == {*help.GROUPS}, "a verb says under which of these it is listed"
    assert len(set(places)) == len(places)
