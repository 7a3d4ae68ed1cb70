"""compare of a kernel that a release does not compile: its compiler fails, or its front end refuses it."""

import json
import pathlib
import shutil
import subprocess

import pytest
import warm

triton = pytest.importorskip("triton")
from bisecting import INSTALLED, OTHERS, needs_another  # noqa: E402

# Is run as a worker of the installed release starts: the run of one pass fails, if the kernel is for 4 warps.
PLANTED = """
import os, sys
if "child.py" in " ".join(sys.orig_argv) and sys.orig_argv[-2] == "":
    from triton._C.libtriton import ir

    class Manager(ir.pass_manager):
        def run(self, module, *more):
            text = self.get_pipeline_str() + str(module)
            if "tritongpu-coalesce" in text and ("num-warps=4" in text or '"ttg.num-warps" = 4' in text):
                HOW
            return super().run(module, *more)

    ir.pass_manager = Manager
"""
SAID = 'python3: Coalesce.cpp:7: void f(): Assertion `n > 0 && "a layout without elements"\' failed.'
ABORTS = f"os.write(2, b'''{SAID}\n'''); os.abort()".replace("\n", "\\n")
RAISES = "raise RuntimeError('PassManager::run failed')"
PASS = "make_ttgir, pass TritonGPUCoalesce (tritongpu-coalesce)"
KERNEL = """
import triton, triton.language as tl
@triton.jit
def twice(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) * 2)

@triton.jit
def helper(x):
    return x.missing

@triton.jit
def refused(x, y, N: tl.constexpr):
    tl.store(y, helper(tl.load(x)))
"""
LAUNCH = ["--arg", "f32[64]=rand", "--arg", "f32[64]", "-c", "N=64", "--grid", "1"]


@pytest.fixture
def compared(tmp_path, monkeypatch):
    """Runs compare with a planted failure: the status, and stdout."""
    monkeypatch.setenv("TRITON_RUNNER_STORE", str(tmp_path / "store"))
    (tmp_path / "kernel.py").write_text(KERNEL)

    def run(how, *words, kernel="twice"):
        (tmp_path / "sitecustomize.py").write_text(PLANTED.replace("HOW", how))
        variables = {"PYTHONPATH": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
        name = f"{tmp_path / 'kernel.py'}:{kernel}"
        done = warm.cli("compare", name, *LAUNCH, *words, cwd=tmp_path, variables=variables)
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize(
    ("how", "ended", "said"),
    [(ABORTS, "SIGABRT", f"{SAID}\nthe compiler died of SIGABRT"), (RAISES, "RuntimeError", None)],
    ids=["abort", "exception"],
)
def test_a_compiler_that_fails_in_one_configuration(compared, how, ended, said):
    status, out = compared(how, "--configs", "num_warps=1,4", "--json")
    right, failed = json.loads(out)["cells"]
    assert status == 1 and "crash" not in right and right["outputs"] and right["error"] is None
    crash = failed["crash"]
    assert (crash["version"], crash["stage"], crash["kernel"]) == (INSTALLED, "make_ttgir", "twice")
    assert (crash["pass"]["name"], crash["how"]) == ("TritonGPUCoalesce", ended)
    assert crash["message"] == (said or "PassManager::run failed")
    first = crash["message"].splitlines()[0]
    assert failed["error"] == f"Triton {INSTALLED}: the compiler fails in {PASS}: {first}"
    assert (pathlib.Path(crash["reproducer"]) / "run.sh").is_file()


def test_the_page_of_a_crash_that_no_cell_is_without(compared):
    status, out = compared(ABORTS, "--configs", "num_warps=4;num_stages=1,2")
    assert status == 125
    rows, _, rest = out.partition("\n\n")
    assert rows.count(f"failed: {PASS}: {SAID[:40]}") == 2
    first, *lines = rest.splitlines()
    where = f"Triton {INSTALLED} cuda:90 num_warps=4 num_stages=1 and 1 more"
    assert first == f"{where}: the compiler fails in {PASS}: {SAID}"
    assert lines[0] == f"  kernel 'twice', SIGABRT in Triton {INSTALLED}"
    assert lines[1:3] == [f"  | {SAID}", "  | the compiler died of SIGABRT"]
    assert lines[-1] == "cannot be judged: no cell is compiled" and len(lines) < 8
    again = next(line for line in lines if "to see it again" in line).rpartition(": ")[2]
    done = subprocess.run(again.split(), capture_output=True, text=True, check=False, timeout=120)
    assert "stage" in done.stderr  # it runs: nothing fails where nothing is planted


def test_a_stored_crash_without_its_reproducer_is_seen_again(compared):
    words = ["--configs", "num_warps=1,4", "--json"]
    first = json.loads(compared(ABORTS, *words)[1])
    assert json.loads(compared(ABORTS, *words)[1])["kept"] == 2
    folder = pathlib.Path(first["cells"][1]["crash"]["reproducer"])
    shutil.rmtree(folder)
    again = json.loads(compared(ABORTS, *words)[1])
    assert again["kept"] == 1 and pathlib.Path(again["cells"][1]["crash"]["reproducer"]).is_dir()


def test_what_the_front_end_refuses_is_shown_at_its_line(compared):
    status, out = compared("pass", kernel="refused")
    assert status == 1 and "cannot be judged" not in out
    lines = [line.strip() for line in out.splitlines()]
    assert lines[lines.index("return x.missing") + 1] == "^"
    assert "kernel.py:10:12: error: AttributeError" in out
    (cell,) = json.loads(compared("pass", "--json", kernel="refused")[1])["cells"]
    assert (cell["refused"]["line"], cell["refused"]["column"], "crash" in cell) == (10, 12, False)


def test_a_comparison_with_an_earlier_run_that_failed(compared, tmp_path):
    words = ["--configs", "num_warps=1,4"]
    (tmp_path / "earlier.json").write_text(compared(ABORTS, *words, "--json")[1])
    status, out = compared("pass", *words, "--base", "earlier.json", "--store", str(tmp_path / "other"))
    assert status == 0 and "failed" not in out and "equal" in out


@pytest.mark.long
@needs_another
def test_a_crash_where_another_release_compiles_it(compared):
    words = ["--versions", f"{OTHERS[-1]},{INSTALLED}", "--configs", "num_warps=4"]
    status, out = compared(ABORTS, *words)
    assert status == 1 and "cannot be judged" not in out
    assert f"Triton {INSTALLED} cuda:90 num_warps=4: the compiler fails in {PASS}: {SAID}" in out
