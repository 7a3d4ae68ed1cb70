"""Operators of liger-kernel and conch as functions with a declaration, and the same in torch beside each."""

import importlib.util

import torch
import torch.nn.functional as F
from triton_runner.testing import dims

if importlib.util.find_spec("liger_kernel"):
    import liger_kernel.ops as ops
if importlib.util.find_spec("conch"):
    from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
    from conch.ops.activation.silu_and_mul import silu_and_mul
    from conch.ops.normalization import rms_norm as conch_norms

MATRIX = {"M": (1, 600), "N": (1, 3000)}


@dims(**MATRIX, x="float[M, N]", w="float[N]")
def liger_rms_norm(x, w):
    return ops.LigerRMSNormFunction.apply(x, w, 1e-6)


def liger_rms_norm_reference(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


@dims(**MATRIX, x="float[M, N]", w="float[N]", b="float[N]")
def liger_layer_norm(x, w, b):
    return ops.LigerLayerNormFunction.apply(x, w, b, 1e-5)


def liger_layer_norm_reference(x, w, b):
    return F.layer_norm(x, (x.shape[1],), w, b, 1e-5)


@dims(**MATRIX, x="float[M, N]", y="float[M, N]")
def liger_swiglu(x, y):
    return ops.LigerSiLUMulFunction.apply(x, y)


def liger_swiglu_reference(x, y):
    return F.silu(x) * y


@dims(**MATRIX, x="float[M, N]", y="float[M, N]")
def liger_geglu(x, y):
    return ops.LigerGELUMulFunction.apply(x, y)


def liger_geglu_reference(x, y):
    return F.gelu(x, approximate="tanh") * y


@dims(**MATRIX, x="float[M, N] finite")
def liger_relu_squared(x):
    return ops.LigerReLUSquaredFunction.apply(x)


def liger_relu_squared_reference(x):
    return F.relu(x).square()


@dims(**MATRIX, x="float[M, N]")
def liger_softmax(x):
    return ops.LigerSoftmaxFunction.apply(x)


def liger_softmax_reference(x):
    return F.softmax(x, -1)


@dims(**MATRIX, x="float[M, N]", a="float[1]", w="float[N]", b="float[N]")
def liger_dyt(x, a, w, b):
    return ops.LigerDyTFunction.apply(x, a, w, b)


def liger_dyt_reference(x, a, w, b):
    return w * torch.tanh(a * x) + b


@dims(M=(1, 600), N=(2, 3000), x="f32[M, N] finite", target="i64[M] in 0..N")
def liger_cross_entropy(x, target):
    return ops.LigerCrossEntropyFunction.apply(x.clone(), target, None)[0]


def liger_cross_entropy_reference(x, target):
    return F.cross_entropy(x, target)


@dims(M=(1, 300), N=(1, 1000), x="float[M, 2 * N]")
def conch_silu_and_mul(x):
    return silu_and_mul(x)


def conch_silu_and_mul_reference(x):
    half = x.shape[1] // 2
    return F.silu(x[:, :half]) * x[:, half:]


@dims(M=(1, 300), N=(1, 1000), x="float[M, 2 * N] contiguous")  # it takes others, and is wrong
def conch_gelu_and_mul(x):
    return gelu_tanh_and_mul(x)


def conch_gelu_and_mul_reference(x):
    half = x.shape[1] // 2
    return F.gelu(x[:, :half], approximate="tanh") * x[:, half:]


@dims(**MATRIX, x="float[M, N]", w="float[N]")
def conch_rms_norm(x, w):
    return conch_norms.rms_norm(x, w, 1e-6)


def conch_rms_norm_reference(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w
