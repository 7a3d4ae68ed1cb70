"""Tests the order of a launch: shuffle= at every level, the bits of one thread, the trap that threads
report."""

import dataclasses
import pathlib
import threading

import numpy as np
import pytest
import warm

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import KernelTrap  # noqa: E402
from triton_runner._launch import launchers  # noqa: E402
from triton_runner._memory.contents import Pages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
LEVELS = ("ttir", "ttgir", "ptx")


@triton_runner.jit
def total(x, out, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.zeros_like(offsets), tl.load(x + offsets))


@triton_runner.jit
def tickets(counter, places):
    tl.store(places + tl.atomic_add(counter, 1), tl.program_id(0))


@triton_runner.jit
def under_lock(lock, out, n):
    for _ in range(n):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(out, tl.load(out) + 1)
        tl.debug_barrier()
        tl.atomic_xchg(lock, 0)


@triton_runner.jit
def pass_on(flags, out, n):
    """Each program but the last waits for the next one."""
    pid = tl.program_id(0)
    if pid + 1 < n:
        while tl.atomic_add(flags + pid + 1, 0) == 0:
            pass
    tl.store(out + pid, pid)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 1)


@triton_runner.jit
def faults(what, out, n, BLOCK: tl.constexpr):
    """The array `what` says what a program does: nothing, far stores (2: after a while), or endless
    waiting."""
    pid = tl.program_id(0)
    does = tl.load(what + pid)
    turns = tl.where(does == 2, 3000, 0)
    s = 0
    for i in range(turns):
        s += i % 3
    if does == 3:
        while tl.atomic_cas(what + n, 1, 1) == 0:
            pass
    if does > 0:
        tl.store(out + 100000000 + tl.arange(0, BLOCK), s + tl.zeros((BLOCK,), tl.int32))
    else:
        tl.store(out + tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.int32))


def summed(values, programs, level, **settings):
    out = torch.zeros(1)
    with triton_runner.using(level=level, **settings):
        total[(programs,)](values, out, BLOCK=len(values) // programs, num_warps=2)
    return float(out[0])


@pytest.mark.parametrize("programs", [1, 8])
@pytest.mark.parametrize("level", LEVELS)
def test_sums_of_floats_depend_on_the_seed(level, programs):
    values = torch.ones(256)
    values[::64] = 2.0**24
    usual = {summed(values, programs, level, threads=1) for _ in range(3)}
    assert len(usual) == 1
    first = [summed(values, programs, level, shuffle=seed) for seed in range(6)]
    assert len(set(first)) > 1
    assert [summed(values, programs, level, shuffle=seed, threads=4) for seed in range(6)] == first


@pytest.mark.parametrize("level", LEVELS)
def test_programs_start_in_another_order(level):
    def run(**settings):
        counter, places = torch.zeros(1, dtype=torch.int32), torch.zeros(40, dtype=torch.int32)
        with triton_runner.using(level=level, **settings):
            tickets[(40,)](counter, places)
        return places.tolist()

    assert run(threads=1) == list(range(40))
    orders = [run(shuffle=seed) for seed in range(4)]
    assert all(sorted(order) == list(range(40)) for order in orders)
    assert len({tuple(order) for order in [list(range(40)), *orders]}) == 5


@pytest.mark.parametrize("level", LEVELS)
def test_programs_that_wait_for_each_other_finish_in_any_order(level):
    for seed in range(4):
        lock, count = torch.zeros(1, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
        flags, out = torch.zeros(30, dtype=torch.int32), torch.full((30,), -1, dtype=torch.int32)
        with triton_runner.using(level=level, shuffle=seed, timeout=60):
            under_lock[(12,)](lock, count, 3)
            pass_on[(30,)](flags, out, 30)
        assert int(count[0]) == 36
        assert out.tolist() == list(range(30))


def test_exec_takes_shuffle_at_ptx(tmp_path):
    counter, places = torch.zeros(1, dtype=torch.int32), torch.zeros(40, dtype=torch.int32)
    path = tmp_path / "tickets.ptx"
    path.write_text(dict(tickets.warmup(counter, places, grid=(1,), level="ptx").asm)["ptx"])

    def printed(*options):
        words = ["exec", path, "--grid", "40", *options, "--arg", "i32[1]=zeros", "--arg", "i32[40]=zeros"]
        done = warm.cli(*words, check=True)
        return done.stdout.splitlines()[1:]

    first = printed("--shuffle", "2")
    assert printed("--shuffle", "2") == first != printed("--threads", "1")
    assert printed("--shuffle", "3") != first


def test_lockstep_takes_shuffle_at_ptx():
    values = torch.rand(128)
    seen = triton_runner.lockstep(
        total, [values, torch.zeros(1)], {"BLOCK": 128}, grid=(1,), levels=["ttgir", "ptx"], shuffle=2
    )
    assert seen.runs == ["ttgir", "ptx"] and not seen.traps


@pytest.mark.parametrize("level", LEVELS)
def test_one_thread_gives_the_same_bits_on_a_busy_machine(level):
    values = torch.from_numpy(np.random.default_rng(0).standard_normal(512).astype(np.float32))
    idle = summed(values, 8, level, threads=1)
    over = threading.Event()

    def burn():
        while not over.is_set():
            summed(values, 8, level, threads=2)

    burner = threading.Thread(target=burn)
    burner.start()
    try:
        assert {summed(values, 8, level, threads=1) for _ in range(10)} == {idle}
    finally:
        over.set()
        burner.join()


def trap_of(what, n, level, **settings):
    out = torch.zeros(64, dtype=torch.int32)
    given = torch.zeros(n + 1, dtype=torch.int32)
    for program, does in what.items():
        given[program] = does
    with triton_runner.using(level=level, **settings), pytest.raises(KernelTrap) as trapped:
        faults[(n,)](given, out, n, BLOCK=64)
    return trapped.value


@pytest.mark.parametrize("level", LEVELS)
def test_the_trap_is_the_lowest_program_s(level):
    what = {9: 2, 10: 1, 30: 1, 47: 1}
    alone = trap_of(what, 48, level, threads=1)
    assert alone.program == (9, 0, 0) and alone.kind == "out of bounds"
    for threads in (2, 8):
        for _ in range(2):
            other = trap_of(what, 48, level, threads=threads)
            assert (other.program, other.op, other.line, other.element, other.iterations) == (
                alone.program, alone.op, alone.line, alone.element, alone.iterations,
            )  # fmt: skip
    assert {trap_of(what, 48, level, shuffle=seed).program for seed in range(3)} == {(9, 0, 0)}


@pytest.mark.parametrize("level", LEVELS)
def test_a_program_that_waits_for_one_that_trapped_hides_nothing(level):
    for threads in (1, 4):
        trap = trap_of({2: 3, 5: 1, 7: 1}, 12, level, threads=threads, timeout=60)
        assert trap.kind == "out of bounds" and trap.program == (5, 0, 0)


def test_launches_whose_bytes_depend_on_the_order_are_told_from_wrong_ones(monkeypatch):
    """The state `order` of tests/gpu/machine_code.py."""
    monkeypatch.syspath_prepend(ROOT / "tests" / "gpu")
    import machine_code

    found = []

    def compare(call, go):
        launch = machine_code.assembled_launch(call)
        ours, theirs = launch.run("cubin"), launch.run("cubin", order=12345)
        found.append(machine_code.Comparison("").explained(launch, ours, theirs))
        flipped = theirs.contents.block(0)
        flipped[0] ^= 1  # of the counter, which no order changes
        theirs.contents.pages[0] = Pages([(0, flipped)])
        theirs = dataclasses.replace(theirs)  # whose arrays nobody has asked for
        found.append(machine_code.Comparison("", orders=3).explained(launch, ours, theirs))
        return go()

    counter, places = torch.zeros(1, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    with triton_runner.using(target="cuda:80"), launchers.observing(compare):
        tickets[(8,)](counter, places)
    assert found[0]["state"] == "order" and 1 <= found[0]["orders"] <= 16
    assert "state" not in found[1] and 1 <= found[1]["unexplained"] <= found[1]["elements"]


@triton_runner.jit
def handed_over(flag, data, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    if tl.program_id(0) == 1:
        tl.store(data + offsets, offsets)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem="release")
    else:
        while tl.atomic_cas(flag, 1, 1, sem="acquire") != 1:
            pass
        tl.debug_barrier()
        tl.store(out + offsets, tl.load(data + offsets))


@pytest.mark.parametrize("check", [None, "race"])
@pytest.mark.parametrize("level", [*LEVELS, "cubin"])
def test_a_program_that_waits_for_a_later_one_is_set_aside(level, check):
    flag, data, out = (torch.zeros(n, dtype=torch.int32) for n in (1, 256, 256))
    with triton_runner.using(target="cuda:90", level=level, threads=1, check=check, timeout=120):
        handed_over[(2,)](flag, data, out, BLOCK=256)
    assert torch.equal(out, torch.arange(256, dtype=torch.int32))
