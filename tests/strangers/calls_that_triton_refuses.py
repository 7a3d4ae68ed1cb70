"""Calls of a kernel that Triton refuses, each in a process of its own: the message names the kernel and the
argument, and says what can be passed in its place.

$ run FILE numpy_number
status  1
says  error: argument 'n' of kernel 'copy' is a numpy.float32, which Triton does not take
says  n.item() is the same as a number of Python
never  Traceback
$ verify FILE numpy_number
status  125
says  the program ended at
says  verdict: no launch
never  Traceback
$ run FILE complex
status  1
says  error: argument 'x' of kernel 'copy' is a complex64 tensor, which Triton does not take
says  torch.view_as_real(x) shows the same memory
$ run FILE sparse
status  1
says  error: argument 'x' of kernel 'copy' is a sparse_coo tensor, which Triton does not take
says  x.to_dense()
$ run FILE list
status  1
says  error: argument 'x' of kernel 'copy' is a list, which Triton does not take
$ run FILE array
status  1
says  torch.from_numpy(x) shares its memory
$ run FILE large
status  1
says  error: argument 'n' of kernel 'copy' is 1180591620717411303424, which has more than 64 bits
$ run FILE missing
status  1
says  error: the call of kernel 'copy' gives no value to 'BLOCK'
$ run FILE unknown
status  1
says  error: the call of kernel 'copy' names ROWS, which is not one of its parameters
$ run FILE number_as_grid
status  1
says  error: the grid of kernel 'copy' is the number 1, and should be a tuple
$ run FILE imagined
status  1
says  error: argument 'x' is a FakeTensor, which has no memory of its own
never  Traceback
$ run --check oob FILE wrapped
status  1
says  error: argument 'x' is a Wrapped, which has no memory of its own
says  pass the tensors inside of it
$ run FILE freed
status  1
says  a null pointer
$ run FILE unread
status  0
$ run FILE of_the_program
status  1
says  KeyError: 'x'
"""

import sys

import numpy
import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensorMode


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


class Wrapped(torch.Tensor):
    """A tensor that is another one to torch's functions."""

    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype)

    def __init__(self, inside):
        self.inside = inside

    @classmethod
    def __torch_dispatch__(cls, function, types, args, kwargs):
        return function(*args)


x, out, way = torch.randn(64), torch.zeros(64), sys.argv[1]
if way == "numpy_number":
    copy[(1,)](x, out, numpy.float32(64), 64)
if way == "complex":
    copy[(1,)](torch.complex(x, x), out, 64, 64)
if way == "sparse":
    copy[(1,)](x.to_sparse(), out, 64, 64)
if way == "list":
    copy[(1,)]([1.0, 2.0], out, 2, 64)
if way == "array":
    copy[(1,)](x.numpy(), out, 64, 64)
if way == "large":
    copy[(1,)](x, out, 2**70, 64)
if way == "missing":
    copy[(1,)](x, out, 64)
if way == "unknown":
    copy[(1,)](x, out, 64, 64, ROWS=3)
if way == "number_as_grid":
    copy[1](x, out, 64, 64)
if way == "imagined":
    with FakeTensorMode():
        x = torch.randn(64)
    copy[(1,)](x, out, 64, 64)
if way == "wrapped":
    copy[(1,)](Wrapped(x), out, 64, 64)
if way == "freed":
    x.untyped_storage().resize_(0)
    copy[(1,)](x, out, 64, 64)
if way == "unread":
    x.untyped_storage().resize_(0)
    copy[(1,)](x, out, 0, 64)
if way == "of_the_program":
    copy[({}["x"],)](x, out, 64, 64)
