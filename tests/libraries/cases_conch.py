"""conch-triton-kernels beside torch: norms, gated activations, non-maximum suppression, 4-bit codes."""

import torch
from gradients import draws
from torch.nn.functional import gelu, silu


def rms(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def suppressed(boxes, scores, limit):
    """The boxes that stay, best first: each that no better one covers to more than `limit`."""
    kept = []
    for i in scores.argsort(descending=True).tolist():
        low = torch.maximum(boxes[i, :2], boxes[kept, :2])
        high = torch.minimum(boxes[i, 2:], boxes[kept, 2:])
        common = (high - low).clamp(min=0).prod(1)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        if not (common > limit * (area[i] + area[kept] - common)).any():
            kept.append(i)
    return torch.tensor(kept)


def cases(device: str):
    from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
    from conch.ops.activation.silu_and_mul import silu_and_mul
    from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm
    from conch.ops.quantization.bitsandbytes.functional import dequantize_4bit, quantize_4bit
    from conch.ops.vision.nms import nms

    randn, generator = draws(device)
    x, residual, weight = randn(33, 256), randn(33, 256), randn(256)
    corner = torch.rand(60, 2, generator=generator) * 50
    boxes = torch.cat([corner, corner + torch.rand(60, 2, generator=generator) * 50], 1).to(device)
    scores = torch.rand(60, generator=generator).to(device)

    def through_4_bits(kind):
        packed, state = quantize_4bit(x.flatten(), blocksize=64, quant_type=kind)
        return dequantize_4bit(packed, state, quant_type=kind)

    yield "rms_norm", lambda: rms_norm(x, weight, 1e-6), lambda: rms(x, weight)
    yield (
        "fused_add_rms_norm", lambda: fused_add_rms_norm(x.clone(), residual.clone(), weight, 1e-6),
        lambda: (rms(x + residual, weight), x + residual),
    )  # fmt: skip
    yield "silu_and_mul", lambda: silu_and_mul(x), lambda: silu(x[:, :128]) * x[:, 128:]
    yield (
        "gelu_tanh_and_mul", lambda: gelu_tanh_and_mul(x),
        lambda: gelu(x[:, :128], approximate="tanh") * x[:, 128:],
    )  # fmt: skip
    yield "nms", lambda: nms(boxes, scores, 0.5), lambda: suppressed(boxes, scores, 0.5)
    # Half the distance of the two coarsest levels of each code, of the block's largest value.
    yield "nf4", lambda: through_4_bits("nf4"), lambda: x.flatten(), 0.16
    yield "fp4", lambda: through_4_bits("fp4"), lambda: x.flatten(), 0.18
