"""Kernels of PTX on a GPU, through libcuda and NumPy alone: no Triton, no build."""

import ctypes

import numpy as np

_LOG_BYTES = 1 << 16
_LOG = (3, 4, 12)  # CU_JIT_INFO_LOG_BUFFER, its size, CU_JIT_LOG_VERBOSE
_LEAST = 1 << 16  # bytes of an array


class CudaError(RuntimeError):
    """The status that a function of libcuda refuses with, by number too."""

    def __init__(self, name: str, status: int, text: str):
        super().__init__(f"{name}: {text}")
        self.name, self.status = name, status


class Cuda:
    """The first GPU."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *args) -> None:
        if status := getattr(self.lib, name)(*args):
            text = ctypes.c_char_p()
            self.lib.cuGetErrorString(status, ctypes.byref(text))
            raise CudaError(name, status, (text.value or b"?").decode())

    def load(self, code: str | bytes):
        """(the module of a PTX text or a cubin, what ptxas says of it)."""
        image, log = ctypes.c_void_p(), ctypes.create_string_buffer(_LOG_BYTES)
        values = (ctypes.c_void_p * 3)(ctypes.addressof(log), _LOG_BYTES, 1)
        content = code if isinstance(code, bytes) else code.encode() + b"\0"
        names = (ctypes.c_int * 3)(*_LOG)
        self.call("cuModuleLoadDataEx", ctypes.byref(image), content, 3, names, values)
        return image, log.value.decode(errors="replace")

    def function(self, image, name: str = "k"):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), image, name.encode())
        return function

    def put(self, array: np.ndarray) -> ctypes.c_uint64:
        """The address of a copy of an array."""
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(array.nbytes, _LEAST)))
        self.call("cuMemcpyHtoD_v2", pointer, _address(array), ctypes.c_size_t(array.nbytes))
        return pointer

    def launch(self, function, grid: int, block: int, *arguments) -> None:
        """Launches on arrays, which get what is there afterwards, and numbers, those of other than 32 bits as
        values of ctypes."""
        arrays = [(a, self.put(a)) for a in arguments if isinstance(a, np.ndarray)]
        pointers = (pointer for _, pointer in arrays)
        passed = [next(pointers) if isinstance(a, np.ndarray) else a for a in arguments]
        passed = [ctypes.c_uint32(a) if isinstance(a, int) else a for a in passed]
        places = (ctypes.c_void_p * len(passed))(*map(ctypes.addressof, passed))
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, None, places, None)
        self.call("cuCtxSynchronize")
        for array, pointer in arrays:
            self.call("cuMemcpyDtoH_v2", _address(array), pointer, ctypes.c_size_t(array.nbytes))
            self.call("cuMemFree_v2", pointer)

    def run(self, text: str, grid: int, block: int, *arguments) -> str:
        """launch() of the kernel k of a PTX text; what ptxas says of it."""
        image, said = self.load(text)
        self.launch(self.function(image), grid, block, *arguments)
        self.call("cuModuleUnload", image)
        return said


def _address(array: np.ndarray):
    return array.ctypes.data_as(ctypes.c_void_p)
