"""sageattention's attention of 8-bit queries and keys, beside torch's in f32. Lengths are multiples of
its blocks: without a causal mask it counts keys behind the last, with one it reads scales behind the last."""

import itertools

import torch
import torch.nn.functional as F
from gradients import draws

ROOM = 0.05  # of the largest value: queries and keys have 8 bits


def cases(device: str):
    from sageattention import sageattn, sageattn_varlen

    randn, _ = draws(device, torch.float16)
    for width, layout, causal in itertools.product((64, 96, 128), ("HND", "NHD"), (False, True)):
        qkv = [randn(1, 2, 256, width) for _ in range(3)]

        def attend(qkv=qkv, layout=layout, causal=causal):
            turned = [x.transpose(1, 2).contiguous() if layout == "NHD" else x for x in qkv]
            out = sageattn(*turned, tensor_layout=layout, is_causal=causal, smooth_k=True)
            return (out.transpose(1, 2) if layout == "NHD" else out).float()

        def expected(qkv=qkv, causal=causal):
            return F.scaled_dot_product_attention(*(x.float() for x in qkv), is_causal=causal)

        yield f"sageattn-{width}-{layout}{'-causal' if causal else ''}", attend, expected, ROOM

    # Two sequences behind each other, and keys of one head for two heads of queries.
    q, k, v = randn(320, 4, 64), randn(320, 2, 64), randn(320, 2, 64)
    ends = torch.tensor([0, 128, 320], dtype=torch.int32, device=device)

    def each():
        parts = [[x[a:b].transpose(0, 1).float() for x in (q, k, v)] for a, b in ((0, 128), (128, 320))]
        return torch.cat([F.scaled_dot_product_attention(*p, enable_gqa=True).transpose(0, 1) for p in parts])

    yield (
        "sageattn_varlen", lambda: sageattn_varlen(q, k, v, ends, ends, 192, 192, is_causal=False).float(),
        each, ROOM,
    )  # fmt: skip
