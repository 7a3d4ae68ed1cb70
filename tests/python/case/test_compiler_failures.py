"""Tests what triton-runner verify says of a kernel on which the compiler fails."""

import os
import re
import signal
import subprocess
import sys

import pytest
import warm

triton = pytest.importorskip("triton")
from triton_runner._kernel.compiling import failures  # noqa: E402
from triton_runner._pipeline import guard, workers  # noqa: E402
from triton_runner._pipeline.failures import CompilerError, Failure  # noqa: E402

# A stage that does not do its work, in the process of the program alone.
FAILING = """
import os, torch, triton, triton.language as tl
import triton.backends.nvidia.compiler as nvidia

def fails(module, metadata, options, capability):
    HOW

nvidia.CUDABackend.make_ttgir = staticmethod(fails)

@triton.jit
def kernel(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.arange(0, N))

kernel[(1,)](torch.zeros(64, dtype=torch.int32), 64)
"""
SAID = "python3: Coalesce.cpp:7: void f(): Assertion `n > 0' failed."
ENDS = {
    "abort": (rf'os.write(2, b"{SAID}\n"); os.abort()', SAID),
    "segfault": ("import ctypes; ctypes.string_at(8)", "it died of SIGSEGV"),
    "exception": ("raise RuntimeError('PassManager::run failed')", "PassManager::run failed"),
}


def judged(folder, *words):
    """With a cache of its own, which has no kernel yet."""
    return warm.cli(*words, "program.py", cwd=folder, variables={"TRITON_CACHE_DIR": str(folder / "cache")})


@pytest.mark.parametrize("stage", ["ttir", "ttgir"])
@pytest.mark.parametrize("end", ENDS)
def test_a_compiler_that_fails_is_a_line_and_no_verdict(tmp_path, stage, end):
    """At the level that the program runs at, and below it."""
    how, said = ENDS[end]
    (tmp_path / "program.py").write_text(FAILING.replace("HOW", how).replace("make_ttgir", f"make_{stage}"))
    done = judged(tmp_path, "verify")
    assert done.returncode == 125 and "Traceback" not in done.stdout + done.stderr
    line = rf"the compiler of Triton \S+ fails on kernel 'kernel' in make_{stage}: {re.escape(said)}\n"
    assert re.search(line, done.stdout) and len((done.stdout + done.stderr).splitlines()) < 15
    assert done.stdout.splitlines()[-1] == "verdict: unknown"


@pytest.mark.parametrize("words", [(), ("--level", "ptx")], ids=["ttir", "ptx"])
@pytest.mark.parametrize("end", ENDS)
def test_run_says_what_the_compiler_died_of(tmp_path, end, words):
    """It says so of an abort too, which ends the process of the program: another one waits for it."""
    how, said = ENDS[end]
    stage = "ttgir" if words else "ttir"
    text = FAILING.replace("HOW", how).replace("make_ttgir", f"make_{stage}")
    (tmp_path / "program.py").write_text(text)
    variables = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = warm.cli("run", "--device", "cpu", *words, "program.py", cwd=tmp_path, variables=variables)
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    said = "it died of SIGABRT" if end == "abort" else said  # what it wrote stands above
    line = rf"error: the compiler of Triton \S+ fails on kernel 'kernel' in make_{stage}: {re.escape(said)}\n"
    assert re.search(line, done.stderr) and (end != "abort" or SAID in done.stderr)


VERBS = {
    "dump": ("dump", "--level", "ttgir"), "report": ("report",), "profile": ("profile",),
    "debug": ("debug", "--level", "ttgir", "-ex", "run"), "bundle": ("bundle", "-o", "x.trcase"),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_that_runs_a_program_says_what_the_compiler_died_of(tmp_path, verb):
    """Also where the stage is reached from another one: `report` compiles TTIR onward, and says ttgir."""
    (tmp_path / "program.py").write_text(FAILING.replace("HOW", ENDS["abort"][0]))
    done = judged(tmp_path, *VERBS[verb])
    assert done.returncode == 1 and "Traceback" not in done.stderr and SAID in done.stderr, done.stderr
    line = r"error: the compiler of Triton \S+ fails on kernel 'kernel' in make_ttgir: it died of SIGABRT\n"
    assert re.search(line, done.stderr)


TUNED = """
@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (8, 4)], key=[])
@triton.jit
def kernel"""


def test_a_configuration_that_ends_the_compiler_is_a_row(tmp_path):
    """The others are judged, and the program goes on with one of them."""
    ways = (
        "own = nvidia.CUDABackend.make_ttgir\n\ndef fails",
        "os.abort() if options.num_warps == 8 else None",
    )
    text = FAILING.replace("def fails", ways[0]).replace(
        "HOW", f"{ways[1]}; return own(module, metadata, options, capability)"
    )
    (tmp_path / "program.py").write_text(text.replace("\n@triton.jit\ndef kernel", TUNED))
    done = judged(tmp_path, "configs")
    rows = [line.split("  ")[1:] for line in done.stdout.splitlines() if line.startswith("  ")]
    assert done.returncode == 1 and rows[0][0] == "compiler error" and "died of SIGABRT" in done.stdout
    assert "1 no fault found" in done.stdout and "1 compiler error" in done.stdout


def test_run_ends_as_its_program_does(tmp_path):
    def status(text):
        (tmp_path / "program.py").write_text(text)
        return warm.cli("run", "program.py", cwd=tmp_path).returncode

    assert status("raise SystemExit(7)") == 7 and status("") == 0
    assert status("import os; os._exit(3)") == 3
    assert status("import os; os.abort()") == -signal.SIGABRT  # of its own: no compiler was at work
    assert status("import os, signal; os.kill(os.getpid(), signal.SIGTERM)") == -signal.SIGTERM


def test_run_hands_signals_on(tmp_path):
    text = """
import os, signal, time
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"told\\n"))  # a print() may be interrupted by it
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
try:
    print("ready", flush=True)
    time.sleep(1000)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""
    (tmp_path / "program.py").write_text(text)
    words = [sys.executable, "-m", "triton_runner", "run", "program.py"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGUSR1)
        assert process.stdout.readline() == "told\n"
        process.send_signal(signal.SIGINT)
        line = process.stdout.readline()
        assert line == "interrupted\n" and process.wait(300) == 130, process.stderr.read()


TESTS = """
def test_launches():
    kernel[(1,)](torch.zeros(64, dtype=torch.int32), 64)

@pytest.mark.xfail(raises=RuntimeError, strict=True)
def test_is_known_to_fail():
    kernel[(1,)](torch.zeros(64, dtype=torch.int32), 64)

def test_without_a_kernel():
    raise ValueError("no kernel")
"""


def test_a_test_whose_kernel_is_not_compiled(tmp_path):
    """It has the reason in place of a traceback of Triton, and fails as it did."""
    text = FAILING.replace("import os", "import os, pytest").replace("HOW", ENDS["exception"][0])
    (tmp_path / "test_it.py").write_text(text.rpartition("kernel[")[0].replace("ttgir", "ttir") + TESTS)
    words = ["-m", "pytest", "--triton=cpu", "-p", "no:cacheprovider", "test_it.py"]
    variables = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = warm.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path, env=variables)
    first, rest = done.stdout.split("test_launches ___")[1].split("test_without_a_kernel ___")
    assert "fails on kernel 'kernel' in make_ttir: PassManager::run failed" in first
    assert len(first.splitlines()) < 5 and 'raise ValueError("no kernel")' in rest
    assert "2 failed, 1 xfailed" in done.stdout


def test_what_the_front_end_refuses_is_the_kernel_s(tmp_path):
    text = FAILING.replace("nvidia.CUDABackend.make_ttgir = staticmethod(fails)", "").replace("HOW", "pass")
    (tmp_path / "program.py").write_text(text.replace("tl.arange(0, N))\n\nk", "tl.nothing(N))\n\nk"))
    for verb, status in (("verify", 1), ("run", 1)):
        done = judged(tmp_path, verb)
        assert done.returncode == status and "Traceback" not in done.stdout + done.stderr
        first, shown, caret, *_ = done.stderr.splitlines()
        assert re.search(
            r"program\.py:12:37: error: the front end of Triton \S+ refuses kernel 'kernel': ", first
        )
        assert shown.strip() == "tl.store(out + tl.arange(0, N), tl.nothing(N))" and caret.strip() == "^"
        assert shown.index("tl.nothing") <= caret.index("^")
    assert done.stdout == ""


def test_a_step_in_a_child():
    def step(tell):
        tell("first")
        tell("second")
        return {"text": b"made"}

    ended = guard.in_child(step)
    assert (ended.result, ended.error, ended.died, ended.told) == ({"text": b"made"}, None, "", "second")
    ended = guard.in_child(lambda tell: 1 // 0)
    assert isinstance(ended.error, ZeroDivisionError) and not ended.died


def test_a_failure_is_explained_by_a_worker(monkeypatch):
    """Which has the pass, what was said, and the folder; where it does not fail there, what is known here."""
    request = {
        "text": "",
        "level": "ttgir",
        "to": "ptx",
        "target": "cuda:90",
        "metadata": {},
        "filename": "k",
    }
    error = CompilerError(Failure("llir", None, "SIGABRT", "first\nsecond", "k"), request)
    told = workers.WorkerError("it failed in stage make_llir, pass 3 add_x: why", "said", "sh run.sh")
    ends = [told, None]

    def run(do, request, **options):
        assert (do, request["label"], options["isolate"]) == ("recorder_job", "kernel 'k'", True)
        if (end := ends.pop(0)) is not None:
            raise end

    monkeypatch.setattr(failures.compiler, "run", run)
    monkeypatch.setattr(failures, "_known", {})
    assert failures.explained(error) == [told.message, "  said", "  sh run.sh"]
    assert (
        failures.explained(error) == [told.message, "  said", "  sh run.sh"] and len(ends) == 1
    )  # asked once
    monkeypatch.setattr(failures, "_known", {})
    first = f"the compiler of Triton {triton.__version__} fails on kernel 'k' in make_llir: first"
    assert failures.explained(error) == [first, "  second"]
    assert failures.explained(ValueError("of the program")) == []
