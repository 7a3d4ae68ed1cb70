"""Tests that verify names the line of a kernel where a single change makes its result that of a reference:
each kind of change on a kernel that lacks it, and nothing where none does it."""

import pathlib

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402

N = 64


@triton_runner.jit
def one(x, y, w, out, n, eps, N: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.program_id(0) * N
    a = tl.load(x + row + i)
    b = tl.load(y + row + i)
    if HOW == "operator":
        c = a + b
    elif HOW == "swapped":
        c = b - a
    elif HOW == "function":
        c = tl.exp2(a)
    elif HOW == "constant":
        c = a * 0.3 + b
    elif HOW == "comparison":
        c = tl.where(i < n, a, b)
    elif HOW == "sides":
        c = tl.where(i < n, b, a)
    elif HOW == "operand":
        c = a * a + b
    elif HOW == "unused":
        d = a * b  # noqa: F841
        c = a + 1
    elif HOW == "scalar":
        c = tl.sqrt(tl.abs(a))
    elif HOW == "factor":
        c = a + b * 2
    elif HOW == "term":
        c = tl.exp(a) - b
    elif HOW == "removed":
        c = a * b * a
    elif HOW == "repeated":
        c = a - eps
    elif HOW == "sum":
        c = a * b
    elif HOW == "scan":
        c = tl.cumsum(a, 0, reverse=True)
    elif HOW == "combined":
        c = a * tl.max(b, 0)
    else:
        c = tl.where(b > 0, a * a * a + tl.sin(b), tl.cos(a) * b)
    tl.store(out + row + i, c)


HINTS = {
    "operator": (lambda a, b: a * b, "`*` in place of `+`"),
    "swapped": (lambda a, b: a - b, "its operands the other way round"),
    "function": (lambda a, b: torch.exp(a), "`exp` in place of `exp2`"),
    "constant": (lambda a, b: a * 0.45 + b, "`0.45` in place of `0.3`"),
    "comparison": (lambda a, b: torch.where(torch.arange(N) <= 10, a, b), "`<=` in place of `<`"),
    "sides": (lambda a, b: torch.where(torch.arange(N) < 10, a, b), "its two values the other way round"),
    "operand": (lambda a, b: a * b + b, "`b` in place of `a`"),
    "unused": (lambda a, b: a * b + 1, "`d` in place of `a`"),
    "scalar": (lambda a, b: (a.abs() + 0.125).sqrt(), "+ eps` in place of"),
    "factor": (lambda a, b: 0.75 * (a + b * 2), "`c * 0.75` in place of `c`"),
    "term": (lambda a, b: (a - 0.5).exp() - b, "`a - 0.5` in place of `a`"),
    "removed": (lambda a, b: a * b, "without `* a`"),
    "repeated": (lambda a, b: a, "without `- eps`"),
    "sum": (lambda a, b: a * b - b.mean(1, keepdim=True), "`c - tl.sum(b, 0) / 64` in place of `c`"),
    "scan": (lambda a, b: a.cumsum(1), "reverse=False"),
    "combined": (lambda a, b: a * b.min(1, keepdim=True).values, "`min` in place of `max`"),
}


def verdict_of(how: str, wanted):
    torch.manual_seed(0)
    x, y, w = torch.randn(2, N), torch.randn(2, N), torch.randn(2, N)

    def reference(x, y, out):
        out[:] = wanted(x, y)

    args = {"x": x, "y": y, "w": w, "out": torch.zeros(2, N), "n": 10, "eps": 0.125}
    return triton_runner.verify(one, args, {"N": N, "HOW": how}, grid=(2,), reference=reference)


def line_of(how: str) -> int:
    text = pathlib.Path(__file__).read_text().splitlines()
    at = next(n for n, line in enumerate(text, 1) if line.endswith(f'HOW == "{how}":'))
    return at + 1 + ("# noqa" in text[at])


@pytest.mark.parametrize("how", HINTS)
def test_the_line_of_each_kind(how):
    wanted, hint = HINTS[how]
    verdict = verdict_of(how, wanted)
    text = str(verdict)
    assert verdict.verdict == "wrong" and "fault, reference" in text, text
    at = text.partition("hint: ")[2].partition("\n")[0]
    assert at.startswith("all elements agree after a change at ") and str(line_of(how)) in at, text
    assert hint in text, text
    (finding,) = [one for one in verdict.findings if one["check"] == "reference"]
    assert any(one["line"] == line_of(how) and hint in one["text"] for one in finding["changes"]), finding


def test_no_change_does_it():
    verdict = verdict_of("other", lambda a, b: torch.special.bessel_j0(a) + b.flip(1))
    assert verdict.verdict == "wrong" and "hint" not in str(verdict)
    assert all("changes" not in finding for finding in verdict.findings)


def test_a_right_launch_is_not_searched():
    verdict = verdict_of("operator", lambda a, b: a + b)
    assert verdict.verdict == "right" and not verdict.findings
