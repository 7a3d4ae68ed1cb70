"""The .approx functions of a GPU over whole ranges: how far each result is from the correctly rounded one.

    python approx.py OUT      writes OUT/approx.npz: <function>_<first bits>: int8, hardware minus rounded, in
                              steps of the result's last bit, for every float from there on

Needs libcuda and numpy, no build. doc/internals/hardware.md has what came of it.
"""

import struct
import sys
from pathlib import Path

import numpy as np
from libcuda import Cuda

KERNEL = """.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 first) {
	.reg .b32 %%r<8>;
	.reg .f32 %%f<4>;
	.reg .b64 %%rd<4>;
	ld.param.u64 %%rd1, [out];
	ld.param.u32 %%r1, [first];
	mov.u32 %%r2, %%ctaid.x;
	mov.u32 %%r3, %%tid.x;
	mad.lo.u32 %%r4, %%r2, 256, %%r3;
	add.u32 %%r5, %%r1, %%r4;
	mov.b32 %%f1, %%r5;
	%s %%f2, %%f1;
	mul.wide.u32 %%rd2, %%r4, 4;
	add.s64 %%rd3, %%rd1, %%rd2;
	st.global.f32 [%%rd3], %%f2;
	ret;
}
"""


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


# function, instruction, reference, ranges of floats: (first, count)
SWEEPS = [
    ("rcp", "rcp.approx.ftz.f32", lambda x: 1 / x, [(1.0, 1 << 23)]),
    ("sqrt", "sqrt.approx.ftz.f32", np.sqrt, [(1.0, 1 << 24)]),
    ("rsqrt", "rsqrt.approx.ftz.f32", lambda x: 1 / np.sqrt(x), [(1.0, 1 << 24)]),
    (
        "ex2",
        "ex2.approx.ftz.f32",
        np.exp2,
        [(1.0, 1 << 23), (0.25, 1 << 23), (0.5, 1 << 23), (-1.0, 1 << 23), (16.0, 1 << 22)],
    ),
    (
        "lg2",
        "lg2.approx.ftz.f32",
        np.log2,
        [(1.0, 1 << 23), (0.5, 1 << 23), (2.0, 1 << 23), (256.0, 1 << 23)],
    ),
    ("sin", "sin.approx.ftz.f32", np.sin, [(0.25, 1 << 23), (0.5, 1 << 23), (1.0, 1 << 23), (2.0, 1 << 23)]),
    ("cos", "cos.approx.ftz.f32", np.cos, [(0.5, 1 << 23), (1.0, 1 << 23), (2.0, 1 << 23)]),
    (
        "tanh",
        "tanh.approx.f32",
        np.tanh,
        [(0.125, 1 << 23), (0.25, 1 << 23), (0.5, 1 << 23), (1.0, 1 << 23), (2.0, 1 << 23)],
    ),
]


def sweep(cuda, instruction, first, count):
    result = np.zeros(count, np.uint32)
    cuda.run(KERNEL % instruction, count // 256, 256, result, first)
    return result


def main():
    folder = Path(sys.argv[1])
    cuda, results = Cuda(), {}
    for name, instruction, reference, ranges in SWEEPS:
        for start, count in ranges:
            first = bits(start)
            hardware = sweep(cuda, instruction, first, count)
            x = np.arange(first, first + count, dtype=np.uint32).view(np.float32).astype(np.float64)
            rounded = reference(x).astype(np.float32).view(np.uint32)
            difference = hardware.astype(np.int64) - rounded.astype(np.int64)
            largest = int(np.abs(difference).max())
            wrong = float((difference != 0).mean())
            print(
                f"{instruction:24} from {start:7}: largest {largest}, differs in {100 * wrong:.2f} %",
                flush=True,
            )
            kind = np.int8 if largest < 128 else np.int32
            results[f"{name}_{first:08x}"] = difference.astype(kind)
    np.savez_compressed(folder / "approx.npz", **results)


if __name__ == "__main__":
    main()
