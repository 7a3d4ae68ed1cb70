"""The Gluon examples share these: tensors of whole numbers, whose sums are exact in any order, descriptors,
and a function that runs an example at a level and compares."""

import argparse
import sys

import torch
import triton_runner
from triton.experimental.gluon import language as gl
from triton_runner import gluon

ELEMENTS = {torch.float16: gl.float16, torch.float32: gl.float32}


def whole(*shape, dtype=torch.float16):
    """Whole numbers from -4 to 4."""
    values = torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(0))
    return values.to(dtype).to("cuda" if torch.cuda.is_available() else "cpu")


def described(tensor, block):
    """A TMA descriptor of a tensor, for blocks of a shape."""
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    layout = gl.NVMMASharedLayout.get_default_for(block, ELEMENTS[tensor.dtype])
    return TensorDescriptor.from_tensor(tensor, block, layout)


@gluon.jit
def tile_offsets(M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    """The offsets of a row-major tile."""
    rows = gl.arange(0, M, gl.SliceLayout(1, layout))[:, None]
    return rows * N + gl.arange(0, N, gl.SliceLayout(0, layout))[None, :]


def main(run, target: str) -> None:
    """Runs an example, `run()`, which gives (result, expected); exits: 0 equal, 1 not.

    --level: "ttgir", "ptx" or "cubin" on the CPU; by default the GPU if there is one, else TTGIR.
    """
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--level", choices=("ttgir", "ptx", "cubin"))
    level = parser.parse_args().level
    if level or not torch.cuda.is_available():
        with triton_runner.using(device="cpu", target=target, level=level or "ttgir"):
            result, expected = run()
        where = f"{level or 'ttgir'} for {target} on the CPU"
    else:
        result, expected = run()
        where = torch.cuda.get_device_name()
    difference = (result.double() - expected.double()).abs().max().item()
    print(f"{where}: largest difference {difference}")
    sys.exit(difference != 0)
