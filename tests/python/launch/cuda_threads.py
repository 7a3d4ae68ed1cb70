"""Has a program of the CUDA driver API with eight threads, each of which has a stream and an array of its
own. It says its process id and, with the word "wait", waits for ever after its launches."""

import ctypes
import os
import sys
import threading
import time

from cuda_calls import PTX, N


def main() -> None:
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function = (ctypes.c_void_p() for _ in range(3))

    def call(name: str, *words) -> None:
        assert getattr(cuda, name)(*words) == 0, name

    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(function), module, b"twice")
    right = []

    def work(number: int) -> None:
        call("cuCtxSetCurrent", context)
        stream, address, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int(N)
        call("cuStreamCreate", ctypes.byref(stream), 1)
        call("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(4 * N), stream)
        values = (ctypes.c_float * N)(*range(number, number + N))
        call("cuMemcpyHtoDAsync_v2", address, values, ctypes.c_size_t(4 * N), stream)
        params = (ctypes.c_void_p * 2)(ctypes.addressof(address), ctypes.addressof(count))
        for _ in range(3):
            call("cuLaunchKernel", function, 4, 1, 1, 32, 1, 1, 0, stream, params, None)
        call("cuMemcpyDtoHAsync_v2", values, address, ctypes.c_size_t(4 * N), stream)
        call("cuStreamSynchronize", stream)
        right.append(list(values) == [8.0 * (i + number) for i in range(N)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 8
    print(os.getpid(), flush=True)
    while sys.argv[1:] == ["wait"]:
        time.sleep(1)


if __name__ == "__main__":
    main()
