"""triton#558: sums at indices that repeat themselves need atomics, and a permutation does not.

$ verify FILE atomics
status  0
says  verdict: right
$ verify FILE permutation
status  0
says  verdict: right
$ verify FILE repeated
status  1
says  race
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_at(index, value, out, n, ATOMIC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    number, more = tl.load(index + at, at < n, other=0), tl.load(value + at, at < n, other=0)
    if ATOMIC:
        tl.atomic_add(out + number, more, at < n)
    else:
        tl.store(out + number, tl.load(out + number, at < n, other=0) + more, at < n)


torch.manual_seed(0)
how = sys.argv[1]
index = torch.randperm(200) if how == "permutation" else torch.randint(0, 20, (200,))
value, out = torch.arange(200), torch.zeros(200, dtype=torch.int64)
wanted = torch.zeros(200, dtype=torch.int64).index_add_(0, index, value)
add_at[(4,)](index, value, out, 200, ATOMIC=how == "atomics", BLOCK=64)
assert how == "repeated" or torch.equal(out, wanted)
