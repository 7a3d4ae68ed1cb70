"""What triton-runner verify says of a kernel on which the compiler fails."""

import re

import pytest
import warm

triton = pytest.importorskip("triton")
from triton_runner._compiler import failures, workers  # noqa: E402
from triton_runner._pipeline import guard, stages  # noqa: E402
from triton_runner._pipeline.failures import CompilerError  # noqa: E402

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


@pytest.mark.parametrize("end", ENDS)
def test_a_compiler_that_fails_is_a_line_and_no_verdict(tmp_path, end):
    how, said = ENDS[end]
    (tmp_path / "program.py").write_text(FAILING.replace("HOW", how))
    done = warm.cli("verify", "program.py", cwd=tmp_path)
    assert done.returncode == 125 and "Traceback" not in done.stdout + done.stderr
    line = rf"the compiler of Triton \S+ fails on kernel for cuda:90 in make_ttgir: {re.escape(said)}\n"
    assert re.search(line, done.stdout) and len((done.stdout + done.stderr).splitlines()) < 15


def test_a_step_in_a_child():
    def step(tell):
        tell("first")
        tell("second")
        return {"text": b"made"}

    ended = guard.in_child(step)
    assert (ended.result, ended.error, ended.died, ended.told) == ({"text": b"made"}, None, "", "second")
    ended = guard.in_child(lambda tell: 1 // 0)
    assert isinstance(ended.error, ZeroDivisionError) and not ended.died


def test_a_failure_is_explained_by_a_worker(monkeypatch, tmp_path):
    """Which has the pass, what was said, and the folder; where it does not fail there, what is known here."""
    request = {
        "text": "",
        "level": "ttgir",
        "to": "ptx",
        "target": "cuda:90",
        "metadata": {},
        "filename": "k",
    }
    failure = stages.failures.Failure("llir", None, "SIGABRT", "first\nsecond", "k")
    error = CompilerError(failure, "3.9.0", request)
    told = workers.WorkerError("it failed in stage make_llir, pass 3 add_x: why", "said", "sh run.sh")
    ends = [told, None]

    def run(do, request, **options):
        assert (do, request["label"], options["isolate"]) == ("recorder_job", "k", True)
        if (end := ends.pop(0)) is not None:
            raise end

    monkeypatch.setattr(failures.compiler, "run", run)
    monkeypatch.setattr(failures, "_known", {})
    assert failures.explained(error) == [told.message, "said", "sh run.sh"]
    assert failures.explained(error) == [told.message, "said", "sh run.sh"] and len(ends) == 1  # asked once
    monkeypatch.setattr(failures, "_known", {})
    assert failures.explained(error) == [error.message, "second"]
    assert error.message == "the compiler of Triton 3.9.0 fails on k for cuda:90 in make_llir: first"
