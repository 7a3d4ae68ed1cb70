"""Python's and our own part of a launch on a GPU, with no GPU: a driver that does nothing
(tests/gpu/fake_cuda.cpp, fake_hip.cpp), and torch's own tensors, which say that they lie on a GPU.

    python benchmark/launch_share.py [--hip] [--rounds 60] [--json]

Nanoseconds of CPU time a launch, the least of all bursts (and their median), in turn: triton_runner.jit
without arguments and with 19, Triton's own jit and CompiledKernel.run, and CUDA's call from C++.
"""

import argparse
import ctypes
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "python" / "helpers"), str(ROOT / "tests" / "gpu")]
import fake_build  # noqa: E402

LAUNCHES = 400
NUMBERS = (7, 100, 13, 1000, 10, 100, 20, 200, 30)
CONSTANTS = dict.fromkeys("ABCDE", 32)
TABLE = b"dlpack_exchange_api"
IS_HIP = os.environ.get("TRITON_RUNNER_DEVICE") == "hip"


def mark_tensors(library: str) -> None:
    """From here on torch's tensors say that they are on the GPU."""
    import torch

    get, new = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_New
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    on_gpu = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL).on_gpu
    on_gpu.restype, on_gpu.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int32]
    table = on_gpu(get(torch.Tensor.__dlpack_c_exchange_api__, TABLE), 10 if IS_HIP else 2)
    import fake_gpu  # noqa: F401  it takes the table away, and this gives another

    torch.Tensor.__dlpack_c_exchange_api__ = new(table, TABLE, None)


def measured(rounds: int, folder: str) -> dict:
    """{way: nanoseconds of each burst}."""
    mark_tensors(f"{folder}/gpu_tensors.so")
    import launch_latency as gpu
    import torch
    import triton_runner

    tensors = [torch.zeros(1024) for _ in range(5)]
    args, one = (*tensors, *NUMBERS), (1,)
    none, many = triton_runner.jit(gpu.empty.fn), triton_runner.jit(gpu.empty_19.fn)
    kernel = gpu.empty_19[one](*args, **CONSTANTS)
    run_args = (1, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, *args)
    ways = {
        "triton_runner.jit, no argument": gpu.written(none, one, (), {"BLOCK": 32}),
        "triton_runner.jit, 19 arguments": gpu.written(many, one, args, CONSTANTS),
        "triton.jit, 19 arguments": gpu.written(gpu.empty_19, one, args, CONSTANTS),
        "CompiledKernel.run, 19 arguments": gpu.written(
            kernel.run, None, (*run_args, *CONSTANTS.values()), {}
        ),
    }
    for way in ways.values():
        for _ in range(5):
            way()
    if not IS_HIP:
        words = [tensor.data_ptr() for tensor in tensors] + [*NUMBERS, 0, 0]
        packed = (ctypes.c_uint64 * len(words))(*words)
        burst = gpu.raw_library(pathlib.Path(folder))
    taken: dict = {name: [] for name in (*ways, *(() if IS_HIP else ("cuLaunchKernelEx from C++",)))}
    gc.disable()
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time_ns()
            for _ in range(LAUNCHES):
                way()
            taken[name].append((time.process_time_ns() - start) / LAUNCHES)
        if IS_HIP:
            continue
        start = time.process_time_ns()
        burst(ctypes.c_void_p(kernel.function), packed, len(words), 128, None, LAUNCHES)
        taken["cuLaunchKernelEx from C++"].append((time.process_time_ns() - start) / LAUNCHES)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--hip", action="store_true", help="AMD's driver and launchers")
    options = parser.parse_args()
    if "LAUNCH_SHARE" in os.environ:  # the process that has the driver
        for name, values in (taken := measured(options.rounds, os.environ["LAUNCH_SHARE"])).items():
            if not options.json:
                print(f"{name:<34} {min(values):7.0f} ({statistics.median(values):.0f}) ns")
        if options.json:
            print(json.dumps(taken))
        return
    with tempfile.TemporaryDirectory() as folder:
        fake, library = ("fake_hip", "libamdhip64.so") if options.hip else ("fake_cuda", "libcuda.so.1")
        fake_build.build(fake, pathlib.Path(folder, library), "-O2")
        fake_build.build("gpu_tensors", pathlib.Path(folder, "gpu_tensors.so"), "-O2")
        environment = {
            **os.environ, "LAUNCH_SHARE": folder, "LD_LIBRARY_PATH": folder, "TRITON_LIBCUDA_PATH": folder,
            "TRITON_LIBHIP_PATH": f"{folder}/libamdhip64.so", "FAKE_HIP_QUIET": "1", "FAKE_CUDA_QUIET": "1",
            "TRITON_RUNNER_DEVICE": "hip" if options.hip else "cuda", "TRITON_RUNNER_PROD": "1",
            "TRITON_DEFAULT_FP_FUSION": "1", "TRITON_CACHE_DIR": f"{folder}/cache",
        }  # fmt: skip
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=environment).returncode)


if __name__ == "__main__":
    main()
