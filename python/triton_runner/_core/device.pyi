"""GPU drivers, opened on demand, and kernels loaded on them."""

from collections.abc import Sequence

import triton_runner._core


class GpuKernel(triton_runner._core.Kernel):
    """
    A kernel loaded on a GPU. Launches return when they are queued on options.stream.
    """

    @property
    def n_regs(self) -> int:
        """Registers a thread."""

    @property
    def n_spills(self) -> int:
        """Local memory a thread, in 4-byte words."""

    @property
    def static_shared(self) -> int:
        """Bytes."""

    @property
    def max_threads(self) -> int:
        """Threads that a block may have."""

    @property
    def shared(self) -> int:
        """Dynamic shared memory that it is launched with, in bytes."""

    @property
    def device(self) -> int: ...

    @property
    def warnings(self) -> list[str]: ...

class DeviceName:
    @property
    def type(self) -> str: ...

class Memory:
    """
    Bytes on a GPU, freed with the object. read() and write() are of all of them, and wait for the default stream.
    """

    def data_ptr(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def device(self) -> DeviceName:
        """Its type is "cuda", as torch calls AMD's too."""

    def read(self) -> bytes: ...

    def write(self, data: bytes) -> None:
        """Raises ValueError for another number of bytes."""

class Driver:
    """CUDA or HIP."""

    @property
    def backend(self) -> str: ...

    def device_count(self) -> int: ...

    def driver_version(self) -> int: ...

    def current_device(self) -> int: ...

    def expect_launches(self) -> None:
        """
        From here on the thread's device is part of what launches are known by.
        """

    def use_device(self, device: int) -> None: ...

    def properties(self, device: int) -> dict: ...

    def synchronize(self, stream: int = 0) -> None: ...

    def allocate(self, nbytes: int, device: int = -1) -> Memory:
        """Memory of so many bytes on a device (-1: the current one)."""

    def pointer(self, address: int) -> object:
        """
        (device, address on it) of memory that the current device reaches, device -1 for the host's; None for any other.
        """

    def encode_tensor_map(self, address: int, element_type: int, element_bytes: int, swizzle: int, box: Sequence[int], shape: Sequence[int], strides: Sequence[int], nan_fill: bool = False) -> bytes:
        """
        The 128 bytes of a tiled CUtensorMap. Sizes outermost first, strides in elements; element_type and swizzle as CUDA numbers them.
        """

    def load(self, image: bytes, name: str, level: str, params: list, options: dict, device: int = -1) -> GpuKernel:
        """
        Loads cubin, PTX or a code object on a device (-1: the current one). params: (name, kind, type, bits) of what the caller gives, kind one of pointer, integer, float, tensordesc. Options: target, block and cluster (3 numbers each), shared (-1: not known), cooperative, pdl, hidden_pointers, global_scratch_size, global_scratch_align, profile_scratch_size, profile_scratch_align, tensordesc_meta, descriptor_flags.
        """

    def adopt(self, function: int, name: str, level: str, params: list, options: dict, device: int) -> GpuKernel:
        """
        load() of a function that Triton has loaded on the device, and unloads.
        """

def driver(backend: str, library: str = '') -> Driver:
    """
    The process's "cuda" or "hip" driver; opens its library on the first call. Raises DiagnosticError where there is none.
    """
