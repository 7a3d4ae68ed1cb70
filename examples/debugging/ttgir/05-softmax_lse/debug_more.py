"""Four values of program 1 of a softmax, one after the other: each row's maximum, the exponentials, their
sums, and the sums' logarithms."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

device = harness.Device()
debug_tensor = device.zeros(16 + 16 * 128 + 16 + 16)
x = dumped.softmax_lse(
    device,
    ttgir_dir=triton_runner.get_file_dir(__file__),
    debug_tensor=debug_tensor,
    debug_value=["%26", "%31", "%32", "%34"],
    dump_grid=1,
)
rows = device.host(x)[16:32]
highest = device.xp.amax(rows, 1)
e = device.host(device.zeros(16, 128))  # columns from 100 on do not exist
e[:, :100] = device.xp.exp(rows - highest[:, None])
sums = e.sum(1)
expected = device.xp.concatenate([highest, e.reshape(-1), sums, device.xp.log(sums)])
harness.compare_dump(device, debug_tensor, expected, tolerance=1e-4)
