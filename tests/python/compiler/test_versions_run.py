"""versions run: a verb with another release than the installed one, as for programs that this one refuses."""

import importlib.util
import os
import sys

import pytest
import warm

triton = pytest.importorskip("triton")
pytest.importorskip("torch")
from triton_runner._pipeline import versions  # noqa: E402

# The newest release of Triton has no block pointers.
PROGRAM = """
import sys, torch, triton, triton.language as tl

@triton.jit
def copy(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, BLOCK), (1, 0))
    out = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, BLOCK), (1, 0))
    tl.store(out, tl.load(x, boundary_check=(0, 1)), boundary_check=(0, 1))

x = torch.arange(40 * 20, dtype=torch.float32).reshape(40, 20)
out = torch.zeros_like(x)
copy[(2 if "short" in sys.argv else 3,)](x, out, 40, 20, BLOCK=16 if "short" in sys.argv else 32)
assert torch.equal(x, out)
print("with", triton.__version__)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "blocks.py").write_text(PROGRAM)
    return str(tmp_path / "blocks.py")


@pytest.fixture
def older():
    """A release in the cache that has block pointers."""
    found = [row["version"] for row in versions.listed() if row["folder"] and row["python"] == sys.executable]
    found = [version for version in found if versions.key(version) < (3, 9)]
    if not found:
        pytest.skip("no older release is in the cache: triton-runner versions add 3.8.0")
    return found[-1]


def test_a_verb_runs_with_the_release(program, older):
    done = warm.cli("versions", "run", older, "verify", "--kernel", "copy", program)
    assert done.returncode == 0 and "verdict: right" in done.stdout, done.stdout + done.stderr
    done = warm.cli("versions", "run", older, "run", "--device", "cpu", program)
    assert done.returncode == 0 and f"with {older}" in done.stdout


def test_a_wrong_program_is_wrong_there(program, older):
    done = warm.cli("versions", "run", older, "verify", program, "short")
    assert done.returncode == 1 and "verdict: wrong" in done.stdout, done.stdout + done.stderr


def test_the_command_that_a_fault_prints_has_the_release_too(program, older, tmp_path):
    (tmp_path / "beyond.py").write_text(PROGRAM.replace("tl.load(x, boundary_check=(0, 1))", "tl.load(x)"))
    done = warm.cli("versions", "run", older, "run", "--device", "cpu", str(tmp_path / "beyond.py"))
    command = f"triton-runner versions run {older} debug {tmp_path / 'beyond.py'}"
    assert done.returncode == 1 and f"to look at it: {command}\n" in done.stderr, done.stderr
    done = warm.cli("versions", "run", older, "debug", "-ex", "run", str(tmp_path / "beyond.py"))
    assert "trap: kernel 'copy': out of bounds" in done.stdout, done.stdout


def test_the_installed_release_runs_as_it_is():
    done = warm.cli("versions", "run", triton.__version__, "ops", "tt.dot", "--json")
    assert done.returncode == 0 and '"tt.dot"' in done.stdout


@pytest.mark.parametrize(
    "words, said",
    [
        (("9.9.9", "env"), "9.9.9"),
        (("3.8.0",), "Missing argument"),
        (("3.9.0", "no-such-verb"), "No such command"),
    ],
)
def test_what_is_refused(words, said):
    done = warm.cli("versions", "run", *words)
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_a_release_for_another_python_is_refused(tmp_path):
    place = tmp_path / f"3.4.0-cp{sys.version_info[0]}{sys.version_info[1]}"
    (place / "triton").mkdir(parents=True)
    (place / "triton" / "__init__.py").write_text("")
    (place / "triton_runner.json").write_text('{"python": "/bin/sh"}')
    done = warm.cli(
        "versions", "run", "3.4.0", "env", variables={"TRITON_RUNNER_VERSIONS": os.fspath(tmp_path)}
    )
    assert done.returncode == 2 and "has no wheel for this Python" in done.stderr, done.stderr


@pytest.mark.parametrize("module, named", [("tokenspeed_triton.language", True), ("no_triton", False)])
def test_a_program_of_a_build_that_is_absent_is_told_how_to_run(tmp_path, module, named):
    if importlib.util.find_spec("tokenspeed_triton"):
        pytest.skip("it is installed")
    (tmp_path / "theirs.py").write_text(f"import {module} as tl\n")
    done = warm.cli("run", str(tmp_path / "theirs.py"))
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr, done.stdout + done.stderr
    advice = "`triton-runner versions add next` fetches it, and `triton-runner versions run next run`"
    assert (advice in done.stderr) == named, done.stderr
