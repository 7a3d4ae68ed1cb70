"""The accumulator of program 2 of a product in TLX, by its name in the source."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, tlx_matmul

device = harness.Device()
BLOCK = 128 if device.on_gpu else 64  # as tlx_matmul.run takes it
dump_tensor = device.zeros(BLOCK, BLOCK)
[(_, _, product, _)] = tlx_matmul.run(device, dump_tensor=dump_tensor, dump_value="acc", dump_grid=2)
harness.compare_dump(device, dump_tensor, product[:BLOCK, 2 * BLOCK : 3 * BLOCK], tolerance=1e-3)
