"""Dumps what program 1 of a vector addition loads from x, by its name in the TTIR."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

TTIR = str(Path(__file__).resolve().parents[3] / "debugging" / "ttir" / "01-vector_add")
device = harness.Device()
dump_tensor = device.zeros(1024)
x, _ = dumped.vector_add(
    device,
    ttir_dir=TTIR,
    dump_tensor=dump_tensor,
    dump_value="%9",
    dump_grid=1,
)
harness.compare_dump(device, dump_tensor, x[1024:2048])
