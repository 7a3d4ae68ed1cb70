"""Has a program of the CUDA driver API, by ctypes alone: doubles an array on the device. Its words: how
many elements beyond the end it doubles too, whether a process that it starts does so, whether the array is
never written."""

import ctypes
import subprocess
import sys

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u32 n)
{
 .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .f32 %f<3>;
 .file 1 "twice.cu"
 ld.param.u64 %rd1,[x]; ld.param.u32 %r1,[n];
 mov.u32 %r2,%ctaid.x; mov.u32 %r3,%ntid.x; mov.u32 %r4,%tid.x; mad.lo.s32 %r5,%r2,%r3,%r4;
 setp.ge.s32 %p1,%r5,%r1; @%p1 ret;
 .loc 1 3 5
 mul.wide.s32 %rd2,%r5,4; add.s64 %rd3,%rd1,%rd2; ld.global.f32 %f1,[%rd3]; add.f32 %f2,%f1,%f1;
 .loc 1 4 5
 st.global.f32 [%rd3],%f2;
 ret;
}
"""
N = 100


def main(surplus: int, is_child: bool, is_unwritten: bool) -> None:
    if is_child:
        sys.exit(subprocess.run([sys.executable, __file__, str(surplus), "0", "0"]).returncode)
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function, address = (ctypes.c_void_p() for _ in range(4))

    def call(name: str, *words) -> None:
        if error := getattr(cuda, name)(*words):
            text = ctypes.c_char_p()
            cuda.cuGetErrorName(error, ctypes.byref(text))
            sys.exit(f"{name}: {text.value.decode()}")

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    name = ctypes.create_string_buffer(64)
    call("cuDeviceGetName", name, 64, 0)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"twice")
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * N))
    values = (ctypes.c_float * N)(*range(N))
    if not is_unwritten:
        call("cuMemcpyHtoD_v2", address, values, ctypes.c_size_t(4 * N))
    count = ctypes.c_int(N + surplus)
    params = (ctypes.c_void_p * 2)(ctypes.addressof(address), ctypes.addressof(count))
    call("cuLaunchKernel", function, 4, 1, 1, 32, 1, 1, 0, None, params, None)
    call("cuMemcpyDtoH_v2", values, address, ctypes.c_size_t(4 * N))
    assert list(values) == [2.0 * i for i in range(N)]
    print(f"right on {name.value.decode()}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "1", sys.argv[3] == "1")
