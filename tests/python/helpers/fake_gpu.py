"""A program's front on tests/gpu/fake_cuda.cpp, or on fake_hip.cpp where TRITON_RUNNER_DEVICE is hip: torch
without a GPU answers as if it had one, Triton's own driver and launchers run, and tensors are objects with
addresses."""

import ctypes
import os

import torch
import triton  # noqa: F401
import triton_runner

STREAM = {0: 0, 1: 0}  # of each device, as torch would say
BACKEND = os.environ.get("TRITON_RUNNER_DEVICE", "cuda")
IS_HIP = BACKEND == "hip"
_get_device = (
    ctypes.CDLL("libamdhip64.so").hipGetDevice if IS_HIP else ctypes.CDLL("libcuda.so.1").cuCtxGetDevice
)


def current_device() -> int:
    number = ctypes.c_int(0)
    return number.value if _get_device(ctypes.byref(number)) == 0 else 0


def set_device(number: int) -> None:
    triton_runner._core.device.driver(BACKEND).use_device(number)


torch.Tensor.__dlpack_c_exchange_api__ = None  # its streams are those of a torch without CUDA
torch.cuda.is_available = lambda: True
torch.cuda.current_device = current_device
torch.cuda.set_device = set_device
torch.cuda.get_device_capability = lambda device=None: (9, 4) if IS_HIP else (9, 0)
if IS_HIP:
    torch.version.hip = "6.3.42134"
torch._C._cuda_getCurrentRawStream = lambda device: STREAM[device]
torch.cuda.current_stream = lambda device=None: type("Stream", (), {"cuda_stream": STREAM[device or 0]})


class Pointer:
    """An object that Triton takes as a pointer, and nothing else."""

    def __init__(self, address: int, dtype=torch.float32):
        self.address, self.dtype = address, dtype

    def data_ptr(self) -> int:
        return self.address


class _DlTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)] + [
        (name, ctypes.c_void_p)
        for name in ("previous", "allocate", "from_object", "to_object", "borrow", "stream")
    ]


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_DlTensor))
def _borrow(tensor, out):
    out[0] = _DlTensor(
        tensor.address, 10 if IS_HIP else 2, tensor.place, 0, 2, 8 * tensor.dtype.itemsize, 1, None, None, 0
    )
    return 0


_NAME = b"dlpack_exchange_api"  # a capsule keeps the address of its name
_table = _Exchange(1, 0, borrow=ctypes.cast(_borrow, ctypes.c_void_p).value)
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(Pointer):
    """A tensor on a GPU that DLPack's exchange table tells of, as torch's do from 2.11 on."""

    __dlpack_c_exchange_api__ = _capsule(ctypes.addressof(_table), _NAME, None)
    untyped_storage = None

    def __init__(self, address: int, dtype=torch.float32, place: int = 0):
        super().__init__(address, dtype)
        self.place = place


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
