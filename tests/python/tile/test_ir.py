"""triton_runner.ir: every module of tests/corpus round-trips; the graph can be walked and edited."""

import corpus
import pytest
import triton_runner
from triton_runner import ir

CORPUS = corpus.unpacked()
FILES = sorted(p for p in CORPUS.rglob("*") if p.suffix in (".ttir", ".ttgir"))
SMALL = """\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#loc = loc("k.py":3:0)
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %n: i32) {
    %c1 = arith.constant 1 : i32 loc(#loc1)
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked> loc(#loc2)
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #blocked>
    %p = tt.addptr %s, %r : tensor<128x!tt.ptr<f32>, #blocked>, tensor<128xi32, #blocked>   // kept
    %v = tt.load %p cacheModifier = ca : tensor<128x!tt.ptr<f32>, #blocked>
    %w:2 = scf.for %i = %c1 to %n step %c1 iter_args(%a = %v, %b = %c1)
        -> (tensor<128xf32, #blocked>, i32)  : i32 {
      %t = arith.addf %a, %v : tensor<128xf32, #blocked>
      scf.yield %t, %i : tensor<128xf32, #blocked>, i32
    } {tt.num_stages = 2 : i32}
    tt.store %p, %w#0 : tensor<128x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
#loc1 = loc("k.py":4:5 to :9)
#loc2 = loc(callsite(#loc1 at #loc))
"""


def test_corpus_is_there():
    releases = {p.relative_to(CORPUS).parts[0] for p in FILES}
    assert len(FILES) >= 100 and len(releases) == 10


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(CORPUS)))
def test_round_trip(path):
    text = path.read_text()
    module = ir.parse(text, str(path))
    assert str(module) == text
    assert module.print(canonical=True) == text
    module.verify()
    for op in module.walk():
        assert op.kind != "Unknown", op.name
        for value in [*op.operands, *op.results]:
            assert value.type is not None


def test_walk():
    module = ir.parse(SMALL, "k.ttgir")
    (kernel,) = module.kernels
    assert kernel.attr("sym_name").value == "k" and module.function("k") == kernel
    assert kernel.attr("arg_attrs").value == [{"tt.divisibility": 16}, {}]
    assert str(module.attrs["ttg.num-warps"]) == "4 : i32"
    x, _ = kernel.regions[0].blocks[0].args
    assert (x.name, x.type.kind, str(x.type.element)) == ("%x", "pointer", "f32")
    assert x.location.name == "x" and x.location.line == 3
    names = [op.name for op in kernel.walk()]
    assert names[:3] == ["tt.func", "arith.constant", "tt.make_range"] and names[-1] == "tt.return"
    ops = {op.name: op for op in kernel.walk()}
    range_type = ops["tt.make_range"].results[0].type
    assert range_type.kind == "tensor" and range_type.shape == [128]
    assert range_type.encoding.name == "ttg.blocked" and range_type.encoding.alias == "#blocked"
    assert range_type.encoding.get("threadsPerWarp").value == [32]
    assert ops["arith.constant"].attr("value").value == 1
    place = ops["arith.constant"].location
    assert (place.file, place.line, place.column, place.end_line, place.end_column) == ("k.py", 4, 5, 4, 9)
    assert ops["tt.make_range"].location.kind == "callsite" and ops["tt.make_range"].location.line == 4
    load = ops["tt.load"]
    assert load.attr("cache").value == "ca" and load.attr("cache").integer == 2 and load.line == 9
    assert [v.name for v in load.group(0)] == ["%p"] and load.group(1) == []
    loop = ops["scf.for"]
    assert [r.name for r in loop.results] == ["%w#0", "%w#1"]
    assert [a.name for a in loop.regions[0].blocks[0].args] == ["%i", "%a", "%b"]
    assert ops["arith.addf"].parent == loop and ops["arith.addf"].block.parent == loop
    assert {use.name for use, _ in load.results[0].uses} == {"scf.for", "arith.addf"}
    assert "tt.load" in repr(load) and repr(x) == "<Value %x : !tt.ptr<f32>>"


def test_what_ops_do_and_operands_by_name():
    ops = {op.name: op for op in ir.parse(SMALL).walk()}
    assert ops["tt.load"].effects == ["loads"] and ops["tt.load"].does("loads")
    assert not ops["tt.load"].does("stores") and ops["tt.store"].does("stores")
    assert ops["arith.addf"].does("elementwise")
    assert [v.name for v in ops["tt.store"].group("ptr")] == ["%p"] and ops["tt.store"].group("mask") == []
    with pytest.raises(KeyError, match=r"tt\.store has no operand group 'desc'"):
        ops["tt.store"].group("desc")
    with pytest.raises(ValueError, match="'writes' is not an effect"):
        ops["tt.store"].does("writes")
    (unknown,) = [op for op in ir.parse('"a.b"() : () -> ()').walk() if op.name == "a.b"]
    assert unknown.effects == []


def test_edits_keep_the_rest():
    module = ir.parse(SMALL)
    ops = {op.name: op for op in module.walk()}
    ops["scf.for"].set_attr("tt.num_stages", "3 : i32")
    # The op that was edited is printed anew, on one line; the rest keeps its text.
    assert str(module) == SMALL.replace("tt.num_stages = 2", "tt.num_stages = 3").replace(
        "\n        ->", " ->"
    )

    module = ir.parse(SMALL)
    ops = {op.name: op for op in module.walk()}
    (new,) = ops["tt.store"].insert_before("%d = arith.mulf %w#0, %v : tensor<128xf32, #blocked>")
    ops["tt.store"].set_operand(1, new.results[0])
    line = "    tt.store %p, %w#0"
    expected = SMALL.replace(
        line, "    %d = arith.mulf %w#0, %v : tensor<128xf32, #blocked>\n" + line.replace("%w#0", "%d")
    )
    assert str(module) == expected
    module.verify()
    again = ir.parse(expected)
    assert again.print(canonical=True) == module.print(canonical=True)

    module = ir.parse(SMALL)
    ops = {op.name: op for op in module.walk()}
    ops["arith.addf"].results[0].replace_all_uses_with(ops["tt.load"].results[0])
    ops["arith.addf"].erase()
    assert "arith.addf" not in str(module) and "scf.yield %v, %i" in str(module) and "// kept" in str(module)
    ops["tt.load"].results[0].rename("loaded")
    assert "%loaded = tt.load" in str(module) and "%v" not in str(module)
    module.verify()


def test_the_place_of_an_op_in_the_language():
    """A call of tl.sum is what a person looks at, wherever names and other calls stand around it."""
    text = """module {
  tt.func public @kernel(%n: i32) {
    %a = arith.addi %n, %n : i32 loc(#named)
    %b = arith.addi %n, %n : i32 loc(#inner)
    %c = arith.addi %n, %n : i32 loc(#own)
    %d = arith.addi %n, %n : i32 loc(#lost)
    tt.return
  }
}
#language = loc("/x/triton/language/standard.py":314:12)
#gluon = loc("/x/triton/experimental/gluon/language/_core.py":7:1)
#helper = loc("helper.py":4:11)
#call = loc("program.py":20:9)
#inner = loc(callsite(#language at callsite(#gluon at #call)))
#named = loc("a"(callsite(#language at callsite(#helper at #call))))
#own = loc(callsite(#helper at #call))
#lost = loc(callsite(#language at #gluon))
"""
    ops = [op for op in ir.parse(text).walk() if op.name == "arith.addi"]
    places = [(op.location.file.rpartition("/")[2], op.location.line, op.location.column) for op in ops]
    assert places == [
        ("helper.py", 4, 11), ("program.py", 20, 9), ("helper.py", 4, 11), ("standard.py", 314, 12),
    ]  # fmt: skip


def test_a_value_of_another_type():
    text = """module {
  tt.func public @kernel(%n: i32) {
    %a = arith.constant dense<5.000000e-01> : tensor<8xf16>
    %b = arith.addf %a, %a : tensor<8xf16>
    %c = arith.extf %b : tensor<8xf16> to tensor<8xf32>
    tt.return
  }
}
"""
    module = ir.parse(text)
    ops = {op.name: op for op in module.walk()}
    (wide,) = ops["arith.addf"].insert_before("%w = arith.constant dense<5.000000e-01> : tensor<8xf32>")
    ops["arith.addf"].results[0].retype("tensor<8xf32>")
    with pytest.raises(triton_runner.DiagnosticError):
        module.verify()
    ops["arith.constant"].results[0].retype("tensor<8xf32>")
    for number in (0, 1):
        ops["arith.addf"].set_operand(number, wide.results[0])
    ops["arith.constant"].results[0].retype("tensor<8xf16>")
    ops["arith.extf"].erase()
    module.verify()
    assert "%b = arith.addf %w, %w : tensor<8xf32>" in str(module)
    with pytest.raises(triton_runner.DiagnosticError):
        wide.results[0].retype("tensor<8xf33>")


def test_edits_that_cannot_be():
    module = ir.parse(SMALL)
    ops = {op.name: op for op in module.walk()}
    with pytest.raises(triton_runner.DiagnosticError, match="still used"):
        ops["tt.load"].erase()
    with pytest.raises(triton_runner.DiagnosticError, match="has type"):
        ops["tt.store"].set_operand(1, ops["arith.constant"].results[0])
    with pytest.raises(triton_runner.DiagnosticError, match="never defined"):
        ops["tt.store"].insert_before("%d = arith.addi %nothing, %c1 : i32")
    with pytest.raises(triton_runner.DiagnosticError, match="name of another"):
        ops["tt.load"].results[0].rename("p")
    with pytest.raises(triton_runner.DiagnosticError):
        ops["scf.for"].set_attr("a", "1 : int7")
    assert str(module) == SMALL


def test_errors_have_places():
    text = SMALL.replace("arith.addf %a, %v", "arith.addf %a, %w9").replace("%c1 = arith", "%c1 = arit")
    with pytest.raises(ValueError) as caught:
        ir.parse(text, "k.ttgir")
    error = caught.value
    assert isinstance(error, triton_runner.DiagnosticError)
    assert (error.file, error.line) == ("k.ttgir", 12) and "%w9 is used but never defined" in error.message
    assert "      %t = arith.addf %a, %w9" in str(error) and "^" in str(error)
    assert error.diagnostics[0]["line"] == 12


TDM = """\
#two = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx1250", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @kernel(%d: DESC, %i: i32, %bar: BAR, %rows: ROWS) {
    %m = ttg.local_alloc : () -> MEMORY
    %t = amdg.async_tdm_copy_global_to_local %d[%i, %i] into %m, %i : DESC -> MEMORY
    %u = amdg.async_tdm_copy_global_to_local %d[%i, %i] into %m, %i, barrier = %bar : DESC, BAR -> MEMORY
    %w = amdg.async_tdm_wait %t {num = 0 : i32}
    amdg.async_tdm_copy_local_to_global %d[%i, %i] from %m : MEMORY -> DESC
    %s = amdg.async_tdm_scatter %d[%rows, %i] from %m : ROWS, MEMORY -> DESC
    %g = amdg.async_tdm_gather %d[%rows, %i] to %m : ROWS, MEMORY -> DESC
    %x = amdg.async_tdm_wait  {num = 0 : i32}
    tt.return
  }
}
"""
TYPES = {
    "DESC": "!tt.tensordesc<tensor<4x4xi32, #two>>",
    "BAR": "!ttg.memdesc<1xi64, #two, #smem, mutable>",
    "ROWS": "tensor<4xi32, #line>",
    "MEMORY": "!ttg.memdesc<4x4xi32, #two, #smem, mutable>",
}


@pytest.mark.parametrize("predicate", ["%i", "pred = %i"], ids=["3.7", "fbtriton"])
def test_copies_of_tdm_with_indices(predicate):
    """As Triton 3.7 and Meta's fork print them; no file of the corpus has one."""
    text = TDM.replace("into %m, %i", f"into %m, {predicate}")
    for name, kind in TYPES.items():
        text = text.replace(name, kind)
    module = ir.parse(text)
    module.verify()
    assert module.print(canonical=True) == text
    copies = [op for op in module.walk() if op.name.endswith("global_to_local")]
    assert [[v.name for v in op.operands] for op in copies] == [
        ["%d", "%i", "%i", "%m", "%i"],
        ["%d", "%i", "%i", "%m", "%i", "%bar"],
    ]


def test_unknown_ops_go_through():
    text = SMALL.replace(
        "    tt.return",
        "    %q:2 = my.op %w#0 [%c1] <fancy = 3> {a = 1 : i32} : tensor<128xf32, #blocked>, i32 -> f32, i32\n"
        "    my.region %q#1 {\n      my.use %q#0\n    }\n"
        "    tt.return",
    )
    module = ir.parse(text)
    assert str(module) == text and module.print(canonical=True).count("my.") == 3
    op = next(op for op in module.walk() if op.name == "my.op")
    assert [v.name for v in op.operands] == ["%w#0", "%c1"] and [str(r.type) for r in op.results] == [
        "f32",
        "i32",
    ]
    assert op.attr("a").value == 1


def test_truncated_anywhere_is_an_error_not_a_crash():
    for end in range(0, len(SMALL) - 100, 7):
        try:
            ir.parse(SMALL[:end], "cut.ttgir")
        except triton_runner.DiagnosticError as error:
            assert error.line > 0 and str(error).startswith("cut.ttgir:")


def test_triton_accepts_what_was_edited(tmp_path):
    triton = pytest.importorskip("triton")
    release = ".".join(triton.__version__.split(".")[:2])
    (path,) = CORPUS.glob(f"{release}.*/sm80/matmul_kernel.ttir")
    from triton._C.libtriton import ir as triton_ir

    module = ir.parse(path.read_text())
    dot = next(op for op in module.walk() if op.name == "tt.dot")
    dot.insert_before("%extra = arith.constant dense<0.5> : tensor<64x32xf32>")
    dot.set_attr("tt.note", '"edited"')
    dot.results[0].rename("edited_accumulator")
    file = tmp_path / "edited.ttir"
    for text in (str(module), module.print(canonical=True)):
        file.write_text(text)
        context = triton_ir.context()
        triton_ir.load_dialects(context)
        again = str(triton_ir.parse_mlir_module(str(file), context))
        assert 'tt.note = "edited"' in again and "5.000000e-01" in again
