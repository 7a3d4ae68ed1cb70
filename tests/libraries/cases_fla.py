"""Operators of flash-linear-attention (fla-core), forward and backward, beside the naive functions in torch
that the library itself has."""

import torch
import torch.nn.functional as F
from gradients import both, draws

B, T, H, K, V = 1, 100, 2, 32, 32  # a sequence that ends within the second block of 64


def heads_first(function):
    """A naive function of (B, H, T, D), called with (B, T, H, D) as the library's operators are."""

    def called(*values):
        result = function(*[v.transpose(1, 2) for v in values])
        return (result[0] if isinstance(result, tuple) else result).transpose(1, 2)

    return called


def cases(device: str):
    import fla.ops as ops
    from fla import modules
    from fla.modules import activations, l2norm
    from fla.ops.attn.naive import naive_parallel_attn
    from fla.ops.based.naive import naive_parallel_based
    from fla.ops.comba.naive import naive_chunk_comba
    from fla.ops.delta_rule.naive import delta_rule_recurrence
    from fla.ops.forgetting_attn.naive import naive_forgetting_attn
    from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule
    from fla.ops.gla.naive import naive_recurrent_gla
    from fla.ops.gsa.naive import naive_recurrent_gsa
    from fla.ops.hgrn.naive import naive_recurrent_hgrn
    from fla.ops.kda.naive import naive_recurrent_kda
    from fla.ops.linear_attn.naive import naive_recurrent_linear_attn
    from fla.ops.retention.naive import naive_retention
    from fla.ops.rwkv6.recurrent_naive import naive_recurrent_rwkv6
    from fla.ops.simple_gla.naive import naive_recurrent_simple_gla

    randn, generator = draws(device)
    q, k, v = randn(B, T, H, K), F.normalize(randn(B, T, H, K), dim=-1), randn(B, T, H, V)
    beta = torch.rand(B, T, H, generator=generator).to(device)
    gates = F.logsigmoid(randn(B, T, H, K)).clamp(min=-5)
    gate = F.logsigmoid(randn(B, T, H))
    slots = randn(B, T, H, 16)
    slot_gates = F.logsigmoid(randn(B, T, H, 16))
    x, y, w, b = randn(B, T, 64), randn(B, T, 64), randn(64), randn(64)

    def by_name(function, *names):
        return lambda *values: function(**dict(zip(names, values, strict=True)))

    def pair(name, function, naive, *values, room=5e-3):
        """The kernels multiply matrices of f32 as tf32, of which Hopper keeps ten bits."""
        return name, lambda: both(function, *values), lambda: both(naive, *values), room

    qkv = "q", "k", "v"
    linear = by_name(naive_recurrent_linear_attn, *qkv)
    for name in ("chunk_linear_attn", "fused_chunk_linear_attn", "fused_recurrent_linear_attn"):
        yield pair(name, lambda *a, n=name: getattr(ops, n)(*a, normalize=False), linear, q, k, v)
    for name in ("chunk_gla", "fused_recurrent_gla"):
        yield pair(name, getattr(ops, name), naive_recurrent_gla, q, k, v, gates)
    delta = heads_first(delta_rule_recurrence)
    yield pair("fused_recurrent_delta_rule", ops.fused_recurrent_delta_rule, delta, q, k, v, beta)
    halves = [a.bfloat16() for a in (q, k, v, beta)]
    yield pair("chunk_delta_rule", ops.chunk_delta_rule, delta, *halves, room=3e-2)
    names = *qkv, "g", "beta"
    gated = by_name(naive_recurrent_gated_delta_rule, *names)
    values = q, k, v, gate, beta
    yield pair("chunk_gated_delta_rule", by_name(ops.chunk_gated_delta_rule, *names), gated, *values)
    recurrent = by_name(ops.fused_recurrent_gated_delta_rule, *names)
    yield (
        "fused_recurrent_gated_delta_rule (forward)",
        lambda: recurrent(*values)[0], lambda: gated(*values)[0],
    )  # fmt: skip
    for name in ("chunk_retention", "parallel_retention", "fused_recurrent_retention"):
        yield pair(name, getattr(ops, name), heads_first(naive_retention), q, k, v)
    for name in ("chunk_simple_gla", "parallel_simple_gla", "fused_recurrent_simple_gla"):
        yield pair(
            name, by_name(getattr(ops, name), *qkv, "g"), by_name(naive_recurrent_simple_gla, *qkv, "g"),
            q, k, v, gate,
        )  # fmt: skip
    kda = q, k, v, gates, beta
    yield pair("chunk_kda", by_name(ops.chunk_kda, *names), by_name(naive_recurrent_kda, *names), *kda)
    yield (
        "fused_recurrent_kda (forward)", lambda: ops.fused_recurrent_kda(*kda)[0],
        lambda: naive_recurrent_kda(*kda)[0],
    )  # fmt: skip
    for name in ("chunk_gsa", "fused_recurrent_gsa"):
        yield pair(name, getattr(ops, name), naive_recurrent_gsa, q, k, v, slots, slot_gates)
    bonus = randn(H, K)
    for name in ("chunk_rwkv6", "fused_recurrent_rwkv6"):
        yield pair(
            name, getattr(ops, name),
            lambda r, k, v, w, u: naive_recurrent_rwkv6(
                *(a.transpose(1, 2) for a in (r, k, v, w)), u)[0].transpose(1, 2),
            q, k, v, gates, bonus,
        )  # fmt: skip
    yield pair("fused_recurrent_hgrn", ops.fused_recurrent_hgrn, naive_recurrent_hgrn, x, F.logsigmoid(y))
    yield pair("parallel_attn", ops.parallel_attn, naive_parallel_attn, q, k, v)
    yield pair("parallel_forgetting_attn", ops.parallel_forgetting_attn, naive_forgetting_attn, q, k, v, gate)
    small = [randn(B, T, H, 16) for _ in range(2)]
    yield pair("parallel_based", ops.parallel_based, heads_first(naive_parallel_based), *small, v)
    names = *qkv, "p", "g", "beta"
    yield pair("chunk_comba", by_name(ops.chunk_comba, *names), by_name(naive_chunk_comba, *names),
               q, k, v, k, gate, beta)  # fmt: skip

    def convolved(x, w):
        return F.conv1d(x.transpose(1, 2), w[:, None], padding=3, groups=64)[..., :T].transpose(1, 2)

    from fla.modules.convolution import causal_conv1d

    yield pair("causal_conv1d", causal_conv1d, convolved, x, randn(64, 4))
    yield pair("l2norm", l2norm.l2_norm, lambda a: a * torch.rsqrt(a.square().sum(-1, True) + 1e-6), x)
    yield pair("swiglu", activations.swiglu, lambda a, c: F.silu(a) * c, x, y)
    yield pair("logsigmoid", activations.logsigmoid, F.logsigmoid, x)
    norm = modules.layernorm.rms_norm
    yield pair(
        "rms_norm", lambda a, s, t: norm(a, s, t), lambda a, s, t: F.rms_norm(a, (64,), s, 1e-5) + t, x, w, b
    )
    yield pair("layer_norm", lambda a, s, t: modules.layernorm.layer_norm(a, s, t),
               lambda a, s, t: F.layer_norm(a, (64,), s, t), x, w, b)  # fmt: skip
    yield pair(
        "token_shift", modules.token_shift.token_shift, lambda a: F.pad(a, (0, 0, 1, -1)) - a, x
    )  # fmt: skip
