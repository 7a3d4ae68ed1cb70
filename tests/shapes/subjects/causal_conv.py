"""A causal convolution over the time of each channel: [B, C, T] with [C, 4]."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(
    x, w, bias, out, channels, times, xb, xc, xt, ob, oc, BLOCK: tl.constexpr, WIDTH: tl.constexpr
):
    batch, channel = tl.program_id(0) // channels, tl.program_id(0) % channels
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32) + tl.load(bias + channel).to(tl.float32)
    for tap in tl.static_range(WIDTH):
        time = at - (WIDTH - 1) + tap
        here = (time >= 0) & (time < times)
        value = tl.load(x + batch * xb + channel * xc + time * xt, here, other=0.0).to(tl.float32)
        total += value * tl.load(w + channel * WIDTH + tap).to(tl.float32)
    tl.store(out + batch * ob + channel * oc + at, total, at < times)


def causal_conv(x, w, bias):
    batches, channels, times = x.shape
    assert w.shape == (channels, 4) and bias.shape == (channels,)
    w, bias = w.contiguous(), bias.contiguous()
    out = torch.empty((batches, channels, times), dtype=x.dtype, device=x.device)
    if out.numel():
        grid = (batches * channels, triton.cdiv(times, 32))
        conv_kernel[grid](
            x, w, bias, out, channels, times, *x.stride(), out.stride(0), out.stride(1), BLOCK=32, WIDTH=4
        )
    return out


def reference(x, w, bias):
    padded = torch.nn.functional.pad(x, (3, 0))
    return torch.nn.functional.conv1d(padded, w[:, None], bias, groups=x.shape[1])


if __name__ == "__main__":
    x = torch.randn(2, 6, 64, device="cuda")
    w, bias = torch.randn(6, 4, device="cuda"), torch.randn(6, device="cuda")
    assert torch.allclose(causal_conv(x, w, bias), reference(x, w, bias), atol=1e-4)
