"""Tests machine code whose warps part: threads come to each place in the order, and in the company, that an
H200 showed (tests/gpu/paths.py, which also says how a log is read)."""

import json
import lzma
import re
import sys

import numpy as np
import pytest
from test_sass import ROOT, assembled
from triton_runner import _core, _settings

sys.path.append(str(ROOT / "tests" / "gpu"))
import paths

ROWS = json.loads(lzma.decompress(paths.KEPT.read_bytes()))


def test_the_launches_are_of_every_kind():
    """Warps whole and in part, of blocks that jump anywhere and of nested loops, at two levels of ptxas."""
    assert len(ROWS) >= 20
    assert {row["opt"] for row in ROWS} == {1, 3}
    assert len({row["lanes"] for row in ROWS}) >= 4
    assert all(paths.has_parted(row) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['seed']}-O{row['opt']}")
def test_paths_run_as_on_a_gpu(row):
    got = paths.on_the_cpu(row)
    assert got == row["log"], f"gpu {paths.timeline(row['log'])}\ncpu {paths.timeline(got)}"


# Five lanes add, the others take an exclusive or; then all add. Loops keep the sides from being predicated.
SIDES = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<20>; .reg .b32 %r<40>; .reg .b64 %d<8>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %d0, [out];
  cvta.to.global.u64 %d0, %d0;
  mul.wide.u32 %d1, %r0, 16;
  add.s64 %d0, %d0, %d1;
  setp.lt.u32 %p1, %r0, 5;
  @%p1 bra A;
B:
  ld.volatile.global.u32 %r2, [%d0];
  xor.b32 %r2, %r2, 0x222;
  st.volatile.global.u32 [%d0+4], %r2;
  setp.gt.s32 %p2, %r2, 0x70000000;
  @%p2 bra B;
  bra JOIN;
A:
  ld.volatile.global.u32 %r2, [%d0];
  add.u32 %r2, %r2, 0x111;
  st.volatile.global.u32 [%d0+8], %r2;
  setp.gt.s32 %p3, %r2, 0x70000000;
  @%p3 bra A;
JOIN:
  ld.volatile.global.u32 %r3, [%d0];
  add.u32 %r3, %r3, 0x333;
  st.volatile.global.u32 [%d0+12], %r3;
  ret;
}
"""
WRITES = r"(?:VIADD|IADD3|LOP3\.LUT) R\d+, R\d+, {}\b.*? ;"


# Lane 0 leaves the lanes 1 to 4 and meets them again, while the lanes 5 to 31 have yet to run.
WITHIN = SIDES.replace(
    "  setp.gt.s32 %p3, %r2, 0x70000000;\n  @%p3 bra A;",
    """  setp.ne.u32 %p4, %r0, 0;
  @%p4 bra D;
C:
  ld.volatile.global.u32 %r2, [%d0];
  xor.b32 %r2, %r2, 0x444;
  st.volatile.global.u32 [%d0+8], %r2;
  setp.gt.s32 %p3, %r2, 0x70000000;
  @%p3 bra C;
D:
  ld.volatile.global.u32 %r2, [%d0];
  add.u32 %r2, %r2, 0x555;
  st.volatile.global.u32 [%d0+12], %r2;
  setp.gt.s32 %p3, %r2, 0x70000000;
  @%p3 bra A;""",
)


@pytest.mark.parametrize(
    "ptx, written, read, is_reported",
    [
        (SIDES, ("0x222",), "0x333", False),
        (SIDES, ("0x111",), "0x333", False),
        (SIDES, ("0x111", "0x222"), "0x333", True),
        (WITHIN, ("0x444",), "0x555", True),  # by lane 0 alone
        (WITHIN, ("0x111", "0x444"), "0x555", False),  # by all who read it, and by lane 0 once more
    ],
)
def test_a_uniform_register_that_two_groups_write(ptx, written, read, is_reported):
    """The listing is edited: a group writes UR8 where it would compute. Others read it once they have met, as
    no group gives its turn away."""
    cubin, listing = assembled(ptx, "sm_90", opt=1)
    listing = re.sub(r"\bYIELD\b", "NOP", listing)
    for number in written:
        listing, count = re.subn(WRITES.format(number), f"UMOV UR8, {number} ;", listing)
        assert count == 1
    listing, count = re.subn(WRITES.format(read), "IMAD.U32 R5, RZ, RZ, UR8 ;", listing)
    assert count == 1
    kernel = _core.load_cubin(cubin, listing, "k.sass", "", [], {"block": (32, 1, 1)})
    named = [(kernel.params[0].name, np.zeros(32 * 4, np.int32))]
    options = _settings.Settings(check="race").core_options
    if not is_reported:
        return kernel.launch((1, 1, 1), named, options)
    with pytest.raises(Exception, match="uniform register") as raised:
        kernel.launch((1, 1, 1), named, options)
    assert raised.value.warning == "assembler"
    return None
