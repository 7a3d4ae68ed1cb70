"""The block that program (1, 2) of a transpose has turned, by its name in the TTIR."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

device = harness.Device()
dump_tensor = device.zeros(16, 32)
x = dumped.transpose(
    device,
    ttir_dir=triton_runner.get_file_dir(__file__),
    dump_tensor=dump_tensor,
    dump_value="%27",
    dump_grid=(1, 2),
)
harness.compare_dump(device, dump_tensor, x.T[32:48, 32:64])
