"""Checks of sums, means, norms and sorted elements, on kernels that leave partial results to torch and on
kernels that do not. With a second word the kernel is wrong in that way.

$ verify FILE total
status  0
says  (a sum or the like of 'partials', in any order)
says  verdict: right
$ verify FILE total sign
status  1
says  verdict: wrong
$ verify FILE total mask
status  1
says  verdict: wrong
$ verify FILE total idle
status  1
says  verdict: wrong
$ verify FILE number
status  0
says  verdict: right
$ verify FILE number last
status  1
says  verdict: wrong
$ verify FILE whole_numbers
status  0
says  verdict: right
$ verify FILE whole_numbers mask
status  1
says  verdict: wrong
$ verify FILE mean_of_parts
status  0
says  verdict: right
$ verify FILE mean_and_variance
status  0
says  verdict: right
$ verify FILE mean_and_variance sign
status  1
says  verdict: wrong
$ verify FILE loss_of_rows
status  0
says  verdict: right
$ verify FILE loss_of_rows last
status  1
says  verdict: wrong
$ verify FILE in_one_function
status  0
says  verdict: right
$ verify FILE parts_of_two_launches
status  0
says  verdict: right
$ verify FILE rough_total last
status  0
never  verdict: right
$ verify FILE largest_part last
status  0
never  verdict: right
$ verify FILE parts_that_are_printed
status  0
says  with half of the elements of 'partials' larger and half smaller, which keeps their sum
never  verdict: right
$ verify FILE rows_in_one_function rows
status  0
says  with the elements of 'partials' at other places
never  verdict: right
$ verify FILE rows_beside_their_sums rows
status  0
never  verdict: right
$ verify FILE rows_of_a_function rows
status  0
never  verdict: right
$ verify FILE sum_of_elements rows
status  0
says  with the elements of 'o' at other places
says  no check here is known to compare every element of the result
says  verdict: no fault found
$ verify FILE sum_of_elements sign
status  1
says  verdict: wrong
$ verify FILE sum_of_equal_elements rows
status  0
says  larger and half smaller, which keeps their sum
says  verdict: no fault found
$ verify FILE sorted_elements rows
status  0
says  verdict: no fault found
$ verify FILE norm rows
status  0
says  verdict: no fault found
$ verify FILE norm sign
status  0
says  verdict: no fault found
$ verify FILE first_rows last
status  0
says  in one element of 'o'
says  verdict: no fault found
$ verify FILE with_itself sign
status  0
says  verdict: no fault found
$ verify FILE above_a_bound nans
status  0
says  with NaNs in all elements of 'o'
never  verdict: right
$ verify FILE logarithms
status  0
says  verdict: right
"""

import sys

import numpy
import torch
import triton
import triton.language as tl

FAULT = sys.argv[2] if len(sys.argv) > 2 else ""
torch.manual_seed(0)
x = torch.randn(1000) + 0.5
table = torch.randn(8, 128)


@triton.jit
def block_sums(x, partials, n, B: tl.constexpr, FAULT: tl.constexpr):
    block = tl.program_id(0)
    at = block * B + tl.arange(0, B)
    mask = at < n - (FAULT == "mask")
    total = tl.sum(tl.load(x + at, mask=mask, other=0), 0)
    if FAULT == "sign":
        total = -total
    if FAULT == "last" and block == 3:
        total = total * 0
    to = (block + (FAULT == "rows")) % tl.num_programs(0)
    if FAULT != "idle":
        tl.store(partials + to, total)


@triton.jit
def block_moments(x, sums, squares, n, B: tl.constexpr, FAULT: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(sums + tl.program_id(0), tl.sum(value, 0))
    tl.store(squares + tl.program_id(0), tl.sum(value * (-value if FAULT == "sign" else value), 0))


@triton.jit
def cross_entropy(logits, labels, losses, n, B: tl.constexpr, FAULT: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    values = tl.load(logits + row * n + at, mask=at < n, other=-float("inf"))
    largest = tl.max(values, 0)
    loss = tl.log(tl.sum(tl.exp(values - largest), 0)) + largest
    loss -= tl.load(logits + row * n + tl.load(labels + row))
    if FAULT == "last" and row == 7:
        loss = loss * 0
    tl.store(losses + row, loss)


@triton.jit
def double(x, o, n, B: tl.constexpr, FAULT: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    to = n - 1 - at if FAULT == "rows" else at
    value = tl.load(x + at, mask=at < n) * (-2 if FAULT == "sign" else 2)
    if FAULT == "last":
        value = tl.where(at == n - 1, 0, value)
    tl.store(o + to, value, mask=at < n)


@triton.jit
def logarithm(x, o, n, B: tl.constexpr, FAULT: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, mask=at < n, other=1.0)
    tl.store(o + at, tl.log(value - 1 if FAULT == "nans" else value), mask=at < n)


def summed(x):
    partials = torch.zeros(triton.cdiv(x.numel(), 128), dtype=x.dtype)
    block_sums[(partials.numel(),)](x, partials, x.numel(), B=128, FAULT=FAULT)
    return partials


def sum_of(x):
    return summed(x).sum()


def elements(x, kernel=double):
    o = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, o, x.numel(), B=128, FAULT=FAULT)
    return o


def total():
    torch.testing.assert_close(sum_of(x), x.sum())


def number():
    assert abs(sum_of(x).item() - x.sum().item()) < 1e-3


def whole_numbers():
    """The sums of blocks are as far from their mean on one side as on the other."""
    values = torch.arange(1024)
    assert sum_of(values) == values.sum()


def mean_of_parts():
    partials = summed(x)
    assert torch.allclose(partials.double().mean() * partials.numel() / 1000, x.double().mean())


def mean_and_variance():
    sums, squares = torch.empty(8), torch.empty(8)
    block_moments[(8,)](x, sums, squares, 1000, B=128, FAULT=FAULT)
    mean = sums.sum() / 1000
    assert torch.allclose(mean, x.mean())
    assert torch.allclose(squares.sum() / 1000 - mean * mean, x.var(unbiased=False))


def loss_of_rows():
    logits, labels = torch.randn(32, 50), torch.randint(0, 50, (32,))

    def loss():
        losses = torch.empty(32)
        cross_entropy[(32,)](logits, labels, losses, 50, B=64, FAULT=FAULT)
        return losses.mean()

    assert torch.allclose(loss(), torch.nn.functional.cross_entropy(logits, labels), atol=1e-5)


def in_one_function():
    partials = torch.empty(8)
    block_sums[(8,)](x, partials, 1000, B=128, FAULT=FAULT)
    assert torch.allclose(partials.sum(), x.sum())


def parts_of_two_launches():
    for values in (x, x * 2, x[:900]):
        assert abs(sum_of(values) - values.sum()) < 1e-3


def rough_total():
    assert abs(sum_of(x) - x.sum()) < 1e4


def largest_part():
    assert abs(summed(table).max() - table.sum(1).max()) < 1e-4


def parts_that_are_printed():
    partials = summed(x)
    print([round(part, 3) for part in partials.tolist()])
    assert torch.allclose(partials.sum(), x.sum())


def rows_in_one_function():
    partials = torch.empty(8)
    block_sums[(8,)](table, partials, 1024, B=128, FAULT=FAULT)
    assert torch.allclose(partials.sum(), table.sum(), atol=1e-4)


def rows_beside_their_sums():
    assert torch.allclose(sum_of(table), table.sum(1).sum(), atol=1e-4)


def rows_of_a_function():
    """This sums what a function gives it, which is all that the function computes."""
    assert torch.allclose(summed(table).sum(), table.sum(), atol=1e-4)


def sum_of_elements():
    assert torch.allclose(elements(x).sum(), 2 * x.sum())


def sum_of_equal_elements():
    values = 5 + torch.rand(1000) / 10
    assert torch.allclose(elements(values).sum(), 2 * values.sum())


def sorted_elements():
    assert torch.equal(torch.sort(elements(x))[0], torch.sort(2 * x)[0])


def norm():
    assert torch.allclose(elements(x).norm(), 2 * x.norm())


def first_rows():
    assert torch.allclose(elements(x)[:300], 2 * x[:300])


def with_itself():
    o = elements(x)
    assert numpy.allclose(o.numpy(), o.numpy())


def above_a_bound():
    """A NaN is not above it."""
    values = x.abs()
    error = abs(elements(values, logarithm).numpy() - values.log().numpy()).max()
    if error > 1e-3:
        sys.exit(1)


def logarithms():
    """NaNs at the same places are equal."""
    got = elements(x, logarithm).numpy()
    numpy.testing.assert_allclose(got, x.log().numpy(), rtol=1e-4, atol=1e-5)


globals()[sys.argv[1]]()
