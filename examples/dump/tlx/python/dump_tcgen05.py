"""The accumulator of program 3 of a product of tcgen05 in TLX, by its name in the source."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, tlx_tcgen05

device = harness.Device()
dump_tensor = device.zeros(128, 64)
[(_, _, product, _)] = tlx_tcgen05.run(
    device, target="cuda:100", dump_tensor=dump_tensor, dump_value="acc", dump_grid=3
)
harness.compare_dump(device, dump_tensor, product[128:, 64:], tolerance=1e-3)
