"""Tests triton_runner.compile with the installed Triton, in this process and in a worker."""

import pathlib
import re

import numpy as np
import pytest

triton = pytest.importorskip("triton")
import kernels_for_compile as kernels  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_tests import plain_add  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._worker import job  # noqa: E402

HERE = pathlib.Path(__file__).parents[1] / "helpers"
LEVELS = ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
ADD = {"signature": "*fp32:16, *fp32:16, *fp32:16, i32", "constexprs": {"BLOCK": 128}, "target": "cuda:90"}
EVERYTHING = {"signature": "*fp32:16, *fp32:16, i32", "constexprs": {"BLOCK": 64}, "target": "cuda:80"}


def test_it_is_what_triton_compiles():
    signature = dict.fromkeys(("x", "y", "out"), "*fp32") | {"n": "i32", "BLOCK": "constexpr"}
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = ASTSource(plain_add, signature, {"BLOCK": 128}, attributes)
    own = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})
    made = triton_runner.compile(plain_add, **ADD, options={"num_warps": 8})
    assert list(made.asm) == LEVELS and made.level == "cubin"
    for level in LEVELS:
        assert made.asm[level] == own.asm[level], level
    assert made.metadata["num_warps"] == 8 and made.metadata["shared"] == own.metadata.shared
    assert (made.name, made.target, made.release) == ("_add", "cuda:90", triton.__version__)


@pytest.mark.parametrize(
    "kernel", [kernels.uses_everything, kernels.make(3.0), kernels.calls_through_a_module]
)
def test_a_worker_compiles_the_same(kernel):
    arguments = (
        EVERYTHING if kernel is kernels.uses_everything else {**EVERYTHING, "signature": "*fp32, *fp32"}
    )
    here = triton_runner.compile(kernel, **arguments)
    there = triton_runner.compile(kernel, **arguments, isolate=True)
    for level in LEVELS:
        assert there.asm[level] == here.asm[level], level
    assert there.metadata == here.metadata


def test_kernels_of_a_file():
    file = f"{HERE / 'kernels_for_compile.py'}:uses_everything"
    here = triton_runner.compile(file, **EVERYTHING)
    assert here.asm == triton_runner.compile(kernels.uses_everything, **EVERYTHING).asm
    assert here.asm == triton_runner.compile(file, **EVERYTHING, isolate=True).asm


def test_a_kernel_under_autotune_and_heuristics():
    constants = {"BLOCK": 64, "ROUND": triton.language.float16}
    made = triton_runner.compile(
        kernels.tuned, "*fp32, *fp16, i32", constants, target="cuda:80", to="ttir", isolate=True
    )
    assert "f16" in made.asm["ttir"] and made.level == "ttir"


SIGNATURES = [
    ("*fp32:16, *fp32:16, *fp32:16, i32, 128", {}),
    (["*fp32:16", "*fp32:16", "*fp32:16", "i32", 128], {}),
    ({"x": "*fp32:16", "y": "*fp32:16", "out": "*fp32:16", "n": "i32"}, {"BLOCK": 128}),
    ({"x": "*fp32:16", "y": "*fp32:16", "out": "*fp32:16", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 128}),
]


@pytest.mark.parametrize(("signature", "constexprs"), SIGNATURES)
def test_forms_of_a_signature(signature, constexprs):
    made = triton_runner.compile(plain_add, signature, constexprs, target="cuda:90", to="ttir")
    assert made.asm["ttir"] == triton_runner.compile(plain_add, **ADD, to="ttir").asm["ttir"]


def test_a_parameter_that_is_one_is_a_constant():
    made = triton_runner.compile(plain_add, "*fp32, *fp32, *fp32, i32:1, 64", target="cuda:90", to="ttir")
    assert "%n:" not in made.asm["ttir"] and "arith.constant dense<1>" in made.asm["ttir"]
    attrs = {"n": [["tt.divisibility", 8]]}
    made = triton_runner.compile(
        plain_add, "*fp32, *fp32, *fp32, i32, 64", target="cuda:90", to="ttir", attrs=attrs
    )
    assert "%n: i32 {tt.divisibility = 8 : i32}" in made.asm["ttir"]


@pytest.mark.parametrize("isolate", [False, True])
def test_every_level_goes_on(isolate, tmp_path):
    made = triton_runner.compile(plain_add, **ADD, options={"num_warps": 2})
    files = {pathlib.Path(path).suffix[1:]: path for path in made.save(tmp_path)}
    for i, level in enumerate(LEVELS[1:-1], 1):
        onward = triton_runner.compile(files[level], isolate=isolate)
        assert list(onward.asm) == LEVELS[i:], level
        assert onward.asm["cubin"] == made.asm["cubin"] or level in ("ttir", "ttgir")  # locations differ
        assert onward.metadata["num_warps"] == 2 and onward.name == "_add"
    assert list(triton_runner.compile(made.asm["ttgir"], to="llir").asm) == ["ttgir", "llir"]


def test_hip():
    made = triton_runner.compile(plain_add, **{**ADD, "target": "hip:gfx942"})
    assert list(made.asm) == ["source", "ttir", "ttgir", "llir", "amdgcn", "hsaco"]
    assert made.asm["hsaco"][:4] == b"\x7fELF" and ".amdgcn_target" in made.asm["amdgcn"]


@pytest.mark.parametrize(
    ("to", "level"), [("ttir", "ttir"), ("ttgir", "ttgir"), ("ptx", "ptx"), (None, "ptx")]
)
def test_it_launches(to, level):
    made = triton_runner.compile(plain_add, **ADD, to=to)
    x, out = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    made[(3,)](x, x, out, 300)
    assert made.load().level == level
    np.testing.assert_array_equal(out, x + x)


def refused(match, *arguments, **keywords):
    with pytest.raises(DiagnosticError, match=match) as caught:
        triton_runner.compile(*arguments, **keywords)
    return caught.value


BAD = [
    ({"signature": "*fp32, *fp32, *fp32"}, "parameter 'n' has no type"),
    ({"constexprs": {}}, "parameter 'BLOCK' has no value"),
    ({"signature": "*fp32, *fp32, *fp32, i32, 8, 9", "constexprs": {}}, "6 entries for 5 parameters"),
    ({"constexprs": {"BLOCK": 64, "block": 1}}, "no parameter 'block'"),
    ({"signature": "float33, *fp32, *fp32, i32"}, "there is no element type 'float33'"),
    ({"signature": "*fp32:8, *fp32, *fp32, i32"}, "hint :8 is neither :16 nor :1"),
    ({"signature": {"x": "constexpr"}}, "'x' is a constexpr without a value"),
    ({"options": {"num_warp": 4}}, "no compile option 'num_warp'"),
    ({"options": {"num_warps": "four"}}, "num_warps takes an integer, not 'four'"),
    ({"options": {"enable_fp_fusion": "no"}}, "enable_fp_fusion takes True or False, not 'no'"),
    ({"target": "sm_90"}, "unknown target 'sm_90'"),
    ({"target": "cpu:1"}, "unknown target 'cpu:1'"),
    ({"to": "amdgcn"}, "no level 'amdgcn'"),
    ({"triton": "2.1.0"}, "no Triton release '2.1.0'"),
    ({"constexprs": {"BLOCK": 96}}, "in stage ttir: CompilationError(.*\n)*.*must be a power of 2"),
]


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(("change", "match"), BAD)
def test_what_is_refused(change, match, isolate):
    refused(match, plain_add, **{**ADD, **change}, isolate=isolate)


def test_what_a_file_lacks(tmp_path):
    file = HERE / "kernels_for_compile.py"
    assert "uses_everything" in str(refused("has no kernel 'nothing'", f"{file}:nothing", **EVERYTHING))
    gluon = pathlib.Path(__file__).parents[3] / "examples" / "gluon" / "async_copy.py"
    assert "its kernels: " in str(refused("has no kernel 'nothing'", f"{gluon}:nothing", **EVERYTHING))
    refused("which of its kernels", file, **EVERYTHING)
    refused("no such file", f"{tmp_path}/none.py:k", **EVERYTHING)
    refused("cannot read", f"{tmp_path}/none.ttir")
    ttgir = triton_runner.compile(plain_add, **ADD, to="ttgir").asm["ttgir"]
    refused("ttir lies above ttgir", ttgir, to="ttir")
    refused("was compiled for cuda:90", ttgir, target="cuda:80")
    refused("an IR has its signature in it", ttgir, signature="*fp32")


def test_what_does_not_travel():
    text = str(refused("uses pick: a function does not travel", kernels.uses_a_lambda, "*fp32", isolate=True))
    assert "put it into a module" in text
    refused("uses table: a dict does not travel", kernels.uses_a_dict, "*fp32", isolate=True)
    refused("constexpr 'BLOCK' is", plain_add, **{**ADD, "constexprs": {"BLOCK": object()}}, isolate=True)


@pytest.mark.parametrize(
    ("release", "target", "says"),
    [
        ("3.2.0", "cuda:100", "do not know sm_100.*\n.*first release that does is 3.3"),
        ("3.0.0", "cuda:120", "do not know sm_120"),
        ("3.1.0", "hip:gfx950", "does not know gfx950"),
        ("3.4.0", "hip:gfx942", "to hsaco: it links .* with ROCm's ld.lld.*\n.*amdgcn"),
    ],
)
def test_what_a_release_cannot_do_is_said_before_trying(release, target, says, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_RUNNER_VERSIONS", str(tmp_path / "never-filled"))
    monkeypatch.setattr("os.path.isfile", lambda path: False)
    refused(says, plain_add, **{**ADD, "target": target}, triton=release)
    assert not (tmp_path / "never-filled").exists()


@pytest.mark.parametrize("isolate", [False, True])
def test_ptx_of_a_newer_version_is_assembled_as_one_that_ptxas_reads(isolate, capfd):
    ptx = triton_runner.compile(plain_add, **ADD, to="ptx").asm["ptx"]
    version = re.search(r"\.version ([\d.]+)", ptx)[1]
    newer = ptx.replace(f".version {version}", ".version 9.9", 1)
    made = triton_runner.compile(newer, isolate=isolate)
    assert made.asm["cubin"][:4] == b"\x7fELF" and made.asm["ptx"] == newer
    assert "is PTX 9.9, assembled as" in capfd.readouterr().out
    text = str(
        refused("ptxas .* does not accept", newer.replace("ret;", "bar.sync 99;\n\tret;", 1), isolate=isolate)
    )
    assert "version" not in text and "error" in text
    assert "codegen error" not in capfd.readouterr().out


def test_what_the_front_end_made_is_inlined_first():
    """A call of an inlined function passes no later stage; that of a `noinline` one does."""
    made = triton_runner.compile(kernels.uses_everything, **EVERYTHING, to="ttgir")
    again = triton_runner.compile(made.asm["source"], target="cuda:80", to="ttgir")
    assert list(again.asm) == ["source", "ttir", "ttgir"]
    for level in again.asm:
        assert again.asm[level] == made.asm[level], level
    kept = triton_runner.compile(made.asm["ttir"], target="cuda:80", to="ttgir")
    assert list(kept.asm) == ["ttir", "ttgir"]


def test_libraries_that_metadata_name_without_a_path():
    """Meta's fork keeps the names alone: those of the backend are found again, others are asked for."""
    made = triton_runner.compile(plain_add, **ADD, to="ttgir")

    def below(names):
        metadata = {**made.metadata, "extern_libs": names}
        request = {"text": made.asm["ttgir"], "level": "ttgir", "target": "cuda:90", "metadata": metadata}
        return job.run({**request, "to": "ptx", "options": {}, "filename": "add.ttgir"})["asm"]["ptx"]

    assert below(["libdevice"]) == below(made.metadata["extern_libs"])
    with pytest.raises(job.Refused, match="names the library mine without its path"):
        below(["libdevice", "mine"])
