"""The accumulator of program (0, 1) of a matrix product, by its name in the TTGIR."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

device = harness.Device()
debug_tensor = device.zeros(64, 64)
a, b = dumped.matmul(
    device,
    ttgir_dir=triton_runner.get_file_dir(__file__),
    debug_tensor=debug_tensor,
    debug_value="%129",
    dump_grid=(0, 1),
)
expected = device.host(a)[:64] @ device.host(b)[:, 64:128]
harness.compare_dump(device, debug_tensor, expected, tolerance=1e-4)
