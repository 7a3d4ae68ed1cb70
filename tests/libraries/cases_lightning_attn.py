"""lightning-attn's linear attention with decay and its norm, forward and backward, beside torch in f32."""

import torch
from gradients import both, draws


def cases(device: str):
    from lightning_attn.ops import lightning_attn_func
    from lightning_attn.ops.triton.srmsnorm import SimpleRMSNorm
    from lightning_attn.utils import _build_slope_tensor

    randn, _ = draws(device)
    slopes = _build_slope_tensor(4).to(device)
    for length, width in ((64, 32), (300, 64), (300, 128)):
        q, k, v = (randn(1, 4, length, width).bfloat16() for _ in range(3))

        def expected(q, k, v, length=length):
            at = torch.arange(length, device=device)
            behind = at[:, None] - at[None, :]
            decay = torch.exp(-slopes * behind).masked_fill(behind < 0, 0)
            return ((q.float() @ k.float().transpose(-1, -2)) * decay) @ v.float()

        yield (
            f"lightning_attn-{length}-{width}",
            lambda qkv=(q, k, v): both(lambda *a: lightning_attn_func(*a, slopes), *qkv),
            lambda qkv=(q, k, v), f=expected: both(f, *qkv), 1e-2,
        )  # fmt: skip
    x = randn(33, 200)
    norm = SimpleRMSNorm(200)
    yield (
        "SimpleRMSNorm", lambda: both(norm, x),
        lambda: both(lambda a: a * torch.rsqrt(a.square().mean(-1, True) + 1e-6), x),
    )  # fmt: skip
