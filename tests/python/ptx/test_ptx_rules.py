"""Tests what ptxas makes of early uses of wgmma's products, and what TMA writes past a tensor: random chains
and every kind of box against models, which tests/gpu/ptx_rules.py compares with a GPU."""

import collections
import functools
import pathlib
import subprocess

import kernels_for_ptx_rules as rules
import numpy as np
import pytest
import triton_runner

REPAIRED = "ptxas repairs this"
SURPLUS = "TMA stores and reductions write whole chunks of 16 bytes"


def aligned(a: np.ndarray, to: int = 256) -> np.ndarray:
    room = np.zeros(a.nbytes + to, np.uint8)
    room = room[-room.ctypes.data % to :][: a.nbytes]
    room[:] = a.view(np.uint8).reshape(-1)
    return room


@functools.cache
def loaded(text: str):
    return triton_runner.load(text)


def run_chain(steps, **settings):
    out = rules.chain_output(steps)
    with triton_runner.using(device="cpu", **settings):
        triton_runner.load(rules.chain_text(steps))[(1,)](out, 0)
    assert (out == out[:1, :, :1]).all()
    return (out[0, :, 0] / 16).tolist()


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_random_chains(first):
    kinds = set()
    for seed in range(first, first + 40):
        steps = rules.random_chain(seed)
        wanted, repaired, early = rules.chain_facts(steps)
        assert run_chain(steps) == wanted, seed
        assert run_chain(steps, timing="late") == wanted, seed
        if early:
            with pytest.raises(triton_runner.KernelTrap, match="that no wait_group covers") as trap:
                run_chain(steps, check="race")
            assert trap.value.kind == "data race"
            assert trap.value.warning == ("ptxas" if repaired else ""), seed
            assert trap.value.notes[-1].startswith(REPAIRED) == repaired
        else:
            assert run_chain(steps, check="race") == wanted
        kinds.add((repaired, early))
    assert len(kinds) == 3


def is_plain(steps) -> bool:
    """Whether each product is committed before a wait comes, and D is never set to zero again."""
    is_open = False
    for kind, _ in steps:
        if kind == rules.ZERO or (kind == rules.WAIT and is_open):
            return False
        is_open = kind == rules.PRODUCT or (is_open and kind != rules.COMMIT)
    return True


def test_ptxas_says_the_same(tmp_path):
    """C7514 and its like, "wgmma.mma_async instructions are serialized", where the model has it."""
    triton = pytest.importorskip("triton")
    ptxas = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    if not ptxas.exists():
        pytest.skip(f"this Triton has no {ptxas}")
    seen = collections.Counter()
    for seed in range(60):
        steps = rules.random_chain(seed)
        if not is_plain(steps):
            continue
        (tmp_path / "k.ptx").write_text(rules.chain_text(steps))
        command = [ptxas, "-arch=sm_90a", "-v", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        _, repaired, early = rules.chain_facts(steps)
        assert ("C75" in done.stdout + done.stderr) == repaired, seed
        seen[repaired, early] += 1
    assert len(seen) == 3, seen


@pytest.mark.parametrize("operation", rules.HAVE)
def test_boxes(operation):
    some = [box for box in rules.boxes() if box.operation == operation]
    wrong = []
    for box in some:
        memory, scratch = aligned(box.memory()), aligned(np.zeros(128, np.uint8))
        with triton_runner.using(device="cpu"):
            loaded(box.text())[(1,)](memory, scratch, aligned(rules.SHARED), *box.arguments())
        if (memory != box.wanted(rules.SHARED)).any():
            wrong.append(box)
    assert not wrong and len(some) > 70


def surplus_launch(**settings):
    """37 bytes of a tensor at the end of their memory, stored as 48."""
    box = rules.Box(1, "u8", 0, "store", 37)
    some = [np.zeros(37, np.uint8) for _ in range(50)]
    memory = next(m for m in some if m.ctypes.data % 16 == 0)  # a view would have the memory of its base
    with triton_runner.using(device="cpu", **settings):
        triton_runner.load(box.text())[(1,)](
            memory, aligned(np.zeros(128, np.uint8)), aligned(rules.SHARED), *box.arguments()
        )
    return memory


def test_surplus_at_the_end_of_memory():
    assert (surplus_launch() == rules.SHARED[:37]).all()
    assert (surplus_launch(oob="report") == rules.SHARED[:37]).all() and not triton_runner.faults()
    with pytest.raises(triton_runner.KernelTrap, match="11 bytes past the end of dimension 0") as trap:
        surplus_launch(check="oob")
    assert (trap.value.kind, trap.value.warning) == ("out of bounds", "hardware")
    assert trap.value.notes[-1].startswith(SURPLUS)


def test_surplus_among_the_faults(capfd):
    assert (surplus_launch(check="oob", oob="report") == rules.SHARED[:37]).all()
    (fault,) = triton_runner.faults(clear=True)
    assert fault.count == 1 and "11 bytes past the end" in fault.message and fault.warning == "hardware"


def test_verify_warns():
    """A use that ptxas repairs is a warning, and one that it does not a fault."""
    body = rules.product() + rules.COMMITTED + rules.wait(1)
    for early, severity in ((body, "warning"), (body * 2, "fault")):
        text = rules.wgmma(early + rules.store() + rules.wait(0))
        found = triton_runner.verify(
            triton_runner.load(text), [np.zeros((128, 4), np.float32), 0], grid=(1,), checks=("race",)
        )
        races = [f for f in found.findings if f["check"] == "race"]
        assert [f["severity"] for f in races] == [severity] and bool(found) == (severity == "warning")
