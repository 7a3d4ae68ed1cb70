"""Translating IR between releases: every text of the corpus is read, compiled, and computes the same; what
has no counterpart is named."""

import pathlib
import re

import corpus
import numpy as np
import pytest
import warm

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._pipeline import translation, versions  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
CORPUS = corpus.unpacked()
TEXTS = sorted(file for file in CORPUS.rglob("*.tt*ir"))
INSTALLED = triton.__version__


def release_of(file) -> str:
    return file.relative_to(CORPUS).parts[0]


def name_of(file) -> str:
    return str(file.relative_to(CORPUS))


def test_a_text_of_its_own_release_stays_as_it_is():
    for file in TEXTS:
        text = file.read_text()
        assert translation.translate(text, release_of(file)) == (text, []), file


@pytest.mark.parametrize("to", [v for v in versions.newest_patches() if versions.key(v) >= (3, 4)])
def test_a_translated_text_is_one_of_the_release(to):
    made = 0
    for file in TEXTS:
        if translation.number(release_of(file)) > translation.number(to):
            continue
        if "tlx." in file.read_text() and not to.startswith("3.8."):
            continue  # ops that only the plug-in's release has
        text, _ = translation.translate(file.read_text(), to, str(file))
        assert translation.number(to) in translation.written_by(text), file
        assert translation.translate(text, to) == (text, []), file
        made += 1
    assert made > 60


def test_the_releases_of_a_text():
    for file in TEXTS:
        assert translation.number(release_of(file)) in translation.written_by(file.read_text()), file
    assert translation.written_by((CORPUS / "3.1.0/sm90/matmul_kernel.ttgir").read_text()) == [300, 301]
    assert translation.written_by((CORPUS / "3.4.0/sm80/matmul_kernel.ttgir").read_text()) == [303, 304]


OTHERS = [f for f in TEXTS if release_of(f) != INSTALLED and re.search(r"/sm(75|80|86|89|90)/", str(f))]
OTHERS = [f for f in OTHERS if "tlx." not in f.read_text()]  # ops that only the plug-in's release has


@pytest.mark.parametrize("file", OTHERS, ids=name_of)
def test_the_installed_compiler_takes_it(file):
    to = "ttgir" if file.suffix == ".ttir" else "llir"
    made = triton_runner.compile(file, to=to, target=re.sub(r".*/sm(\d+)/.*", r"cuda:\1", str(file)))
    assert made.asm[to]


def run(text, level, name, *arguments):
    kernel = triton_runner.load(text, device="cpu", target="cuda:80", level=level, name=name)
    arrays = [np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments]
    kernel[(12,)](*arrays)
    return arrays


@pytest.mark.parametrize("release", ["3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0"])
def test_it_computes_the_same(release):
    text = (CORPUS / release / "sm80" / "matmul_kernel.ttgir").read_text()
    random = np.random.default_rng(0)
    m, n, k = 96, 64, 80
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    arguments = (a, b, np.zeros((m, n), np.float16), m, n, k, k, n, n)
    own = run(text, "ttgir", "matmul_kernel", *arguments)[2]
    product = a.astype(np.float64) @ b.astype(np.float64)
    expected = np.where(product > 0, product, 0.01 * product)
    assert np.abs(own - expected).max() < 0.05
    translated, changes = translation.translate(text, INSTALLED)
    assert changes or release == "3.6.0"
    np.testing.assert_array_equal(run(translated, "ttgir", "matmul_kernel", *arguments)[2], own)
    # And by the installed LLVM, which is given the translation without being asked for it.
    assert np.abs(run(text, "ptx", "matmul_kernel", *arguments)[2] - expected).max() < 0.05


def test_a_note_says_that_a_file_was_translated(capsys, monkeypatch):
    monkeypatch.setattr(translation, "_told", set())
    file = CORPUS / "3.2.0" / "sm80" / "add_kernel.ttgir"
    for _ in range(2):
        made = triton_runner.compile(file, to="llir")
    said = capsys.readouterr().out
    assert said.count("is of another Triton release") == 1 and INSTALLED in said and str(file) in said
    assert made.asm["ttgir"] != file.read_text()
    own = CORPUS / INSTALLED / "sm80" / "add_kernel.ttgir"
    assert triton_runner.compile(own, to="llir").asm["ttgir"] == own.read_text()
    assert "another" not in capsys.readouterr().out


PART = """
#s = #triton_gpu.shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0], hasLeadingOffset = false}>
module attributes {"triton_gpu.num-ctas" = 1 : i32, "triton_gpu.num-warps" = 4 : i32} {
  tt.func public @k(%i: i32) {
    %0 = triton_gpu.local_alloc  : () -> !tt.memdesc<64x32xf16, #s, mutable>
  %1 = triton_gpu.memdesc_subview %0[%i, %i] : !tt.memdesc<64x32xf16, #s, mutable> -> !tt.memdesc<8x8xf16, #s>
    tt.return
  }
}
"""
GONE = """module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i64, %i: i32) {
    %0 = tt.make_tensor_ptr %p, [%n], [%n], [%i] {order = array<i32: 0>} : <tensor<8xf32>>
    tt.return
  }
}
"""
TWICE = """module {
  tt.func public @k(%d: !tt.ptr<i8, 0> {tt.nv_tma_desc = 1 : i32}, %i: i32) {
    %0 = tt.experimental_descriptor_load %d[%i, %i] : !tt.ptr<i8, 0> -> tensor<64x32xf16>
    %1 = tt.experimental_descriptor_load %d[%i, %i] : !tt.ptr<i8, 0> -> tensor<32x32xf16>
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("text", "to", "says"),
    [
        (PART, "3.6.0", "takes no part of shared memory at offsets that are computed"),
        (PART, "3.9.0", "takes no part of shared memory at offsets that are computed"),
        (GONE, "3.9.0", "Triton 3.9 has no op tt.make_tensor_ptr"),
        (TWICE, "3.6.0", "used for blocks of two kinds"),
        ("module {", "3.9.0", "<text>:1"),
        (GONE, "new", "'new' is not a Triton release"),
    ],
)
def test_what_has_no_counterpart_is_named(text, to, says):
    with pytest.raises(DiagnosticError) as caught:
        translation.translate(text, to, "<text>")
    assert says in str(caught.value)


def test_what_could_not_be_translated_is_in_the_compilers_error():
    with pytest.raises(DiagnosticError, match="does not accept") as caught:
        triton_runner.compile(GONE, target="cuda:80", to="ttgir", isolate=True)
    assert any("has no op tt.make_tensor_ptr" in note for note in caught.value.notes)


TMEM = """#own = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, unpacked = true>
#packed = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, unpacked = false>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#b = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  tt.func public @k(%p: i1) {
    %a = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #s, #smem, mutable>
    %c = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #b, #smem, mutable>
    %d = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #own, #ttng.tensor_memory, mutable>
    %e = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf16, #own, #ttng.tensor_memory, mutable>
    %f = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf16, #packed, #ttng.tensor_memory, mutable>
    ttng.tc_gen5_mma %a, %c, %d, %p, %p, %bar : (!ttg.memdesc<128x64xf16, #s, #smem, mutable>, !ttg.memdesc<64x64xf16, #s, #smem, mutable>, !ttg.memdesc<128x64xf32, #own, #ttng.tensor_memory, mutable>, i1, i1, !ttg.memdesc<1xi64, #b, #smem, mutable>) -> ()
    ttng.tc_gen5_mma %f, %c, %d, %p, %p, %bar : (!ttg.memdesc<128x64xf16, #packed, #ttng.tensor_memory, mutable>, !ttg.memdesc<64x64xf16, #s, #smem, mutable>, !ttg.memdesc<128x64xf32, #own, #ttng.tensor_memory, mutable>, i1, i1, !ttg.memdesc<1xi64, #b, #smem, mutable>) -> ()
    tt.return
  }
}
"""  # noqa: E501


def test_tensor_memory_and_its_products():
    """Release 3.3 has columns of 32 bits to themselves or not, and barriers that have no predicate."""
    there, _ = translation.translate(TMEM, "3.9.0")
    strides = re.findall(r"alloc : .*x(f\d+), .*colStride = (\d)", there)
    assert strides == [("f32", "1"), ("f16", "2"), ("f16", "1")]
    assert len(re.findall(r"%bar\[%barrier_\d_on\] \{is_async\}", there)) == 2 and "unpacked" not in there
    assert triton_runner.compile(there, from_="ttgir", to="ttgir", target="cuda:100").asm["ttgir"] == there
    back, _ = translation.translate(there, "3.5.1")
    assert re.findall(r"alloc : .*unpacked = (\w+)", back) == ["true", "true", "false"]
    between = there.replace("colStride = 2", "colStride = 4").replace("xf16, #ttng", "xi8, #ttng")
    assert "unpacked = true" in translation.translate(between, "3.5.1")[0]
    with pytest.raises(DiagnosticError, match="no tensor memory of i8 with a colStride of 2"):
        translation.translate(between.replace("colStride = 4", "colStride = 2"), "3.5.1")


@pytest.mark.parametrize(
    ("line", "to", "expected"),
    [
        ("  %1 = fmul float %0, f0x3C23D70A", "3.7.1", "  %1 = fmul float %0, 0x3F847AE140000000"),
        ("  %1 = fmul float %0, f0x3C23D70A", "3.8.0", None),
        ("  %1 = fmul float %0, f0x00000001", "3.7.1", "  %1 = fmul float %0, 0x36A0000000000000"),
        ("  %1 = fmul float %0, f0x7F800001", "3.7.1", "  %1 = fmul float %0, 0x7FF0000020000000"),
        ("  %1 = fadd half %0, f0x3C01", "3.7.1", "  %1 = fadd half %0, 0xH3C01"),
        ("  %1 = fadd <2 x bfloat> %0, splat (bfloat f0x3F81)", "3.6.0",
         "  %1 = fadd <2 x bfloat> %0, splat (bfloat 0xR3F81)"),
        ("  %1 = fadd double %0, f0x3FF0000000000001", "3.6.0", "  %1 = fadd double %0, 0x3FF0000000000001"),
        ("  %1 = select i1 %0, float +inf, float -inf", "3.6.0",
         "  %1 = select i1 %0, float 0x7FF0000000000000, float 0xFFF0000000000000"),
        ("  store half +qnan, ptr %0", "3.6.0", "  store half 0xH7E00, ptr %0"),
        ("  store bfloat -snan(0x1), ptr %0", "3.6.0", "  store bfloat 0xRFF81, ptr %0"),
        ("define void @f(ptr captures(none) %0)", "3.2.0", "define void @f(ptr nocapture %0)"),
        ("define void @f(ptr captures(address, read_provenance) %0)", "3.2.0", "define void @f(ptr %0)"),
        ("  %1 = getelementptr inbounds nuw i8, ptr %0, i64 4", "3.1.0",
         "  %1 = getelementptr inbounds i8, ptr %0, i64 4"),
        ("  %1 = getelementptr nusw nuw i8, ptr %0, i64 4", "3.1.0",
         "  %1 = getelementptr i8, ptr %0, i64 4"),
        ("  %1 = fptrunc nnan contract float %0 to half", "3.2.0", "  %1 = fptrunc float %0 to half"),
        ("  %1 = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)", "3.1.0",
         '  %1 = call { i32, i1 } asm sideeffect "elect.sync $0|$1, $2;", "=r,=b,r,~{memory}"(i32 -1)'),
        ("  %1 = tail call float @llvm.nvvm.div.full(float %0, float 2.000000e+00)", "3.2.0",
         '  %1 = tail call float asm sideeffect "div.full.f32 $0, $1, $2;", "=f,f,f,~{memory}"(float %0, '
         "float 2.000000e+00)"),
        ("  tail call void @llvm.nvvm.fence.proxy.async.shared_cta()", "3.6.0",
         '  tail call void asm sideeffect "fence.proxy.async.shared::cta;", "~{memory}"()'),
        ('!4 = !DILocation(line: 1, scope: !2, atomGroup: 1, atomRank: 2)', "3.4.0",
         "!4 = !DILocation(line: 1, scope: !2)"),
    ],
)  # fmt: skip
def test_a_line_of_llir_for_an_older_llvm(line, to, expected):
    text, changes = translation.translate_llir(line, to)
    assert text == (expected or line) and bool(changes) == (expected is not None)


def test_launch_bounds_of_llir_move_to_the_metadata():
    text = (
        'define ptx_kernel void @k(ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %0, i32 %1) #0 {\n}\n'
        'attributes #0 = { nounwind "nvvm.cluster_dim"="2,1,1" "nvvm.reqntid"="128" }\n!3 = !{}\n'
    )
    made, changes = translation.translate_llir(text, "3.2.0")
    assert made.startswith(text) and made[len(text) :].splitlines() == [
        "!nvvm.annotations = !{!4, !5, !6, !7, !8}",
        '!4 = !{ptr @k, !"grid_constant", !{i32 1}}',
        '!5 = !{ptr @k, !"reqntidx", i32 128}',
        '!6 = !{ptr @k, !"cluster_dim_x", i32 2}',
        '!7 = !{ptr @k, !"cluster_dim_y", i32 1}',
        '!8 = !{ptr @k, !"cluster_dim_z", i32 1}',
    ]
    assert len(changes) == 3
    with pytest.raises(
        DiagnosticError, match=r"Triton 3\.1 has no kernel parameters that are grid constants"
    ):
        translation.translate_llir(text, "3.1.0")


def cli(*arguments):
    return warm.cli("translate", *arguments)


def test_translate_on_the_command_line(tmp_path):
    file = CORPUS / "3.1.0" / "sm80" / "matmul_kernel.ttgir"
    done = cli(file, "--from", "3.1.0", "--to", "3.9.0", "-o", tmp_path / "new.ttgir")
    assert done.returncode == 0 and not done.stdout and "of Triton 3.0 to 3.2, for 3.9.0:" in done.stderr
    assert "triton_gpu.memdesc_subview: ttg.memdesc_index" in done.stderr
    text = (tmp_path / "new.ttgir").read_text()
    assert "triton_gpu" not in text and cli(file, "--to", "3.9.0").stdout == text
    done = cli(file, "--from", "3.6.0", "--to", "3.9.0")
    assert (
        done.returncode == 2
        and "was not printed by Triton 3.6.0: its ops are those of 3.0 to 3.2" in done.stderr
    )
    assert cli(tmp_path / "none.ttir", "--to", "3.9.0").returncode == 2
    done = cli(CORPUS / "3.9.0" / "sm90" / "matmul_kernel.llir", "--to", "3.6.0")
    assert (
        done.returncode == 0 and "nocreateundeforpoison: removed" in done.stderr and "f0x" not in done.stdout
    )
