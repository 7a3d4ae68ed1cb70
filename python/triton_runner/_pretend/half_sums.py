"""Replaces, under --pretend-cuda, torch's operators of f16 and bf16 on the CPU that do not sum as CUDA's do.

CUDA sums 16-bit numbers in f32 and rounds once. On the CPU some gradients are summed in 16 bits (that of a
layer norm's weight is off by 0.07 in f16, where rounding once is off by 0.004), and products, summed right,
take 10 to 30 times as long as in f32 where oneDNN has no instructions for the type. Here they take f32."""

from __future__ import annotations

import warnings

import torch

_HALVES = (torch.float16, torch.bfloat16)

# Operators summed in f32, the argument that decides the type of their results besides the first, and how many
# results have that type: CUDA keeps the mean and deviation of a layer norm in f32.
_SUMS = {
    "native_layer_norm": (2, 1),
    "native_layer_norm_backward": (5, 3),
    "embedding_dense_backward": (0, 1),
    "convolution_backward": (2, 3),
}
_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
_library = None


def _wide(value):
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in _HALVES else value


def _sum(kernel, decides, halves):
    def in_f32(keys, *args, **options):
        half = args[0].dtype
        other = args[decides]
        if half not in _HALVES or (other is not None and other.dtype != half):
            return kernel.call_boxed(keys, *args, **options)
        result = kernel.call_boxed(keys, *map(_wide, args), **options)
        if isinstance(result, torch.Tensor):
            return result.to(half)
        return tuple(r.to(half) if r is not None and i < halves else r for i, r in enumerate(result))

    return in_f32


def _product(kernel, slow):
    def in_f32(keys, *args, **options):
        half = args[0].dtype
        if half not in slow:
            return kernel.call_boxed(keys, *args, **options)
        return kernel.call_boxed(keys, *map(_wide, args), **options).to(half)

    return in_f32


def _product_into(kernel, kernel_into, slow):
    def in_f32(keys, *args, out, **options):
        half = args[0].dtype
        if half not in slow or out.dtype != half:
            return kernel_into.call_boxed(keys, *args, out=out, **options)
        result = kernel.call_boxed(keys, *map(_wide, args), **options)
        if out.shape != result.shape:
            out.resize_(result.shape)
        return out.copy_(result)

    return in_f32


def install() -> None:
    """Registers them for the CPU, for the rest of the process; torch of before 2.10 keeps its own."""
    global _library
    find = getattr(torch.library, "get_kernel", None)
    if _library is not None or find is None:
        return
    fast = {
        torch.float16: torch.ops.mkldnn._is_mkldnn_fp16_supported,
        torch.bfloat16: torch.ops.mkldnn._is_mkldnn_bf16_supported,
    }
    slow = tuple(half for half, has in fast.items() if not has())
    overrides = {name: _sum(find(f"aten::{name}", "CPU"), *how) for name, how in _SUMS.items()}
    for name in _PRODUCTS:
        kernel, into = find(f"aten::{name}", "CPU"), find(f"aten::{name}.out", "CPU")
        overrides[name] = _product(kernel, slow)
        overrides[f"{name}.out"] = _product_into(kernel, into, slow)
    _library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "overriding a previously registered kernel"
        for name, override in overrides.items():
            _library.impl(name, override, "CPU", with_keyset=True)
