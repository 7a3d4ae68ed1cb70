"""triton-runner bisect: the release, the level and the pass, judged by a program's own exit status."""

import contextlib
import json
import pathlib
import sys

import pytest

triton = pytest.importorskip("triton")
import numpy as np  # noqa: E402
import triton_runner  # noqa: E402
from click.testing import CliRunner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._bisect import assembler, classes, kernel, order, search, splice  # noqa: E402
from triton_runner._cli import main  # noqa: E402
from triton_runner._compiler import llvm_passes, versions  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "planted"))
import check  # noqa: E402

INSTALLED = versions.installed()
OTHERS = [row["version"] for row in versions.listed() if row["version"] != INSTALLED]
needs_another = pytest.mark.skipif(not OTHERS, reason="no release beside the installed one is there")
HEAD = """
import numpy as np, sys, triton_runner, triton.language as tl

@triton_runner.jit
def kernel(out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, VALUE)

out = np.zeros(64, np.int32)
kernel[(1,)](out, 64, num_warps=1)
"""
# Triton takes the quotient for constant over runs of 16, which is not so where the dividend changes its sign.
QUOTIENT = (
    HEAD.replace("VALUE", "(index - 40) // 16")
    + "sys.exit(int((out != np.trunc((np.arange(64) - 40) / 16)).any()))"
)
SCHEMA = ["verdict", "release", "level", "stage", "pass", "confirmed_by", "evidence", "faults"]
TWICE = HEAD.replace("VALUE", "index * 2")


def judge(tmp_path, text, *options, arguments=()):
    """The exit status and the JSON of the command."""
    program = tmp_path / "program.py"
    program.write_text(text)
    command = ["bisect", "--versions", INSTALLED, *options, "--json", str(program), *arguments]
    answer = CliRunner().invoke(main, command)
    return answer.exit_code, json.loads(answer.stdout)


def test_an_open_fault_of_the_conversion_to_llvm(tmp_path):
    status, said = judge(tmp_path, QUOTIENT)
    assert status == 1 and said["verdict"] == "compiler"
    assert (said["level"], said["stage"]) == ("llir", "make_llir")
    assert said["pass"]["name"] == "ConvertTritonGPUToLLVM" and said["confirmed_by"] == ["execution"]
    assert said["release"] == {"wrong": [INSTALLED], "right": [], "unknown": []}
    assert said["faults"][0]["release"] == said["release"]
    assert list(said)[:8] == SCHEMA and list(said["faults"][0])[:7] == SCHEMA[:7]
    assert any("optimisation off too" in note for note in said["notes"])
    (seen,) = said["evidence"]
    assert seen["file"] == str(tmp_path / "program.py") and seen["op"] == "tt.store"
    assert (seen["line"], seen["element"], seen["got"], seen["want"]) == (7, [9], -2, -1)


ENDS = [
    ("sys.exit(0)", 0, "right", ""),
    ("assert (out == np.arange(64) * 2).all()", 0, "right", ""),
    ("sys.exit(125)", 125, "unknown", "it exited with 125"),
    ("raise ValueError('no oracle')", 125, "unknown", "ValueError: no oracle"),
    ("import os; os.kill(os.getpid(), 11)", 125, "unknown", "it died of signal 11"),
    ("import time; time.sleep(60)", 125, "unknown", "it ran longer than 5 s"),
    ("sys.exit(int(sys.argv[1]))", 125, "unknown", "it exited with 125"),
]


@pytest.mark.parametrize(("end", "status", "verdict", "why"), ENDS, ids=[end[:20] for end, *_ in ENDS])
def test_how_a_program_ends(tmp_path, end, status, verdict, why):
    got, said = judge(tmp_path, TWICE + end, "--timeout", "5", arguments=["125"])
    assert (got, said["verdict"], said["pass"]) == (status, verdict, None)
    assert [one["why"] for one in said["release"]["unknown"]] == ([why] if why else [])


@pytest.mark.long
def test_wrong_as_it_is_born(tmp_path):
    status, said = judge(tmp_path, TWICE + "assert (out == 5).all(), 'it is not five'")
    assert status == 1 and said["verdict"] == "kernel" and said["pass"] is None
    trapped = TWICE.replace("out + index", "out + index * 1000")
    status, said = judge(tmp_path, trapped)
    assert status == 1 and said["verdict"] == "kernel"


# An alignment that is not so: right at TTGIR, whose engine has no vectors, and a trap of what is made of it.
ALIGNMENT = """
import numpy as np, sys, triton, triton_runner, triton.language as tl
from triton_runner._pipeline import plans
if triton.__version__ == INSTALLED:
    step = {"adds": ["passes.ttgpuir.add_coalesce"], "nth": 1, "stage": "make_ttgir"}
    plans.planted = {"edit": [[step, "%x: !tt.ptr<f32>", "%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}"]]}

@triton_runner.jit
def kernel(x, out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, tl.load(x + index) * 2)

x, out = np.arange(129, dtype=np.float32), np.zeros(128, np.float32)
kernel[(1,)](x[1:], out, 128, num_warps=1)
sys.exit(int((out != x[1:] * 2).any()))
"""


@pytest.mark.long
@needs_another
def test_what_no_engine_sees_at_ttgir_is_found_by_splicing(tmp_path):
    text = ALIGNMENT.replace("INSTALLED", repr(INSTALLED))
    both = ["--versions", f"{OTHERS[-1]},{INSTALLED}", "--save", str(tmp_path / "folder")]
    status, said = judge(tmp_path, text, *both)
    assert status == 1 and said["release"]["wrong"] == [INSTALLED]
    assert (said["level"], said["stage"]) == ("ttgir", "make_ttgir")
    assert said["pass"]["name"] == "TritonGPUCoalesce" and said["confirmed_by"] == ["leave-out", "splice"]
    assert said["levels"]["ttgir"] == "right" and said["levels"]["ptx"] == "wrong"
    folder = tmp_path / "folder"
    assert "tt.divisibility = 16" in (folder / "after.mlir").read_text()
    assert "TritonGPUCoalesce" in (folder / "verdict.txt").read_text()
    assert f"{INSTALLED},{OTHERS[-1]}" in (folder / "run.sh").read_text()
    case = triton_runner.open_case(str(folder / "kernel-0.trcase"))
    assert case.name == "kernel"


@pytest.mark.long
@needs_another
def test_the_front_end_by_splicing(tmp_path):
    skewed = f"SKEWED = tl.constexpr(triton.__version__ == {INSTALLED!r})"
    text = HEAD.replace("VALUE", "index * 2 + (1 if SKEWED else 0)")
    text = text.replace("@triton_runner", f"import triton\n{skewed}\n\n@triton_runner")
    text += "assert (out == np.arange(64) * 2).all()"
    status, said = judge(tmp_path, text, "--versions", f"{OTHERS[-1]},{INSTALLED}")
    assert status == 1 and said["verdict"] == "front end" and said["pass"] is None
    assert said["confirmed_by"] == ["execution", "splice"]
    (seen,) = said["evidence"]
    assert (seen["element"], seen["got"], seen["want"]) == ([0], 1, 0)


SEVERAL = """
import numpy as np, sys, triton, triton_runner, triton.language as tl

@triton_runner.jit
def fine(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.arange(0, N) + 1)

@triton.autotune([triton.Config({}, num_warps=1, num_stages=n) for n in (1, 2)], key=["N"])
@triton_runner.jit
def quotient(out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, (index - 40) // 16)

first, second = np.zeros(64, np.int32), np.zeros(64, np.int32)
fine[(1,)](first, 64)
quotient[(1,)](second, 64)
fine[(1,)](first, 64)
sys.exit(int((second != np.trunc((np.arange(64) - 40) / 16)).any()))
"""


def test_the_launch_that_goes_wrong_first(tmp_path):
    kernels, main_ = SEVERAL.split("first, second")
    (tmp_path / "kernels.py").write_text(kernels)
    folder = tmp_path / "folder"
    program = "import numpy as np, sys\nfrom kernels import fine, quotient\nfirst, second" + main_
    status, said = judge(tmp_path, program, "--save", str(folder))
    assert status == 1 and said["pass"]["name"] == "ConvertTritonGPUToLLVM"
    assert (folder / "quotient-0.trcase").is_file() and (folder / "kernels.py").read_text() == kernels
    (seen,) = said["evidence"]
    assert seen["kernel"] == "quotient" and seen["class"] == "wrong" and seen["argument"] == "out"
    assert 0 < seen["launch"] < seen["launches"] - 1 and seen["line"] == 12


KERNEL = """
import triton, triton.language as tl

@triton.jit
def quotient(out, shift, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.store(out + index, (index - 40) // 16 + shift)
"""


@pytest.mark.long
def test_a_kernel_beside_its_own_ttir(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    name = f"{tmp_path / 'kernel.py'}:quotient"
    command = ["bisect", name, "--args", "i32[64], 0", "-c", "N=64", "-o", "num_warps=1", "--json"]
    answer = CliRunner().invoke(main, [*command, "--versions", INSTALLED])
    said = json.loads(answer.stdout)
    assert answer.exit_code == 1 and said["pass"]["name"] == "ConvertTritonGPUToLLVM"


GIVEN = {"constexprs": {"N": 64}, "options": {"num_warps": 1}, "versions": INSTALLED}


@pytest.mark.long
def test_a_function_of_python_as_the_oracle(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    name, out = f"{tmp_path / 'kernel.py'}:quotient", np.zeros(64, np.int32)
    want = np.trunc((np.arange(64) - 40) / 16)
    found = triton_runner.bisect(name, [out, 0], oracle=lambda arrays: (arrays[0] == want).all(), **GIVEN)
    assert found.verdict == "compiler" and found.level == "llir" and "ConvertTritonGPUToLLVM" in str(found)
    assert (out == 0).all()
    high = triton_runner.bisect(name, [out, 0], oracle="instr:st.global>0", **GIVEN)
    assert high.verdict == "compiler" and any("no release is right" in note for note in high.notes)


def test_bisect_in_python(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    name, out = f"{tmp_path / 'kernel.py'}:quotient", np.zeros(64, np.int32)
    low = triton_runner.bisect(name, [out, 0], oracle="instr:st.global<1", **GIVEN)
    assert low.verdict == "right" and low.release["right"] == [INSTALLED]
    with pytest.raises(DiagnosticError, match="has no kernel 'absent'; its kernels: quotient"):
        triton_runner.bisect(name.replace(":quotient", ":absent"), [out], versions=INSTALLED)
    with pytest.raises(DiagnosticError, match="no oracle, and no file"):
        triton_runner.bisect(name, [out, 0], oracle="fast")
    with pytest.raises(DiagnosticError, match="time is measured on a GPU"):
        triton_runner.bisect(name, [out, 0], oracle="time>1")


TUNED = """
import triton, triton.language as tl

@triton.autotune([triton.Config({"BLOCK": n}, num_warps=1) for n in (64, 128)], key=["n"])
@triton.heuristics({"SHIFT": lambda given: given["n"] - given["BLOCK"]})
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, SHIFT: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + SHIFT, mask=at < n)
"""


def test_an_autotuned_kernel_takes_its_first_configuration(tmp_path):
    (tmp_path / "kernel.py").write_text(TUNED)
    name, x, out = f"{tmp_path / 'kernel.py'}:tuned", np.zeros(100, np.float32), np.zeros(100, np.float32)
    for block, shift in ({}, 36), ({"BLOCK": 32}, 68):
        given = {"grid": (4,), "constexprs": block, "versions": INSTALLED, "levels": ["ttir"]}
        found = triton_runner.bisect(
            name, [x, out, 100], oracle=lambda arrays, n=shift: (arrays[1] == n).all(), **given
        )
        assert found.verdict == "right", str(found)


def test_oracles_that_are_programs(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    oracle = tmp_path / "oracle.py"
    oracle.write_text(
        "import pathlib, sys\nsys.exit('st.global' in pathlib.Path(sys.argv[1], 'kernel.ptx').read_text())"
    )
    command = ["bisect", f"{tmp_path / 'kernel.py'}:quotient", "--args", "i32[64], 0", "-c", "N=64"]
    options = ["--oracle", str(oracle), "--versions", INSTALLED, "--save", str(tmp_path / "folder")]
    answer = CliRunner().invoke(main, [*command, *options])
    assert answer.exit_code == 1 and "it exited with 1" in answer.output
    assert (tmp_path / "folder/oracle.py").is_file()
    assert "--oracle oracle.py" in (tmp_path / "folder/run.sh").read_text()


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
]  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "level", "named", "means"),
    [pytest.param(*one, id=one[0][1], marks=pytest.mark.long if one[1] == "ptx" else ()) for one in INSIDE],
)
def test_a_fault_of_a_pass_inside_llvm(tmp_path, fault, level, named, means):
    status, said = judge(tmp_path, PLANTED.replace("FAULT", repr(fault)))
    assert (status, said["verdict"], said["level"], said["stage"]) == (1, "compiler", level, f"make_{level}")
    name, argument, nth = named
    assert said["pass"] == {"name": name, "argument": argument, "add": None, "nth": nth}
    assert said["confirmed_by"] == means


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
from triton_runner._bisect import assembled

def machine(launch):
    run = launch.run("ptx")
    assert launch.texts["cubin"][:4] == b"\\x7fELF"
    mended = {{"DISABLE_PTXAS_OPT", "TRITON_PTXAS_PATH"}} & set(os.environ)
    if triton.__version__ == {INSTALLED!r} and not mended:
        run.blocks[0].view("int32")[5] += 1
    return run.blocks

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
    with contextlib.closing(search.Release(INSTALLED, search.Program(""))) as release:
        marking.write_text(MARKING.format(ptxas=assembler.ptxas(release)))
    marking.chmod(0o755)
    plant = f"""
import os, triton
from triton_runner._bisect import assembler
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
    assert status == 125 and "no GPU" in said["release"]["unknown"][0]["why"]


ATOMICS = """
import numpy as np, sys, triton_runner, triton.language as tl

@triton_runner.jit
def kernel(x, out, N: tl.constexpr):
    index = tl.arange(0, N)
    tl.atomic_add(out + index, tl.load(x + tl.program_id(0) * N + index))

x = np.random.default_rng(0).standard_normal((32, 64)) * 10.0 ** (np.arange(32) % 5)[:, None]
x, out, want = x.astype(np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
kernel[(32,)](x, out, 64, num_warps=2)
for row in x:
    want += row
"""


def test_sums_that_hang_on_the_order_of_atomics(tmp_path):
    status, said = judge(tmp_path, ATOMICS + "sys.exit(int(not np.allclose(out, want, 1e-3, 1e-2)))")
    assert (status, said["verdict"]) == (0, "right")
    status, said = judge(tmp_path, ATOMICS + "sys.exit(int((out != want).any()))")
    assert (status, said["verdict"]) == (1, "undefined") and "order of its programs" in said["notes"][0]
    program = search.Program(str(tmp_path / "program.py"))
    release = search.Release(INSTALLED, program)
    try:
        assert order.is_of_atomics(release, 0)
    finally:
        release.close()


RACE = HEAD.replace("VALUE", "tl.program_id(0)").replace("[(1,)]", "[(4,)]")


def test_a_race_is_undefined_however_the_program_ends(tmp_path):
    status, said = judge(tmp_path, RACE + "sys.exit(0)")
    assert (status, said["verdict"]) == (1, "undefined") and "race" in said["notes"][0]
    (seen,) = said["evidence"]
    assert (seen["op"], seen["line"], seen["element"], seen["got"]) == ("tt.store", 7, [0], None)
    status, said = judge(tmp_path, RACE + "sys.exit(1)")
    assert (status, said["verdict"]) == (1, "undefined") and said["evidence"][0] == seen


def test_judged_at_the_lowest_level_that_was_chosen(tmp_path):
    """The quotient is wrong at PTX only."""
    status, said = judge(tmp_path, QUOTIENT, "--levels", "ttir,ttgir")
    assert (status, said["verdict"], said["faults"]) == (0, "right", [])
    status, said = judge(tmp_path, TWICE + "sys.exit(1)", "--levels", "source")
    assert (status, said["verdict"], said["levels"]) == (1, "kernel", {"source": "wrong"})
    with pytest.raises(DiagnosticError, match="no engine executes ptx of hip:gfx942"):
        triton_runner.bisect("program.py", target="hip:gfx942", levels=["ptx"])


def test_a_trap_is_its_own_evidence(tmp_path):
    status, said = judge(tmp_path, TWICE.replace("out + index", "out + index * 1000"))
    assert (status, said["verdict"]) == (1, "kernel")
    (seen,) = said["evidence"]
    assert (pathlib.Path(seen["file"]).name, seen["line"], seen["kernel"]) == ("program.py", 7, "kernel")


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("--json p.py 1 --json", "--json=- p.py 1 --json"),
        ("--json out p.py", "--json=out p.py"),
        ("--json - p.py", "--json=- p.py"),
        ("--timeout 5 --json out.json -m a.b", "--timeout 5 --json=out.json -m a.b"),
        ("-m --json a.b", "-m --json=- a.b"),
        ("k.py:f --oracle regs>4 --json out", "k.py:f --oracle regs>4 --json=out"),
        ("k.py:f --json --oracle regs>4", "k.py:f --json=- --oracle regs>4"),
        ("--oracle o.py --json k.py:f --json", "--oracle o.py --json=- k.py:f --json=-"),
    ],
)
def test_json_with_a_file_and_without(given, taken):
    command = main.commands["bisect"]
    assert command._with_json(given.split(), "k.py:f" in given) == taken.split()


def test_the_verdict_in_a_file(tmp_path):
    (tmp_path / "program.py").write_text(TWICE)
    files = ["--json", str(tmp_path / "out"), str(tmp_path / "program.py")]
    answer = CliRunner().invoke(main, ["bisect", "--versions", INSTALLED, *files])
    assert (answer.exit_code, json.loads((tmp_path / "out").read_text())["verdict"]) == (0, "right")
    assert "right in every release" in answer.stdout
    answer = CliRunner().invoke(main, ["bisect", "--json", str(tmp_path / "no" / "out"), "program.py"])
    assert answer.exit_code == 2 and "no such folder" in answer.stderr


@pytest.mark.long
@needs_another
def test_a_program_that_asks_for_the_release(tmp_path):
    text = TWICE + f"import triton; sys.exit(int(triton.__version__ == {OTHERS[-1]!r}))"
    status, said = judge(tmp_path, text, "--versions", ",".join([OTHERS[-1], INSTALLED]))
    assert (status, said["verdict"], said["level"], said["stage"]) == (1, "kernel", "ttir", None)
    assert said["confirmed_by"] == ["execution", "splice"]


HINT = """
import sys
import torch, triton, triton.language as tl

@triton.jit
def moved(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    at = HINTED
    tl.store(y + i, tl.load(x + at))

x, y = torch.arange(256, dtype=torch.float32), torch.zeros(256)
moved[(1,)](x, y, N=256)
sys.exit(not torch.equal(y, torch.roll(x, -1)))
"""


def test_a_promise_that_is_not_so(tmp_path):
    """Wide accesses come of it; without it the kernel is right."""
    used = "tl.max_contiguous(tl.multiple_of((i + 1) % N, N), N)"
    status, said = judge(tmp_path, HINT.replace("HINTED", used))
    assert (status, said["verdict"]) == (1, "undefined")
    assert "tt.divisibility = 256 promises; compiled without hints it is right" in said["notes"][-1]
    seen = said["evidence"][0]
    assert (seen["op"], seen["line"], seen["element"]) == ("arith.remsi", 8, [0])


@pytest.mark.long
def test_a_promise_that_changes_nothing(tmp_path):
    unused = "tl.where(tl.multiple_of(i + 1, 4) > 0, (i + 1) % N, 0)"
    status, said = judge(tmp_path, HINT.replace("HINTED", unused))
    assert (status, said["verdict"]) == (0, "right")
    assert "tt.divisibility = 4 promises" in said["notes"][0]


def test_how_arrays_differ():
    want = np.array([1.0, -0.0, 3.0], np.float32)
    assert classes.compare(want.copy(), want) is None
    found = classes.compare(np.array([1, 0, 3], np.float32), want)
    assert (found["class"], found["element"], found["got"], found["elements"]) == ("bits", [1], 0.0, 1)
    assert classes.compare(np.array([1, -0.0, 3.0001], np.float32), want)["class"] == "drift"
    found = classes.compare(np.array([1.00001, -0.0, 4], np.float32), want)
    assert (found["class"], found["element"], found["want"]) == ("wrong", [2], 3.0)
    assert classes.compare(np.array([1, np.nan, 3], np.float32), want)["class"] == "wrong"
    assert classes.compare(np.array([[1, 2]]), np.array([[1, 3]]))["element"] == [0, 1]


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ("rrww", (2, 1)),
        ("wwww", (0, -1)),
        ("rrrr", (None, 3)),
        ("ruuw", (3, 0)),
        ("rrwu", (2, 1)),
        ("uu", (None, -1)),
    ],
)
def test_the_first_place_that_is_wrong(verdicts, found):
    words = {"r": "right", "w": "wrong", "u": "unknown"}
    assert splice.first_wrong(len(verdicts), lambda i: words[verdicts[i]]) == found


def test_passes_of_two_releases_side_by_side():
    mine, theirs = ([["make_ttir", name] for name in names] for names in ("abxcde", "abcyde"))
    assert splice._aligned(mine, theirs) == [(0, 0), (1, 1), (3, 2), (4, 4), (5, 5)]
    # Of 3.4 and 3.5: the same pass by another name.
    names = (
        "passes.ttgpuir.add_allocate_shared_memory",
        "nvidia.passes.ttgpuir.add_allocate_shared_memory_nv",
    )
    mine, theirs = ([["make_llir", name], ["make_llir", "add_x"]] for name in names)
    assert splice._aligned(mine, theirs) == [(0, 0), (1, 1)]


def test_oracles_as_they_are_written(tmp_path):
    assert kernel.oracle("shared>1536") == {"kind": "shared", "name": None, "compare": ">", "bound": 1536.0}
    assert kernel.oracle("instr:mma.sync<=2")["name"] == "mma.sync"


@pytest.mark.parametrize("seed", [1, 2, 3, 5])
def test_a_planted_fault_is_found(seed):
    fault, said = check.found(seed)
    assert check.names(fault, said), (fault, said)


def test_hidden_pointers_of_another_release():
    llir = "define void @k2(ptr %0) {\ndefine void @k(ptr captures(none) %0, i32 %1) local {\nret void\n}\n"
    hidden = ", ptr addrspace(1) %hidden0, ptr addrspace(1) %hidden1"
    assert splice.with_hidden(llir, "k", 2) == llir.replace("i32 %1", f"i32 %1{hidden}")
    assert splice.with_hidden(llir, "k", 0) == splice.with_hidden(llir, "other", 1) == llir
    assert splice.with_hidden("define void @k() {", "k", 2) == f"define void @k({hidden[2:]}) {{"


def test_releases_that_are_consecutively_wrong():
    outcomes = dict(zip("abcdef", ["wrong", "unknown", "wrong", "right", "unknown", "wrong"], strict=True))
    judged = {version: search.Outcome(verdict) for version, verdict in outcomes.items()}
    assert search._runs_of_wrong(list("abcdef"), judged) == [["a", "c"], ["f"]]


def test_the_page_and_bad_usage(tmp_path):
    (tmp_path / "program.py").write_text(TWICE + "sys.exit(3)")
    answer = CliRunner().invoke(main, ["bisect", "--versions", INSTALLED, str(tmp_path / "program.py")])
    assert answer.exit_code == 1 and "wrong as it is born: kernel" in answer.output
    assert CliRunner().invoke(main, ["bisect", "--versions", "1.0.0", "program.py"]).exit_code == 2
    with pytest.raises(DiagnosticError, match=r"no such file: missing\.py"):
        search.bisect_program(search.Program("missing.py"), [INSTALLED])
