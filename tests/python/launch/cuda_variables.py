"""Has a program of the CUDA driver API, by ctypes alone: x = x * factor + shift[2], variables of the module.
Its words: how many elements beyond the end it takes too; `pointer`, where a variable is to hold the address
of x, `unset`, where none is written; and a file of machine code to load instead of PTX."""

import ctypes
import pathlib
import sys

KERNEL = "_ZN4math5scaleEPfi"  # math::scale(float*, int)
PTX = f"""
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .f32 factor;
.const .align 4 .b8 shift[12];
.global .align 8 .u64 place = factor;
.global .align 8 .u64 table[2];
.file 1 "scale.cu"
.visible .entry {KERNEL}(.param .u64 {KERNEL}_param_0, .param .u32 {KERNEL}_param_1)
{{
 .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
 ld.param.u64 %rd1,[{KERNEL}_param_0]; ld.param.u32 %r1,[{KERNEL}_param_1];
 mov.u32 %r5,%tid.x;
 setp.ge.s32 %p1,%r5,%r1; @%p1 ret;
 ld.global.u64 %rd4,[place]; ld.global.u64 %rd5,[table];
 ld.global.f32 %f2,[%rd4]; ld.const.f32 %f3,[shift+8];
 mul.wide.s32 %rd2,%r5,4; add.s64 %rd3,%rd1,%rd2; add.s64 %rd3,%rd3,%rd5;
 ld.global.f32 %f1,[%rd3]; fma.rn.f32 %f1,%f1,%f2,%f3; st.global.f32 [%rd3],%f1;
 ret;
}}
"""
N = 100


def main(surplus: int, word: str, image: bytes) -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function, address = (ctypes.c_void_p() for _ in range(4))

    def call(name: str, *words) -> None:
        if error := getattr(cuda, name)(*words):
            sys.exit(f"{name}: {error}")

    def put(name: bytes, offset: int, value) -> None:
        place, size = ctypes.c_void_p(), ctypes.c_size_t()
        call("cuModuleGetGlobal_v2", ctypes.byref(place), ctypes.byref(size), module, name)
        to = ctypes.c_void_p(place.value + offset)
        call("cuMemcpyHtoD_v2", to, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), image)
    call("cuModuleGetFunction", ctypes.byref(function), module, KERNEL.encode())
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(4 * N))
    if word != "unset":
        put(b"factor", 0, ctypes.c_float(3))
        put(b"shift", 8, ctypes.c_float(5))
    if word == "pointer":
        put(b"table", 8, ctypes.c_uint64(address.value))
    values = (ctypes.c_float * N)(*range(N))
    call("cuMemcpyHtoD_v2", address, values, ctypes.c_size_t(4 * N))
    count = ctypes.c_int(N + surplus)
    params = (ctypes.c_void_p * 2)(ctypes.addressof(address), ctypes.addressof(count))
    call("cuLaunchKernel", function, 1, 1, 1, 128, 1, 1, 0, None, params, None)
    put(b"factor", 0, ctypes.c_float(0))  # after the launch
    call("cuMemcpyDtoH_v2", values, address, ctypes.c_size_t(4 * N))
    assert list(values) == [3.0 * i + 5 for i in range(N)], list(values)
    print("right")


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        sys.argv[2],
        pathlib.Path(sys.argv[3]).read_bytes() if sys.argv[3:] else PTX.encode(),
    )
