"""adasplash's entmax and its sparse attention, forward and backward, beside entmax by bisection in f64."""

import torch
from gradients import both, draws

# (function, alpha, causal): the attention that each version is for.
ATTENTION = (("adasplash_v1", 1.5, False), ("adasplash_v1", 1.333, True), ("adasplash_v2", 1.5, True))
ATTENTION += (("adasplash_no_block_mask", 1.5, True),)


class Entmax(torch.autograd.Function):
    """entmax (Peters and others, 2019): max(0, (alpha - 1) x - tau) ** (1 / (alpha - 1)), tau so that the sum
    of a row is 1; its Jacobian is diag(s) - s s' / sum(s) with s = p ** (2 - alpha)."""

    @staticmethod
    def forward(ctx, x, alpha):
        x = x.double() * (alpha - 1)
        high = x.amax(-1, keepdim=True)
        low = high - 1
        for _ in range(60):
            tau = (low + high) / 2
            is_low = (x - tau).clamp(min=0).pow(1 / (alpha - 1)).sum(-1, keepdim=True) >= 1
            low, high = torch.where(is_low, tau, low), torch.where(is_low, high, tau)
        p = (x - low).clamp(min=0).pow(1 / (alpha - 1))
        p /= p.sum(-1, keepdim=True)
        ctx.alpha = alpha
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, weight):
        (p,) = ctx.saved_tensors
        s = torch.where(p > 0, p.pow(2 - ctx.alpha), 0)
        return s * weight - s * (s * weight).sum(-1, keepdim=True) / s.sum(-1, keepdim=True), None


def attention(q, k, v, alpha, is_causal):
    scores = q.double() @ k.double().transpose(-1, -2) / q.shape[-1] ** 0.5
    if is_causal:
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(ahead, float("-inf"))
    return Entmax.apply(scores, alpha) @ v.double()


def cases(device: str):
    import adasplash

    randn, _ = draws(device)
    x = randn(8, 300) * 3
    for alpha in (1.5, 1.333, 2.0):
        yield (
            f"entmax_v1-{alpha}", lambda a=alpha: adasplash.triton_entmax_v1(x, alpha=a),
            lambda a=alpha: Entmax.apply(x, a).float(),
        )  # fmt: skip
    yield "entmax_v2", lambda: adasplash.triton_entmax_v2(x), lambda: Entmax.apply(x, 1.5).float()
    yield "sparsemax", lambda: adasplash.triton_sparsemax(x), lambda: Entmax.apply(x, 2.0).float()
    for name, alpha, is_causal in ATTENTION:
        given = tuple(randn(1, 2, 128, 64) for _ in range(3))
        options = {"is_causal": is_causal, "alpha": alpha} if name != "adasplash_v2" else {}
        function = getattr(adasplash, name)
        yield (
            f"{name}-{alpha}{'-causal' if is_causal else ''}",
            lambda f=function, g=given, o=options: both(lambda *qkv: f(*qkv, **o), *g),
            lambda g=given, a=alpha, c=is_causal: both(lambda *qkv: attention(*qkv, a, c).float(), *g), 2e-3,
        )  # fmt: skip
