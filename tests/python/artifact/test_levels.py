"""Tests the table of levels, and that what is kept of them is bounded."""

import pathlib

import corpus
import pytest
from triton_runner import DiagnosticError
from triton_runner._base import levels
from triton_runner._base.recent import Recent

TLX = "_attn_fwd_ws_pipelined_pingpong"  # the name that the original's example has
ROOT = pathlib.Path(__file__).resolve().parents[3]
TEXTS = [
    path
    for name in levels.LEVELS
    for folder in (corpus.unpacked(), ROOT / "examples")
    for path in sorted(folder.rglob(f"*.{name}"))
    if levels.LEVELS[name].is_text
]


def test_every_text_of_the_corpus_tells_its_level():
    assert {path.suffix[1:] for path in TEXTS} >= {"ttir", "ttgir", "llir", "ptx"}
    wrong = [path for path in TEXTS if levels.level_of_text(path.read_text()) != path.suffix[1:]]
    # TLX writes layouts and ops of TTGIR in its TTIR: its text says ttgir.
    assert all(path.suffix == ".ttir" and ("tlx" in str(path) or path.stem == TLX) for path in wrong)


def test_other_texts_are_refused():
    with pytest.raises(DiagnosticError, match="not TTIR, TTGIR, LLIR, PTX or AMDGCN"):
        levels.level_of_text('"a text"\n')


def test_the_way_of_a_target():
    assert levels.levels_of("cuda:90") == ("ttir", "ttgir", "llir", "ptx", "cubin")
    assert levels.levels_of("hip:gfx942") == ("ttir", "ttgir", "llir", "amdgcn", "hsaco")
    assert levels.levels_below("cuda:90", "llir") == ("ptx", "cubin")
    assert levels.levels_below("hip:gfx942", "ptx") == ()
    assert levels.binary_level("hip:gfx942") == "hsaco"
    assert levels.is_above("ttgir", "ptx") and not levels.is_above("ptx", "ptx")
    assert levels.ON_CPU == ("ttir", "ttgir", "llir", "ptx", "amdgcn", "cubin", "hsaco")
    assert levels.MLIR == ("ttir", "ttgir")


def test_what_was_asked_for_last_is_kept():
    kept = Recent(3)
    for number in range(3):
        assert kept.put(number, str(number)) == str(number)
    assert kept.get(0) == "0"
    kept.put(3, "3")
    assert [kept.get(number) for number in range(4)] == ["0", None, "2", "3"]
    assert len(kept) == 3
