"""Runs a program of the CUDA driver API with eight streams and an array for each. Its word says what it does:

- none: each stream is a thread's; `streams`: one thread has them all, and their work mixes;
- `wait`: it prints its process id after its launches and waits for ever;
- `spin`: it prints its process id and launches a kernel that does not end; `spin-thread`: in another thread.
"""

import ctypes
import os
import sys
import threading
import time

from cuda_calls import PTX, N

FOREVER = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry forever(.param .u64 x)
{
 .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
 ld.param.u64 %rd1,[x];
again:
 ld.volatile.global.u32 %r1,[%rd1]; setp.ne.u32 %p1,%r1,1;
 @%p1 bra again;
 ret;
}
"""


def main(word: str) -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()

    def call(name: str, *words) -> None:
        assert getattr(cuda, name)(*words) == 0, name

    def function(text: bytes, name: bytes) -> ctypes.c_void_p:
        module, found = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), text)
        call("cuModuleGetFunction", ctypes.byref(found), module, name)
        return found

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    twice = function(PTX, b"twice")
    right = []

    def work(number: int):
        """Pauses after each call, for others of the same thread to make theirs."""
        call("cuCtxSetCurrent", context)
        stream, address, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(N)
        call("cuStreamCreate", ctypes.byref(stream), 1)
        call("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(4 * N), stream)
        values = (ctypes.c_float * N)(*range(number, number + N))
        yield call("cuMemcpyHtoDAsync_v2", address, values, ctypes.c_size_t(4 * N), stream)
        params = (ctypes.c_void_p * 2)(ctypes.addressof(address), ctypes.addressof(count))
        for _ in range(3):
            yield call("cuLaunchKernel", twice, 4, 1, 1, 32, 1, 1, 0, stream, params, None)
        yield call("cuMemcpyDtoHAsync_v2", values, address, ctypes.c_size_t(4 * N), stream)
        call("cuStreamSynchronize", stream)
        right.append(list(values) == [8.0 * (i + number) for i in range(N)])

    if word == "streams":
        streams = [work(number) for number in range(8)]
        while streams:
            streams = [stream for stream in streams if next(stream, stream) is not stream]
    else:
        threads = [threading.Thread(target=lambda n=n: list(work(n))) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert right == [True] * 8
    print(os.getpid(), flush=True)
    if word.startswith("spin"):
        pinned = ctypes.c_void_p()
        call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(4096), 0)
        ctypes.memset(pinned, 0, 4096)
        params = (ctypes.c_void_p * 1)(ctypes.addressof(pinned))

        def spin():
            call("cuCtxSetCurrent", context)
            call("cuLaunchKernel", function(FOREVER, b"forever"), 200, 1, 1, 32, 1, 1, 0, None, params, None)

        if word == "spin":
            spin()
        else:
            thread = threading.Thread(target=spin)
            thread.start()
            thread.join()
    while word == "wait":
        time.sleep(1)


if __name__ == "__main__":
    main("".join(sys.argv[1:]))
