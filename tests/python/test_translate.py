"""Translating IR between releases: every text of the corpus is read, compiled, and computes the same; what
has no counterpart is named."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError, _core  # noqa: E402
from triton_runner._compiler import translation  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests" / "corpus"
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


@pytest.mark.parametrize("to", ["3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0"])
def test_a_translated_text_is_one_of_the_release(to):
    made = 0
    for file in TEXTS:
        if translation.number(release_of(file)) > translation.number(to):
            continue
        text, _ = translation.translate(file.read_text(), to, str(file))
        first, last = translation.written_by(text)
        assert first <= translation.number(to) <= last, file
        assert translation.translate(text, to) == (text, []), file
        made += 1
    assert made > 60


def test_the_releases_of_a_text():
    for file in TEXTS:
        first, last = translation.written_by(file.read_text())
        assert first <= translation.number(release_of(file)) <= last, file
    assert translation.written_by((CORPUS / "3.1.0/sm90/matmul_kernel.ttgir").read_text()) == (300, 301)
    assert translation.written_by((CORPUS / "3.4.0/sm80/matmul_kernel.ttgir").read_text()) == (303, 304)


OTHERS = [f for f in TEXTS if release_of(f) != INSTALLED and re.search(r"/sm(75|80|86|89|90)/", str(f))]


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
        (GONE, "3.9.0", "Triton 3.9 has no op tt.make_tensor_ptr"),
        (TWICE, "3.6.0", "used for blocks of two kinds"),
        ("module {", "3.9.0", "<text>:1"),
        (GONE, "new", "'new' is no Triton release"),
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


def test_parts_at_computed_offsets_go_to_the_release_that_has_them():
    text, _ = translation.translate(PART, "3.9.0")
    assert "ttg.memdesc_dynamic_subslice" in text and _core.ir.parse(text).op is not None


def cli(*arguments):
    command = [sys.executable, "-m", "triton_runner", "translate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


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
