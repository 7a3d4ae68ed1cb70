"""Two streams that touch one array, by the CUDA driver API alone: the second does not wait for the first.

triton-runner cuda --check race examples/cuda/streams.py
"""

import ctypes
import sys

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry increase(.param .u64 x)
{
 .reg .b32 %r<3>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x];
 mov.u32 %r1, %tid.x;
 mul.wide.u32 %rd2, %r1, 4;
 add.s64 %rd3, %rd1, %rd2;
 ld.global.u32 %r2, [%rd3];
 add.u32 %r2, %r2, 1;
 st.global.u32 [%rd3], %r2;
 ret;
}
"""
cuda = ctypes.CDLL("libcuda.so.1")


def call(name: str, *words) -> None:
    if error := getattr(cuda, name)(*words):
        sys.exit(f"{name}: error {error}")


context, module, kernel, x, event = (ctypes.c_void_p() for _ in range(5))
first, second = ctypes.c_void_p(), ctypes.c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuModuleGetFunction", ctypes.byref(kernel), module, b"increase")
call("cuMemAlloc_v2", ctypes.byref(x), ctypes.c_size_t(128))
call("cuMemsetD32_v2", x, 0, ctypes.c_size_t(32))
call("cuEventCreate", ctypes.byref(event), 0)
for stream in (first, second):
    call("cuStreamCreate", ctypes.byref(stream), 0)

params = (ctypes.c_void_p * 1)(ctypes.addressof(x))
call("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, first, params, None)
call("cuEventRecord", event, first)
if sys.argv[1:] == ["wait"]:
    call("cuStreamWaitEvent", second, event, 0)
call("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, second, params, None)
call("cuCtxSynchronize")

values = (ctypes.c_int * 32)()
call("cuMemcpyDtoH_v2", values, x, ctypes.c_size_t(128))
print("right" if list(values) == [2] * 32 else "wrong")
