"""How many instructions of threads the SIMT engine executes a second on one CPU thread: arithmetic with
all threads on, and with the two halves of each warp on different ways.

    python benchmark/lanes.py [--json] [--quick]

One block of 1,024 threads runs a loop of integer and float instructions (add, mad, xor, shift, fma, min). An
instruction counts once for each thread that executes it: in divergent code each half executes its own way.
"""

import argparse
import functools
import json
import sys

import timing

THREADS, ITERATIONS, OVERHEAD = 1024, 1000, 3  # add, setp, bra of the loop
WANTED = {"uniform": 10e9, "divergent": 1e9}
INTEGER = (
    "add.s32 %a, %a, %b;", "mad.lo.s32 %c, %a, %b, %c;", "xor.b32 %b, %b, %a;", "shr.s32 %d, %c, 3;",
    "add.s32 %b, %b, %d;", "and.b32 %c, %c, 65535;", "max.s32 %d, %a, %c;", "sub.s32 %a, %d, %b;",
)  # fmt: skip
FLOAT = (
    "fma.rn.f32 %f, %g, %h, %f;", "add.rn.f32 %g, %g, %f;", "mul.rn.f32 %h, %h, 0f3F000000;",
    "sub.rn.f32 %f, %f, %g;", "min.f32 %g, %g, %h;", "fma.rn.f32 %h, %f, %g, %h;",
    "mul.rn.f32 %f, %f, 0f3F000000;", "add.rn.f32 %h, %h, %f;",
)  # fmt: skip


def text(ways: tuple) -> str:
    """A loop over one list of instructions, or over two on which even and odd threads part."""
    lines = [*ways[0]]
    if len(ways) == 2:
        lines = ["@%odd bra ODD;", *ways[0], "bra.uni BOTH;", "ODD:", *ways[1], "BOTH:"]
    body = "\n  ".join(lines)
    return f""".version 8.0
.target sm_80
.address_size 64
.visible .entry lanes(.param .u64 .ptr .global out)
.reqntid {THREADS}
{{
  .reg .pred %more, %odd;
  .reg .b32 %a, %b, %c, %d, %i, %t, %f, %g, %h;
  .reg .b64 %p, %o;
  mov.u32 %t, %tid.x;
  and.b32 %i, %t, 1;
  setp.ne.b32 %odd, %i, 0;
  mov.b32 %a, %t;
  mov.b32 %b, 7;
  mov.b32 %c, 1;
  mov.b32 %f, 0f3F800000;
  mov.b32 %g, 0f3F000000;
  mov.b32 %h, 0f3E800000;
  mov.b32 %i, 0;
LOOP:
  {body}
  add.s32 %i, %i, 1;
  setp.lt.s32 %more, %i, {ITERATIONS};
  @%more bra LOOP;
  ld.param.b64 %p, [out];
  mul.wide.u32 %o, %t, 4;
  add.s64 %p, %p, %o;
  add.s32 %a, %a, %f;
  add.s32 %a, %a, %c;
  st.global.b32 [%p], %a;
  ret;
}}
"""


def cases() -> dict:
    """By name: the text, instructions a thread executes, and what is wanted."""
    both = (*INTEGER, *FLOAT)
    return {
        "integer": (text((INTEGER * 2,)), 16 + OVERHEAD, WANTED["uniform"]),
        "float": (text((FLOAT * 2,)), 16 + OVERHEAD, WANTED["uniform"]),
        "integer and float": (text((both,)), 16 + OVERHEAD, WANTED["uniform"]),
        # The branch, half of the bodies, and (for one half) the jump after them.
        "half of the threads on": (text((both, both[::-1])), 16 + 1.5 + OVERHEAD, WANTED["divergent"]),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="a tenth of a second a case")
    options = parser.parse_args()
    timing.pinned(TRITON_RUNNER_THREADS="1")
    import numpy
    import triton_runner

    rows = []
    for name, (source, count, wanted) in cases().items():
        kernel = triton_runner.load(source)
        out = numpy.zeros(THREADS, numpy.int32)
        launch = functools.partial(kernel[(1,)], out)
        best = timing.least(launch, 0.1 if options.quick else 1.0)
        rows.append({"code": name, "rate": count * ITERATIONS * THREADS / best, "wanted": wanted})
    if options.json:
        json.dump(rows, sys.stdout)
        return 0
    for row in rows:
        print(f"{row['code']:24} {row['rate'] / 1e9:6.2f} G/s (wanted: {row['wanted'] / 1e9:g})")
    return 1 if any(row["rate"] < row["wanted"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
