"""Tests triton-runner reduce on AMDGCN: the instruction that reads too early, and its load."""

import kernels_for_amdgcn as k
import pytest
import torch
import triton_runner
from triton_runner import DiagnosticError
from triton_runner.verbs.reduce import amdgcn_edits


def _text():
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    return triton_runner.compile(k.add, types, {"B": 512}, target="hip:gfx942").asm["amdgcn"]


def test_a_missing_wait_leaves_the_load_and_its_reader(tmp_path):
    text, out = _text(), tmp_path / "small.amdgcn"
    launch = {"grid": (1,), "args": [torch.ones(300), torch.ones(300), torch.zeros(300), 300]}
    with pytest.raises(DiagnosticError, match="is not there in the whole file"):
        triton_runner.reduce(text, "trap:hazard", **launch)
    wrong = text.replace("s_waitcnt vmcnt(0)", "s_nop 0")
    small = triton_runner.reduce(wrong, "trap:hazard", out=out, **launch)
    kept = [line.split()[0] for line in small.text.split("\n") if amdgcn_edits._INSTRUCTION.match(line)]
    assert len(kept) == small.size[0] == 2 and "_load_" in kept[0] and small.size_before[0] > 20
    assert out.read_text() == small.text and ".Ltmp" not in small.text


def test_text_without_debug_information_is_the_same_code():
    text = _text()
    short = amdgcn_edits.stripped(text)
    assert amdgcn_edits.size(short)[0] == amdgcn_edits.size(text)[0] and ".debug_" not in short
    x, y, out = torch.arange(300.0), torch.ones(300), torch.zeros(300)
    with triton_runner.using(device="cpu", target="hip:gfx942"):
        triton_runner.load(short, {"num_warps": 4, "shared": 0, "name": "add"}, "cpu")[(1,)](x, y, out, 300)
    assert torch.equal(out, x + 1)
