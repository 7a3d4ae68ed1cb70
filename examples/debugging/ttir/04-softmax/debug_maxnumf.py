"""The running maximum of row 2 of a softmax, by its name in the TTIR: its last iteration."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

device = harness.Device()
debug_tensor = device.zeros(256)
x = dumped.softmax(
    device,
    ttir_dir=triton_runner.get_file_dir(__file__),
    debug_tensor=debug_tensor,
    debug_value="%13",
    dump_grid=2,
)
row = device.host(x)[2]
expected = device.host(device.zeros(256))
for lane in range(256):
    expected[lane] = row[lane::256].max()
harness.compare_dump(device, debug_tensor, expected)
