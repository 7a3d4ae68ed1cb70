"""The Triton backend of bitsandbytes: 8-bit and 4-bit blocks there and back, and Adam beside torch's."""

import torch
from gradients import draws


def adam(x, gradient):
    """x after one step of torch's Adam."""
    parameter = torch.nn.Parameter(x.clone())
    parameter.grad = gradient.clone()
    torch.optim.Adam([parameter], lr=1e-2).step()
    return parameter


def cases(device: str):
    from bitsandbytes.backends.triton import ops

    randn, _ = draws(device)
    x, gradient = randn(4096), randn(4096)
    code = torch.linspace(-1, 1, 256).to(device)

    def through_8_bits():
        packed, scales = ops.quantize_blockwise(x, code, 256)
        return ops.dequantize_blockwise(packed, scales, code, 256, torch.float32)

    def through_4_bits(kind):
        packed, scales = ops.quantize_4bit(x, 64, kind, torch.uint8)
        return ops.dequantize_4bit(packed, scales, 64, kind, x.shape, torch.float32)

    def stepped():
        moved, first, second = x.clone(), torch.zeros_like(x), torch.zeros_like(x)
        # Weight clipping off, Adam's usual factors, step 1.
        ops.optimizer_update_32bit(
            "adam", gradient, moved, first, second, None, 0.0, 0.0, 0.9, 0.999, 0.0, 0.0, 1e-8, 0.0, 1, 1e-2,
            1.0,
        )  # fmt: skip
        return moved

    # Half the distance of the two coarsest levels of each code, of the block's largest value.
    yield "8-bit", through_8_bits, lambda: x, 0.5 / 127
    yield "nf4", lambda: through_4_bits("nf4"), lambda: x, 0.16
    yield "fp4", lambda: through_4_bits("fp4"), lambda: x, 0.18
    yield "adam", stepped, lambda: adam(x, gradient)
