"""Tests some random kernels of tests/differential at TTIR, TTGIR and PTX, which must agree in every bit,
and with themselves when values are dumped."""

import dataclasses
import os
import pathlib
import re
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "differential"))
import addresses  # noqa: E402
import composed  # noqa: E402
import generate  # noqa: E402
import products  # noqa: E402
import random_ptx  # noqa: E402
import run  # noqa: E402
from triton_runner.verbs.assemble import run as trials  # noqa: E402

LEVELS = ["ttir", "ttgir", "ptx"]


@pytest.fixture(autouse=True)
def without_contraction(monkeypatch):
    monkeypatch.setitem(os.environ, "TRITON_DEFAULT_FP_FUSION", "0")


KERNELS = [(generate.generate, seed) for seed in range(16)]
KERNELS += [(addresses.generate_addresses, seed) for seed in range(16)]  # the last one traps
KERNELS += [(products.generate_product, seed) for seed in range(8)]
KERNELS += [(composed.generate_composed, seed) for seed in (1, 2, 4, 5)]  # sm_80 lacks e4m3


@pytest.mark.parametrize(("make", "seed"), KERNELS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_levels_agree(make, seed, tmp_path):
    kernel = make(seed)
    function = run.imported(kernel.source, tmp_path / f"{make.__name__}_{seed}.py")
    target = ("cuda:80", "cuda:90", "cuda:100")[seed % 3]
    assert run.difference(kernel, function, target, seed, LEVELS) is None, kernel.source


def test_random_ptx_and_its_machine_code_agree(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_STORE", str(tmp_path / "store"))
    chosen = [
        trials.TriedPtx(str(seed), random_ptx.generate_ptx(seed, target), {"metadata": "", "kernel": ""})
        for seed, target in enumerate(["sm_80", "sm_90a", "sm_89", "sm_90a"])
    ]
    assert len({subject.ptx for subject in chosen}) == 4
    assert random_ptx.generate_ptx(1, "sm_90a") == chosen[1].ptx
    for one in trials.run(chosen, [trials.assemblers.find("13.4")], [1, 3], "", 1, 1):
        assert one.result.state == "equal", (one, chosen[int(one.name)].ptx)


def test_a_difference_is_named(tmp_path):
    """A float sum along an axis is what generate.py keeps out: its order is the compiler's."""
    source = """import triton
import triton.language as tl

@triton.jit
def kernel(x0, out0, trips, delta, limit):
    at = tl.arange(0, 512)
    x = tl.load(x0 + at).to(tl.float32)
    wide = tl.where(tl.abs(x) < 1e4, x, 1.0) * 1.1
    tl.store(out0 + at, tl.cumsum(wide * wide * wide, 0))
"""
    kernel = generate.Kernel(source, ["float16"], 512, [("float32", 512)], [0, 0, 1], 1, {"num_warps": 4})
    found = run.difference(kernel, run.imported(source, tmp_path / "sums.py"), "cuda:90", 1, LEVELS)
    assert found and found.startswith("out0[") and all(f"at {level}" in found for level in LEVELS)


def test_a_trap_where_none_belongs_is_named(tmp_path):
    source = """import triton
import triton.language as tl

@triton.jit
def kernel(x0, out0, trips, delta, limit):
    at = tl.arange(0, 64)
    tl.store(out0 + at, tl.load(x0 + at.to(tl.int64) * (1 << 40)))  # not even by chance another array
"""
    kernel = generate.Kernel(source, ["int32"], 64, [("int32", 64)], [0, 0, 1], 1, {"num_warps": 4})
    function = run.imported(source, tmp_path / "outside.py")
    assert "('out of bounds', 'tt.load', 7, " in run.difference(kernel, function, "cuda:90", 1, ["ttir"])
    kernel = dataclasses.replace(kernel, traps=True)
    assert run.difference(kernel, function, "cuda:90", 1, LEVELS) is None


def test_addresses_compose():
    """Offsets of every integer type, ranks 1 to 5, last dimensions 1 to 1024 come up."""
    kernels = [addresses.generate_addresses(seed) for seed in range(300)]
    text = "".join(k.source for k in kernels)
    assert {d for d in generate.INTS if f".to(tl.{d})[" in text} == set(generate.INTS)
    shapes = [eval(shape) for shape in re.findall(r"tl\.zeros\((\([\d, ]+\)), tl\.int64\)", text)]
    assert {len(shape) for shape in shapes} == {1, 2, 3, 4, 5}
    assert {1, 1024} <= {shape[-1] for shape in shapes}
    forms = (
        "make_tensor_descriptor", "permute(", ".split(", ".join(", "for ", "pointer_type", "[None,", " % ",
    )  # fmt: skip
    assert all(form in text for form in forms)
    assert sum(k.traps for k in kernels) == 300 // 16


def test_equal_bits_and_nans():
    a = torch.tensor([1.0, float("nan"), -0.0])
    b = torch.tensor([0x3F800000, -1, 0], dtype=torch.int32).view(torch.float32)
    assert run.first_difference(a, a.clone()) is None
    assert run.first_difference(a, b) == 2
    assert run.first_difference(torch.tensor([1, 2]), torch.tensor([1, 3])) == 1


def test_the_generator_is_deterministic():
    assert generate.generate(5) == generate.generate(5)
    assert len({generate.generate(seed).source for seed in range(50)}) == 50
