"""Tests triton-runner bisect of kernels that a release does not compile: crashes of the compiler, refusals
of its front end."""

import pathlib
import subprocess
import types

import pytest
import warm

triton = pytest.importorskip("triton")
from bisecting import HEAD, INSTALLED, OTHERS, TWICE, judge, needs_another  # noqa: E402
from triton_runner._pipeline.failures import Failure  # noqa: E402
from triton_runner.verbs.bisect import failed  # noqa: E402
from triton_runner.verbs.bisect.trial import Kernel, Trial  # noqa: E402

# A pass of make_ttgir does this in place of its work, in the release named.
FAILING = """
import ctypes, os, sys, triton
from triton_runner._worker import recorder

def fails(self, manager, add, function, args, kwargs, init=recorder._Step.__init__):
    init(self, manager, add, function, args, kwargs)
    if add.endswith("add_coalesce") and triton.__version__ in RELEASES:
        real = self.manager
        class Manager:
            get_pipeline_str = staticmethod(real.get_pipeline_str)
            @staticmethod
            def run(*more):
                HOW
        self.manager = Manager

recorder._Step.__init__ = fails
"""
SAID = 'python3: Coalesce.cpp:7: void f(): Assertion `n > 0 && \\"a layout without elements\\"\' failed.'
ABORTS = f"os.write(2, b'''{SAID}\\n'''); os.kill(os.getpid(), 6)"
ENDS = {
    "assertion": (ABORTS, "SIGABRT", f"{SAID}\nthe compiler died of SIGABRT"),
    "segfault": ("ctypes.string_at(8)", "SIGSEGV", "the compiler died of SIGSEGV"),
    "exception": (
        r"os.write(2, b'k.py:7:4: error: no layout for this\n'); "
        "raise RuntimeError('PassManager::run failed')",
        "RuntimeError", "k.py:7:4: error: no layout for this\nPassManager::run failed",
    ),
    "hang": ("import time; time.sleep(99)", "timeout", "it takes longer than 8 s"),
}  # fmt: skip
CHECK = "sys.exit(int((out != np.arange(64) * 2).any()))"


def failing(how, releases=(INSTALLED,)):
    return FAILING.replace("RELEASES", repr(releases)).replace("HOW", how) + TWICE + CHECK


@pytest.mark.parametrize("end", ENDS)
def test_a_compiler_that_fails_cannot_be_judged(tmp_path, end):
    how, ended, message = ENDS[end]
    limit = ["--timeout", "8"] if end == "hang" else []  # which a slow machine needs for the others
    status, said = judge(tmp_path, failing(how), *limit)
    assert (status, said["verdict"], said["faults"]) == (125, "unknown", [])
    (crash,) = said["release"]["crashed"]
    assert said["crash"] == crash and said["release"]["unknown"] == []
    assert (crash["version"], crash["level"], crash["stage"]) == (INSTALLED, "ttgir", "make_ttgir")
    assert (crash["pass"]["name"], crash["kernel"]) == ("TritonGPUCoalesce", "kernel")
    assert (crash["how"], crash["message"].replace('\\"', '"')) == (ended, message.replace('\\"', '"'))
    assert (pathlib.Path(crash["reproducer"]) / "run.sh").is_file()


def test_the_page_of_a_crash_is_short_and_its_reproducer_fails_again(tmp_path):
    (tmp_path / "program.py").write_text(failing(ENDS["exception"][0]))
    answer = warm.invoke("bisect", "--versions", INSTALLED, tmp_path / "program.py")
    first, *rest = answer.stdout.splitlines()
    where = "make_ttgir, pass TritonGPUCoalesce (tritongpu-coalesce)"
    assert answer.exit_code == 125 and len(rest) < 12 and "Traceback" not in answer.output
    assert first.endswith(
        f"cannot be judged: the compiler fails in {where}: k.py:7:4: error: no layout for this"
    )
    assert f"crashes  {INSTALLED}: {where}: k.py:7:4: error: no layout for this" in rest
    again = next(line for line in rest if "to see it again" in line).rpartition(": ")[2]
    done = subprocess.run(again.split(), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1 and "PassManager::run failed" in done.stderr


@pytest.mark.long
@needs_another
def test_a_crash_where_another_release_compiles_it(tmp_path):
    both = ["--versions", f"{OTHERS[-1]},{INSTALLED}", "--save", str(tmp_path / "folder")]
    status, said = judge(tmp_path, failing(ABORTS), *both)
    assert (status, said["verdict"], said["release"]["right"]) == (1, "compiler", [OTHERS[-1]])
    assert said["pass"]["name"] == "TritonGPUCoalesce" and said["crash"]["how"] == "SIGABRT"
    (fault,) = said["faults"]
    assert fault["release"]["wrong"] == [INSTALLED] and fault["crash"] == said["crash"]
    assert "Assertion" in (tmp_path / "folder" / "verdict.txt").read_text()


OWN = [
    ("import os; print('error'); os.kill(os.getpid(), 11)", "it died of signal 11"),
    ("raise RuntimeError('PassManager::run failed')", "RuntimeError: PassManager::run failed"),
]


@pytest.mark.parametrize(("end", "why"), OWN, ids=["signal", "exception"])
def test_a_program_that_fails_by_itself_is_no_crash_of_the_compiler(tmp_path, end, why):
    status, said = judge(tmp_path, TWICE + end)
    assert (status, said["verdict"], "crashed" in said["release"]) == (125, "unknown", False)
    assert [one["why"] for one in said["release"]["unknown"]] == [why]


def test_a_program_that_goes_on_after_a_failure_is_judged(tmp_path):
    text = failing("raise RuntimeError('PassManager::run failed')").replace("kernel[(1,)]", "KERNEL")
    text = text.replace(
        "KERNEL(out, 64, num_warps=1)",
        "try:\n    kernel[(1,)](out, 64)\nexcept RuntimeError: out[:] = np.arange(64) * 2",
    )
    status, said = judge(tmp_path, text)
    assert (status, said["verdict"]) == (0, "right")


REFUSED = HEAD.replace("VALUE", "index + tl.no_such_function(index)") + CHECK
HELPER = REFUSED.replace(
    "\n@triton_runner.jit",
    "\n@triton_runner.jit\ndef helper(x):\n    y = x\n    return y.missing\n\n@triton_runner.jit",
)
HELPER = HELPER.replace("tl.no_such_function", "helper")


@pytest.mark.parametrize(("text", "line", "column", "shown"), [
    (REFUSED, 7, 35, "tl.store(out + index, index + tl.no_such_function(index))"),
    (HELPER, 7, 12, "return y.missing"),
], ids=["kernel", "helper"])  # fmt: skip
def test_what_the_front_end_refuses_is_the_kernel_s(tmp_path, text, line, column, shown):
    status, said = judge(tmp_path, text)
    assert (status, said["verdict"]) == (1, "kernel")
    (refused,) = said["release"]["refused"]
    assert (refused["line"], refused["column"], refused["kernel"]) == (line, column, "kernel")
    assert pathlib.Path(refused["file"]).name == "program.py"
    answer = warm.invoke("bisect", "--versions", INSTALLED, tmp_path / "program.py")
    lines = [text.strip() for text in answer.stdout.splitlines()]
    assert shown in lines and lines[lines.index(shown) + 1] == "^" and "Traceback" not in answer.output


def uncompiled(ends: dict) -> failed.Uncompiled:
    """Returns what is said of releases "a" ... by how each ends: "right", "crash" or "refused"."""
    failures = {"crash": Failure("ttgir", "passes.ttgpuir.add_coalesce", "SIGABRT", "it died"),
                "refused": Failure("source", None, "CompilationError", "no", is_kernels=True)}  # fmt: skip
    judged = {v: Trial("unknown", "no", failure=failures[end]) if end in failures
              else Trial(end, kernels=[Kernel("k", [], None)]) for v, end in ends.items()}  # fmt: skip
    releases = {v: types.SimpleNamespace(reproducer=lambda trial: None) for v in ends}
    return failed.uncompiled([*ends], judged, releases, "p.py")


@pytest.mark.parametrize(("ends", "faults", "instead"), [
    ("right crash", [("compiler", ["b"])], None),
    ("crash right crash crash", [("compiler", ["a"]), ("compiler", ["c", "d"])], None),
    ("wrong crash", [("compiler", ["b"])], None),
    ("crash crash", [], "unknown"),
    ("refused refused", [], "kernel"),
    ("refused right", [], None),  # an older release does not know the language of this kernel yet
    ("right refused", [("front end", ["b"])], None),
    ("refused crash", [], "unknown"),
])  # fmt: skip
def test_whose_fault_it_is_that_a_release_does_not_compile(ends, faults, instead):
    found = uncompiled(dict(zip("abcd", ends.split(), strict=False)))
    assert [(fault.verdict, run) for run, fault in found.faults] == faults
    assert (found.instead and found.instead.verdict) == instead
