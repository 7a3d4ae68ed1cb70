"""Does one launch of a cubin through the CUDA driver, from the files that cuda_gdb.py wrote: this is the
program under the debugger. It imports nothing but the standard library: each library that cuda-gdb sees
loaded takes time, and PyTorch's take a quarter of a minute and more.

    python cuda_gdb_child.py FOLDER

FOLDER/launch.json: the kernel, grid, threads, shared memory, device, the sizes of buffers (FOLDER/buffer0,
...) and the parameters: [number of a buffer, byte offset] or the bytes in hexadecimal.
"""

import ctypes
import json
import sys
from pathlib import Path

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def main(folder: Path) -> None:
    launch = json.loads((folder / "launch.json").read_text())
    driver = ctypes.CDLL("libcuda.so.1")

    def do(name: str, *arguments) -> None:
        status = getattr(driver, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: CUDA error {status}")

    device, context = ctypes.c_int(), ctypes.c_void_p()
    do("cuInit", 0)
    do("cuDeviceGet", ctypes.byref(device), launch["device"])
    do("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    do("cuCtxSetCurrent", context)
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    do("cuModuleLoadData", ctypes.byref(module), (folder / "kernel.cubin").read_bytes())
    do("cuModuleGetFunction", ctypes.byref(function), module, launch["kernel"].encode())
    if launch["shared"]:
        do("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, ctypes.c_int(launch["shared"]))
    buffers = []
    for i, size in enumerate(launch["buffers"]):
        pointer = ctypes.c_uint64()
        do("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(size, 16)))
        if size:
            data = (folder / f"buffer{i}").read_bytes()
            do("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(size))
        buffers.append(pointer.value)
    storage = []
    for parameter in launch["parameters"]:
        if isinstance(parameter, str):
            storage.append(ctypes.create_string_buffer(bytes.fromhex(parameter), len(parameter) // 2))
        else:
            storage.append(ctypes.c_uint64(buffers[parameter[0]] + parameter[1]))
    addresses = (ctypes.c_void_p * len(storage))(*[ctypes.addressof(s) for s in storage])
    do(
        "cuLaunchKernel",
        function,
        *launch["grid"],
        launch["threads"],
        1,
        1,
        launch["shared"],
        None,
        addresses,
        None,
    )
    do("cuCtxSynchronize")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
