"""Lockstep of the CPU engine and the GPU at TTGIR, value by value: kernels that are right agree (with names
that sibling regions share, and loops that wait), a constant that was changed in one text is pinned to its op.
Exit status 1 if not.

    TRITON_RUNNER_DEVICE=cuda python tests/gpu/dump_lockstep.py
"""

import re
import sys
from pathlib import Path

import torch
import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import kernels_for_names
import test_lockstep as lockstep_tests
from kernels import dumped


def on_gpu(arguments):
    return [a.cuda() if hasattr(a, "cuda") else a for a in arguments]


def run(kernel, arguments, constexprs, grid, **options):
    return triton_runner.lockstep(
        kernel, arguments, constexprs, grid=grid, levels=["ttir", "ttgir"], devices=["cpu", "cuda"], **options
    )


def main() -> int:
    failed = 0
    x, y, out = torch.randn(1000).cuda(), torch.randn(1000).cuda(), torch.zeros(1000).cuda()
    launches = {
        "vector add": (dumped.add_kernel, [x, y, out, 1000], {"BLOCK": 256}, (4,)),
        "matmul": (lockstep_tests.matmul, on_gpu(lockstep_tests.arguments()), lockstep_tests.BLOCKS, (2, 2)),
    }
    for one in (*kernels_for_names.SHARED, *kernels_for_names.WAITING):
        given, grid = on_gpu(kernels_for_names.arguments(one)), kernels_for_names.grid(one)
        launches[one.__name__] = (one, given, {"N": kernels_for_names.N}, grid)
    for name, launch in launches.items():
        found = run(*launch)
        print(f"== {name}\n{found}", flush=True)
        failed += found.diverged is not None or found.compared["ttgir and cuda"] < 8
    kernel, arguments, constexprs, grid = launches["matmul"]
    from triton_runner._launch import gpu_driver

    with triton_runner.using(device="cpu", level="ttgir", target=gpu_driver.current_target()):
        cpu = [a.cpu() if hasattr(a, "cpu") else a for a in arguments]
        text = kernel[grid](*cpu, **constexprs).asm["ttgir"]
    bad, count = re.subn("dense<5.000000e-01>", "dense<5.100000e-01>", text)
    found = run(kernel, arguments, constexprs, grid, sources={"cuda": bad})
    print(f"== matmul with another constant on the GPU\n{found}", flush=True)
    failed += count != 1 or found.diverged is None or found.diverged.op != "arith.constant"
    print("failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
