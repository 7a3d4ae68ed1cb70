"""Tests pytest --triton in test suites of its own: what a finding does to its test, with processes side by
side, for programs that say "cuda"; and that a run without it imports nothing of ours."""

import json
import os
import re
import subprocess
import sys

import kernels_in_text
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")

KERNELS = (
    kernels_in_text.TEXT.replace("import torch", "import pytest, torch")
    + """
def race():
    racy[(2,)](torch.zeros(64, dtype=torch.int32, device=DEVICE), N=64)

def right(n=64):
    x, out = torch.arange(n, device=DEVICE), torch.zeros(n, dtype=torch.int64, device=DEVICE)
    double[(1,)](x, out, N=n)
    assert torch.equal(out, x + x)

"""
)
SUITE = (
    'DEVICE = "cpu"\n'
    + KERNELS
    + """
def test_right():
    right(64)

@pytest.mark.parametrize("again", [1, 2])
def test_racy(again):
    race()

def test_fails_itself():
    race()
    assert 1 == 2

def test_beyond():
    racy[(1,)](torch.zeros(32, dtype=torch.int32), N=64)

@pytest.mark.triton_check("uninit")
def test_other_checks():
    race()

@pytest.mark.triton_check()
def test_no_checks():
    race()

@pytest.mark.triton_check("nanload")
def test_a_check_that_does_not_look_there():
    race()

@pytest.fixture
def raced():
    race()

def test_in_a_fixture(raced):
    right(32)

@pytest.fixture
def races_after():
    yield
    race()

def test_in_the_end_of_a_fixture(races_after):
    right(16)

@pytest.mark.xfail(strict=True)
def test_known_to_race():
    race()

def test_many_shapes():
    for n in (1, 2, 4, 8):
        right(n)
        right(n)

def test_without_kernels():
    pass
"""
)
CUDA = (
    'DEVICE = "cuda"\n'
    + KERNELS
    + """
assert torch.cuda.is_available()

def test_right():
    assert torch.zeros(1, device="cuda").is_cuda
    right()

def test_racy():
    race()

def test_unwritten():
    out = torch.zeros(64, device="cuda")
    double[(1,)](torch.empty(64, device="cuda"), out, N=64)
"""
)
RACE = "data race in tt.store"


def run(folder, *options, program=""):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TRITON_RUNNER", "PYTEST"))}
    # The cache knows one of two kernels with the same text, with the file of the first.
    clean["TRITON_CACHE_DIR"] = str(folder / "cache")
    command = ["-m", "pytest", "-p", "triton_runner_pytest", "-p", "no:cacheprovider", "-q", *options]
    done = (subprocess if program else warm).run(
        [sys.executable, *(["-c", program] if program else command)],
        cwd=folder, env=clean, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def outcomes(text: str) -> dict[str, str]:
    return {name: how for how, name in re.findall(r"^(\w+) \S+::(\S+)", text, re.MULTILINE)}


def section(text: str, test: str) -> str:
    """Returns what pytest says of a test that failed."""
    return re.search(
        rf"^_+ (?:ERROR at \w+ of )?{re.escape(test)} _+$(.*?)(?=^[_=]{{5}})", text, re.M | re.S
    )[1]


@pytest.fixture(scope="module")
def at_ptx(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_suite.py").write_text(SUITE)
    options = ("--triton=cpu", "--triton-level=ptx", "--triton-check=race,overflow", "--triton-launches=3")
    return run(folder, *options, "-rA", "--junitxml=junit.xml", "--triton-github")


def test_a_finding_fails_its_test(at_ptx):
    status, text = at_ptx
    assert status == 1, text
    right = {"test_right", "test_other_checks", "test_no_checks", "test_many_shapes", "test_without_kernels"}
    told = outcomes(text)
    assert {name for name, how in told.items() if how == "PASSED"} - {"test_in_the_end_of_a_fixture"} == right
    assert told["test_racy[1]"] == told["test_racy[2]"] == told["test_in_a_fixture"] == "FAILED"
    assert told["test_in_the_end_of_a_fixture"] in ("ERROR", "PASSED") and "ERROR at teardown" in text
    assert told["test_known_to_race"] == "XFAIL"
    found = section(text, "test_racy[1]")
    assert "test_suite.py:12:5: race at ttir, ttgir, ptx" in found and RACE in found
    assert "    tl.store(out_ptr + tl.arange(0, N), tl.program_id(0))\n    ^\n" in found
    assert "Traceback" not in found and "_launch" not in found


def test_a_test_that_fails_itself_says_so_and_shows_the_finding(at_ptx):
    text = section(at_ptx[1], "test_fails_itself")
    assert "assert 1 == 2" in text and "Captured kernels call" in text and RACE in text
    assert "out of bounds in tt.store" in section(at_ptx[1], "test_beyond")


def test_a_marker_with_a_check_that_does_not_look_at_the_level(at_ptx):
    text = section(at_ptx[1], "test_a_check_that_does_not_look_there")
    assert "error: check 'nanload' does not exist at ptx" in text


def test_the_summary(at_ptx):
    text = at_ptx[1].partition(" kernels of Triton ")[2]
    assert "kernels run on the CPU at ptx; checks: race, overflow\n" in text
    assert "2 kernels, 20 launches in 11 of 13 tests; 14 different ones judged\n" in text
    assert "fault, race at test_suite.py:12\n" in text and "and 5 more\n" in text
    assert "not judged: 1 launch more (--triton-launches)\n" in text
    assert "::error file=test_suite.py,line=12,col=5,title=triton-runner%3A race in racy::at ttir" in text
    assert "\n2 faults, 0 warnings\n" in text


def test_programs_that_say_cuda_in_two_processes(tmp_path):
    (tmp_path / "test_cuda.py").write_text(CUDA)
    options = ("--triton=cpu", "--triton-pretend-cuda", "--triton-sarif=found.sarif", "-rA", "-n2")
    status, text = run(tmp_path, *options)
    assert status == 1, text
    assert outcomes(text) == {"test_right": "PASSED", "test_racy": "FAILED", "test_unwritten": "FAILED"}, text
    assert "the CPU at ttir; torch.cuda reports a CUDA device; checks: oob, uninit, race, overflow" in text
    assert "2 kernels, 3 launches in 3 of 3 tests; 3 different ones judged" in text
    (sarif,) = json.loads((tmp_path / "found.sarif").read_text())["runs"]
    assert {result["ruleId"] for result in sarif["results"]} == {"race", "uninit"}


WITHOUT = """
import sys, pytest
with open("test_plain.py", "w") as file:
    file.write("import pytest\\n@pytest.mark.triton_check('race')\\ndef test(): pass\\n")
options = ["-p", "triton_runner_pytest", "-q", "-p", "no:cacheprovider"]
assert pytest.main([*options, "--strict-markers"]) == 0
loaded = {name.partition(".")[0] for name in sys.modules}
assert "triton_runner_pytest" in loaded
assert not loaded & {"triton_runner", "triton", "torch", "numpy", "click"}, loaded
for words, said in (
    (["--triton-level=ptx"], "--triton-level needs --triton"),
    (["--triton-strict"], "--triton-strict needs --triton"),
    (["--triton=cpu", "--triton-check=foo"], "unknown check 'foo'"),
    (["--triton=cpu", "--triton-level=ptx", "--triton-check=nanload"], "does not exist at ptx"),
    (["--triton=cpu", "--triton-level=ptx", "--triton-target=hip:gfx942"], "hip:gfx942 has no level ptx"),
    (["--triton=cpu", "--triton-sarif=no/such"], "cannot write no/such"),
):
    print("--- " + said, file=sys.stderr, flush=True)
    assert pytest.main([*options, *words]) == 4, words
"""


def test_without_the_option_nothing_is_loaded_and_wrong_options_are_refused(tmp_path):
    status, text = run(tmp_path, program=WITHOUT)
    assert status == 0, text
    for said in re.findall(r"^--- (.*)", text, re.MULTILINE):
        assert re.search(rf"(?i)error: .*{re.escape(said)}", text), (said, text)
    assert "Traceback" not in text and "INTERNALERROR" not in text


LEAVES = """
import os, threading, torch, triton, triton.language as tl

@triton.jit
def flipped(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.load(y + n - 1 - at))

@triton.jit
def logs(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.log(tl.load(x + at)))

def launched(check):
    x, out = torch.tensor([1.0, -1.0] * 32), torch.empty(64)
    logs[(1,)](x, out, N=64)
    if check:
        assert out[::2].abs().max() == 0

def test_distinct_and_then_in_place():
    x = torch.arange(256, dtype=torch.float32)
    flipped[(4,)](x, x, torch.empty(256), 256, BLOCK=64)
    flipped[(4,)](x, x, x, 256, BLOCK=64)

def test_no_programs():
    flipped[(0,)](torch.ones(1), torch.ones(1), torch.ones(1), 0, BLOCK=64)

def test_leaves():
    os._exit(0)

def test_leaves_in_a_thread():
    thread = threading.Thread(target=os._exit, args=(0,))
    thread.start()
    thread.join()

def test_a_child_leaves():
    if os.fork() == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0

def test_a_nan():
    launched(False)

def test_a_nan_that_is_checked():
    launched(True)
"""


def test_what_a_launch_is_and_who_leaves(tmp_path):
    """Overlap belongs to a launch, a test that ends the process fails, and a NaN is excused by a check that
    was seen."""
    (tmp_path / "test_leaves.py").write_text(LEAVES)
    status, text = run(tmp_path, "--triton=cpu", "--triton-check=oob,race,nan", "-rA", "test_leaves.py")
    assert status == 1
    wrong = {"test_distinct_and_then_in_place", "test_leaves", "test_leaves_in_a_thread", "test_a_nan"}
    found = outcomes(text)
    assert {name for name, outcome in found.items() if outcome == "FAILED"} == wrong, text
    assert found.keys() - wrong == {"test_no_programs", "test_a_child_leaves", "test_a_nan_that_is_checked"}
    assert "data race" in text and "os._exit() would end pytest" in text


SAYS_CUDA = """
import torch, triton, triton.language as tl

@triton.jit
def add(x, y, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + at, tl.load(x + at) + 1)

def test_made_there():
    torch.ones(128, device="cuda")

def test_moved_there():
    torch.ones(128).cuda()

def test_trap():
    add[(2,)](torch.ones(100), torch.empty(128), B=64)

def test_grid():
    add[3](torch.ones(64), torch.empty(64), B=64)

def test_of_torch():
    torch.ones(3) + torch.ones(4)
"""


def test_what_a_failure_shows(tmp_path):
    """No frame of ours or of Triton; where a test says cuda, the option that lets it."""
    (tmp_path / "test_says_cuda.py").write_text(SAYS_CUDA)
    done = warm.run(
        [sys.executable, "-m", "pytest", "--triton=cpu", "-q", "-p", "no:cacheprovider", "test_says_cuda.py"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    shown = done.stdout.split("= FAILURES =")[1].split("kernels of Triton")[0]
    assert "/triton_runner/" not in shown and "triton/runtime" not in shown, shown
    tests = re.split(r"_{5,} (\w+) _{5,}", shown)
    tests = dict(zip(tests[1::2], tests[2::2], strict=True))
    for name in ("test_made_there", "test_moved_there"):
        assert "--triton-pretend-cuda" in tests[name] and tests[name].count("\n") < 12, tests[name]
    assert "out of bounds in tt.load" in tests["test_trap"]
    assert "the grid of kernel 'add' is the number 3" in tests["test_grid"]
    assert "must match the size" in tests["test_of_torch"]
    assert shown.count("--triton-pretend-cuda") == 2


@pytest.mark.parametrize(("line", "hints"), [("torch.cuda.current_device()", 1), ("torch.ones(3)[4]", 0)])
def test_a_file_that_asks_for_cuda_as_it_is_imported(line, hints, tmp_path):
    (tmp_path / "test_of_a_gpu.py").write_text(f"import torch\n{line}\n")
    words = ["-m", "pytest", "--triton=cpu", "-q", "-p", "no:cacheprovider", "test_of_a_gpu.py"]
    done = warm.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout.count("--triton-pretend-cuda") == hints, done.stdout
