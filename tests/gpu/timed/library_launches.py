"""Launches of libraries, each operator forward and (liger) backward, and of Gluon kernels. A library
that is not installed is left out."""

import contextlib
import importlib.util

import torch
from items import integers, item, randn

# ---- libraries


def differentiated(function, *values):
    values = [v.detach().requires_grad_() if torch.is_floating_point(v) else v for v in values]
    out = function(*values)
    for one in out if isinstance(out, tuple) else (out,):
        if isinstance(one, torch.Tensor) and one.requires_grad:
            with contextlib.suppress(NotImplementedError):
                one.backward(torch.ones_like(one), retain_graph=True)
            break


def liger(device, name):
    import liger_kernel.ops as ops

    bf16 = torch.bfloat16
    x, y = randn(device, 2048, 4096, dtype=bf16), randn(device, 2048, 4095 + 1, dtype=bf16)
    w, b = randn(device, 4096, dtype=bf16), randn(device, 4096, dtype=bf16)
    logits = randn(device, 1024, 32000)
    target = integers(device, 32000, 1024).long()
    q, k = randn(device, 2, 32, 2048, 128, dtype=bf16), randn(device, 2, 8, 2048, 128, dtype=bf16)
    cos = sin = randn(device, 1, 2048, 128)
    logs = torch.log_softmax(randn(device, 1024, 8192), -1)
    calls = {
        "rms_norm": lambda: differentiated(lambda x, w: ops.LigerRMSNormFunction.apply(x, w, 1e-6), x, w),
        "add_rms_norm": lambda: differentiated(
            lambda x, y, w: ops.LigerFusedAddRMSNormFunction.apply(x, y, w, 1e-6), x, y, w
        ),
        "layer_norm": lambda: differentiated(
            lambda x, w, b: ops.LigerLayerNormFunction.apply(x, w, b, 1e-5), x, w, b
        ),
        "geglu": lambda: differentiated(ops.LigerGELUMulFunction.apply, x, y),
        "swiglu": lambda: differentiated(ops.LigerSiLUMulFunction.apply, x, y),
        "softmax": lambda: differentiated(ops.LigerSoftmaxFunction.apply, x),
        "sparsemax": lambda: differentiated(
            lambda x: ops.LigerSparsemaxFunction.apply(x, -1), randn(device, 512, 2048)
        ),
        "cross_entropy": lambda: differentiated(
            lambda x: ops.LigerCrossEntropyFunction.apply(x, target, None, -100)[0], logits
        ),
        "rope": lambda: differentiated(lambda q, k: ops.LigerRopeFunction.apply(q, k, cos, sin), q, k),
        "jsd": lambda: differentiated(lambda a, c: ops.LigerJSDFunction.apply(a, c), logs, logs),
        "kl_div": lambda: differentiated(lambda a: ops.LigerKLDivLossFunction.apply(a, logs.exp()), logs),
        "group_norm": lambda: differentiated(
            lambda x, w, b: ops.LigerGroupNormFunction.apply(x, w, b, 256, 32, 1e-5),
            randn(device, 16, 256, 32, 32), randn(device, 256), randn(device, 256),
        ),
        "dyt": lambda: differentiated(
            lambda x, a, w, b: ops.LigerDyTFunction.apply(x, a, w, b), x, randn(device, 1), w, b
        ),
        "tvd": lambda: differentiated(lambda a: ops.LigerTVDLossFunction.apply(a, logs.exp()), logs.exp()),
    }  # fmt: skip
    calls[name]()


for name in [
    "rms_norm", "add_rms_norm", "layer_norm", "geglu", "swiglu", "softmax", "sparsemax", "cross_entropy",
    "rope", "jsd", "kl_div", "group_norm", "dyt", "tvd",
]:  # fmt: skip
    item(f"liger {name}", liger, name)


def fla(device, name):
    import fla.ops as ops

    batch, length, heads, dim = 2, 2048, 16, 64
    shape = batch, length, heads, dim
    half = torch.bfloat16
    q, v = randn(device, *shape, dtype=half), randn(device, *shape, dtype=half) + 0
    k = torch.nn.functional.normalize(randn(device, *shape, dtype=half), dim=-1)
    beta = torch.sigmoid(randn(device, *shape[:3], dtype=half))
    gates = torch.nn.functional.logsigmoid(randn(device, *shape)).to(half)
    gate = torch.nn.functional.logsigmoid(randn(device, *shape[:3]))
    calls = {
        "linear_attn": lambda: ops.chunk_linear_attn(q, k, v, normalize=False),
        "retention": lambda: ops.chunk_retention(q, k, v),
        "gla": lambda: ops.chunk_gla(q, k, v, gates),
        "simple_gla": lambda: ops.chunk_simple_gla(q, k, v, gate),
        "delta_rule": lambda: ops.chunk_delta_rule(q, k, v, beta),
        "gated_delta_rule": lambda: ops.chunk_gated_delta_rule(q, k, v, gate, beta),
        "parallel_attn": lambda: ops.parallel_attn(q, k, v),
    }
    calls[name]()


if importlib.util.find_spec("fla"):
    for name in [
        "linear_attn", "retention", "gla", "simple_gla", "delta_rule", "gated_delta_rule", "parallel_attn",
    ]:  # fmt: skip
        item(f"fla {name}", fla, name)


def gems(device, name):
    from flag_gems import ops

    x, w = randn(device, 4096, 4096), randn(device, 4096)
    a, b = randn(device, 2048, 2048, dtype=torch.bfloat16), randn(device, 2048, 2048, dtype=torch.bfloat16)
    few = randn(device, 16, 512, 512, dtype=torch.float16)
    image = randn(device, 16, 64, 56, 56)
    index = integers(device, 4096, 4096).long()
    scale, shift = randn(device, 64), randn(device, 64)
    calls = {
        "gelu": lambda: ops.gelu(x),
        "tanh": lambda: ops.tanh(a),
        "pow": lambda: ops.pow_tensor_tensor(x.abs(), x),
        "where": lambda: ops.where_self(x > 0, x, w.expand(4096, 4096)),
        "masked_fill": lambda: ops.masked_fill(x, x > 0, 0.0),
        "softmax": lambda: ops.softmax(x, 1),
        "log_softmax": lambda: ops.log_softmax(x[:, :1000].contiguous(), 1),
        "layer_norm": lambda: ops.layer_norm(x, (4096,), w, w),
        "rms_norm": lambda: ops.rms_norm(x, (4096,), w),
        "group_norm": lambda: ops.group_norm(image, scale, shift, 16, 64, 56 * 56, 8, 1e-5),
        "batch_norm": lambda: ops.batch_norm(image, scale, shift, scale, shift, True, 0.1, 1e-5),
        "sum": lambda: ops.sum(x),
        "sum_dim 0": lambda: ops.sum_dim(x, [0]),
        "sum_dim 1": lambda: ops.sum_dim(x, [1]),
        "amax": lambda: ops.amax(x, [1]),
        "argmax": lambda: ops.argmax(x, 1),
        "var_mean": lambda: ops.var_mean(x, [1]),
        "cumsum": lambda: ops.cumsum(x, 1),
        "mm": lambda: ops.mm(a, b),
        "bmm": lambda: ops.bmm(few, few),
        "addmm": lambda: ops.addmm(a, a, b),
        "mv": lambda: ops.mv(x, w),
        "index_select": lambda: ops.index_select(x, 0, index),
        "gather": lambda: ops.gather(x, 1, integers(device, 4096, 4096, 1024).long()),
        "flip": lambda: ops.flip(x, (0,)),
        "tril": lambda: ops.tril(x),
        "cat": lambda: ops.cat((x, x), 1),
        "max_pool2d": lambda: ops.max_pool2d_with_indices(image, [2, 2]),
        "conv2d": lambda: ops.conv2d(image, randn(device, 64, 64, 3, 3)),
        "topk": lambda: ops.topk(x, 5),
    }
    calls[name]()


if importlib.util.find_spec("flag_gems"):
    for name in (
        "gelu", "tanh", "pow", "where", "masked_fill", "softmax", "log_softmax", "layer_norm", "rms_norm",
        "group_norm", "batch_norm", "sum", "sum_dim 0", "sum_dim 1", "amax", "argmax", "var_mean", "cumsum",
        "mm", "bmm", "addmm", "mv", "index_select", "gather", "flip", "tril", "cat", "max_pool2d", "conv2d",
        "topk",
    ):  # fmt: skip
        item(f"gems {name}", gems, name)


# ---- Gluon


def gluon_add(device, rows, columns, block, depth, warps):
    import gluon_kernels as kernels

    x, y, out = (randn(device, rows, columns) for _ in range(3))
    descriptors = [kernels.described(tensor, block) for tensor in (x, y, out.clone())]
    kernels.partitioned_add[(rows // block[0],)](*descriptors, DEPTH=depth, num_warps=warps, maxnreg=128)


def gluon_product(device, kernel, size, block_m, block_n, block_k, depth, warps):
    import gluon_kernels as kernels

    half = torch.float16
    a, b, out = (randn(device, size, size, dtype=half) for _ in range(3))
    shapes = [block_m, block_k], [block_k, block_n], [block_m, block_n]
    descriptors = [
        kernels.described(tensor, shape) for tensor, shape in zip((a, b, out.clone()), shapes, strict=True)
    ]
    tiles = size // block_m, size // block_n
    grid = (min(132, tiles[0] * tiles[1]),) if kernel == "persistent" else tiles
    more = {} if kernel == "persistent" else {"maxnreg": 168}
    getattr(kernels, kernel)[grid](*descriptors, DEPTH=depth, num_warps=warps, **more)


item("gluon_add 8192x4096", gluon_add, 8192, 4096, [32, 64], 3, 4)
item("gluon_add 4096x16384", gluon_add, 4096, 16384, [16, 128], 4, 4)
for kernel in ("persistent", "partitioned_product"):
    for config in ((128, 128, 64, 4, 4), (128, 256, 64, 3, 8), (64, 128, 64, 4, 4), (128, 64, 64, 4, 4)):
        name = f"gluon_{kernel} 2048 @ {'x'.join(map(str, config[:3]))} d{config[3]} w{config[4]}"
        item(name, gluon_product, kernel, 2048, *config)
