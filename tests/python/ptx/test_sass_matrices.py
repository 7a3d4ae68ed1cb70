"""Machine code on the CPU: matrices, copies, mbarriers and atomics give the bytes of PTX."""

import numpy as np
import pytest
import torch
import triton_runner
from kernels.attention import attention_kernel
from kernels.matmul import matmul_kernel
from kernels.matmul_tma_v4 import matmul_tma_kernel
from triton.tools.tensor_descriptor import TensorDescriptor
from triton_runner._launch import simt

DIVISIBLE = [["tt.divisibility", 16]]


def same_bytes(kernel, signature, constexprs, target, grid, values, attrs=None, **options) -> None:
    """PTX and its machine code leave the same bytes in what `values()` makes, and write something."""
    made = triton_runner.compile(
        kernel, signature, constexprs, target=target, to="cubin", options=options, attrs=attrs
    )
    left = {}
    for level in ("ptx", "cubin"):
        loaded = simt.load_compiled(made.asm[level], made.name, list(signature.items()), made.metadata)
        assert loaded.level == level
        arguments, outputs = values()
        before = [o.clone() for o in outputs]
        loaded.launch(grid, list(zip(signature, arguments, strict=True)))
        left[level] = outputs
        assert any((a != b).any() for a, b in zip(before, outputs, strict=True))
    for a, b in zip(left["ptx"], left["cubin"], strict=True):
        np.testing.assert_array_equal(a.view(torch.uint8).numpy(), b.view(torch.uint8).numpy())


def halves(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).half()


@pytest.mark.parametrize("target", ["cuda:80", "cuda:89", "cuda:90"])
def test_matmul(target):
    """cp.async in three stages; mma.sync, and wgmma on sm_90."""
    m, n, k = 128, 64, 96
    pointers = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16")
    numbers = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32")
    meta = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8, "ACTIVATION": ""}

    def values():
        c = torch.zeros(m, n, dtype=torch.float16)
        return [halves(m, k), halves(k, n), c, m, n, k, k, n, n], [c]

    signature = {**pointers, **numbers}
    same_bytes(
        matmul_kernel, signature, {**meta, "stride_ak": 1, "stride_bn": 1, "stride_cn": 1}, target, (4, 1, 1),
        values, attrs=dict.fromkeys(signature, DIVISIBLE), num_stages=3, num_warps=4,
    )  # fmt: skip


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_attention(target):
    heads, length, dim = 2, 128, 64
    pointers = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "out_ptr"), "*fp16")
    numbers = dict.fromkeys(("stride_head", "stride_row", "length"), "i32")
    signature = {**pointers, "lse_ptr": "*fp32", "scale": "fp32", **numbers}

    def values():
        q, k, v = (halves(heads, length, dim + i)[:, :, :dim].contiguous() for i in range(3))
        out, lse = torch.zeros_like(q), torch.zeros(heads, length)
        return [q, k, v, out, lse, 0.125, length * dim, dim, length], [out, lse]

    same_bytes(
        attention_kernel, signature, {"HEAD_DIM": dim, "BLOCK_M": 64, "BLOCK_N": 32, "CAUSAL": True}, target,
        (length // 64, heads, 1), values, attrs={name: DIVISIBLE for name in signature if name != "scale"},
        num_stages=2, num_warps=4,
    )  # fmt: skip


def test_tensor_descriptors():
    """A ring of TMA loads with mbarriers, wgmma, a TMA store; boxes reach over the edges."""
    m, n, k, block_m, block_n, block_k = 200, 160, 120, 64, 32, 32
    blocks = {"a_desc": [block_m, block_k], "b_desc": [block_k, block_n], "c_desc": [block_m, block_n]}
    signature = {name: f"tensordesc<fp16{list(block)}>" for name, block in blocks.items()}

    def values():
        tensors = [halves(m, k), halves(k, n), torch.zeros(m, n, dtype=torch.float16)]
        descriptors = [
            TensorDescriptor(t, list(t.shape), [t.shape[1], 1], block)
            for t, block in zip(tensors, blocks.values(), strict=True)
        ]
        return [*descriptors, m, n, k], tensors[2:]

    same_bytes(
        matmul_tma_kernel, {**signature, "M": "i32", "N": "i32", "K": "i32"},
        {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 4}, "cuda:90", (20, 1, 1),
        values, num_stages=3, num_warps=4,
    )  # fmt: skip
