"""Tests triton_runner.ptx: what a module says of itself, errors with places, every .ptx of the tree in and
out."""

import pathlib
import re

import corpus
import pytest
from triton_runner import DiagnosticError, ptx

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
KERNEL = (
    HEAD
    + """.extern .shared .align 16 .b8 global_smem[];
.visible .entry scale(
	.param .u64 .ptr .global .align 16 scale_param_0,
	.param .f32 scale_param_1
)
.reqntid 128
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<3>;
	.loc	1 7 20
	ld.param.b64 %rd1, [scale_param_0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	setp.lt.u32 %p1, %r1, 100; // only a hundred
	.loc	2 40 3, function_name $L__info_string0, inlined_at 1 7 20
	@!%p1 bra $L__done;
	ld.global.v2.b32 {%r2, %r3}, [%rd2+-8];
$L__done:
	ret;
}
	.file	1 "kernel.py"
	.file	2 "helper.py"
	.section	.debug_str
	{
$L__info_string0:
.b8 116,97,105,108,0
	}
"""
)


def test_module():
    module = ptx.parse(KERNEL, "scale.ptx")
    assert str(module) == KERNEL
    assert (module.version, module.target, module.compute_capability) == ("8.7", "sm_90a", 90)
    assert repr(module) == "<Module scale.ptx for sm_90a, 1 functions>"
    assert [v.name for v in module.variables] == ["global_smem"]
    shared = module.variables[0]
    assert (shared.space, shared.type, shared.align, shared.bytes) == ("shared", "b8", 16, 0)
    assert module.function("nothing") is None


def test_function():
    module = ptx.parse(KERNEL)
    (f,) = module.functions
    assert f.name == module.function("scale").name == "scale" and f.is_entry and not f.is_declaration
    assert f.reqntid == (128, 1, 1) and f.maxntid is None and f.cluster is None and f.maxnreg == 0
    assert [(p.name, p.type, p.bytes, p.is_pointer) for p in f.params] == [
        ("scale_param_0", "u64", 8, True),
        ("scale_param_1", "f32", 4, False),
    ]
    assert f.registers == [
        ("%rd1", "b64"),
        ("%r1", "b32"),
        ("%rd2", "b64"),
        ("%p1", "pred"),
        ("%r2", "b32"),
        ("%r3", "b32"),
    ]


def test_instruction_outlives_the_module_object():
    load = ptx.parse(KERNEL).functions[0].instructions[5]
    assert str(load) == "ld.global.v2.b32 {%r2, %r3}, [%rd2+-8];"
    assert (load.opcode, load.base, load.guard, load.is_known) == ("ld.global.v2.b32", "ld", None, True)
    assert load.operands == ["{%r2, %r3}", "[%rd2+-8]"]
    assert KERNEL.splitlines()[load.line - 1][load.column - 1 :] == str(load)
    assert load.source == [("helper.py", 40, 3, "tail"), ("kernel.py", 7, 20, "")]


def test_guard():
    branch = ptx.parse(KERNEL).functions[0].instructions[4]
    assert branch.guard == "@!%p1" and branch.operands == ["$L__done"]


def test_canonical():
    canonical = ptx.parse(KERNEL).canonical()
    assert "only a hundred" not in canonical and "ld.global.v2.b32 {%r2, %r3}, [%rd2+-8];" in canonical
    assert ptx.parse(canonical).canonical() == canonical


def test_unknown_opcode():
    module = ptx.parse(HEAD + ".entry k() { frobnicate.x9.f32 1; }")
    instruction = module.functions[0].instructions[0]
    assert not instruction.is_known and instruction.opcode == "frobnicate.x9.f32"


def test_instructions_say_what_they_do():
    body = """
	.reg .pred %p<2>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [k_param_0];
	setp.ne.b64 %p1, %rd1, 0;
	@%p1 ld.global.v2.b32 {%r1, %r2}, [%rd1+8];
	st.shared.b32 [%r1], %r2;
	mbarrier.try_wait.shared.b64 %p1, [%r1], %r2;
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r3, %r4, %r5, %r6}, %rd2, %rd3, 1, 1, 1, 0, 0;
	bar.sync 0;
"""
    module = ptx.parse(HEAD + ".visible .entry k(.param .u64 k_param_0) {" + body + "}\n")
    load, compare, vector, store, waits, product, barrier = module.functions[0].instructions
    assert load.effects == ["reads", "once"] and load.does("reads") and not load.does("writes")
    assert (load.results, load.sources) == (["%rd1"], [])
    assert compare.effects == ["computes"]
    assert (vector.results, vector.sources) == (["%r1", "%r2"], ["%rd1", "%p1"])
    assert store.effects == ["writes", "consumes", "once"]
    assert (store.results, store.sources) == ([], ["%r1", "%r2"])
    assert waits.does("objects") and waits.results == ["%p1"]
    sums = ["%r3", "%r4", "%r5", "%r6"]
    assert product.does("later") and product.results == sums  # it adds to what they hold
    assert product.sources == ["%rd2", "%rd3", *sums]
    assert barrier.does("meets") and not barrier.results
    with pytest.raises(ValueError, match="'stores' is not an effect"):
        store.does("stores")


def test_error():
    with pytest.raises(DiagnosticError) as caught:
        ptx.parse(KERNEL.replace("mul.wide", "mul.wyde"), "scale.ptx")
    error = caught.value
    line = 1 + KERNEL[: KERNEL.index("mul.wide")].count("\n")
    assert (error.file, error.line, error.column) == ("scale.ptx", line, 5)
    assert error.message == "'.wyde' is not a modifier of mul"
    assert "did you mean .wide?" in error.notes
    assert "\tmul.wyde.u32 %rd2, %r1, 4;\n\t   ^\n" in str(error)


def test_parse_file(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text(KERNEL)
    assert str(ptx.parse_file(str(path))) == KERNEL
    with pytest.raises(DiagnosticError, match=re.escape(str(tmp_path / "none.ptx"))):
        ptx.parse_file(str(tmp_path / "none.ptx"))


def test_opcode_table():
    table = {row["opcode"]: row for row in ptx.opcode_table()}
    assert len(table) == len(ptx.opcode_table())
    assert table["shfl"]["executed"] and table["shfl"]["section"] == "9.7.9.6"
    assert not table["tex"]["executed"]
    assert table["atom"]["effects"][0] == "updates" and table["tex"]["effects"] == []
    assert all(re.fullmatch(r"9\.7(\.\d+)+", row["section"]) for row in table.values())


FILES = sorted(corpus.unpacked().rglob("*.ptx"))


def test_there_are_files_of_every_release():
    texts = [path.relative_to(ROOT).as_posix() for path in FILES]
    for minor in range(10):
        assert any(f"corpus/3.{minor}." in text for text in texts), f"no PTX of Triton 3.{minor}"
    for arch in (75, 80, 86, 90, 100, 120):
        assert any(f"sm{arch}/" in text for text in texts), f"no PTX for sm_{arch}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_prints_back(path):
    text = path.read_text()
    module = ptx.parse(text, path.name)
    assert str(module) == text
    canonical = module.canonical()
    again = ptx.parse(canonical)
    assert again.canonical() == canonical
    assert [len(f.instructions) for f in again.functions if not f.is_declaration] == [
        len(f.instructions) for f in module.functions if not f.is_declaration
    ]
