"""Root mean square norm of the rows of [B, T, D], whichever strides the first two dimensions have."""

import torch
import triton
import triton.language as tl


@triton.jit
def rms_kernel(x, w, out, tokens, x_batch, x_token, out_batch, out_token, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    batch, token = row // tokens, row % tokens
    at = tl.arange(0, BLOCK)
    inside = at < D
    value = tl.load(x + batch * x_batch + token * x_token + at, inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / D + eps)
    weight = tl.load(w + at, inside, other=0.0).to(tl.float32)
    tl.store(out + batch * out_batch + token * out_token + at, value * scale * weight, inside)


def rms_norm(x, w, eps=1e-6):
    batches, tokens, D = x.shape
    assert w.shape == (D,) and D > 0, "the weights are of one row"
    if x.stride(-1) != 1:
        x = x.contiguous()
    w = w.contiguous()
    out = torch.empty((batches, tokens, D), dtype=x.dtype, device=x.device)
    if out.numel():
        rms_kernel[(batches * tokens,)](
            x, w, out, tokens, x.stride(0), x.stride(1), out.stride(0), out.stride(1), D, eps,
            BLOCK=triton.next_power_of_2(D),
        )  # fmt: skip
    return out


def reference(x, w, eps=1e-6):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * w


if __name__ == "__main__":
    x, w = torch.randn(3, 5, 64, device="cuda"), torch.rand(64, device="cuda")
    assert torch.allclose(rms_norm(x, w), reference(x, w), atol=1e-4)
