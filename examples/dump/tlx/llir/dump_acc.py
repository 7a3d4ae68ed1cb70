"""Accumulator of program 2 of a product in TLX while LLIR is executed, from the registers that hold it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import harness, tlx_matmul

ARTIFACTS = str(Path(__file__).resolve().parents[3] / "runner" / "tlx" / "v3.8.0" / "ttgir" / "sm90")
device = harness.Device()
dump_tensor = device.zeros(64, 64)
[(_, _, product, _)] = tlx_matmul.run(
    device, ttgir_dir=ARTIFACTS, level="llir", dump_tensor=dump_tensor, dump_value="%acc_56", dump_grid=2
)
harness.compare_dump(device, dump_tensor, product[:64, 128:192], tolerance=1e-3)
