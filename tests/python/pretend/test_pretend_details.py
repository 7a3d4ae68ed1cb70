"""Tests --pretend-cuda: generators, autocast, and a Python that the program starts."""

import textwrap

import pytest
import warm

pytest.importorskip("triton")
torch = pytest.importorskip("torch")

GENERATORS = """
import torch
torch.manual_seed(7)
(generator,) = torch.cuda.default_generators
state = generator.get_state()
assert state.numel() == 16 and state.dtype == torch.uint8 and state.device.type == "cpu"
assert state.tolist() == [7] + 15 * [0] and generator.initial_seed() == 7 and generator.get_offset() == 0
assert isinstance(generator, torch.Generator) and generator.device == torch.device("cuda", 0)
first = torch.rand(5, device="cuda")
later = torch.cuda.get_rng_state()
assert later.numel() == 16 and later.tolist() != state.tolist() and later.tolist()[:8] == state.tolist()[:8]
second = torch.rand(5, device="cuda", generator=generator)
assert not torch.equal(first, second)
torch.cuda.set_rng_state(later)
assert torch.equal(torch.rand(5, device="cuda"), second)
generator.set_state(state)
assert torch.equal(torch.rand(5, device="cuda"), first)
torch.cuda.manual_seed(7)
assert torch.equal(torch.rand(5, device="cuda"), first)
own = torch.Generator(device="cuda").manual_seed(7)
kept = own.get_state()
assert kept.tolist() == state.tolist() and own.device.type == "cuda"
drawn = torch.rand(5, device="cuda", generator=own)
own.set_state(kept)
assert torch.equal(torch.rand(5, device="cuda", generator=own), drawn) and torch.equal(drawn, first)
assert torch.Generator().get_state().numel() > 16 and torch.get_rng_state().numel() > 16
own.set_offset(400)
assert own.initial_seed() == 7 and not torch.equal(torch.rand(5, device="cuda", generator=own), drawn)
with torch.random.fork_rng():
    torch.rand(3, device="cuda")
try:
    own.set_state(torch.zeros(5056, dtype=torch.uint8))
    raise SystemExit("a state of another size was taken")
except RuntimeError:
    pass
print("generators")
"""

AUTOCAST = """
import warnings
import torch
warnings.simplefilter("error")
half, single = torch.ones(4, 4, device="cuda", dtype=torch.float16), torch.ones(4, 4, device="cuda")
with torch.autocast("cuda", dtype=torch.float32):
    assert (single @ single).dtype == torch.float32
    assert (half @ half).dtype == torch.float32
    assert torch.get_autocast_dtype("cuda") == torch.float32
with torch.autocast("cuda", dtype=torch.float16):
    assert (single @ single).dtype == torch.float16
with torch.autocast("cuda", dtype=torch.bfloat16):
    assert (single @ single).dtype == torch.bfloat16
with torch.autocast("cuda", enabled=False):
    assert (single @ single).dtype == torch.float32
assert (single @ single).dtype == torch.float32
print("autocast")
"""

COMPILED = """
import torch

def scaled(x):
    return x.transpose(-1, -2) * 2.0

x = torch.rand(64, 64, device="cuda")
for options in ({}, {"fullgraph": True}):
    torch._dynamo.reset()
    assert torch.equal(torch.compile(scaled, **options)(x), scaled(x))
print("compiled")
"""


def test_torch_compile_is_not_in_the_way_of_uninit(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(COMPILED)
    done = warm.cli("run", "--device", "cpu", "--pretend-cuda", "--check", "uninit", str(script))
    assert done.returncode == 0 and "compiled" in done.stdout, done.stderr


@pytest.mark.parametrize("text, said", [(GENERATORS, "generators"), (AUTOCAST, "autocast")])
@pytest.mark.parametrize("check", ["", "uninit"])
def test_as_on_a_gpu(tmp_path, text, said, check):
    script = tmp_path / "script.py"
    script.write_text(text)
    checks = ["--check", check] if check else []
    done = warm.cli("run", "--device", "cpu", "--pretend-cuda", *checks, str(script))
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


PART = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def double(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n) * 2, MASK)

x = torch.ones(100, device="cuda")
y = torch.empty_like(x)
double[(1,)](x, y, 100, B=128)
assert (y == 2).all() and y.is_cuda
print("doubled", sys.argv[1])
"""
WHOLE = """
import pathlib, subprocess, sys
words = [sys.executable, *OPTIONS, str(pathlib.Path(__file__).with_name("part.py")), "here"]
sys.exit(subprocess.run(words, env=ENVIRONMENT).returncode)
"""


@pytest.mark.parametrize("first", ["triton_runner._launch.graphs", "triton_runner", "triton"])
def test_another_python_that_imports_us_first(tmp_path, first):
    (tmp_path / "part.py").write_text(f"import {first}\n" + PART.replace("MASK", "i < n"))
    (tmp_path / "script.py").write_text(WHOLE.replace("OPTIONS", "[]").replace("ENVIRONMENT", "None"))
    done = warm.cli("run", "--device", "cpu", "--pretend-cuda", str(tmp_path / "script.py"))
    assert done.returncode == 0 and "doubled here" in done.stdout, done.stderr


@pytest.mark.parametrize("mask, status", [("i < n", 0), ("i < n + 1", 1)], ids=["right", "wrong"])
@pytest.mark.parametrize("verb", ["run", "verify"])
def test_another_python_runs_as_the_program_does(tmp_path, verb, mask, status):
    (tmp_path / "part.py").write_text(PART.replace("MASK", mask))
    (tmp_path / "script.py").write_text(WHOLE.replace("OPTIONS", "[]").replace("ENVIRONMENT", "None"))
    device = ["--device", "cpu"] if verb == "run" else []
    done = warm.cli(verb, *device, "--pretend-cuda", str(tmp_path / "script.py"))
    said = "doubled here" in done.stdout
    assert said == (status == 0) and ("out of bounds in tt.store" in done.stderr) == (status == 1), (
        done.stderr
    )
    if verb == "run":
        assert done.returncode == status and "another Python" not in done.stderr
    else:  # nothing is judged of launches elsewhere
        assert (
            done.returncode == 125 and "makes launches of its own; they are not looked at here" in done.stderr
        )


@pytest.mark.parametrize(("options", "environment"), [(["-I"], "None"), ([], "{}")], ids=["isolated", "bare"])
def test_another_python_is_told_of(tmp_path, options, environment):
    """One that takes none of the variables runs without triton-runner."""
    (tmp_path / "part.py").write_text("print('done')\n")
    text = WHOLE.replace("OPTIONS", repr(options)).replace("ENVIRONMENT", environment)
    script = tmp_path / "script.py"
    script.write_text(text)
    done = warm.cli("run", "--device", "cpu", str(script))
    assert done.returncode == 0 and done.stderr.count("starts another Python") == 1, done.stderr
    assert f"{script}:4" in done.stderr and "runs without triton-runner" in done.stderr
    script.write_text(textwrap.dedent("import subprocess\nsubprocess.run('true', shell=True)\n"))
    assert "another Python" not in warm.cli("run", "--device", "cpu", str(script)).stderr


def test_the_site_of_another_python_stays(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('of the program')\n")
    (tmp_path / "part.py").write_text("import sys\nassert 'triton_runner' not in sys.modules\n")
    (tmp_path / "script.py").write_text(WHOLE.replace("OPTIONS", "[]").replace("ENVIRONMENT", "None"))
    variables = {"PYTHONPATH": str(tmp_path)}
    done = warm.cli("run", "--device", "cpu", str(tmp_path / "script.py"), variables=variables)
    assert done.returncode == 0 and done.stdout.count("of the program") == 2, done.stderr
