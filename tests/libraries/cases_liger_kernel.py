"""Operators of liger-kernel, forward and backward, beside the same in torch: results, then gradients."""

import torch
import torch.nn.functional as F
from gradients import both, draws


def rms(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def rotated(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def poly(x, w, b):
    def norm(v):
        return v * torch.rsqrt(v.square().mean(-1, keepdim=True) + 1e-6)

    return w[0] * norm(x**3) + w[1] * norm(x**2) + w[2] * norm(x) + b


def sparsemax(x):
    ordered = x.sort(-1, descending=True).values
    total = ordered.cumsum(-1) - 1
    numbers = torch.arange(1, x.shape[-1] + 1, device=x.device)
    support = (numbers * ordered > total).sum(-1, keepdim=True)
    return (x - total.gather(-1, support - 1) / support).clamp(min=0)


def jsd(log_q, log_p):
    q, p = log_q.exp(), log_p.exp()
    middle = ((q + p) / 2).log()
    loss = 0.5 * (p * (log_p - middle)) + 0.5 * (q * (log_q - middle))
    return loss.sum() / log_q.shape[0]


def cases(device: str):
    import liger_kernel.ops as ops

    randn, generator = draws(device)
    x, y, w, b = randn(24, 130), randn(24, 130), randn(130), randn(130)
    target = torch.randint(0, 130, (24,), generator=generator).to(device)
    log_q, log_p = F.log_softmax(x, -1), F.log_softmax(y, -1)
    q, k = randn(2, 4, 10, 32), randn(2, 2, 10, 32)
    angle = torch.outer(torch.arange(10.0), 10000.0 ** -(torch.arange(16) / 16))
    angles = torch.cat((angle, angle), -1).to(device)
    cos, sin = angles.cos()[None], angles.sin()[None]
    hidden, matrix = randn(24, 32), randn(130, 32)
    images, gamma, beta = randn(3, 8, 4, 5), randn(8), randn(8)

    def case(name, function, reference, *values):
        return name, lambda: both(function, *values), lambda: both(reference, *values)

    yield case("rms_norm", lambda x, w: ops.LigerRMSNormFunction.apply(x, w, 1e-6), rms, x, w)
    yield case(
        "fused_add_rms_norm",
        lambda x, y, w: ops.LigerFusedAddRMSNormFunction.apply(x, y, w, 1e-6)[0],
        lambda x, y, w: rms(x + y, w), x, y, w,
    )  # fmt: skip
    yield case(
        "layer_norm",
        lambda x, w, b: ops.LigerLayerNormFunction.apply(x, w, b, 1e-5),
        lambda x, w, b: F.layer_norm(x, (130,), w, b, 1e-5), x, w, b,
    )  # fmt: skip
    yield case(
        "group_norm",
        lambda x, w, b: ops.LigerGroupNormFunction.apply(x, w, b, 8, 4, 1e-5),
        lambda x, w, b: F.group_norm(x, 4, w, b, 1e-5), images, gamma, beta,
    )  # fmt: skip
    yield case("poly_norm", lambda *v: ops.LigerPolyNormFunction.apply(*v), poly, x, w[:3], b[0])
    yield case(
        "dyt",
        lambda x, a, w, b: ops.LigerDyTFunction.apply(x, a, w, b),
        lambda x, a, w, b: w * torch.tanh(a * x) + b, x, torch.tensor([0.5], device=device), w, b,
    )  # fmt: skip
    yield case("swiglu", ops.LigerSiLUMulFunction.apply, lambda x, y: F.silu(x) * y, x, y)
    yield case("geglu", ops.LigerGELUMulFunction.apply, lambda x, y: F.gelu(x, approximate="tanh") * y, x, y)
    yield case("relu_squared", ops.LigerReLUSquaredFunction.apply, lambda x: F.relu(x).square(), x)
    yield case("softmax", ops.LigerSoftmaxFunction.apply, lambda x: F.softmax(x, -1), x)
    yield case("sparsemax", lambda x: ops.LigerSparsemaxFunction.apply(x, -1), sparsemax, x)
    yield case(
        "cross_entropy",
        lambda x: ops.LigerCrossEntropyFunction.apply(x, target, None)[0],
        lambda x: F.cross_entropy(x, target), x,
    )  # fmt: skip
    yield case(
        "cross_entropy with smoothing",
        lambda x: ops.LigerCrossEntropyFunction.apply(x, target, None, 3, 0.0, 0.1, "mean")[0],
        lambda x: F.cross_entropy(x, target, ignore_index=3, label_smoothing=0.1), x,
    )  # fmt: skip
    yield case(
        "fused_linear_cross_entropy",
        lambda h, m: ops.LigerFusedLinearCrossEntropyFunction.apply(h, m, target)[0],
        lambda h, m: F.cross_entropy(h @ m.T, target), hidden, matrix,
    )  # fmt: skip
    yield case(
        "kl_div",
        lambda q: ops.LigerKLDivLossFunction.apply(q, log_p, "batchmean", True),
        lambda q: F.kl_div(q, log_p, reduction="batchmean", log_target=True), log_q,
    )  # fmt: skip
    yield case(
        "tvd",
        lambda q: ops.LigerTVDLossFunction.apply(q, log_p.exp(), None, "batchmean"),
        lambda q: 0.5 * (q - log_p.exp()).abs().sum() / 24, log_q.exp(),
    )  # fmt: skip
    yield case("jsd", lambda q: ops.LigerJSDFunction.apply(q, log_p), lambda q: jsd(q, log_p), log_q)
    yield case(
        "rope",
        lambda q, k: torch.cat([v.flatten() for v in ops.LigerRopeFunction.apply(q, k, cos, sin)]),
        lambda q, k: torch.cat([rotated(v, cos[:, None], sin[:, None]).flatten() for v in (q, k)]), q, k,
    )  # fmt: skip
