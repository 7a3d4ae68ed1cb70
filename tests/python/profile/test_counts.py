"""Tests the engine's counts of machine code: cases of counts.txt, whose numbers were worked out by hand."""

import fnmatch
import pathlib

import numpy as np
import pytest
from suite.assembled import assemble
from triton_runner import _core
from triton_runner._core import probe

HERE = pathlib.Path(__file__).parent
COUNTS = [name for name, *_ in probe.COUNTS]
KERNEL = """.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global a, .param .u64 .ptr .global o, .param .u64 m)
{{
 .reg .pred %p<4>; .reg .b32 %r<12>; .reg .f32 %f<8>; .reg .b64 %d<8>;
 .shared .align 1024 .b8 s[16384];
 ld.param.u64 %d0, [a]; ld.param.u64 %d1, [o]; ld.param.u64 %d3, [m];
 mov.u32 %r0, %tid.x; mov.u32 %r1, s;
 mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
{body}
 ret;
}}
"""


def cases() -> list:
    out = []
    for block in (HERE / "counts.txt").read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            head, wanted = lines[0].split(":")
            name, threads = head.split()
            out.append(pytest.param(int(threads), wanted.split(), "\n".join(lines[1:]), id=name))
    return out


def aligned(size: int, alignment: int = 512) -> np.ndarray:
    room = np.zeros(size + alignment, np.uint8)
    start = -room.ctypes.data % alignment
    return room[start : start + size]


def counted(body: str, threads: int, workers: int = 1, grid: int = 1) -> tuple[list, np.ndarray]:
    """The instructions of a kernel with a body, and what a launch counts of them."""
    found = assemble(KERNEL.format(body=body), "sm_90a")
    assert not isinstance(found, str), found
    listing = found[1].read_text()
    kernel = _core.load_cubin(found[0].read_bytes(), listing, "k", "", [], {"block": (threads, 1, 1)})
    a, o, m = aligned(16384), aligned(16384), aligned(128)
    _core.write_tensor_map(m.ctypes.data, a.ctypes.data, [64, 16], [8, 16], 4)
    options, observer = _core.Options(), probe.CountObserver()
    options.recorder, options.threads = observer, workers
    arguments = zip([p.name for p in kernel.params], (a, o, m), strict=True)
    kernel.launch((grid, 1, 1), list(arguments), options)
    return _core.sass.parse_kernel(listing, "k").instructions, observer.instructions


def amount(rows: list, table: np.ndarray, opcode: str, count: str) -> int:
    chosen = [i for i, row in enumerate(rows) if fnmatch.fnmatchcase(row.name, opcode)]
    assert chosen, f"no {opcode} among {sorted({row.name for row in rows})}"
    if count == "matrix":
        return sum(rows[i].matrix_operations * int(table[i][0]) for i in chosen)
    if count == "flops":
        return sum(rows[i].flops * int(table[i][COUNTS.index("threads_on")]) for i in chosen)
    return sum(int(table[i][COUNTS.index(count)]) for i in chosen)


@pytest.mark.parametrize("threads, wanted, body", cases())
def test_counts_of_a_case_are_those_worked_out(threads, wanted, body):
    rows, table = counted(body, threads)
    got = []
    for text in wanted:
        what, _, _ = text.partition("=")
        opcode, _, count = what.partition(".")
        got.append(f"{what}={amount(rows, table, opcode, count)}")
    assert got == wanted, "\n".join(map(str, rows))


# A loop of which each thread goes round another number of times, shared memory, atomics: of 64 blocks.
BUSY = """ and.b32 %r2, %r0, 7; mad.wide.u32 %d2, %r0, 4, %d0; mad.lo.u32 %r4, %r0, 8, %r1;
LOOP:
 ld.volatile.global.u32 %r3, [%d2]; st.volatile.shared.u32 [%r4], %r3; red.global.add.u32 [%d1], %r3;
 setp.ne.u32 %p0, %r2, 0; sub.u32 %r2, %r2, 1; @%p0 bra LOOP;
"""


def test_any_number_of_threads_counts_the_same():
    tables = [counted(BUSY, 96, workers, grid=64)[1] for workers in (1, 4, 4)]
    assert tables[0].sum() > 0
    assert all(np.array_equal(tables[0], table) for table in tables[1:])


def test_what_is_counted_of_the_grid_is_that_of_its_programs():
    one, many = counted(BUSY, 96)[1], counted(BUSY, 96, grid=64)[1]
    assert np.array_equal(one * 64, many)


def test_a_launch_that_is_not_counted_runs_the_code_as_it_is():
    """Counting does not change what is computed, and PTX is not counted."""
    found = assemble(KERNEL.format(body=BUSY), "sm_90a")
    outputs = []
    for observer in (None, probe.CountObserver()):
        kernel = _core.load_cubin(
            found[0].read_bytes(), found[1].read_text(), "k", "", [], {"block": (64, 1, 1)}
        )
        a, o, m = aligned(16384), aligned(16384), aligned(128)
        a.view(np.uint32)[:] = np.arange(4096)
        options = _core.Options()
        options.recorder = observer
        kernel.launch((3, 1, 1), list(zip([p.name for p in kernel.params], (a, o, m), strict=True)), options)
        outputs.append(o.copy())
    assert outputs[0].any() and np.array_equal(*outputs)
    ptx = _core.load_simt(KERNEL.format(body=BUSY), "k.ptx", "", [], {"block": (64, 1, 1)})
    options.recorder = probe.CountObserver()
    with pytest.raises(ValueError, match="machine code"):
        values = zip([p.name for p in ptx.params], (a, o, m.ctypes.data), strict=True)
        ptx.launch((1, 1, 1), list(values), options)


def test_the_worst_conflict_is_named():
    """Every thread reads another word of one bank."""
    body = " mad.lo.u32 %r2, %r0, 128, %r1; ld.volatile.shared.u32 %r3, [%r2];"
    found = assemble(KERNEL.format(body=body), "sm_90a")
    kernel = _core.load_cubin(found[0].read_bytes(), found[1].read_text(), "k", "", [], {"block": (32, 1, 1)})
    options, observer = _core.Options(), probe.CountObserver()
    options.recorder = observer
    values = aligned(16384), aligned(16384), aligned(128)
    kernel.launch((2, 1, 1), list(zip([p.name for p in kernel.params], values, strict=True)), options)
    (one,) = observer.collisions
    assert (one["ways"], one["threads"], one["program"]) == (32, (0, 1), 0)
    assert one["offsets"][1] - one["offsets"][0] == 128
    assert observer.programs == 2 and observer.spread[0] == observer.spread[1]
