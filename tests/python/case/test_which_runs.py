"""Tests which runs verify makes of a launch: those that can change the verdict, and no others."""

import json
import pathlib

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner._base.errors import fail  # noqa: E402
from triton_runner._code import atomics  # noqa: E402
from triton_runner._kernel import asynchronous  # noqa: E402
from triton_runner._pipeline import kernel as pipeline_kernel  # noqa: E402

CASES = pathlib.Path(__file__).parents[2] / "cases"
LEVELS = {"ttir", "ttgir", "ptx"}


@triton.jit
def twice(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, 2 * tl.load(x + i))


@triton.jit
def last(x, out, B: tl.constexpr):
    """Every program stores its number to one place."""
    tl.store(out + tl.arange(0, B), tl.program_id(0).to(tl.float32) + 0 * tl.load(x + tl.arange(0, B)))


@triton.jit
def added(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i)))


@triton.jit
def flagged(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, volatile=True))


@triton.jit
def places(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + i, tl.load(x + i) + tl.where(at < 0, 1.0, 0.0))


@triton.jit
def product(x, out, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)
    x = tl.load(x + at)
    tl.store(out + at, tl.dot(x, x))


def judged(kernel, programs=4, block=64, **options):
    x = torch.linspace(0.1, 7.3, 64 * programs)
    found = triton_runner.verify(kernel, [x, torch.zeros_like(x)], {"B": block}, grid=(programs,), **options)
    (launch,) = found.launches
    return found.verdict, launch


def levels_of(launch, word):
    return {run["level"] for run in launch["runs"] if run["how"].startswith(word)}


def test_other_orders_are_run_where_they_can_give_another_result():
    verdict, launch = judged(twice)
    assert verdict == "no fault found" and levels_of(launch, "shuffle") == set()
    assert {run["how"].split(" ")[0] for run in launch["runs"]} == {"plain", "check"}
    assert len(launch["runs"]) == 2 * len(LEVELS)
    verdict, launch = judged(last)
    assert verdict == "wrong" and levels_of(launch, "shuffle") == LEVELS
    assert {finding["check"] for finding in launch["findings"]} >= {"race", "order"}
    verdict, launch = judged(added)
    assert verdict == "nondeterministic" and levels_of(launch, "shuffle") == LEVELS
    for kernel in (flagged, places):
        verdict, launch = judged(kernel)
        assert verdict == "no fault found" and levels_of(launch, "shuffle") == LEVELS


def test_other_orders_are_run_where_nobody_asked_for_races():
    verdict, launch = judged(last, checks=("oob",))
    assert verdict == "wrong" and levels_of(launch, "shuffle") == LEVELS
    # One program has no other order but that of its warps.
    verdict, launch = judged(last, 1, checks=("oob",))
    assert verdict == "no fault found" and levels_of(launch, "shuffle") == {"ptx"}
    verdict, launch = judged(added, 1, checks=("oob",))
    assert levels_of(launch, "shuffle") == LEVELS


def test_the_order_shows_by_a_race_alone():
    texts = {}
    for kernel in (twice, last, added, flagged, places):
        compiled = kernel.warmup(torch.float32, torch.float32, B=64, grid=(1,))
        texts[kernel] = {level: compiled.asm[level] for level in LEVELS}
        ordered = {atomics.has_one_result(level, text) for level, text in texts[kernel].items()}
        assert ordered == {kernel in (twice, last)}, kernel
    assert not atomics.has_one_result("amdgcn", "")  # its code is not read for that
    assert not atomics.has_one_result(
        "ptx", texts[twice]["ptx"].replace("ld.global", "ld.acquire.gpu.global")
    )


def test_timings_that_can_differ():
    """By themselves copies to shared memory are late, and stores and products early."""
    for name in ("late-copy", "late-store"):
        text, _, _ = (CASES / "check" / f"timing-{name}.ttgir").read_text().partition("// ---- expected")
        assert asynchronous.timings("ttgir", text) == {"late-copy": ("eager",), "late-store": ("late",)}[name]
    with triton_runner.using(target="cuda:90", level="ttgir"):
        text = product.warmup(torch.float16, torch.float32, B=64, grid=(1,)).asm["ttgir"]
    assert asynchronous.is_asynchronous("ttgir", text) and asynchronous.timings("ttgir", text) == ()


def test_timings_of_machine_code():
    assert asynchronous.timings("ptx", "cp.async.wait_all;") == ("eager",)
    assert asynchronous.timings("ptx", "ld.global.b32 %r1, [%rd1];") == ()


def test_a_check_whose_report_ended_the_run_with_all_is_not_run_again():
    verdict, launch = judged(last)
    hows = [run["how"] for run in launch["runs"] if run["level"] == "ttir" and run["how"].startswith("check")]
    assert verdict == "wrong" and len(hows) == 2 and "race" in hows[0] and "race" not in hows[1]


def test_levels_are_compiled_in_one_go(monkeypatch):
    """A compilation to PTX passes TTGIR and LLIR, whose texts and metadata the launch needs too."""
    went = []
    own = pipeline_kernel.compile_onward

    def counted(text, level, to, *more):
        went.append((level, to))
        return own(text, level, to, *more)

    monkeypatch.setattr(pipeline_kernel, "compile_onward", counted)
    with triton_runner.using(target="cuda:80"):
        verdict, launch = judged(twice)
    assert verdict == "no fault found" and went == [("ttir", "ptx")]
    assert 0 < launch["compile_seconds"] <= launch["seconds"]


def test_the_report_says_what_the_seconds_went_to():
    """A verdict takes at most 1.2 times its runs and what Triton takes to compile their code."""
    shares = []
    for _ in range(3):  # another process may take the core away
        x = torch.linspace(0.1, 7.3, 1 << 16)
        args = [x, torch.zeros_like(x)]
        found = triton_runner.verify(twice, args, {"B": 64}, grid=(1 << 10,))
        (launch,) = json.loads(found.to_json())["launches"]
        spent = sum(run["seconds"] for run in launch["runs"]) + launch["compile_seconds"]
        shares.append(launch["seconds"] / spent)
    assert min(shares) <= 1.2
    first = str(found).splitlines()[0]
    assert all(word in first for word in ("runs", "compiling", "the rest")) and first.endswith(" s)")


def test_a_program_that_launches_nothing_has_no_run(tmp_path):
    from warm import cli

    program = tmp_path / "idle.py"
    program.write_text("import triton_runner\n")
    done = cli("verify", "--json", str(program))
    assert done.returncode == 125 and json.loads(done.stdout)["launches"] == []


def test_a_launch_whose_levels_cannot_be_compiled_is_run_at_those_that_can(monkeypatch):
    own = pipeline_kernel.compile_onward

    def fails_below(text, level, to, *more):
        if to == "ptx":
            raise fail("no PTX here")
        return own(text, level, to, *more)

    monkeypatch.setattr(pipeline_kernel, "compile_onward", fails_below)
    verdict, launch = judged(twice, block=32)
    assert verdict == "unknown" and levels_of(launch, "plain") == {"ttir", "ttgir"}
    assert "no PTX here" in next(one["why"] for one in launch["not_run"] if one["level"] == "ptx")
