"""Each fault that is planted in AMD's machine code is reported at its instruction; right code has none."""

import inspect
import re

import kernels_for_amdgcn as k
import pytest
import torch
import triton_runner
from amd.waits import is_idle
from triton.backends.amd.compiler import HIPBackend
from triton_runner import KernelTrap

TARGET = "hip:gfx942"
CHECKS = "hazard,race,oob,uninit"
FLOATS = dict.fromkeys(("x", "w", "b", "out"), "*fp32")


def _softmax():
    x, out = torch.randn(2, 1000), torch.zeros(2, 1000)
    types = {"x": "*fp32", "out": "*fp32", "n": "i32"}
    return k.softmax, types, {"B": 1024}, (2,), [x, out, 1000]


def _layer_norm():
    x, w, b, out = torch.randn(3, 700), torch.randn(700), torch.randn(700), torch.zeros(3, 700)
    types = {**FLOATS, "n": "i32", "eps": "fp32"}
    return k.layer_norm, types, {"B": 1024}, (3,), [x, w, b, out, 700, 1e-5]


def _matmul():
    a, b, c = torch.randn(64, 96).half(), torch.randn(96, 64).half(), torch.zeros(64, 64)
    types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"}
    return k.matmul, types, {"M": 64, "N": 64, "K": 32}, (1, 1), [a, b, c, 64, 64, 96]


def _with_space_below(args: list) -> list:
    """The arguments, with an output below whose memory no other argument lies within 4,096 bytes."""
    *others, out = [arg for arg in args if isinstance(arg, torch.Tensor)]
    tried = [out]
    while any(
        0 <= tried[-1].data_ptr() - 4096 - one.data_ptr() < one.nbytes for one in [*others, *tried[:-1]]
    ):
        tried.append(torch.zeros_like(out))
    return [tried[-1] if arg is out else arg for arg in args]


@pytest.fixture(scope="module", params=[_softmax, _layer_norm, _matmul])
def program(request):
    """(the lines of a kernel's machine code, what runs lines under checks and gives the trap or None)."""
    torch.manual_seed(0)
    kernel, types, constants, grid, args = request.param()
    args = _with_space_below(args)
    compiled = triton_runner.compile(kernel, types, constants, target=TARGET)

    def run(lines, check):
        with triton_runner.using(device="cpu", check=check, target=TARGET):
            loaded = triton_runner.load("\n".join(lines), compiled.metadata, "cpu")
            try:
                loaded[grid](*args)
            except KernelTrap as trap:
                return trap
        return None

    return compiled.asm["amdgcn"].split("\n"), run


def _at(lines, start):
    return [i for i, line in enumerate(lines) if line.strip().startswith(start)]


def _named(trap) -> int:
    """The index of the line that a trap names as its instruction."""
    return int(re.search(r":(\d+):\d+: ", next(n for n in trap.notes if "the instruction is" in n))[1]) - 1


def _without(lines, i):
    return [*lines[:i], "\t; dropped", *lines[i + 1 :]]


def test_right_code_is_clean(program):
    lines, run = program
    assert run(lines, CHECKS) is None


def test_a_wait_that_is_dropped_is_reported_where_it_is_missed(program):
    lines, run = program
    waits = _at(lines, "s_waitcnt")
    missed, near = [], 0
    for i in waits:
        trap = run(_without(lines, i), "hazard")
        # LDS answers a wavefront's own reads in their order: a barrier after reads alone needs no wait here.
        if trap is None:
            missed.append(i)
            assert lines[i + 1].strip() == "s_barrier" and "ds_read" in "".join(lines[i - 8 : i])
        else:
            near += _named(trap) == i + 1
    assert len(missed) <= 1
    assert near >= len(waits) // 2  # the next instruction reads what was waited for


def test_a_wait_for_one_less_is_reported(program):
    lines, run = program
    at = next(i for i in _at(lines, "s_waitcnt vmcnt(0)"))
    weaker = [*lines[:at], lines[at].replace("vmcnt(0)", "vmcnt(1)"), *lines[at + 1 :]]
    trap = run(weaker, "hazard")
    assert trap is not None and "vmcnt may be 1 there" in trap.message and _named(trap) == at + 1


def test_a_barrier_that_is_dropped_is_a_race_in_lds(program):
    lines, run = program
    barriers = _at(lines, "s_barrier")
    assert barriers
    for i in barriers:
        trap = run(_without(lines, i), "race")
        assert trap is not None and "data race" in str(trap)
        assert lines[_named(trap)].strip().startswith("ds_") and _named(trap) > i


def test_a_store_to_lds_over_another_is_reported(program):
    lines, run = program
    stores = [i for i in _at(lines, "ds_write_b") if " offset0" not in lines[i]]
    assert stores
    for i in stores:
        head = lines[i].split(";")[0].rstrip()
        offset = int(re.search(r" offset:(\d+)|$", head)[1] or 0)
        moved = f"{re.sub(r' offset:.*', '', head)} offset:{offset + 16}"
        trap = run([*lines[:i], moved, *lines[i + 1 :]], "race,oob,uninit")
        assert trap is not None and lines[_named(trap)].strip().startswith("ds_")


def test_a_wrong_offset_is_out_of_bounds(program):
    lines, run = program
    stores = [*_at(lines, "global_store"), *_at(lines, "buffer_store")]
    i = stores[0]
    head = re.sub(r" offset:\d+", "", lines[i].split(";")[0].rstrip())
    if "buffer_" in head:  # those check by the descriptor: what is outside of it is dropped
        head = head.replace("offen", "offen offset:4")
        trap = run([*lines[:i], head, *lines[i + 1 :]], "oob")
        assert trap is None
        return
    trap = run([*lines[:i], f"{head} offset:-4096", *lines[i + 1 :]], "oob")
    assert trap is not None and trap.kind == "out of bounds" and _named(trap) == i


def test_swapped_operands_are_seen_in_what_is_left():
    x, y, out = torch.arange(300.0), torch.ones(300), torch.zeros(300)
    types = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    text = triton_runner.compile(k.add, types, {"B": 512}, target=TARGET).asm["amdgcn"]
    found = re.search(r"v_cmp_gt_i32_e32 vcc, (\w+), (\w+)", text)
    swapped = text.replace(found[0], f"v_cmp_lt_i32_e32 vcc, {found[1]}, {found[2]}")
    with triton_runner.using(device="cpu", target=TARGET):
        report = triton_runner.lockstep(
            triton_runner.jit(k.add.fn), [x, y, out, 300], {"B": 512}, grid=(1,),
            levels=("ttgir", "amdgcn"), sources={"amdgcn": swapped},
        )  # fmt: skip
    first = inspect.getsourcelines(k.add.fn)[1]
    body = inspect.getsource(k.add.fn).splitlines()
    store = first + next(i for i, line in enumerate(body) if "tl.store" in line)
    assert [(one["name"], one["line"]) for one in report.outputs] == [("out", store)]
    assert f":{store} writes to it" in str(report)


_LOAD, _READ = "\tglobal_load_dword v1, v[2:3], off", "\tv_add_u32_e32 v4, 1, v1"
_WAIT, _END = "\ts_waitcnt vmcnt(0)", "\ts_endpgm"


@pytest.mark.parametrize(
    "lines, at, idle",
    [
        ([_LOAD, _WAIT, _READ, _END], 1, False),
        ([_LOAD, _WAIT, _END], 1, True),
        ([_LOAD, _WAIT, "\ts_nop 0", _WAIT, _READ, _END], 1, True),
        ([_LOAD, _WAIT, "\ts_nop 0", "\ts_waitcnt vmcnt(1)", _READ, _END], 1, False),
        ([_LOAD, _WAIT, "\ts_waitcnt lgkmcnt(0)", _READ, _END], 1, False),
        ([_LOAD, _WAIT, "\ts_cbranch_scc0 .LBB0_1", _WAIT, ".LBB0_1:", _READ, _END], 1, False),
        ([".LBB0_1:", _WAIT, _READ, _LOAD, "\ts_cbranch_scc0 .LBB0_1", _END], 1, False),
        (["\tds_write_b32 v1, v2", "\ts_waitcnt lgkmcnt(0)", "\ts_barrier", _END], 1, False),
        (["\tds_write_b32 v1, v2", "\ts_waitcnt lgkmcnt(0)", _END], 1, True),
        (["\tbuffer_load_dword v1, s[0:3], 0 offen lds", _WAIT, "\ts_barrier", _END], 1, False),
        (["\tbuffer_load_dword v1, s[0:3], 0 offen lds", _WAIT, _READ, _END], 1, True),
        (["\tv_mov_b32_e32 v1, 0", _WAIT, _READ, _END], 1, True),
    ],
)
def test_the_rule_by_which_nothing_depends_on_a_wait(lines, at, idle):
    assert is_idle("\n".join(lines), at, 9) == idle


def test_the_rule_knows_the_counters_of_rdna():
    load, read = "\tglobal_load_b32 v1, v2, s[0:1]", "\tv_add_nc_u32_e32 v4, 1, v1"
    for generation, wait, idle in (
        (12, "\ts_wait_loadcnt 0x0", False), (12, "\ts_wait_loadcnt_dscnt 0x0", False),
        (12, "\ts_wait_dscnt 0x0", True), (12, "\ts_wait_alu depctr_sa_sdst(0)", False),
        (11, "\ts_waitcnt vmcnt(0)", False), (11, "\ts_waitcnt_vscnt null, 0x0", True),
    ):  # fmt: skip
        assert is_idle("\n".join([load, wait, read, _END]), 1, generation) == idle


def _alone(monkeypatch, tmp_path) -> None:
    """Compiles anew, and keeps what was made wrong away from the cache of other tests."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def _run_text(text: str, metadata, args, check: str, target: str, grid=(2,)) -> KernelTrap | None:
    with triton_runner.using(device="cpu", check=check, target=target):
        try:
            triton_runner.load(text, metadata, "cpu")[grid](*args)
        except KernelTrap as trap:
            return trap
    return None


@pytest.mark.parametrize("wrong", [True, False])
def test_lockstep_names_the_first_value_that_not_all_lanes_came_to(monkeypatch, tmp_path, wrong):
    """EXEC stays narrow after a guarded load, so that the lanes that are off leave no values."""
    made = HIPBackend.make_amdgcn

    def narrow(*args, **kwargs):
        text = made(*args, **kwargs)
        *_, last = re.finditer(r"s_or_b64 exec, exec, (\S+)", text[: text.index("v_exp_f32")])
        put = f"s_and_b64 exec, exec, {last[1]}" if wrong else last[0]
        return text[: last.start()] + put + text[last.end() :]

    monkeypatch.setattr(HIPBackend, "make_amdgcn", staticmethod(narrow))
    _alone(monkeypatch, tmp_path)
    monkeypatch.setenv("AMDGCN_USE_BUFFER_OPS", "0")  # memory is guarded by EXEC
    kernel, _, constants, grid, args = _softmax()
    with triton_runner.using(device="cpu", target=TARGET):
        report = triton_runner.lockstep(
            triton_runner.jit(kernel.fn), args, constants, grid=grid, levels=("ttgir", "amdgcn")
        )
    assert report.diverged is None, report
    if not wrong:
        assert report.missing is None and not report.outputs, report
        return
    body = [line.strip() for line in inspect.getsource(kernel.fn).splitlines()]
    first = inspect.getsourcelines(kernel.fn)[1]
    load = first + next(i for i, line in enumerate(body) if "tl.load" in line)
    assert report.missing["line"] == load and report.missing["text"] in str(report), report


def test_a_wait_for_loads_to_lds_that_is_dropped_is_reported(monkeypatch, tmp_path):
    """They do not load to registers: other wavefronts rely on the barrier after the wait."""
    made, texts, dropped = HIPBackend.make_amdgcn, [], []

    def faulty(*args, **kwargs):
        texts.append(made(*args, **kwargs).split("\n"))
        return "\n".join(_without(texts[-1], *dropped) if dropped else texts[-1])

    monkeypatch.setattr(HIPBackend, "make_amdgcn", staticmethod(faulty))
    _alone(monkeypatch, tmp_path)
    kernel, _, constants, grid, args = _matmul()

    def run(check, **settings):
        args[2].zero_()
        with triton_runner.using(device="cpu", level="amdgcn", target="hip:gfx950", check=check, **settings):
            try:
                triton_runner.jit(kernel.fn)[grid](*args, **constants)
            except KernelTrap as trap:
                return trap
        return None

    want = args[0].float() @ args[1].float()
    assert run("race,uninit") is None and torch.allclose(args[2], want, atol=1e-2)
    lines = texts[-1]
    assert [line for line in lines if line.split(";")[0].rstrip().endswith(" lds")]
    waits = [i for i in _at(lines, "s_waitcnt vmcnt") if lines[i + 1].strip() == "s_barrier"]
    assert waits
    for i in waits:
        dropped[:] = [i]
        trap = run("race,uninit")
        assert trap is not None and lines[_named(trap)].strip().startswith("ds_read") and trap.line
        assert run("") is None and not torch.allclose(args[2], want, atol=1e-2)
        assert run("", timing="eager") is None and torch.allclose(args[2], want, atol=1e-2)


def test_a_wait_for_the_alu_that_is_dropped_is_reported():
    kernel, types, constants, _, args = _layer_norm()
    target = "hip:gfx1201"
    compiled = triton_runner.compile(kernel, types, constants, target=target)
    lines = compiled.asm["amdgcn"].split("\n")
    waits = _at(lines, "s_wait_alu")
    assert waits and _run_text("\n".join(lines), compiled.metadata, args, CHECKS, target) is None
    for i in waits:
        trap = _run_text("\n".join(_without(lines, i)), compiled.metadata, args, "hazard", target)
        assert trap is not None and lines[i].split()[-1] in trap.message
        assert any(note.startswith("the write is at ") for note in trap.notes)


# LLVM's loop of compare-and-swap begins with a plain load, whose value the swap judges.
def test_the_guess_of_a_compare_and_swap_is_no_race():
    target = "hip:gfx1100"
    types = dict.fromkeys(("x", "out"), "*i32")
    compiled = triton_runner.compile(k.largest, types, {"B": 64}, target=target)
    lines = compiled.asm["amdgcn"].split("\n")
    at = next(i for i in _at(lines, "global_load_b32") if "start" in "".join(lines[i + 1 : i + 4]))

    def run(lines):
        args = [torch.arange(128, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)]
        return _run_text("\n".join(lines), compiled.metadata, args, "race", target), args[1].tolist()

    assert run(lines) == (None, [*range(120, 128)])
    # A value that the swap does not compare with is an ordinary read.
    guess = lines[at].split()[1].rstrip(",")
    dropped = [*lines[: at + 1], "\ts_waitcnt vmcnt(0)", f"\tv_mov_b32_e32 {guess}, 0", *lines[at + 1 :]]
    trap, _ = run(dropped)
    assert trap is not None and "data race" in str(trap)
    elsewhere = [*lines[: at + 1], "\t.loc\t1 1 1", *lines[at + 1 :]]
    trap, _ = run(elsewhere)
    assert trap is not None and "data race in global_load_b32" in str(trap)
