"""Has arguments of TVM-FFI's C ABI, with tensors on a GPU that there is not."""

import ctypes


class Any(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("padding", ctypes.c_uint32), ("bits", ctypes.c_uint64)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]  # fmt: skip


_kept = []


def gpu_tensor(address: int, elements: int) -> Any:
    """Floats on CUDA's first device."""
    shape = (ctypes.c_int64 * 1)(elements)
    tensor = Tensor(address, 2, 0, 1, 2, 32, 1, ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64)), None, 0)
    _kept.extend((shape, tensor))
    return Any(7, 0, ctypes.addressof(tensor))
