"""Tests descriptors, made on the device and by the host: at TTIR, and as TMA at TTGIR."""

import json
from pathlib import Path

import pytest
import warm

pytest.importorskip("z3")

from triton_runner.verbs.prove import run

KERNELS = str(Path(__file__).with_name("kernels_pipelined.py"))
BOXES = "a.shape == (M, K), b.shape == (N, K), c.shape == (M, N), numel < 2**30"
SAME = "out.shape[0] == x.shape[0], out.shape[1] == x.shape[1]"
GRID = "cdiv(x.shape[0], BLOCK), cdiv(x.shape[1], BLOCK)"
PROGRAM = """
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def copied(x, out, BLOCK: tl.constexpr):
    m, n = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    out.store([m, n], x.load([m, n]))

x = torch.rand(96, 64, device="cuda")
out = torch.empty_like(x)
grid = (x.shape[0] // 16, triton.cdiv(x.shape[1], 16))
copied[grid](*(TensorDescriptor.from_tensor(one, [16, 16]) for one in (x, out)), BLOCK=16)
torch.testing.assert_close(out, x)
"""


# Rows of 4 elements are all that TMA takes; a box of the transposed side, whose rows overlap in the launch.
HOSTS = """
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def moved(x, out, down, across):
    i, j = tl.program_id(0) * down, tl.program_id(1) * across
    out.store([i, j], x.load([i, j]) + i)

x = torch.rand({shape}, device="cuda")
{body}
"""
QUARTERS = """
rows = x.shape[1]
source, target = (TensorDescriptor(one, x.shape, [rows, 1], [16, 4]) for one in (x, torch.empty_like(x)))
moved[(triton.cdiv(x.shape[0], 16), {columns})](source, target, 16, 4)
"""
SIDES = """
B, D, N = x.shape
source = TensorDescriptor(x, [D, B * N], [N, 1], [16, 16])
out = torch.empty(B * N, 16, device="cuda")
moved[(B, 1)](source, TensorDescriptor.from_tensor(out, [16, 16]), {step}, 0)
"""


def kernel(name: str, types: str, constants: dict, grid: str, given: str, target: str):
    how = {"signature": types, "constexprs": constants, "target": target, "options": {}}
    subject = run.of_kernel(f"{KERNELS}:{name}", name, how)
    subject.assume((given,), grid)
    subject.simplify()
    return subject


def boxes():
    types = "*fp16, *fp16, *fp16, i32, i32, i32"
    constants = {"BM": 128, "BN": 128, "BK": 64}
    return kernel("of_boxes", types, constants, "cdiv(M, BM), cdiv(N, BN)", BOXES, "cuda:90")


def copied(target: str = "cuda:90", given: str = SAME):
    types = ", ".join(["tensordesc<fp32[16,16]>"] * 2)
    return kernel("copied", types, {"BLOCK": 16}, GRID, given, target)


def verdicts(subject, *properties, seconds: float = 10) -> dict:
    return {one.property: one.verdict for one in run.proof(subject, properties, seconds).answers}


def test_descriptors_that_the_kernel_makes():
    assert verdicts(boxes(), "refines") == {"refines": "proved"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[%out_5]", "[%left_1]"),  # its stride
        pytest.param("[%K, %M]", "[%K, %N]", marks=pytest.mark.long),  # its rows
        pytest.param("%out_6[%1, %3]", "%out_6[%3, %1]", marks=pytest.mark.long),  # where its box begins
    ],
)
def test_a_descriptor_of_the_ttgir_that_is_another(old, new):
    subject = boxes()
    text, metadata = subject.ttgir
    assert old in text
    subject.ttgir = text.replace(old, new, 1), metadata
    assert verdicts(subject, "refines", seconds=1.5) != {"refines": "proved"}


@pytest.mark.parametrize("target", ["cuda:90", "cuda:80"])
def test_descriptors_of_the_host(target):
    found = verdicts(copied(target))
    assert set(found.values()) <= {"proved", "nothing to prove"} and found["covered"] == "proved", found
    found = verdicts(copied(target, "out.shape[0] == x.shape[0]"), "bounds", "covered")
    assert found == {"bounds": "proved", "covered": "refuted"}


def test_a_program_with_descriptors(tmp_path):
    """The sizes of a descriptor are those of the tensor of which the program makes it."""
    path = tmp_path / "copies.py"
    path.write_text(PROGRAM)
    done = warm.cli("prove", "--json", "--pretend-cuda", "--target", "cuda:80", str(path))
    assert done.returncode == 1, done.stdout + done.stderr
    (proof,) = json.loads(done.stdout)["proofs"]
    found = {one["property"]: one["verdict"] for one in proof["answers"]}
    assert found["bounds"] == "proved" and found["covered"] == "refuted"
    (example,) = [one["counter_example"] for one in proof["answers"] if "counter_example" in one]
    assert " with the strides (" in example["arguments"]["out"]
    (rows,) = [one["text"] for one in proof["assumptions"] if one["text"].startswith("x.shape.0 == ")]
    assert rows.endswith(".shape[0]")


@pytest.mark.parametrize(
    ("shape", "body", "name", "verdict"),
    [
        ("32, 32", QUARTERS.format(columns="x.shape[1] // 4"), "covered", "unknown"),
        ("32, 32", QUARTERS.format(columns="x.shape[1] // 8"), "covered", "refuted"),
        ("2, 16, 16", SIDES.format(step="N"), "disjoint", "refuted"),
        ("2, 16, 16", SIDES.format(step="16"), "disjoint", "unknown"),
    ],
)
def test_what_a_host_makes_decides_what_refutes(tmp_path, shape, body, name, verdict):
    path = tmp_path / "moves.py"
    path.write_text(HOSTS.format(shape=shape, body=body))
    words = "prove", "--json", "--pretend-cuda", "--target", "cuda:90", "--property", name
    done = warm.cli(*words, "--given", "numel < 2**28", str(path))
    *_, proof = json.loads(done.stdout)["proofs"]
    assert [one["verdict"] for one in proof["answers"]] == [verdict], done.stdout
