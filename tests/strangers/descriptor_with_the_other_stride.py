"""A product by tensor descriptors that the kernel makes, one with the stride of another matrix.

$ verify FILE right
status  0
says  verdict: right
$ verify FILE wrong
status  1
says  c_ptr[0, 0] is -5.31641, and is compared with -10.4453
says  tt.descriptor_store at
says  descriptor_with_the_other_stride.py:46, program (0, 0, 0), writes it
says  it is made of tt.dot at
says  descriptor_with_the_other_stride.py:45
says  a_ptr[0, 0:64]: tt.descriptor_load at
says  descriptor_with_the_other_stride.py:43
says  b_ptr[0:32, 0 and 64]: tt.descriptor_load at
says  descriptor_with_the_other_stride.py:44
says  multiplies a_ptr[0, 0] by b_ptr[0, 0], ..., a_ptr[0, 31] by b_ptr[15, 64]
says  4,032 of 8,192 elements of b_ptr are read by no program, the first is b_ptr[32, 64]
never  verdict: right
"""

import sys

import torch
import triton
import triton.language as tl

WRONG = tl.constexpr(sys.argv[1] == "wrong")


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    if WRONG:
        b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[K, 1], block_shape=[BK, BN])
    else:
        b_desc = tl.make_tensor_descriptor(b_ptr, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    c_desc = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    off_m = tl.program_id(0) * BM
    off_n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = a_desc.load([off_m, k])
        b = b_desc.load([k, off_n])
        acc = tl.dot(a, b, acc)
    c_desc.store([off_m, off_n], acc.to(tl.float16))


def alloc(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8)


triton.set_allocator(alloc)
torch.manual_seed(0)
M, N, K = 64, 128, 64
a = torch.randn(M, K, dtype=torch.float16)
b = torch.randn(K, N, dtype=torch.float16)
c = torch.empty(M, N, dtype=torch.float16)
matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64))](a, b, c, M, N, K, BM=32, BN=64, BK=32)
torch.testing.assert_close(c, a @ b, atol=1e-2, rtol=1e-2)
