"""Calls the kernel of libadd.so (module.cpp) on the CPU, or with a torch that has a GPU on that.

python examples/tvm_ffi/use.py build/tvm/libadd.so
"""

import sys

import torch
import tvm_ffi

add = tvm_ffi.load_module(sys.argv[1]).add
device = "cuda" if torch.cuda.is_available() else "cpu"
x, y = torch.arange(1000.0, device=device), torch.rand(1000, device=device)
out = torch.empty_like(x)
add(x, y, out, 1000)
if not torch.equal(out, x + y):
    sys.exit("the sums are wrong")
print(f"1000 sums on {device}, all right")
