"""The occupancy that triton_runner.resources computes, against the driver's own, on this machine's GPU.

    python tests/gpu/check_occupancy.py          exit status 1 if one differs

Kernels that need more and more registers are asked about with several block sizes and amounts of shared
memory.
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

import torch
from triton_runner import _core
from triton_runner._base import tools

PTX = """.version 8.0
.target sm_{sm}
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 p)
{{
  .reg .f32 %f<256>; .reg .b64 %rd<4>; .reg .b32 %r<2>; .reg .b64 %a;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
{loads}
  bar.sync 0;
{stores}
  ret;
}}
"""


def main() -> int:
    major, minor = torch.cuda.get_device_capability()
    torch.zeros(1, device="cuda")  # makes the context
    cuda = ctypes.CDLL("libcuda.so.1")
    different = asked = 0
    with tempfile.TemporaryDirectory() as folder:
        for values in (4, 20, 30, 37, 52, 66, 90, 120, 150, 180, 215):
            loads = "\n".join(f"  ld.volatile.global.f32 %f{i}, [%rd3+{i * 4096}];" for i in range(values))
            stores = "\n".join(f"  st.volatile.global.f32 [%rd3+{i * 4096}], %f{i};" for i in range(values))
            path = pathlib.Path(folder) / "k.ptx"
            path.write_text(PTX.format(sm=major * 10 + minor, loads=loads, stores=stores))
            ptxas = tools.toolkit("ptxas")
            cubin = path.with_suffix(".cubin")
            subprocess.run([ptxas, f"--gpu-name=sm_{major * 10 + minor}", path, "-o", cubin], check=True)
            told = _core.artifact.describe(cubin.read_bytes(), "cubin")
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            assert cuda.cuModuleLoad(ctypes.byref(module), str(cubin).encode()) == 0
            assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
            assert cuda.cuFuncSetAttribute(function, 8, 227 * 1024) == 0
            for threads in (32, 64, 96, 128, 160, 256, 288, 384, 512, 1024):
                for shared in (0, 1, 3000, 16384, 40000, 65536, 99000, 114688, 115712, 200000):
                    blocks = ctypes.c_int()
                    error = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                        ctypes.byref(blocks), function, threads, ctypes.c_size_t(shared)
                    )
                    assert error == 0, error
                    try:
                        target = f"cuda:{major * 10 + minor}"
                        ours = _core.artifact.occupancy(target, threads, told["n_regs"], shared)["blocks"]
                    except ValueError:
                        ours = 0
                    asked += 1
                    if ours != blocks.value:
                        different += 1
                        print(f"{told['n_regs']} registers, {threads} threads, {shared} bytes: "
                              f"{ours}, the driver says {blocks.value}")  # fmt: skip
    print(f"{asked} occupancies asked of the driver, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
