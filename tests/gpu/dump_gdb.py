"""Registers of an untouched cubin through cuda-gdb: the sums of a vector add, of two programs.

    python tests/gpu/dump_gdb.py

Exits 1 where the registers do not hold the sums; says so where there is no cuda-gdb.
"""

import os
import sys
import time
import warnings

import numpy
import torch
import triton.language as tl
import triton_runner
from triton_runner._dump import cuda_gdb, session

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
warnings.simplefilter("ignore")


@triton_runner.jit
def add(x_ptr, y_ptr, o_ptr, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = tl.load(y_ptr + offsets, mask=offsets < n)
    tl.store(o_ptr + offsets, x + y, mask=offsets < n)


def main() -> int:
    print("cuda-gdb:", cuda_gdb.find())
    if cuda_gdb.find() is None:
        return 0
    torch.manual_seed(0)
    x, y = (torch.randn(1024, device="cuda") for _ in range(2))
    out = torch.zeros_like(x)
    programs, wrong = [0, 2], 0
    for selector in ("FADD", "dump_gdb.py:28"):
        began = time.time()
        request = session.request([selector], add, programs=programs)
        _, recording, _ = cuda_gdb.run(request, add, None, (x, y, out, 1024), {"B": 256}, (4,))
        print(f"{selector}: {time.time() - began:.1f} s")
        for s in recording.series:
            print("  ", s.site.value, s.site.op, s.site.file, s.site.line, len(s), "records")
        sums = (x + y).cpu().numpy()
        for place, program in enumerate(programs):
            expected = numpy.sort(sums[program * 256 : program * 256 + 256])
            found = numpy.concatenate(
                [s.data[place].view(numpy.float32) for s in recording.series if s.site.op.startswith("FADD")]
            )
            same = numpy.array_equal(numpy.sort(found), expected)
            wrong += not same
            print(f"   program {program}: the sums are {'in the registers' if same else 'NOT THERE'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
