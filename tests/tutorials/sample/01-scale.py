"""A script as Triton's tutorials are: checks a kernel, tunes it, measures it, all of it on device="cuda"."""

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.autotune(configs=[triton.Config({"BLOCK": 2**i}) for i in range(6, 9)], key=["n"])
@triton.jit
def scale_kernel(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


def scale(x, factor=3.0):
    out = torch.empty_like(x)
    scale_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), factor)
    return out


@triton.jit
def first_elements_kernel(addresses, out):
    address = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.program_id(0), tl.load(address))


if __name__ == "__main__":
    x = torch.rand(100_000, device="cuda")
    assert x.is_cuda and x.device == DEVICE
    matches = torch.equal(scale(x), x * 3)
    print("✅ Triton and Torch match" if matches else "❌ Triton and Torch differ")
    tensors = [torch.rand(100, device="cuda") for _ in range(3)]  # the kernel finds their addresses in memory
    firsts = torch.empty(3, device="cuda")
    first_elements_kernel[(3,)](torch.tensor([t.data_ptr() for t in tensors], device="cuda"), firsts)
    assert torch.equal(firsts, torch.stack(tensors)[:, 0])
    large = torch.rand(1 << 27, device="cuda")
    print(f"do_bench: {triton.testing.do_bench(lambda: scale(large)):.3f} ms")
    print(f"do_bench_cudagraph: {triton.testing.do_bench_cudagraph(lambda: scale(large)):.3f} ms")
    gradient = torch.randn(1000, 512, device="cuda", dtype=torch.float16)
    bias = torch.zeros(512, device="cuda", dtype=torch.float16, requires_grad=True)
    weight = torch.ones(512, device="cuda", dtype=torch.float16, requires_grad=True)
    torch.nn.functional.layer_norm(torch.randn_like(gradient), (512,), weight, bias).backward(gradient)
    off = (bias.grad.double() - gradient.double().sum(0)).abs().max().item()
    print(f"The maximum difference between a sum in f64 and torch's in f16 is {off}")
    assert off < 0.04, off  # an f16 of 64 to 128 is rounded by 0.03 at most
