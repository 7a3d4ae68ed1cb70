"""Matrix product through TMA descriptors as Triton 3.2 and 3.3 take them: an address in host memory."""

import numpy as np
import triton
import triton.language as tl
import triton_runner


@triton_runner.jit
def matmul_tma_kernel(a_desc, b_desc, c_desc, M, N, K,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                      GROUP_M: tl.constexpr):  # fmt: skip
    pid = tl.program_id(0)
    blocks_m = tl.cdiv(M, BLOCK_M)
    blocks_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * blocks_n)
    group_rows = min(blocks_m - group * GROUP_M, GROUP_M)
    pid_in_group = pid % (GROUP_M * blocks_n)
    row = (group * GROUP_M + pid_in_group % group_rows) * BLOCK_M
    col = pid_in_group // group_rows * BLOCK_N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl._experimental_descriptor_load(a_desc, [row, k * BLOCK_K], [BLOCK_M, BLOCK_K], tl.float16)
        b = tl._experimental_descriptor_load(b_desc, [k * BLOCK_K, col], [BLOCK_K, BLOCK_N], tl.float16)
        acc = tl.dot(a, b, acc)
    tl._experimental_descriptor_store(c_desc, acc.to(tl.float16), [row, col])


class Descriptor:
    """A CUtensorMap of a matrix; triton.tools.experimental_descriptor makes the same, but needs torch."""

    def __init__(self, matrix, shape, block_shape):
        self.matrix, self.shape, self.block_shape = matrix, shape, block_shape
        room = np.zeros(128 + 64, np.uint8)
        self.map = room[-room.ctypes.data % 64 :][:128]

    def tma_desc_cpu_ptr(self):
        fill = triton.runtime.driver.active.utils.fill_2d_tma_descriptor
        fill(
            self.matrix.data_ptr(),
            *self.shape,
            *self.block_shape,
            self.matrix.dtype.itemsize,
            self.map.ctypes.data,
        )
        return self.map.ctypes.data


def run(device, **level):
    m, n, k, block_m, block_n, block_k = 200, 160, 120, 64, 32, 32
    a, b = device.normal(m, k, dtype="float16"), device.normal(k, n, dtype="float16")
    c = device.zeros(m, n, dtype="float16")
    device.let_kernels_find([a, b, c])
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    matmul_tma_kernel[grid](
        Descriptor(a, [m, k], [block_m, block_k]),
        Descriptor(b, [k, n], [block_k, block_n]),
        Descriptor(c, [m, n], [block_m, block_n]),
        m, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=4,
        num_warps=4, num_stages=3, **level,
    )  # fmt: skip
    return [("c", c, device.host(a) @ device.host(b), 0.05)]
