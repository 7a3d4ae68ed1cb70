"""*.glir, Gluon's IR before Gluon's passes (triton#11628): the engines run it as it stands, and compilation
goes on with Gluon's passes, which choose the layouts that it leaves open."""

import numpy as np
import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton.experimental.gluon")
import torch
import triton_runner
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton_runner._base.levels import GLIR, level_of_name, stage_of

N = 200


@gluon.jit
def helper(v):
    return v * 2


@gluon.jit
def auto(x, out, n, BLOCK: gl.constexpr):
    """Its load has a layout that Gluon's passes choose."""
    i = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, gl.AutoLayout())
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    v = gl.set_auto_layout(gl.load(x + i, mask=i < n), layout)
    j = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout)
    gl.store(out + j, helper(v), mask=j < n)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """auto.glir, and the same text as auto.source, as Triton's cache has both."""
    folder = tmp_path_factory.mktemp("glir")
    x, out = torch.arange(256.0), torch.zeros(256)
    asm = auto[(2,)](x, out, N, BLOCK=128).asm
    text = asm.get("glir") or asm["source"]
    for ending in ("glir", "source"):
        (folder / f"auto.{ending}").write_text(text)
    assert "#gluon.auto_encoding" in text and "tt.call" in text
    return folder


@pytest.mark.parametrize("ending", ["glir", "source"])
@pytest.mark.parametrize("level", ["", "ptx"])
def test_it_runs_at_each_level(files, ending, level):
    kernel = triton_runner.load(files / f"auto.{ending}", device="cpu", level=level)
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    kernel[(2,)](x, out, N)
    assert np.array_equal(out, np.where(np.arange(256) < N, 2 * x, 0))
    assert kernel.level == (level or "ttgir")


def test_it_compiles_through_gluons_passes(files):
    made = triton_runner.compile(str(files / "auto.glir"), target="cuda:90", to="ptx")
    assert "#gluon." not in made.asm["ttgir"] and ".entry auto" in made.asm["ptx"]
    text = (files / "auto.glir").read_text()
    of_text = triton_runner.compile(text, target="cuda:90", to="ttgir")
    assert "#gluon." not in of_text.asm["ttgir"]
    trace = triton_runner.passes(str(files / "auto.glir"), target="cuda:90", to="ttgir", check=False)
    assert "GluonResolveAutoEncodingsPass" in [step.name for step in trace]


@pytest.mark.parametrize(
    "words, said",
    [
        ("exec {} --grid 2 --arg f32[256]=iota --arg f32[256] --arg 200", "auto (ttgir) on cpu"),
        ("dump {} -v v --grid 2 --arg f32[256]=iota --arg f32[256] --arg 200", "v"),
        ("resources {}", "auto for cuda:90, 4 warps"),
        ("map {}", "auto for cuda:90"),
        ("ops {}", "gluon.set_auto_layout"),
    ],
)
def test_the_verbs_that_take_a_file(files, words, said):
    first, *rest = words.split()
    answer = warm.invoke(first, *(str(files / "auto.glir") if w == "{}" else w for w in rest))
    assert answer.exit_code == 0 and said in answer.output, answer.output


def test_a_report_has_it(files, tmp_path):
    words = ["report", "-o", str(tmp_path / "r.html"), str(files / "auto.glir")]
    answer = warm.invoke(*words)
    assert answer.exit_code == 0 and (tmp_path / "r.html").stat().st_size > 1000, answer.output


def test_names():
    assert [level_of_name(name) for name in ("a/b.glir", "b.ttgir", "b.ptx", "b.glirx", "glir")] == [
        "ttgir", "ttgir", "ptx", "", ""
    ]  # fmt: skip
    assert stage_of("ttgir", "", "k.glir") == GLIR == stage_of("ttgir", "", "k.source")
    assert stage_of("ttgir", "", "k.ttgir") == "ttgir" and stage_of("ttir", "", "k.source") == "ttir"
    assert stage_of("ttgir", "tensor<8xi32, #gluon.auto_encoding>") == GLIR
