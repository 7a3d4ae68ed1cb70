"""Decoupled look-back in one word a program: value and flag are stored at once, so that nothing else has to
be ordered. With a plain store it is a race by the PTX memory model, which volatile loads do not undo; with
a relaxed atomic in its place it is none.

    $ run --device cpu --level ttir --check race FILE --exchange
    status  0
    $ run --device cpu --level ptx --check race FILE --exchange
    status  0
    $ verify FILE --exchange
    status  0
    never  data race
    $ run --device cpu --level ttir --check race FILE
    status  1
    says  data race in tt.load
    $ run --device cpu --level ttgir --check race FILE
    status  1
    says  data race in tt.load
    $ run --device cpu --level ptx --check race FILE
    status  1
    says  data race in ld.volatile.global
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def sums(x, words, B: tl.constexpr, EXCHANGE: tl.constexpr):
    p = tl.program_id(0)
    total = tl.sum(tl.load(x + p * B + tl.arange(0, B)), 0)
    if p > 0:
        word = tl.load(words + p - 1, volatile=True)
        while word == 0:
            word = tl.load(words + p - 1, volatile=True)
        total += word
    if EXCHANGE:
        tl.atomic_xchg(words + p, total, sem="relaxed")
    else:
        tl.store(words + p, total)


x = torch.arange(1, 513, dtype=torch.int32)
words = torch.zeros(8, dtype=torch.int32)
sums[(8,)](x, words, B=64, EXCHANGE="--exchange" in sys.argv)
assert torch.equal(words, x.cumsum(0).int()[63::64])
