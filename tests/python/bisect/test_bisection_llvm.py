"""Tests triton-runner bisect inside of LLVM and of the assembler."""

import contextlib
import pathlib
import sys

import pytest

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from bisecting import GIVEN, HEAD, INSTALLED, KERNEL, OTHERS, TWICE, judge, needs_another  # noqa: E402
from triton_runner._worker import llvm_passes  # noqa: E402
from triton_runner.verbs.bisect import assembler, search  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "planted"))
import check  # noqa: E402

# A fault inside LLVM of the installed release: see llvm_faults.py.
PLANTED = f"""
import numpy as np, sys, triton, triton_runner, triton.language as tl
sys.path.insert(0, {str(pathlib.Path(check.__file__).parent)!r})
if triton.__version__ == {INSTALLED!r}:
    import llvm_faults
    llvm_faults.plant(*FAULT)

@triton_runner.jit
def kernel(out, n, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, index * 3 + 1234 * n)

out = np.zeros(64, np.int32)
kernel[(1,)](out, 3, 64, num_warps=1)
sys.exit(int((out != np.arange(64) * 3 + 3702).any()))
"""
SEEN = (", 1234", ", 1235")
UNSEEN = ("1234", "1235")
INSIDE = [
    (("llir", "instcombine", 3, SEEN), "llir", ("InstCombinePass", "instcombine", 3), ["execution"]),
    (("ptx", "codegenprepare", 1, UNSEEN, SEEN, "disable-cgp"), "ptx",
     ("CodeGen Prepare", "codegenprepare", 1), ["leave-out"]),
    (("amdgcn", "codegenprepare", 1, ("0x4d2", "0x4d3"), SEEN, "disable-cgp", "amd"), "amdgcn",
     ("CodeGen Prepare", "codegenprepare", 1), ["leave-out"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "level", "named", "means"),
    [pytest.param(*one, id=one[0][1], marks=pytest.mark.long if one[1] != "llir" else ()) for one in INSIDE],
)
def test_a_fault_of_a_pass_inside_llvm(tmp_path, fault, level, named, means):
    target = "hip:gfx942" if level == "amdgcn" else "cuda:90"
    status, said = judge(tmp_path, PLANTED.replace("FAULT", repr(fault)), "--target", target)
    assert (status, said["verdict"], said["level"], said["stage"]) == (1, "compiler", level, f"make_{level}")
    name, argument, nth = named
    assert said["pass"] == {"name": name, "argument": argument, "add": None, "nth": nth}
    assert said["confirmed_by"] == means


# Values are right without a wait; the check for waits sees that it is gone.
NO_WAIT = f"""
import numpy as np, re, sys, triton, triton_runner, triton.language as tl
from triton.backends.amd.compiler import HIPBackend
made = HIPBackend.make_amdgcn
if triton.__version__ == {INSTALLED!r}:
    without = lambda *given: re.sub("s_waitcnt vmcnt.0.", "s_nop 0", made(*given))
    HIPBackend.make_amdgcn = staticmethod(without)

@triton_runner.jit
def kernel(x, out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, tl.load(x + index) * 2)

x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
kernel[(1,)](x, out, 64, num_warps=1)
sys.exit(int((out != x * 2).any()))
"""


@pytest.mark.share
def test_a_wait_that_amds_code_generation_leaves_out(tmp_path):
    status, said = judge(tmp_path, NO_WAIT, "--target", "hip:gfx942")
    assert (status, said["verdict"], said["level"], said["stage"]) == (1, "compiler", "amdgcn", "make_amdgcn")
    assert said["levels"] == {"source": "right", "ttir": "right", "ttgir": "right", "amdgcn": "wrong"}
    assert said["confirmed_by"] == ["execution"] and said["pass"] is None
    (seen,) = said["evidence"]
    assert seen["line"] == 12 and any("vmcnt may be 1 there" in note for note in said["notes"])
    status, said = judge(tmp_path, NO_WAIT.replace("s_nop 0", "s_waitcnt vmcnt(0)"), "--target", "hip:gfx942")
    assert (status, said["verdict"]) == (0, "right")


@pytest.mark.long
@needs_another
@pytest.mark.parametrize(
    ("fault", "named", "means"),
    [
        (("llir", "gvn", 1, SEEN), "gvn", ["execution", "splice"]),
        (("ptx", "nvptx-lower-args", 1, UNSEEN, SEEN, "never"), "nvptx-lower-args", ["splice"]),
    ],
    ids=["gvn", "nvptx-lower-args"],
)
def test_a_fault_inside_llvm_beside_a_right_release(tmp_path, fault, named, means):
    text = PLANTED.replace("FAULT", repr(fault))
    folder = tmp_path / "folder"
    both = ["--versions", f"{OTHERS[-1]},{INSTALLED}", "--save", str(folder)]
    status, said = judge(tmp_path, text, *both)
    assert (status, said["level"], said["stage"]) == (1, fault[0], f"make_{fault[0]}")
    assert said["pass"]["argument"] == named and said["confirmed_by"] == means
    assert ", 1235" in (folder / "after.ll").read_text()
    assert ", 1235" not in (folder / "before.ll").read_text()


def test_what_llvm_prints_taken_apart():
    text = """Running pass: SROAPass on k (3 instructions)
; *** IR Dump After (anonymous namespace)::OwnPass on [module] ***
; ModuleID = 'a'
define void @k() {
}
Running analysis: AAManager on k
*** IR Dump After CodeGen Prepare (codegenprepare) *** (function: k)
; ModuleID = 'a'
define void @k() #0 {
}
# *** IR Dump After Peephole Optimizations (peephole-opt) ***:
# Machine code for function k
"""
    own, prepare, machine = llvm_passes.split(text)
    assert own == {"name": "OwnPass", "argument": "own", "text": "; ModuleID = 'a'\ndefine void @k() {\n}\n"}
    assert prepare["argument"] == "codegenprepare" and "#0" in prepare["text"]
    assert machine == {"name": "Peephole Optimizations", "argument": "peephole-opt", "text": None}
    names = ("LoopSimplifyCFGPass", "IPSCCPPass", "SLPVectorizerPass", "DFAJumpThreadingPass")
    told = ["loop-simplifycfg", "ipsccp", "slp-vectorizer", "dfa-jump-threading"]
    assert [llvm_passes.argument_of(name) for name in names] == told


# Machine code that a faulty assembler made, run by the engine in place of a GPU.
ASSEMBLED = f"""
import os, triton
from triton_runner.verbs.bisect import assembled
from triton_runner._memory.contents import Pages

def machine(launch):
    run = launch.run("ptx")
    assert launch.texts["cubin"][:4] == b"\\x7fELF"
    mended = {{"DISABLE_PTXAS_OPT", "TRITON_PTXAS_PATH"}} & set(os.environ)
    if triton.__version__ == {INSTALLED!r} and not mended:
        held = run.contents.blocks()
        held[0].view("int32")[5] += 1
        run.contents.pages[0] = Pages([(0, held[0])])
    return run.contents

assembled.runner = machine
"""


def test_a_fault_of_the_assembler(tmp_path):
    text = ASSEMBLED + TWICE + "sys.exit(int((out != np.arange(64) * 2).any()))"
    versions_ = ",".join([*OTHERS[-1:], INSTALLED])
    status, said = judge(tmp_path, text, "--versions", versions_, "--levels", "cubin")
    assert (status, said["verdict"], said["level"], said["stage"]) == (1, "assembler", "cubin", "make_cubin")
    assert said["release"]["wrong"] == [INSTALLED] and said["pass"] is None
    assert said["confirmed_by"] == ["execution", "leave-out", *(["splice"] if OTHERS else [])]
    (seen,) = said["evidence"]
    assert (seen["element"], seen["got"], seen["want"], seen["than"]) == ([5], 11, 10, "at ptx")


# An assembler that adds 6 where it should add 5.
FAULTY = """#!/bin/bash
for word in "$@"; do [[ "$word" == *.ptx ]] && sed -i 's/, 5;/, 6;/' "$word"; done
exec {ptxas} "$@"
"""


def test_the_instruction_that_an_assembler_makes_wrong(tmp_path):
    faulty = tmp_path / "ptxas"
    with contextlib.closing(search.Release(INSTALLED, search.BisectedProgram(""))) as release:
        faulty.write_text(FAULTY.format(ptxas=assembler.ptxas(release)))
    faulty.chmod(0o755)
    plant = "".join(f"os.environ[{name!r}] = {str(faulty)!r}; " for name in assembler.instead(""))
    program = HEAD.replace("VALUE", "index * 7 + 5") + "sys.exit(int((out != np.arange(64) * 7 + 5).any()))"
    status, said = judge(tmp_path, f"import os; {plant}\n{program}", "--levels", "cubin")
    assert (status, said["verdict"], said["level"]) == (1, "assembler", "cubin"), said
    (first,) = [note for note in said["notes"] if note.startswith("the first that differs")]
    assert "add.s32" in first and "right down to PTX, wrong as machine code" in said["notes"]


# An assembler that leaves its mark in what it makes, of the installed release.
MARKING = """#!/bin/sh
{ptxas} "$@" || exit $?
while [ $# -gt 1 ]; do [ "$1" = -o ] && printf PLANTED >> "$2"; shift; done
"""


@pytest.mark.long
@needs_another
def test_an_assembler_that_an_oracle_sees(tmp_path):
    """Right where the right release generates code of the same LLIR, and where its ptxas assembles."""
    marking, judge_ = tmp_path / "ptxas", tmp_path / "judge.py"
    with contextlib.closing(search.Release(INSTALLED, search.BisectedProgram(""))) as release:
        marking.write_text(MARKING.format(ptxas=assembler.ptxas(release)))
    marking.chmod(0o755)
    plant = f"""
import os, triton
from triton_runner.verbs.bisect import assembler
if triton.__version__ == {INSTALLED!r}:
    for name in assembler.instead(""):
        os.environ.setdefault(name, {str(marking)!r})
"""
    (tmp_path / "kernel.py").write_text(plant + KERNEL)
    judge_.write_text("import sys; sys.exit(b'PLANTED' in open(sys.argv[1] + '/kernel.cubin', 'rb').read())")
    given = {**GIVEN, "versions": [OTHERS[-1], INSTALLED], "oracle": str(judge_)}
    found = triton_runner.bisect(f"{tmp_path / 'kernel.py'}:quotient", ["i32[64]", 0], **given)
    assert (found.verdict, found.level, found.stage) == ("assembler", "cubin", "make_cubin"), str(found)
    assert found.pass_ is None and found.confirmed_by == ["splice"] and "with the ptxas of" in found.notes[-1]


def test_machine_code_without_a_gpu(tmp_path):
    status, said = judge(tmp_path, TWICE + "assert (out == np.arange(64) * 2).all()", "--levels", "cubin")
    assert status == 0 and said["release"]["right"] == [INSTALLED]
