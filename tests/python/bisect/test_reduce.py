"""triton-runner reduce: what is left has the fault, is valid, and is small."""

import json
import pathlib
import re
import sys

import numpy
import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError, ir, ptx  # noqa: E402
from triton_runner._base.shrink import Shrinker, rounds  # noqa: E402
from triton_runner.verbs.reduce import ir_edits, oracles, ptx_edits, python_edits  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "planted"))
import reduce_check  # noqa: E402
import reduce_python_check  # noqa: E402


@triton_runner.jit
def quotient(out, N: tl.constexpr):
    index = tl.arange(0, N)
    # Triton takes it for constant over runs of 16, which is not so where the dividend changes its sign.
    tl.store(out + index, (index - 40) // 16)
    tl.store(out + N + index, tl.cumsum(index * 3 + 1))


@triton.jit
def helper(x):
    return x * 2 + 1


@triton.jit
def refused(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(0, n):
        value = tl.load(x + i + k * B)
        total += helper(value)
    if n > 3:
        total = total * 2
    total = tl.inline_asm_elementwise(
        "bogus.f32 $0, $1;", "=f,f", [total], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + i, total)


def invoke(*command):
    answer = warm.invoke(*command)
    return answer.exit_code, answer.stdout + answer.stderr


LONG = ("an fma for a product",)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in reduce_check.FAULTS],
)
def test_faults_planted_in_an_attention_kernel(name):
    with triton_runner.using(device="cpu"):
        found = reduce_check.found(name)
    assert found.size[0] <= reduce_check.MOST < found.size_before[0] and found.tries < 1500
    level, *_ = reduce_check.FAULTS[name]
    assert reduce_check.oracle_of(name, found.text, level)(found.text)
    (ptx.parse if level == "ptx" else ir.parse)(found.text)


SHORT = ("exponentials of another type",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in SHORT else pytest.mark.long)
        for name in reduce_python_check.FAULTS
    ],
)
def test_faults_planted_in_an_attention_kernel_in_python(name, tmp_path):
    if name == "a quotient that 3.9 takes for constant" and not triton.__version__.startswith("3.9"):
        pytest.skip("the fault is of 3.9")
    with triton_runner.using(device="cpu"):
        found = reduce_python_check.found(name, tmp_path)
    assert found.size[0] <= reduce_python_check.MOST < found.size_before[0] and found.tries < 1500
    assert "def attention_kernel" in found.text
    assert reduce_python_check.oracle_of(name, reduce_python_check.planted(name))(found.text)


@pytest.fixture(scope="module")
def wrong_case(tmp_path_factory):
    """A case of a launch whose PTX is wrong, by a fault of the release."""
    with triton_runner.capture(tmp_path_factory.mktemp("cases")) as captured:
        quotient[(1,)](numpy.zeros(128, numpy.int32), 64, num_warps=1)
    return captured.cases[0]


@pytest.mark.skipif(not triton.__version__.startswith("3.9"), reason="the fault is of 3.9")
def test_levels_that_disagree(wrong_case, tmp_path):
    out = tmp_path / "small.ttir"
    status, said = invoke("reduce", "--oracle", "levels:ttir,ptx", "-o", out, "--json", wrong_case)
    found = json.loads(said)
    assert status == 0 and found["size"][0] < found["size_before"][0] and found["size"][0] <= 9
    assert "arith.divsi" in out.read_text() and "tt.scan" not in out.read_text()
    ir.parse(out.read_text()).verify()
    small = tmp_path / "small.py"
    status, said = invoke("reduce", "--oracle", "levels:ttir,ptx", "--python", "-o", small, wrong_case)
    assert status == 0 and "cumsum" not in small.read_text() and "//" in small.read_text(), said


def test_a_compiler_that_fails(tmp_path):
    source = triton_runner.compile(refused, "*fp32:16, *fp32:16, i32", {"B": 64}, to="ttir").asm["ttir"]
    found = triton_runner.reduce(source, "crash", out=tmp_path / "small.ttir")
    assert found.size[0] <= 6 and "bogus" in found.text
    assert (tmp_path / "small.ttir").read_text() == found.text


@pytest.mark.long  # doc/guide/reduce.md has one too
def test_a_kernel_in_python(tmp_path):
    path = tmp_path / "kernel.py"
    text = pathlib.Path(__file__).read_text()
    start, end = text.index("@triton.jit\ndef helper"), text.index("def invoke(")
    path.write_text("import triton\nimport triton.language as tl\nimport os\n\n\n" + text[start:end])
    out = tmp_path / "small.py"
    command = ["reduce", "--oracle", "crash", "-s", "*fp32:16, *fp32:16, i32", "-c", "B=64", "-o", out]
    status, said = invoke(*command, f"{path}:refused")
    small = out.read_text()
    assert status == 0, said
    assert "bogus" in small and "for " not in small and "helper" not in small and "import os" not in small


def test_a_program_is_asked_of_kernels_only(tmp_path):
    """It ends as for the fault where there is no kernel any more, as a Python program with an error does."""
    path = tmp_path / "kernel.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x, n):\n"
        "    tl.store(x, n + 1)\n    tl.store(x + 1, n)\n"
    )
    found = triton_runner.reduce(f"{path}:kernel", "false", signature="*i32:16, i32")
    assert "@triton.jit\ndef kernel(x, n):" in found.text and "tl.store(x, n + 1)" not in found.text
    with pytest.raises(DiagnosticError, match="is not there in the whole file"):
        triton_runner.reduce(f"{path}:nothing", "false")


def test_what_keeps_the_whole_file_from_running_is_said(tmp_path):
    """A module that launches where it is imported, and an instruction that the engine does not know."""
    path = tmp_path / "kernel.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef kernel(x):\n"
        "    tl.store(x, 1)\n\n\nassert False, 'it is wrong'\n"
    )
    where = {"grid": (1,), "args": [numpy.zeros(4, numpy.int32)]}
    with pytest.raises(DiagnosticError, match="is not there") as raised:
        triton_runner.reduce(f"{path}:kernel", "trap:race", signature="*i32:16", **where)
    assert any("does not compile" in note and "it is wrong" in note for note in raised.value.notes)
    assert any("__main__" in note for note in raised.value.notes)
    path = tmp_path / "kernel.ttgir"
    path.write_text("module { tt.func public @kernel(%x: !tt.ptr<i32>) { tt.bogus  tt.return } }")
    with pytest.raises(DiagnosticError, match="is not there") as raised:
        triton_runner.reduce(str(path), "trap", metadata='{"num_warps": 4}', **where)
    assert any("cannot be run" in note and "tt.bogus" in note for note in raised.value.notes)


def test_a_resource(tmp_path):
    @triton.jit
    def big(x, out, B: tl.constexpr):
        i = tl.arange(0, B)
        rows = tl.load(x + i[:, None] * B + i[None, :])
        tl.store(out + i[:, None] * B + i[None, :], tl.dot(rows, tl.trans(rows)).to(tl.float16))

    source = triton_runner.compile(big, "*fp16:16, *fp16:16", {"B": 64}, to="ttgir", target="cuda:80").asm[
        "ttgir"
    ]
    with pytest.raises(DiagnosticError, match="is not there in the whole file"):
        triton_runner.reduce(source, "shared>1000000")
    found = triton_runner.reduce(source, "shared>4000")
    assert found.size[0] < found.size_before[0] / 2
    made = triton_runner.compile(found.text, target="cuda:80")
    assert made.metadata["shared"] > 4000


def test_a_trap(tmp_path):
    source = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %0 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %1 = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %3 = tt.load %2 : tensor<64x!tt.ptr<f32>>
    %4 = math.exp %3 : tensor<64xf32>
    %5 = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %6 = tt.addptr %5, %0 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %6, %4 : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""
    path = tmp_path / "k.ttir"
    path.write_text(source)
    given = ["--grid", 1, "--arg", "f32[64]=rand", "--arg", "f32[32]"]
    status, said = invoke("reduce", "--oracle", "trap", *given, "-o", tmp_path / "small.ttir", path)
    assert status == 0, said
    small = (tmp_path / "small.ttir").read_text()
    assert "math.exp" not in small and "tt.addptr" in small and ir_edits.size(small)[0] <= 7
    status, said = invoke(
        "exec", "--grid", 1, "--arg", "f32[64]", "--arg", "f32[32]", tmp_path / "small.ttir"
    )
    assert status == 1 and "out of bounds" in said


PROGRAM = """import sys
text = open(sys.argv[1]).read()
sys.exit(7 if "tt.dot" in text and "scf.for" in text else 0)
"""


def test_a_program(tmp_path):
    (tmp_path / "oracle.py").write_text(PROGRAM)
    source = reduce_check.CORPUS / "sm80" / "attention_kernel.ttir"
    command = f"{sys.executable} {tmp_path / 'oracle.py'}"
    status, said = invoke("reduce", "--oracle", command, "-o", tmp_path / "small.ttir", source)
    assert status == 0, said
    small = (tmp_path / "small.ttir").read_text()
    assert small.count("tt.dot") == small.count("scf.for") == 1 and "tt.reduce" not in small
    (tmp_path / "oracle.py").write_text("")
    status, said = invoke("reduce", "--oracle", command, "-o", tmp_path / "none.ttir", source)
    assert status == 2 and "is not there in the whole file" in said and not (tmp_path / "none.ttir").exists()


def test_the_smallest_so_far_is_on_disk_whole(tmp_path):
    """Whenever the oracle is asked, the file has the last text that it accepted."""
    text = ir_edits.without_locations((reduce_check.CORPUS / "sm80" / "attention_kernel.ttir").read_text())
    out, accepted = tmp_path / "small.ttir", [text]

    def holds(candidate):
        assert out.read_text() == accepted[-1]
        if len(accepted) == 6:
            raise KeyboardInterrupt
        if good := "tt.dot" in candidate:
            accepted.append(candidate)
        return good

    with pytest.raises(KeyboardInterrupt):
        shrinker = Shrinker(text, holds, ir_edits.size, out)
        rounds(shrinker, ir_edits.steps())
    assert out.read_text() == accepted[-1] and [path.name for path in tmp_path.iterdir()] == ["small.ttir"]
    sizes = [ir_edits.size(one)[0] for one in accepted]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0]


def test_loops_and_branches_become_what_they_hold():
    text = """module {
  tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (i32)  : i32 {
      %even = arith.cmpi eq, %i, %c0 : i32
      %next = scf.if %even -> (i32) {
        %a = arith.addi %s, %n : i32
        scf.yield %a : i32
      } else {
        scf.yield %s : i32
      }
      scf.yield %next : i32
    }
    tt.store %x, %sum : !tt.ptr<i32>
    tt.return
  }
}
"""
    shrinker = Shrinker(text, lambda one: "arith.addi" in one and "tt.store" in one, ir_edits.size)
    rounds(shrinker, ir_edits.steps())
    assert "scf." not in shrinker.best and ir_edits.size(shrinker.best)[0] <= 4
    assert ir_edits.parsed(shrinker.best) is not None


@pytest.mark.parametrize(
    ("file", "kernel", "stays"),
    (
        ("pointers.ptx", "by_table", ("by_table", "table")),  # a variable of function pointers, by NVRTC
        ("numbers.ptx", "wide", ("wide",)),
        ("heap.ptx", "allocate", ("allocate", "malloc")),
    ),
)
def test_functions_and_variables_that_nobody_names_leave(file, kernel, stays):
    text = (reduce_check.TESTS / "foreign" / file).read_text()
    holds = lambda one: all(re.search(rf"\b{name}\b", one) for name in stays)  # noqa: E731
    shrinker = Shrinker(text, holds, ptx_edits.size)
    shrinker.attempt(ptx_edits.stripped(text))
    rounds(shrinker, ptx_edits.steps())
    module = ptx.parse(shrinker.best)
    assert [function.name for function in module.functions if function.is_entry] == [kernel]
    assert ptx_edits.size(shrinker.best)[0] <= 2


def test_ptx_stays_valid():
    text = (reduce_check.CORPUS / "sm90" / "attention_kernel.ptx").read_text()
    shrinker = Shrinker(text, lambda one: "wgmma.mma_async" in one, ptx_edits.size)
    shrinker.attempt(ptx_edits.stripped(text))
    rounds(shrinker, ptx_edits.steps())
    assert ".loc" not in shrinker.best and ptx_edits.size(shrinker.best)[0] <= 40
    assert ptx_edits._Body(shrinker.best).unwritten() <= ptx_edits._Body(text).unwritten()


def test_python_stays_python():
    text = "def k(x, n):\n    y = x + 1\n    for i in range(0, n):\n        y = y * bad(i, 2)\n    return y\n"
    shrinker = Shrinker(text, lambda one: "bad(" in one, python_edits.size)
    rounds(shrinker, python_edits.steps())
    compile(shrinker.best, "kernel", "exec")
    assert shrinker.best.strip() == "bad()" or len(shrinker.best) < 30


def test_what_is_refused(tmp_path):
    source = reduce_check.CORPUS / "sm80" / "attention_kernel.ttir"
    for oracle, said in (
        ("levels:ttir", "expected two of"),
        ("trap:nans", "there is no such check"),
        ("levels", "its arguments are not known"),
        ("no-such-program-anywhere", "nor a program that runs"),
    ):
        with pytest.raises(DiagnosticError, match=said):
            triton_runner.reduce(source, oracle)
    with pytest.raises(DiagnosticError, match="reduce does not know llir"):
        (tmp_path / "k.llir").write_text("; ModuleID = 'k'\n")
        triton_runner.reduce(tmp_path / "k.llir", "crash")


def test_failures_are_told_apart():
    same = {"signal": 6, "stage": "ttgir", "output": "Assertion `a == 3' failed."}
    assert oracles.sign(same) == oracles.sign({**same, "output": "Assertion `a == 4' failed."})
    assert oracles.sign(same) != oracles.sign({**same, "signal": 11})
    assert oracles.sign(same) != oracles.sign({**same, "output": "LLVM ERROR: out of registers"})
    assert oracles.sign({"result": {}}) == ()
