"""The output block of program 1 of an attention, by its name in the TTIR, before it is rounded to f16."""

import sys
from pathlib import Path

import triton_runner

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from kernels import dumped, harness

device = harness.Device()
debug_tensor = device.zeros(32, 32)
q, k, v = dumped.attention(
    device,
    ttir_dir=triton_runner.get_file_dir(__file__),
    debug_tensor=debug_tensor,
    debug_value="%56",
    dump_grid=1,
)
q, k, v = (device.host(tensor) for tensor in (q, k, v))
e = device.xp.exp(q[32:64] @ k.T * 32**-0.5)
harness.compare_dump(device, debug_tensor, e @ v / e.sum(1)[:, None], tolerance=2e-3)
