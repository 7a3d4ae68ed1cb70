"""Tests triton-runner verify: what is wrong with a launch is found by the check that is for it, and what is
right is called right."""

import json
import pathlib

import numpy
import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402


@triton_runner.jit
def twice(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0) * 2, mask=i < n)


@triton_runner.jit
def unmasked(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) * 2)


@triton_runner.jit
def count(bins, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(bins + i % 4, tl.load(bins + i % 4) + i)


@triton_runner.jit
def no_other(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2)


@triton_runner.jit
def quotient(x, y, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i) // tl.load(y + i))


@triton_runner.jit
def promised(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.assume(n > 4)
    tl.store(out + i, tl.load(x + i) + n)


@triton_runner.jit
def ratio(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(out + i, (v - v) / tl.sum(v - v))


@triton_runner.jit
def inverse(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, 1.0 / tl.load(x + i))


@triton_runner.jit
def total(x, out, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i)))


def floats(n, value=1.0):
    return numpy.full(n, value, numpy.float32)


def whole(n):
    return numpy.arange(n, dtype=numpy.int32)


SCATTERED = (10 ** numpy.random.default_rng(0).uniform(-3, 3, 1024)).astype(numpy.float32)


def test_a_launch_that_is_right():
    x, out = floats(100), floats(100, -1)
    found = triton_runner.verify(twice, [x, out, 100], {"B": 64}, grid=(2,))
    assert found and found.verdict == "no fault found" and not found.findings
    (one,) = found.launches
    assert one["kernel"] == "twice" and one["levels"] == ["ttir", "ttgir", "ptx"]
    how = {(run["level"], run["how"].split(" ")[0]) for run in one["runs"]}
    assert how == {(level, each) for level in one["levels"] for each in ("plain", "check")}
    assert {run["outputs"]["out"] for run in one["runs"]} == {one["runs"][0]["outputs"]["out"]}
    assert all(bits["bits_equal"] for bits in one["bits"])
    assert (out == -1).all()  # the caller's array is as it was


@pytest.mark.parametrize(
    ("kernel", "args", "check", "severity"),
    [
        (unmasked, [floats(100), floats(128)], "oob", "fault"),
        (count, [numpy.zeros(4, numpy.int32)], "race", "fault"),
        (no_other, [floats(128), floats(128), 100], "uninit", "warning"),  # 0 in what is compiled
        (quotient, [whole(128), whole(128), whole(128)], "zerodiv", "fault"),
        (promised, [whole(128), whole(128), 3], "hints", "warning"),
        (ratio, [floats(128), floats(128)], "nan", "fault"),
        (inverse, [floats(128, 0), floats(128)], "inf", "warning"),
        (unmasked, [floats(256, numpy.nan), floats(256)], "nanload", "warning"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or (value if isinstance(value, str) else ""),
)
def test_each_fault_is_found_by_its_check(kernel, args, check, severity):
    grid = (2,) if kernel in (unmasked, count) else (1,)
    found = triton_runner.verify(kernel, args, {"B": 128 if kernel is not unmasked else 64}, grid=grid)
    finding = next(f for f in found.findings if f["check"] == check)
    assert finding["severity"] == severity and found.verdict == (
        "wrong" if severity == "fault" else "no fault found"
    )
    assert finding["file"].endswith("test_verify.py") and finding["line"] > 0
    strict = triton_runner.verify(
        kernel, args, {"B": 128 if kernel is not unmasked else 64}, grid=grid, strict=True
    )
    assert strict.verdict == "wrong"


def test_levels_that_disagree():
    """A text of TTGIR that computes something else is told with the value at which it begins to."""
    from triton_runner._artifact.relaunch import of_call
    from triton_runner._kernel.cases import judge
    from triton_runner._launch.launchers import observing

    judged = []

    def see(call, go):
        one = of_call(call)
        text = one.texts["ttgir"]
        assert "dense<2.0" in text
        one.texts = {**{level: one.texts[level] for level in ("ttir", "ptx")},
                     "ttgir": text.replace("dense<2.0", "dense<3.0")}  # fmt: skip
        judged.append(judge.judge(one))

    with observing(see):
        twice[(2,)](floats(100, 3), floats(100), 100, B=64)
    (one,) = judged
    finding = next(f for f in one.findings if f.check == "levels")
    assert one.verdict == "wrong" and finding.is_fault
    assert finding.evidence.numbers == [6.0, 9.0] and finding.evidence.elements == 100
    assert (
        finding.diverged["numbers"] in [(2.0, 3.0), (6.0, 9.0)] and finding.line == finding.diverged["line"]
    )


def test_a_kernel_of_an_artifact():
    with triton_runner.using(level="ptx"):
        ptx = twice.warmup(torch.float32, torch.float32, 100, grid=(2,), B=64).asm["ptx"]
    kernel = triton_runner.load(ptx, device="cpu")
    found = triton_runner.verify(kernel, [floats(100), floats(100), 100], grid=(2,))
    assert found.verdict == "no fault found" and found.launches[0]["levels"] == ["ptx"]
    # It has no copies that could land at other times.
    assert not [run for run in found.launches[0]["runs"] if run["how"].startswith("timing")]


COPY = pathlib.Path(__file__).parents[2] / "cases" / "check" / "timing-late-copy.ttgir"


def test_a_copy_that_nobody_waits_for():
    """As the engine runs it, the copy is late; where copies land at once, the result is another."""
    arrays = [numpy.arange(32, dtype=numpy.int32).reshape(4, 8), numpy.zeros((4, 8), numpy.int32)]
    text, _, _ = COPY.read_text().partition("// ---- expected")
    found = triton_runner.verify(triton_runner.load(text, device="cpu"), arrays, grid=(1,))
    (launch,) = found.launches
    assert found.verdict == "wrong"
    (timed,) = [one for one in launch["findings"] if one["check"] == "timing"]
    assert (timed["severity"], timed["how"], timed["levels"][0]) == ("fault", "timing eager", "ttgir")
    # Later than by itself no copy to shared memory can be.
    assert [run["how"] for run in launch["runs"] if run["how"].startswith("timing")] == ["timing eager"] * 2


PROGRAM = """
import sys, numpy, triton, triton.language as tl, torch, triton_runner

@triton.jit
def first(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0)

@triton.jit
def second(x, y, B: tl.constexpr):
    tl.store(y + tl.arange(0, B), tl.load(x + tl.arange(0, B)))

x = torch.zeros(64)
for _ in range(3):
    first[(1,)](x, B=64)
second[(1,)](torch.empty(64), x, B=64)
print("said by the program")
sys.exit(int(sys.argv[1]))
"""


def verified(tmp_path, *options, status=0):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = ["verify", "--json", *options, str(tmp_path / "program.py"), str(status)]
    answer = warm.invoke(*command)
    return answer.exit_code, answer.stdout


def test_the_launches_of_a_program(tmp_path):
    status, text = verified(tmp_path)
    found = json.loads(text)  # what the program prints is not in it
    assert status == 1 and found["schema"] == "triton-runner.verify/3" and found["verdict"] == "wrong"
    assert [(one["kernel"], one["verdict"]) for one in found["launches"]] == [
        ("first", "no fault found"),
        ("second", "wrong"),
    ]
    texts = [f["text"] for f in found["launches"][1]["findings"] if f["check"] == "uninit"]
    assert texts and all("never written" in text for text in texts)  # of torch.empty
    status, text = verified(tmp_path, "--kernel", "first")
    assert status == 0 and len(json.loads(text)["launches"]) == 1
    status, text = verified(tmp_path, "--launches", "1")
    assert status == 0 and json.loads(text)["left_out"] == 1


def test_a_program_that_says_it_is_wrong(tmp_path):
    status, text = verified(tmp_path, "--kernel", "first", status=3)
    assert status == 1 and json.loads(text)["program"]["status"] == 3


def test_a_program_without_kernels_is_unknown(tmp_path):
    (tmp_path / "empty.py").write_text("print(1)")
    answer = warm.invoke("verify", tmp_path / "empty.py")
    assert answer.exit_code == 125 and "no kernel was launched" in answer.stdout


def test_a_name_that_no_launch_has(tmp_path):
    (tmp_path / "program.py").write_text(SUM_OF_SQUARES)
    answer = warm.invoke("verify", "--kernel", "nosuch", tmp_path / "program.py")
    assert answer.exit_code == 125
    assert "no kernel was launched of that name; others were: squares" in answer.stdout, answer.output


SUM_OF_SQUARES = """
import sys, torch, triton, triton.language as tl

@triton.jit
def squares(x, out, N: tl.constexpr):
    v = tl.load(x + tl.program_id(0) * N + tl.arange(0, N))
    tl.store(out + tl.program_id(0), tl.sum(v * v, 0))

x = torch.randn(16, 64, generator=torch.Generator().manual_seed(3))
squares[(16,)](x, torch.empty(16), N=64, enable_fp_fusion="--fused" in sys.argv)
"""


def test_a_sum_whose_copies_are_rounded_otherwise(tmp_path):
    """LLVM contracts one lane's product into its addition, and the two lanes of a pair store another sum: one
    finding, which is not a race of the kernel."""
    (tmp_path / "program.py").write_text(SUM_OF_SQUARES)
    answer = warm.invoke("verify", tmp_path / "program.py")
    assert answer.exit_code == 0 and "verdict: no fault found" in answer.stdout, answer.output
    answer = warm.invoke("verify", "--json", tmp_path / "program.py", "--fused")
    (launch,) = json.loads(answer.stdout)["launches"]
    (warning,) = launch["findings"]
    assert answer.exit_code == 0 and warning["severity"] == "warning"
    assert (warning["check"], warning["cause"]) == ("copies", "contraction"), warning


def test_a_program_that_fails_before_its_kernels_is_unknown(tmp_path):
    (tmp_path / "program.py").write_text("import no_such_package\n")
    answer = warm.invoke("verify", "--json", tmp_path / "program.py")
    assert answer.exit_code == 125 and json.loads(answer.stdout)["program"]["status"] == 1


def test_a_program_that_compiles_its_reference(tmp_path):
    """torch.compile cannot trace the mode that watches torch.empty."""
    (tmp_path / "program.py").write_text(
        "import sys, torch\n"
        "@torch.compile(backend='eager')\n"
        "def view(x):\n"
        "    return x.view(-1) + 1\n"
        "sys.exit(int(view(torch.empty(64)).shape != (64,)))\n"
    )
    answer = warm.invoke("verify", "--json", tmp_path / "program.py")
    assert json.loads(answer.stdout)["program"]["status"] == 0, answer.output


def twofold(x, out):
    out[:] = x * 2


def threefold(x, out, B):
    assert B == 64
    out[:] = x * 3


def of_another_kernel(z):
    pass


def half_of_it(x):
    pass


def test_a_reference():
    """It does what the kernel does with what the kernel writes; anything else is no comparison."""
    args = [floats(100), floats(100), 100]

    def judged(reference, **how):
        return triton_runner.verify(twice, args, {"B": 64}, grid=(2,), reference=reference, **how)

    right = judged(twofold)
    assert (right.verdict, right.compared, right.why) == (
        "right", "reference", ["the result was compared by twofold"],
    )  # fmt: skip
    assert right.launches[0]["written"] == ["out"] and judged(twofold, strict=True).status == 0
    wrong = judged(threefold)
    (finding,) = wrong.findings
    assert (wrong.verdict, finding["check"], finding["levels"]) == (
        "wrong",
        "reference",
        ["ttir", "ttgir", "ptx"],
    )
    for reference, why in ((of_another_kernel, "takes 'z'"), (half_of_it, "does not take 'out'")):
        none = judged(reference)
        assert (none.verdict, none.compared) == ("no fault found", "none") and why in none.why[0]
    assert judged(None).status == 0 and judged(None, strict=True).status == 125


def test_a_launch_of_no_programs():
    found = triton_runner.verify(twice, [floats(0), floats(0), 0], {"B": 64}, grid=(0,))
    assert (found.verdict, found.status) == ("no launch", 125) and not found
    assert found.to_dict()["not_judged"]["empty"] == {"twice": 1}


def test_how_far_down_amds_targets_are_judged():
    found = triton_runner.verify(
        twice, [floats(100), floats(100), 100], {"B": 64}, grid=(2,), target="hip:gfx942"
    )
    assert "judged at ttir, ttgir, amdgcn on the CPU; not at hsaco (--assembled), not on a GPU" in str(found)


NUMPY = """
import numpy, sys, triton_runner, triton.language as tl

@triton_runner.jit
def double(x, out, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.load(x + tl.arange(0, N)) * 2)

def doubled(x):
    out = numpy.zeros_like(x)
    double[(1,)](x, out, N=64)
    return out

x = numpy.ones(64, numpy.float32)
y = doubled(doubled(x))
if sys.argv[1] == "check":
    numpy.testing.assert_array_equal(y, x * 4)
elif sys.argv[1] == "error":
    error = abs(y - 4 * x).max()
    if error > 0: raise SystemExit(1)
elif sys.argv[1] == "input":
    assert (x == 1).all()
"""


@pytest.mark.parametrize(
    ("how", "verdict"),
    [("check", "right"), ("error", "right"), ("input", "no fault found"), ("", "no fault found")],
)
def test_arrays_of_numpy_are_followed_by_their_names(tmp_path, how, verdict):
    (tmp_path / "program.py").write_text(NUMPY)
    answer = warm.invoke("verify", "--json", tmp_path / "program.py", how)
    found = json.loads(answer.stdout)
    assert (answer.exit_code, found["verdict"]) == (0, verdict), answer.output


def test_what_is_refused():
    with pytest.raises(DiagnosticError, match="unknown check 'nans'"):
        triton_runner.verify(twice, [], {}, grid=(1,), checks=("nans",))
    with pytest.raises(DiagnosticError, match="needs the grid"):
        triton_runner.verify(twice, [])
