"""A program of cuda-core: NVRTC compiles CUDA C++, and a stream has the copies and the launch.

    pip install cuda-core nvidia-cuda-nvrtc
    triton-runner cuda examples/cuda/axpy.py
"""

import sys

import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

SOURCE = """
template <typename T>
__global__ void axpy(T a, const T* x, T* y, size_t n) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
program = Program(SOURCE, "c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
kernel = program.compile("ptx", name_expressions=("axpy<float>",)).get_kernel("axpy<float>")

n = 1000
pinned = LegacyPinnedMemoryResource().allocate(4 * n)
values = np.from_dlpack(pinned).view(np.float32)
values[:] = np.arange(n)
x, y = (device.memory_resource.allocate(4 * n, stream=stream) for _ in range(2))
x.copy_from(pinned, stream=stream)
y.copy_from(pinned, stream=stream)
launch(stream, LaunchConfig(grid=8, block=128), kernel, np.float32(2), x, y, np.uint64(n))
y.copy_to(pinned, stream=stream)
stream.sync()
is_right = bool((values == 3 * np.arange(n)).all())
print(f"{'right' if is_right else 'wrong'} on {device.name}")
sys.exit(not is_right)
