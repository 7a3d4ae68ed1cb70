"""The accumulator of program 2 of a product in TLX, from the TTIR, by its name there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, tlx_matmul

ARTIFACTS = str(Path(__file__).resolve().parents[3] / "runner" / "tlx" / "v3.8.0" / "ttir" / "sm90")
device = harness.Device()
dump_tensor = device.zeros(64, 64)
[(_, _, product, _)] = tlx_matmul.run(
    device, ttir_dir=ARTIFACTS, level="ttir", dump_tensor=dump_tensor, dump_value="%acc_64", dump_grid=2
)
harness.compare_dump(device, dump_tensor, product[:64, 128:192], tolerance=1e-3)
