"""Has a program of the CUDA driver API, by ctypes alone, whose kernel reads `__constant__` variables at
constant, indexed and generic addresses and by a pointer: what the text gives them, then what the program
writes. Its words: the module, PTX or a cubin; whether a second stream writes them without waiting."""

import ctypes
import sys

import numpy as np

THREADS, SUM = 32, 10.0 + 20.0


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        def call(*words):
            if error := getattr(self.library, name)(*words):
                sys.exit(f"{name}: error {error}")

        return call


def right(factors: np.ndarray) -> np.ndarray:
    i = np.arange(THREADS)
    return factors[1] + factors[i % 4] + factors[(i + 1) % 4] + np.float32(SUM)


def main(path: str, is_racing: bool) -> None:
    cuda = Driver()
    context, module, function, out, at, stream = (ctypes.c_void_p() for _ in range(6))
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    cuda.cuModuleLoad(ctypes.byref(module), path.encode())
    cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k")
    cuda.cuMemAlloc_v2(ctypes.byref(out), ctypes.c_size_t(4 * THREADS))
    size = ctypes.c_size_t()
    cuda.cuModuleGetGlobal_v2(ctypes.byref(at), ctypes.byref(size), module, b"factors")
    assert size.value == 16

    def launched() -> np.ndarray:
        params = (ctypes.c_void_p * 1)(ctypes.addressof(out))
        cuda.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, None, params, None)
        values = np.zeros(THREADS, np.float32)
        cuda.cuMemcpyDtoH_v2(values.ctypes.data_as(ctypes.c_void_p), out, ctypes.c_size_t(4 * THREADS))
        return values

    factors = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(launched(), right(factors))
    factors = factors * 100
    pointer = factors.ctypes.data_as(ctypes.c_void_p)
    if is_racing:
        cuda.cuStreamCreate(ctypes.byref(stream), 1)
        params = (ctypes.c_void_p * 1)(ctypes.addressof(out))
        cuda.cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, stream, params, None)
        cuda.cuMemsetD32Async(at, 0, ctypes.c_size_t(4), None)
    cuda.cuMemcpyHtoD_v2(at, pointer, ctypes.c_size_t(16))
    np.testing.assert_array_equal(launched(), right(factors))
    cuda.cuModuleUnload(module)
    if cuda.library.cuMemcpyHtoD_v2(at, pointer, ctypes.c_size_t(16)) == 0:
        sys.exit("the variables outlive their module")
    print("right")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "1")
