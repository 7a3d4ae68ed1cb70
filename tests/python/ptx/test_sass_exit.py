"""Runs random machine code of which some threads end at an EXIT in its middle, and the others load and store
after it: native code, a race check, and one instruction after the other leave the same bytes."""

import random
import re

import numpy as np
import pytest
from test_sass import assembled
from triton_runner import _core, _settings

THREADS, BLOCKS, VALUES = 128, 4, 6
ROW = THREADS * BLOCKS
HEAD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 n)
.reqntid 128
{
  .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %d<9>;
  ld.param.u64 %d0, [x];
  ld.param.u64 %d1, [y];
  ld.param.u64 %d2, [out];
  ld.param.u32 %r9, [n];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mad.lo.s32 %r2, %r1, 128, %r0;
  mul.wide.s32 %d3, %r2, 4;
  add.s64 %d4, %d0, %d3;
  add.s64 %d5, %d1, %d3;
  add.s64 %d6, %d2, %d3;
"""


def program(seed: int) -> str:
    """Each thread computes with VALUES numbers from x, stores some in y and out, and may end on the way."""
    draw = random.Random(seed)
    value = lambda: f"%r{20 + draw.randrange(VALUES)}"  # noqa: E731
    lines = [f"ld.global.b32 %r{20 + k}, [%d4+{4 * ROW * k}];" for k in range(VALUES)]
    row = lambda rows: 4 * ROW * draw.randrange(rows)  # noqa: E731
    others = iter(range(2 * VALUES))  # rows of out, where nobody else stores

    def step():
        kind = draw.choice(["add", "select", "load", "update", "store", "guarded", "count"])
        if kind == "add":
            return [f"{draw.choice(['add.s32', 'xor.b32', 'sub.s32'])} {value()}, {value()}, {value()};"]
        if kind == "select":
            return [
                f"setp.lt.s32 %p2, {value()}, {value()};",
                f"selp.b32 {value()}, {value()}, {value()}, %p2;",
            ]
        if kind == "load":
            place = draw.choice([f"%d4+{row(VALUES)}", f"%d5+{row(2)}", f"%d5+{row(2)}"])
            return [f"ld.global.b32 {value()}, [{place}];"]
        if kind == "update":
            at, v = f"[%d5+{row(2)}]", value()
            return [f"ld.global.b32 {v}, {at};", f"add.s32 {v}, {v}, {value()};", f"st.global.b32 {at}, {v};"]
        if kind == "count":  # native code does not have it
            return [f"popc.b32 {value()}, {value()};"]
        if kind == "guarded":
            return [f"setp.gt.s32 %p3, {value()}, 0;", f"@%p3 add.s32 {value()}, {value()}, {value()};"]
        place = draw.choice([f"%d5+{row(2)}", f"%d6+{4 * ROW * next(others, 0)}"])
        return [f"st.global.b32 [{place}], {value()};"]

    for _ in range(draw.randrange(6)):
        lines += step()
    ends = draw.choice(
        [
            "setp.ge.s32 %p1, %r2, %r9;", "setp.lt.s32 %p1, %r2, %r9;", f"setp.lt.s32 %p1, {value()}, 0;",
            "and.b32 %r10, %r0, 3; setp.eq.s32 %p1, %r10, 1;",
        ]
    )  # fmt: skip
    lines += [ends, "@%p1 exit;"]
    for _ in range(2 + draw.randrange(10)):
        lines += step()
    lines += [f"st.global.b32 [%d6+{4 * ROW * (2 * VALUES + k)}], %r{20 + k};" for k in range(VALUES)]
    return HEAD + "\n".join(f"  {line}" for line in lines) + "\n  ret;\n}\n"


def left_by(kernel, seed: int, **settings) -> list[bytes]:
    """The bytes of all tensors after a launch."""
    numbers = np.random.default_rng(seed)
    x, y = (numbers.integers(-(2**31), 2**31, (size, ROW)).astype(np.int32) for size in (VALUES, 2))
    out = np.zeros((3 * VALUES, ROW), np.int32)
    values = [x, y, out, int(numbers.choice([0, 1, 200, 300, 384, ROW]))]
    named = [(p.name, v) for p, v in zip(kernel.params, values, strict=True)]
    kernel.launch((BLOCKS, 1, 1), named, _settings.Settings(**settings).core_options)
    return [array.tobytes() for array in (x, y, out)]


@pytest.mark.parametrize("seed", range(16))
def test_all_leave_the_same_after_an_exit(seed):
    cubin, listing = assembled(program(seed), "sm_90", opt=3)
    assert re.search(r"@!?U?P\d EXIT", listing)
    kernel = _core.load_cubin(cubin, listing, "k.sass", "", [], {})
    one_by_one = left_by(kernel, seed, shuffle=1)  # warps take turns in any order: no native code runs
    assert left_by(kernel, seed) == one_by_one
    assert left_by(kernel, seed, check="race,uninit") == one_by_one
