"""Tempts levels, inf: conversions to fp8 and back, of numbers within its range, rounded as torch rounds."""

import torch
import triton
import triton.language as tl


@triton.jit
def there_and_back(x, codes, out, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    code = tl.load(x + at).to(tl.float8e4nv)
    tl.store(codes + at, code)
    tl.store(out + at, code.to(tl.float32))


torch.manual_seed(0)
x = (torch.randn(256) * 40).clamp(-448, 448)
codes, out = torch.empty(256, dtype=torch.float8_e4m3fn), torch.empty(256)
there_and_back[(2,)](x, codes, out, B=128)
expected = x.to(torch.float8_e4m3fn)
assert torch.equal(codes.view(torch.uint8), expected.view(torch.uint8))
assert torch.equal(out, expected.float())
