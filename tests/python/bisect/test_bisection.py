"""Tests triton-runner bisect: the release, the level and the pass, judged by a program's own exit
status."""

import json
import pathlib
import sys
import types

import pytest
import warm

triton = pytest.importorskip("triton")
import numpy as np  # noqa: E402
import triton_runner  # noqa: E402
from bisecting import HEAD, INSTALLED, OTHERS, QUOTIENT, TWICE, judge, needs_another  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._cli import main  # noqa: E402
from triton_runner._memory.difference import difference, tolerance  # noqa: E402
from triton_runner._memory.files import kind_of  # noqa: E402
from triton_runner._worker import recorder  # noqa: E402
from triton_runner.verbs.bisect import classes, fault, search, splice  # noqa: E402
from triton_runner.verbs.bisect.results import Step  # noqa: E402
from triton_runner.verbs.bisect.trial import Kernel, Ran, Trial  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "planted"))
import check  # noqa: E402

SCHEMA = ["verdict", "release", "level", "stage", "pass", "confirmed_by", "evidence", "faults"]


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
    limit = ["--timeout", "5"] if "sleep" in end else []  # which a slow machine needs for the others
    got, said = judge(tmp_path, TWICE + end, *limit, arguments=["125"])
    assert (got, said["verdict"], said["pass"]) == (status, verdict, None)
    assert [one["why"] for one in said["release"]["unknown"]] == ([why] if why else [])


@pytest.mark.parametrize("value", ["index", "index * 2"], ids=["right", "wrong"])
def test_a_target_that_no_release_compiles_for(tmp_path, value):
    program = HEAD.replace("VALUE", value) + "assert (out == np.arange(64)).all()"
    status, said = judge(tmp_path, program, "--target", "cuda:999")
    assert (status, said["verdict"]) == (125, "unknown")
    assert all("does not compile for cuda:999" in one["why"] for one in said["release"]["unknown"])


def test_a_relative_name_is_of_the_folder_of_the_caller(tmp_path, monkeypatch):
    """The second search is answered by the worker of the first, which was started in another folder."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        pathlib.Path(f"{name}.py").write_text("")
        with pytest.raises(triton_runner.DiagnosticError, match=f"{name}.py compiles no kernel"):
            triton_runner.bisect(f"{name}.py", versions=[INSTALLED])


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


def test_judged_at_the_lowest_level_that_was_chosen(tmp_path):
    """The quotient is wrong at PTX only."""
    status, said = judge(tmp_path, QUOTIENT, "--levels", "ttir,ttgir")
    assert (status, said["verdict"], said["faults"]) == (0, "right", [])
    status, said = judge(tmp_path, TWICE + "sys.exit(1)", "--levels", "source")
    assert (status, said["verdict"], said["levels"]) == (1, "kernel", {"source": "wrong"})
    for level in ("ptx", "cubin"):
        with pytest.raises(DiagnosticError, match=f"no engine executes {level} of hip:gfx942"):
            triton_runner.bisect("program.py", target="hip:gfx942", levels=[level])


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
    answer = warm.invoke("bisect", "--versions", INSTALLED, *files)
    assert (answer.exit_code, json.loads((tmp_path / "out").read_text())["verdict"]) == (0, "right")
    assert "right in every release" in answer.stdout
    answer = warm.invoke("bisect", "--json", tmp_path / "no" / "out", "program.py")
    assert answer.exit_code == 2 and "no such folder as" in answer.stderr


@pytest.mark.long
@needs_another
def test_a_program_that_asks_for_the_release(tmp_path):
    text = TWICE + f"import triton; sys.exit(int(triton.__version__ == {OTHERS[-1]!r}))"
    status, said = judge(tmp_path, text, "--versions", ",".join([OTHERS[-1], INSTALLED]))
    assert (status, said["verdict"], said["level"], said["stage"]) == (1, "kernel", "ttir", None)
    assert said["confirmed_by"] == ["execution", "splice"]


def test_how_arrays_differ():
    want = np.array([1.0, -0.0, 3.0], np.float32)
    assert classes.compare(want.copy(), want) is None
    found = classes.compare(np.array([1, 0, 3], np.float32), want)
    assert (found.class_, found.element, found.got, found.elements) == ("bits", [1], 0.0, 1)
    assert classes.compare(np.array([1, -0.0, 3.0001], np.float32), want).class_ == "drift"
    found = classes.compare(np.array([1.00001, -0.0, 4], np.float32), want)
    assert (found.class_, found.element, found.want) == ("wrong", [2], 3.0)
    assert classes.compare(np.array([1, np.nan, 3], np.float32), want).class_ == "wrong"
    assert classes.compare(np.array([[1, 2]]), np.array([[1, 3]])).element == [0, 1]


def test_one_table_says_what_drift_is():
    """Bisection and lockstep ask it, by the type: f16 and bf16 have as many bits, and other precision."""
    import ml_dtypes

    for kind, dtype in [
        ("f64", "float64"),
        ("f32", "float32"),
        ("f16", "float16"),
        ("bf16", ml_dtypes.bfloat16),
    ]:
        room = tolerance(kind)
        want = np.array([1000, 8], dtype)
        for factor, found in ((0.4, "drift"), (4.0, "wrong")):
            got = np.array([1000, 8 + factor * room * 1000], dtype)
            assert classes.compare(got, want).class_ == found, (kind, factor)
            allowed = tolerance(kind_of(want.dtype))
            assert bool(difference(want, got, allowed)) == (found == "wrong"), (kind, factor)
    assert tolerance("i32") == tolerance("ptr") == 0
    assert tolerance("f8E5M2") == tolerance("f8E4M3FN") == 0.25


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
    mine, theirs = ([Ran("make_ttir", name, True, None) for name in names] for names in ("abxcde", "abcyde"))
    assert splice._aligned(mine, theirs) == [(0, 0), (1, 1), (3, 2), (4, 4), (5, 5)]
    # In 3.4 and 3.5: the same pass by another name.
    names = (
        "passes.ttgpuir.add_allocate_shared_memory",
        "nvidia.passes.ttgpuir.add_allocate_shared_memory_nv",
    )
    mine, theirs = ([Ran("make_llir", add, True, None) for add in (name, "add_x")] for name in names)
    assert splice._aligned(mine, theirs) == [(0, 0), (1, 1)]


def test_what_a_stage_noted_of_its_ir_goes_with_it():
    """The boxes of host descriptors, say, which later stages do not look at."""
    it = object.__new__(splice.Splice)
    it.right, it.steps = types.SimpleNamespace(version=INSTALLED), [Step("make_ttgir", "a", 1)]
    noted = {"tensordesc_meta": [{"block_size": [64, 64]}], "shared": 9}
    text = "module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n"
    mine = Kernel("k", [Ran("make_ttgir", "a", True, 0)], None, texts=[text], metadata=noted)
    plan = it._plan(mine, mine, 0)
    assert plan["metadata"] == {"tensordesc_meta": [{"block_size": [64, 64]}]}

    seen = []

    def stage(source, metadata):
        seen.append((source, dict(metadata)))
        if len(seen) == 1:
            raise recorder._Replaced("theirs", 1)
        return source

    assert recorder.Recorder(plan, keep="none")._stage("llir", stage, [])("own", {"shared": 1}) == "theirs"
    assert seen == [("own", {"shared": 1}), ("theirs", {"shared": 1, **plan["metadata"]})]


@pytest.mark.parametrize(
    "born, hint, found", [(False, "a", None), (True, "a", "source"), (False, None, "source")]
)
def test_other_ir_of_a_right_front_end_is_no_fault_where_the_own_is_right(monkeypatch, born, hint, found):
    """A fork's IR may ask for a pass that the other release lacks; executing that IR decides."""
    right = types.SimpleNamespace(version="3.7.1", at=lambda *_, **__: Trial("right"))
    program = types.SimpleNamespace(lowest="ptx", is_measured=False)
    wrong = types.SimpleNamespace(version="fork", program=program, say=print, choices={})
    it = fault.Search(wrong, [right])
    it.born = born
    spliced = types.SimpleNamespace(is_possible=True, reasons=["no op"])
    monkeypatch.setattr(fault, "Splice", lambda *_, **__: spliced)
    monkeypatch.setattr(fault, "_spliced", lambda *_: (None, None))
    monkeypatch.setattr(fault, "_spliced_back", lambda *_: ("source", None))
    assert it._by_splice(hint) == (found, None)


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
    judged = {version: search.Trial(verdict) for version, verdict in outcomes.items()}
    assert search.runs_of_wrong(list("abcdef"), judged) == [["a", "c"], ["f"]]


def test_the_page_and_bad_usage(tmp_path):
    (tmp_path / "program.py").write_text(TWICE + "sys.exit(3)")
    answer = warm.invoke("bisect", "--versions", INSTALLED, tmp_path / "program.py")
    assert answer.exit_code == 1 and "the initial IR is wrong already: kernel" in answer.output
    assert warm.invoke("bisect", "--versions", "1.0.0", "program.py").exit_code == 2
    with pytest.raises(DiagnosticError, match=r"no such file: missing\.py"):
        search.bisect_program(search.BisectedProgram("missing.py"), [INSTALLED])
