"""--pretend-cuda: generators, autocast, and a Python that the program starts."""

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

STARTS = """
import subprocess, sys
for _ in range(2):
    subprocess.run([sys.executable, "-c", "print('a child')"], check=True)
subprocess.run("true", shell=True)
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


@pytest.mark.timeout(600)
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


def test_another_python_is_told_of(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(STARTS)
    done = warm.cli("run", "--device", "cpu", str(script))
    assert done.returncode == 0 and done.stderr.count("starts another Python") == 1, done.stderr
    assert f"{script}:4" in done.stderr
    script.write_text(textwrap.dedent("import subprocess\nsubprocess.run('true', shell=True)\n"))
    assert "another Python" not in warm.cli("run", "--device", "cpu", str(script)).stderr
