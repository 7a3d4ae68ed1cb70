"""Rotary embedding of [B, T, H, D] by the angles of positions, halves of a head turned against each other."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(
    x, out, positions, cos, sin, tokens, heads, xb, xt, xh, ob, ot, oh, angle_row,
    HALF: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    number = tl.program_id(0)
    batch, token, head = number // heads // tokens, number // heads % tokens, number % heads
    at = tl.arange(0, BLOCK)
    inside = at < HALF
    row = tl.load(positions + token) * angle_row
    c = tl.load(cos + row + at, inside, other=0.0).to(tl.float32)
    s = tl.load(sin + row + at, inside, other=0.0).to(tl.float32)
    x += batch * xb + token * xt + head * xh
    first = tl.load(x + at, inside, other=0.0).to(tl.float32)
    second = tl.load(x + HALF + at, inside, other=0.0).to(tl.float32)
    out += batch * ob + token * ot + head * oh
    tl.store(out + at, first * c - second * s, inside)
    tl.store(out + HALF + at, second * c + first * s, inside)


def rotary(x, positions, cos, sin):
    batches, tokens, heads, D = x.shape
    assert D % 2 == 0 and cos.shape == sin.shape and cos.shape[1] == D // 2 and positions.shape == (tokens,)
    x = x if x.stride(-1) == 1 else x.contiguous()
    positions, cos, sin = positions.contiguous(), cos.contiguous(), sin.contiguous()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if out.numel():
        rotary_kernel[(batches * tokens * heads,)](
            x, out, positions, cos, sin, tokens, heads, *x.stride()[:3], *out.stride()[:3], cos.stride(0),
            HALF=D // 2, BLOCK=triton.next_power_of_2(D // 2),
        )  # fmt: skip
    return out


def reference(x, positions, cos, sin):
    half = x.shape[-1] // 2
    c, s = cos[positions][None, :, None], sin[positions][None, :, None]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * c - second * s, second * c + first * s], -1)


if __name__ == "__main__":
    x = torch.randn(2, 6, 3, 32, device="cuda")
    angles = torch.randn(40, 16, device="cuda")
    where = torch.arange(6, device="cuda")
    cos, sin = angles.cos(), angles.sin()
    assert torch.allclose(rotary(x, where, cos, sin), reference(x, where, cos, sin), atol=1e-5)
