"""A level reads what TTIR does not read: that is a warning of verify, with the place."""

import dataclasses

import pytest
import torch
import triton
import triton.language as tl
import triton_runner
from triton_runner import _core
from triton_runner._artifact.relaunch import of_call
from triton_runner._kernel.cases import judge
from triton_runner._launch.launchers import observing


@triton.jit
def chosen(x, out, flag, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    if tl.load(flag) > 0:
        total += tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, total, mask=i < n)


def launch_of(flag: int, n: int = 48):
    calls = []
    arguments = torch.arange(64.0), torch.zeros(64), torch.tensor([flag], dtype=torch.int32)
    with triton_runner.using(device="cpu", target="cuda:90"):
        with observing(lambda call, go: calls.append(of_call(call))):
            chosen[(1,)](*arguments, n, BLOCK=64)
    return calls[0]


@pytest.mark.parametrize("flag", [0, 1])
def test_levels_of_one_kernel_read_the_same(flag):
    judged = judge.judge(launch_of(flag))
    assert [finding.check for finding in judged.findings if finding.check == "reads"] == []


def test_a_load_that_was_moved_out_of_its_branch_is_reported():
    """As a pass would move it: the TTGIR takes the branch that the TTIR does not take."""
    launch = launch_of(0)
    moved = launch.texts["ttgir"].replace("arith.cmpi sgt,", "arith.cmpi sge,", 1)
    assert moved != launch.texts["ttgir"]
    launch = dataclasses.replace(launch, texts={**launch.texts, "ttgir": moved})
    judging = judge.Judging(launch, levels=("ttir", "ttgir"))
    judging.each_level()
    judging.all_checks(with_orders=False)
    (found,) = [finding for finding in judging.findings if finding.check == "reads"]
    assert found.severity == "warning" and found.levels == ["ttgir"] and found.argument == "x"
    assert "ttgir reads 192 bytes that ttir does not read, from x + 0 on, in tt.load" in found.message
    assert found.file.endswith("test_reads.py") and found.line and "--oracle reads" in found.advice


@triton.jit
def copied(x, out, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i + by))


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_rows_of_all_threads_are_noted(level):
    """Each thread takes an element, as native code does it."""
    x, out = torch.arange(2048.0), torch.zeros(1024)
    sets = []
    for by in (0, 512):
        sets.append(_core.ReadSet())
        with triton_runner.using(device="cpu", level=level, check="race", reads=sets[-1]):
            copied[(8,)](x, out, by, BLOCK=128)
    more = [(address - x.data_ptr(), count) for _, address, count in sets[1].beyond(sets[0])]
    assert more == [(4096, 2048)]


def test_bytes_beyond_another_set():
    first, second = _core.ReadSet(), _core.ReadSet()
    x = torch.arange(64.0)
    for reads, n in ((first, 16), (second, 20)):
        with triton_runner.using(device="cpu", level="ttir", check="race", reads=reads):
            chosen[(1,)](x, torch.zeros(64), torch.ones(1, dtype=torch.int32), n, BLOCK=64)
    more = second.beyond(first)
    places = {place.split(" at ")[0] for place, _, _ in more}
    assert "tt.load" in places
    assert (x.data_ptr() + 64, 16) in [(address, count) for _, address, count in more]
    assert first.beyond(first) == []
