"""Tests triton-runner bisect of programs whose inputs are random, and of results that the target's hardware
rounds."""


import numpy
import pytest

triton = pytest.importorskip("triton")
from bisecting import INSTALLED, judge  # noqa: E402
from triton_runner import bisect  # noqa: E402
from triton_runner._base.errors import DiagnosticError  # noqa: E402
from triton_runner.verbs.bisect import job  # noqa: E402
from triton_runner.verbs.bisect.trial import Launches, Seen  # noqa: E402

# A pass that changes a constant: the result is wrong by a third, whatever the inputs are.
UNSEEDED = """
import random, sys, time
import numpy as np, torch, triton, triton.language as tl
from triton_runner._pipeline import plans
step = {"adds": ["passes.ttgpuir.add_coalesce"], "nth": 1, "stage": "make_ttgir"}
plans.planted = {"edit": [[step, "dense<3.000000e+00>", "dense<4.000000e+00>"]]}

@triton.jit
def tripled(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) * 3.0)

x, out = MADE, torch.zeros(128)
tripled[(1,)](x, out, 128)
sys.exit(int(not torch.equal(out, x * 3.0)))
"""


@pytest.mark.parametrize("made", [
    "torch.randn(128)", "torch.from_numpy(np.random.default_rng().random(128, np.float32))",
    "torch.full((128,), random.random() + 1)",
], ids=["torch", "numpy", "random"])  # fmt: skip
def test_runs_share_the_seeds_that_a_program_does_not_set(tmp_path, made):
    status, said = judge(tmp_path, UNSEEDED.replace("MADE", made))
    assert (status, said["verdict"], said["pass"]["name"]) == (1, "compiler", "TritonGPUCoalesce")
    (seen,) = said["evidence"]
    assert (seen["argument"], seen["class"]) == ("out", "wrong")
    assert seen["got"] == pytest.approx(seen["want"] * 4 / 3)


def test_a_program_that_does_nothing_is_not_right(tmp_path):
    program = tmp_path / "nothing.py"
    program.write_text("import triton\n")
    with pytest.raises(DiagnosticError, match="compiles no kernel in any release"):
        bisect(str(program), versions=[INSTALLED])


def test_other_inputs_are_said_before_other_outputs(tmp_path):
    made = "torch.full((128,), float(time.time_ns() % 1000003))"
    status, said = judge(tmp_path, UNSEEDED.replace("MADE", made))
    assert (status, said["verdict"], said["pass"]["name"]) == (1, "compiler", "TritonGPUCoalesce")
    note = next(note for note in said["notes"] if "other inputs" in note)
    assert "x of launch 1, of kernel 'tripled'" in note and "give it a seed" in note
    assert "class" not in said["evidence"][0]


def test_seeds_of_numpy_and_python(monkeypatch):
    import random

    monkeypatch.setattr(numpy.random, "default_rng", numpy.random.default_rng)
    drawn = []
    for _ in range(2):
        job._seed()
        numbers = numpy.random.default_rng().random(), numpy.random.rand(), random.random()
        drawn.append((*numbers, numpy.random.default_rng(7).random()))
    assert drawn[0] == drawn[1] and drawn[0][0] != drawn[0][3]


def launch(inputs, arrays, kernel="k"):
    return Seen(kernel, [1], arrays, inputs)


READS_P, READS_Q = launch({"x": "p"}, {}), launch({"x": "q"}, {})


@pytest.mark.parametrize(("mine", "theirs", "differs"), [
    ([launch({"x": "a"}, {"0": "p"})], [launch({"x": "a"}, {"0": "q"})], False),
    ([launch({"x": "a"}, {"0": "p"})], [launch({"x": "b"}, {"0": "q"})], True),
    # An input that follows from an output of an earlier launch is no input of the program.
    ([launch({}, {"0": "p"}), READS_P], [launch({}, {"0": "q"}), READS_Q], False),
    ([launch({}, {"0": "p"}), READS_P], [launch({}, {"0": "p"}), READS_Q], True),
    ([launch({"x": "a"}, {})], [launch({"x": "b"}, {}, "other")], False),
    ([launch({"x": "a"}, {})], [launch({}, {})], False),
])  # fmt: skip
def test_the_inputs_of_a_program(mine, theirs, differs):
    assert bool(Launches(mine, {}).other_input(Launches(theirs, {}), "with Triton 3.8.0")) == differs


FP8 = """
import torch, triton, triton.language as tl

@triton.jit
def product(a, b, c, K: tl.constexpr):
    i, k = tl.arange(0, 16), tl.arange(0, K)
    acc = tl.dot(tl.load(a + i[:, None] * K + k[None, :]), tl.load(b + i[None, :] * K + k[:, None]))
    tl.store(c + i[:, None] * 16 + i[None, :], acc)

a, b = torch.full((16, 256), 1 / 32), torch.full((16, 256), 3.0)
a[:, 0], b[:, 0] = 16, 32
c = torch.zeros(16, 16)
product[(1,)](a.to(torch.float8_e5m2), b.to(torch.float8_e5m2), c, 256, num_warps=1)
assert torch.equal(c, a @ b.T) or WANTED
"""


@pytest.mark.parametrize(("target", "wanted", "ends"), [
    ("cuda:89", "False", (1, "hardware")),
    ("cuda:89", "torch.allclose(c, a @ b.T, rtol=0.05)", (0, "right")),
    ("cuda:80", "False", (0, "right")),  # its products of fp8 are products of f16
])  # fmt: skip
def test_what_the_tensor_cores_round_is_no_fault_of_a_pass(tmp_path, target, wanted, ends):
    status, said = judge(tmp_path, FP8.replace("WANTED", wanted), "--target", target)
    assert (status, said["verdict"], said["pass"]) == (*ends, None)
    if said["verdict"] == "hardware":
        assert said["release"]["wrong"] == [INSTALLED]
        assert said["notes"][0].startswith("the target's tensor cores sum fp8 in fewer bits")
        assert "max_num_imprecise_acc" in said["notes"][1]
        assert said["evidence"][0]["argument"] == "c" and said["evidence"][0]["want"] == 535.90625
