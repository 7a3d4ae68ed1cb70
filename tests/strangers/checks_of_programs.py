"""Ways in which programs check a result, each in a process of its own, and ways in which they do not.

$ verify FILE allclose
status  0
says  the result was compared by the program: assert at
says  verdict: right
$ verify FILE scalar
status  0
says  the result was compared by the program: assert at
$ verify FILE helper
status  0
says  the program: assert at
$ verify FILE exit
status  0
says  the program: exit at
$ verify FILE numpy
status  0
says  the program: assert_allclose at
$ verify FILE raises
status  0
says  the program: raise at
$ verify FILE elements
status  0
says  the program: assert at
$ verify FILE tutorial
status  0
says  the program: allclose at
$ verify FILE printed
status  0
says  verdict: no fault found
$ verify FILE shape
status  0
says  verdict: no fault found
$ verify FILE before
status  0
says  verdict: no fault found
$ verify FILE inputs
status  0
says  verdict: no fault found
$ verify FILE swallowed
status  0
says  verdict: no fault found
$ verify FILE finite
status  0
says  verdict: no fault found
$ verify FILE mismatch
status  0
says  allclose at
says  gave False, and the program passes all the same
says  verdict: no fault found
$ verify FILE failures
status  0
says  the program: exit at
$ verify FILE gradient
status  0
says  the program: assert at
$ verify FILE on_one_line
status  0
says  the program: assert at
says  verdict: right
$ verify FILE in_a_branch
status  0
says  the program: assert at
$ verify FILE printed_on_a_line
status  0
says  verdict: no fault found
$ verify FILE never
status  0
says  verdict: no fault found
$ verify FILE other
status  0
says  nothing here compares the result of halve
says  verdict: no fault found
"""

import sys

import numpy
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def halve(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.load(x + at) * 0.5)


def doubled(x):
    out = torch.empty_like(x)
    double[(1,)](x, out, N=64)
    return out


def largest(a, b):
    return (a - b).abs().max().item()


def check(result, expected):
    error = largest(result, expected)
    print("error", error)
    assert error == 0


def allclose(x):
    assert torch.allclose(doubled(x), x + x)


def scalar(x):
    worst = 0.0
    for scale in (1, 2):
        error = largest(doubled(x * scale), x * 2 * scale)
        worst = max(worst, error)
    print("worst", worst)
    assert worst < 1e-6


def helper(x):
    check(doubled(x), x + x)


def exit(x):
    wrong = (doubled(x) != x + x).sum().item()
    print(wrong, "elements are wrong")
    if wrong:
        sys.exit(1)


def numpy_(x):
    numpy.testing.assert_allclose(doubled(x).numpy(), x.numpy() * 2)


def raises(x):
    if not (doubled(x) == x + x).all():
        raise RuntimeError("wrong")


def elements(x):
    assert doubled(x).tolist() == [value * 2 for value in x.tolist()]


def tutorial(x):
    if torch.allclose(doubled(x), x + x):
        print("Triton and Torch match")
    else:
        print("Triton and Torch differ")


def printed(x):
    print("equal:", (doubled(x) == x + x).all().item(), largest(doubled(x), x + x))


def shape(x):
    out = doubled(x)
    assert out.shape == x.shape and len(out) == 64 and out.dtype == x.dtype


def before(x):
    out = x + x
    assert torch.equal(out, x * 2)
    doubled(x)


def inputs(x):
    kept = x.clone()
    doubled(x)
    assert torch.equal(x, kept)


def swallowed(x):
    try:
        assert largest(doubled(x), x + x) < 1
    except AssertionError:
        print("wrong")


def finite(x):
    out = doubled(x)
    assert not out.isnan().any() and torch.isfinite(out).all()


def mismatch(x):
    print("match:", torch.allclose(doubled(x), x))


def failures(x):
    errors = []
    for scale in (1, 2):
        errors.append(largest(doubled(x * scale), x * 2 * scale))
    failed = max(errors) > 1e-3
    sys.exit(1 if failed else 0)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return doubled(x)

    @staticmethod
    def backward(context, gradient):
        return doubled(gradient.contiguous())


def gradient(x):
    x = x.requires_grad_()
    Doubled.apply(x).sum().backward()
    assert (x.grad == 2).all()


# fmt: off
def on_one_line(x):
    out = doubled(x); error = largest(out, x + x); assert error == 0  # noqa: E702


def in_a_branch(x):
    if x.numel(): out = doubled(x); assert torch.equal(out, x + x)  # noqa: E701, E702


def printed_on_a_line(x):
    assert x.numel(); out = doubled(x); print(largest(out, x + x))  # noqa: E702
# fmt: on


def never(x):
    error = largest(doubled(x), x + x)
    if "check" in sys.argv:
        assert error == 0


def other(x):
    out = torch.empty_like(x)
    halve[(1,)](x, out, N=64)
    assert torch.equal(doubled(x), x + x)


name = sys.argv[1]
globals()[name + "_" if name == "numpy" else name](torch.arange(64.0))
