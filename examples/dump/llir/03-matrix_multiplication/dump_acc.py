"""The accumulator of program (0, 1) of a matrix product, by its name in the TTGIR, while LLIR is executed:
on the CPU it is put together from the registers that hold it, and the program runs untouched."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

TTGIR = str(Path(__file__).resolve().parents[3] / "debugging" / "ttgir" / "03-matrix_multiplication")
device = harness.Device()
dump_tensor = device.zeros(64, 64)
a, b = dumped.matmul(
    device,
    ttgir_dir=TTGIR,
    level="llir",
    dump_tensor=dump_tensor,
    dump_value="%129",
    dump_grid=(0, 1),
)
expected = device.host(a)[:64] @ device.host(b)[:, 64:128]
harness.compare_dump(device, dump_tensor, expected, tolerance=1e-4)
