"""The accumulator of program 3 of a product of tcgen05 in TLX, from the TTGIR, by its name in the source."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, tlx_tcgen05

ARTIFACTS = str(Path(__file__).resolve().parents[3] / "runner" / "tlx" / "v3.8.0" / "ttgir" / "sm100")
device = harness.Device()
dump_tensor = device.zeros(128, 64)
[(_, _, product, _)] = tlx_tcgen05.run(
    device, ttgir_dir=ARTIFACTS, dump_tensor=dump_tensor, dump_value="acc", dump_grid=3
)
harness.compare_dump(device, dump_tensor, product[128:, 64:], tolerance=1e-3)
