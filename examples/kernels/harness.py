"""All examples share these: tensors on the device at hand, the comparison, and the exit status.

Tensors are torch's where torch is installed (on the GPU if there is one), else NumPy arrays.
"""

import os
import sys

import numpy as np

try:
    import torch
except ImportError:
    torch = None
import triton_runner


class Array(np.ndarray):
    """A NumPy array with the `data_ptr()` that Triton's TensorDescriptor asks of a tensor."""

    def data_ptr(self):
        return self.ctypes.data

    def stride(self):
        return tuple(step // self.itemsize for step in self.strides)


class Device:
    """The place of an example's tensors: `xp` is torch or numpy, `on_gpu` tells where kernels run."""

    def __init__(self):
        wanted = os.environ.get("TRITON_RUNNER_DEVICE", "auto")
        self.xp = torch or np
        self.on_gpu = wanted != "cpu" and torch is not None and torch.cuda.is_available()
        self.name = "Torch" if torch else "NumPy"
        self.random = np.random.default_rng(0)

    def array(self, values):
        """`values`, a NumPy array, as a tensor on this device."""
        if torch:
            return torch.from_numpy(np.ascontiguousarray(values)).to("cuda" if self.on_gpu else "cpu")
        # Triton takes a pointer for aligned to 16 bytes if it is: torch's are to 64, so are these.
        room = np.empty(values.nbytes + 64, np.uint8)
        start = -room.ctypes.data % 64
        out = room[start : start + values.nbytes].view(values.dtype).reshape(values.shape).view(Array)
        out[...] = values
        return out

    def normal(self, *shape, dtype="float32"):
        return self.array(self.random.standard_normal(shape).astype(dtype))

    def zeros(self, *shape, dtype="float32"):
        return self.array(np.zeros(shape, dtype))

    def let_kernels_find(self, tensors):
        """The CPU follows an address that a kernel reads from memory only into tensors that it knows."""
        if not self.on_gpu:
            for tensor in tensors:
                triton_runner.register_memory(tensor.data_ptr(), tensor.nbytes)

    def host(self, tensor):
        """The values in float64 on the CPU, for a reference computed with `xp`."""
        return tensor.cpu().double() if torch else np.asarray(tensor, np.float64)


def compare_dump(device, dump, expected, tolerance=0.0):
    """Prints what a launch dumped and how far it lies from the reference; exits: 0 match, 1 mismatch."""
    print(f"debug {dump}")
    difference = float(abs(device.host(dump) - device.host(expected)).max())
    print(f"The maximum difference between {device.name.lower()} and dump is {difference}")
    matched = difference <= tolerance  # also false for NaN
    print(f"✅ Triton and {device.name} match" if matched else f"❌ Triton and {device.name} differ")
    sys.exit(not matched)


def main(kernel, **level):
    """Runs `kernel.run` at `level`, compares, and exits: 0 match, 1 mismatch."""
    device = Device()
    matched = True
    for name, got, expected, tolerance in kernel.run(device, **level):
        difference = float(abs(device.host(got) - expected).max())
        matched &= difference <= tolerance  # also false for NaN
        print(f"{name}: max difference {difference:.3g} (at most {tolerance:g})")
    print(f"✅ Triton and {device.name} match" if matched else f"❌ Triton and {device.name} differ")
    sys.exit(not matched)
