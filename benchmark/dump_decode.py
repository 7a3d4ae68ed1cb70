"""How long the records of a dump's buffer take to decode: 1 GB, as a GPU leaves it.

python benchmark/dump_decode.py [GIGABYTES]
"""

import sys
import time

import numpy
from triton_runner import _core

KERNEL = """
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%n: i32) {
    %v = arith.constant dense<1.0> : tensor<128x128xf32, #blocked>
    tt.return
  }
}
"""  # noqa: E501
RECORD = 128 * 128 * 4


def main() -> int:
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else 1) * 1e9)
    programs = size // RECORD
    insertion = _core.probe.insert_stores(
        KERNEL, "k.ttgir", "k", ["%v"], grid=(programs, 1, 1), max_bytes=2 * size
    )
    buffer = numpy.empty(insertion.bytes, numpy.uint8)
    buffer[:] = 1  # every header says that its slot was written
    times = []
    for _ in range(5):
        began = time.perf_counter()
        recording = insertion.decode(buffer)
        times.append(time.perf_counter() - began)
        (series,) = recording.series
        assert len(series) == programs and series.data.nbytes == programs * RECORD
        assert series.data[-1, -1] == 1
        del recording, series
    size = programs * RECORD / 1e9
    print(f"{programs} records, {size:.2f} GB: best {min(times):.3f} s, median {sorted(times)[2]:.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
