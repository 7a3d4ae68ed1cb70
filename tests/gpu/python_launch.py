"""Microseconds a launch from Python: Triton's own JIT beside the ways to launch an artifact. Needs a GPU.

Minimum of 30 bursts of 200 launches of a matmul with 12 arguments and 5 constexprs on one tile.
"""

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
os.environ.setdefault("TRITON_ALWAYS_COMPILE", "0")

import torch
import triton
import triton_runner

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
from kernels import matmul  # noqa: E402

ARTIFACTS = ROOT / "tests" / "corpus" / "3.6.0" / "sm90"


def best(launch) -> float:
    times = []
    for _ in range(30):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            launch()
        times.append((time.perf_counter() - start) / 200 * 1e6)
    return min(times)


def main():
    a, b, c = (torch.zeros(64, 32, device="cuda", dtype=torch.float16) for _ in range(3))
    sizes = (64, 32, 32, 32, 1, 32, 1, 32, 1)
    options = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8, "ACTIVATION": "leaky_relu"}
    options |= {"num_warps": 4, "num_stages": 3}
    plain = triton.jit(matmul.matmul_kernel.fn)
    kernel = matmul.matmul_kernel
    loaded = triton_runner.load(str(ARTIFACTS / "matmul_kernel.cubin"), device="cuda")
    # The artifact was compiled with the strides of 1 folded in.
    kept = (64, 32, 32, 32, 32, 32)
    rows = {
        "triton.jit": lambda: plain[(1,)](a, b, c, *sizes, **options),
        "triton_runner.jit": lambda: kernel[(1,)](a, b, c, *sizes, **options),
        "triton_runner.jit, cubin_dir=": lambda: kernel[(1,)](
            a, b, c, *sizes, **options, cubin_dir=str(ARTIFACTS)
        ),
        "triton_runner.load(...)": lambda: loaded[(1,)](a, b, c, *kept),
    }
    print("| launched by | microseconds |\n|---|---|")
    for name, launch in rows.items():
        launch()
        print(f"| {name} | {best(launch):.1f} |", flush=True)


if __name__ == "__main__":
    main()
