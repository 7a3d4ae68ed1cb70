"""The sums of program 3 of a vector addition, by their name in the TTGIR."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

device = harness.Device()
debug_tensor = device.zeros(1024)
x, y = dumped.vector_add(
    device,
    ttgir_dir=triton_runner.get_file_dir(__file__),
    debug_tensor=debug_tensor,
    debug_value="%13",
    dump_grid=3,
)
harness.compare_dump(device, debug_tensor, (x + y)[3 * 1024 : 4 * 1024])
