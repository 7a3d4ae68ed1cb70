"""A decayed sum (an exponential moving average) by a scan over its elements alone, whose function is not
associative: Triton leaves open in which groups a scan combines. As pairs of a decay and a sum it is. A
function of more than one op is tried by itself; a reduction of 16 elements is the same at every level, as one
warp combines them.

$ verify FILE pairs
status  0
says  verdict: right
never  combine
$ verify FILE sums
status  1
says  fault, levels at ptx: ptx gives another result than ttgir in 'o'
says  fault, combine at ttir: kernel 'decayed_sums': tt.scan at
says  combines by a function that is not associative: f(f(1, 0), 0) is 0.25, and f(1, f(0, 0)) is 0.5
says  advice: combine by an associative function, or combine the elements one after another in a loop
says  verdict: wrong
never  rounds more coarsely
never  every level gives the same
never  find the pass
$ verify FILE digits
status  1
says  warning, combine at ttir: kernel 'numbers': tt.reduce at
says  f(f(1, 0), 0) is 4, and f(1, f(0, 0)) is 2
says  verdict: wrong
$ verify FILE idle
status  1
says  fault, combine at ttir: kernel 'decayed_sums'
says  no program of nothing stores anything in this launch
says  verdict: wrong
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def of_sums(left, right):
    return left * 0.5 + right


@triton.jit
def of_pairs(decay, left, more, right):
    return decay * more, left * more + right


@triton.jit
def of_digits(left, right):
    return left * 2 + right


@triton.jit
def decayed_sums(x, o, N: tl.constexpr, PAIRS: tl.constexpr):
    at = tl.arange(0, N)
    row = tl.load(x + at)
    if PAIRS:
        _, total = tl.associative_scan((tl.full((N,), 0.5, tl.float32), row), 0, of_pairs)
    else:
        total = tl.associative_scan(row, 0, of_sums)
    tl.store(o + at, total)


@triton.jit
def numbers(bits, o, N: tl.constexpr):
    row = tl.program_id(0)
    tl.store(o + row, tl.reduce(tl.load(bits + row * N + tl.arange(0, N)), 0, of_digits))


@triton.jit
def nothing(x, o, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.load(x + at)


torch.manual_seed(0)
if sys.argv[1] == "digits":
    bits = torch.randint(0, 2, (4, 16), dtype=torch.int32)
    values = torch.empty(4, dtype=torch.int32)
    numbers[(4,)](bits, values, 16)
    assert values.tolist() == [int("".join(map(str, row)), 2) for row in bits.tolist()]
else:
    x, o = torch.randint(0, 9, (256,)).float(), torch.zeros(256)
    decayed_sums[(1,)](x, o, 256, sys.argv[1] == "pairs")
    want = [x[0].item()]
    for value in x[1:].tolist():
        want.append(want[-1] * 0.5 + value)
    if sys.argv[1] == "idle":
        nothing[(1,)](x, o, 256)
    torch.testing.assert_close(o, torch.tensor(want))
