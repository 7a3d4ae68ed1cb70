"""Tests registers of a cubin through cuda-gdb. None is here: a program of that name acts it out, with
listings in the form of CUDA 13.0's. tests/gpu/dump_gdb.py runs the real one on a GPU."""

import os
import stat
import sys
import textwrap

import numpy
import pytest
import torch
import triton_runner
from kernels_for_dumps import add
from triton_runner._kernel.dumps import cuda_gdb, cuda_gdb_script, machine_values, requests

GDB = '''
"""The part of gdb's Python that the script uses: two blocks of four warps whose FADD is stopped behind."""
import struct, types

class error(Exception): pass

LISTING = """Dump of assembler code for function add:
=> 0x0000000000001000 <+0>:\\tLDC R1, c[0x0][0x28]
   0x0000000000001010 <+16>:\\t@!P0 LDG.E R4, desc[UR4][R2.64]
   0x0000000000001020 <+32>:\\tFADD R10, R4, R6
   0x0000000000001030 <+48>:\\tSTG.E desc[UR4][R2.64], R10
   0x0000000000001040 <+64>:\\tEXIT
End of assembler dump."""
# Who stands where at each stop. Warp 1 of block 0 is met twice: it had not run into the breakpoint yet.
STOPS = [[(0, 0), (0, 1)], [(0, 1), (0, 2)], [(0, 3)], [(2, 0), (2, 1), (2, 2), (2, 3)]]
state = {"stop": -1, "focus": (0, 0)}
handlers = []
events = types.SimpleNamespace(exited=types.SimpleNamespace(connect=handlers.append))

def execute(command, to_string=False):
    words = command.split()
    if command == "disassemble":
        return LISTING
    if command == "continue":
        state["stop"] += 1
        if state["stop"] == len(STOPS):
            for handler in handlers: handler(None)
    if words[:2] == ["cuda", "block"]:
        block = int(words[2].strip("()").split(",")[0])
        if block not in {b for b, _ in STOPS[state["stop"]]}:
            raise error("Specified block is not on the device")
        state["focus"] = block, int(words[4].strip("()").split(",")[0])
    if command == "info cuda lanes":
        block, thread = state["focus"]
        pc = 0x1030 if (block, thread // 32) in STOPS[state["stop"]] else 0x1020
        rows = [f"*  {lane} active {pc:#018x}   ({lane},0,0)    None" for lane in range(32)]
        return "\\n".join(["  Ln  State         PC         ThreadIdx Exception", *rows])
    if words[:2] == ["cuda", "lane"]:
        state["focus"] = state["focus"][0], state["focus"][1] // 32 * 32 + int(words[2])
    if words[0] == "break" and words[1] not in ("*0x1010", "*0x1030"):
        raise error("no breakpoint was expected there: " + command)
    return ""

def parse_and_eval(text):
    block, thread = state["focus"]
    if text == "$pc":
        return 0x1030 if (block, thread // 32) in STOPS[state["stop"]] else 0x1020
    return struct.unpack("<I", struct.pack("<f", block * 1000 + thread))[0]

def find_pc_line(address):
    symtab = types.SimpleNamespace(filename="/k/kernel.py")
    return types.SimpleNamespace(line=12 + (address - 0x1000) // 16, symtab=symtab)
'''


# The same for real code: two warps a block that go from stop to stop together, through the listing of the
# cubin. Register n of thread t of block b has the float 10000 b + 100 n + t.
STRAIGHT = """
import json, os, pathlib, re, struct, types
from triton_runner._base import tools

class error(Exception): pass

folder = pathlib.Path(os.environ["TRITON_RUNNER_GDB"]).parent
listing = tools.disassembly((folder / "kernel.cubin").read_bytes(), "-gp")
code = re.findall(r"^\\s*/\\*([0-9a-f]{4,})\\*/\\s+(.*?) ?;", listing, re.M)
LISTING = "\\n".join(f"   {0x4000 + int(at, 16):#x} <+{int(at, 16)}>:\\t{text}" for at, text in code)
stops, state, handlers = [], {"stop": -1, "focus": (0, 0)}, []
events = types.SimpleNamespace(exited=types.SimpleNamespace(connect=handlers.append))

def execute(command, to_string=False):
    words = command.split()
    if command == "disassemble":
        return LISTING
    if words[0] == "break":
        stops.append(int(words[1][1:], 16))
    if command == "continue":
        stops.sort()
        state["stop"] += 1
        if state["stop"] == len(stops):
            for handler in handlers: handler(None)
    if words[:2] == ["cuda", "block"]:
        state["focus"] = [int(words[i].strip("()").split(",")[0]) for i in (2, 4)]
    if command == "info cuda lanes":
        rows = [f"   {lane} active {stops[state['stop']]:#018x}   ({lane},0,0)    None" for lane in range(32)]
        return "\\n".join(rows)
    if words[:2] == ["cuda", "lane"]:
        state["focus"] = state["focus"][0], state["focus"][1] // 32 * 32 + int(words[2])
    return ""

def parse_and_eval(text):
    block, thread = state["focus"]
    if text == "$pc":
        return stops[state["stop"]]
    return struct.unpack("<I", struct.pack("<f", 10000 * block + 100 * int(text[2:]) + thread))[0]

def find_pc_line(address):
    return types.SimpleNamespace(line=1, symtab=None)
"""


@pytest.fixture(autouse=True)
def on_a_gpu(monkeypatch):
    """On the CPU the engine would read the registers."""
    monkeypatch.setattr(machine_values, "run", cuda_gdb.run)


@pytest.fixture
def debugger(tmp_path, monkeypatch):
    act(GDB, tmp_path, monkeypatch)


@pytest.fixture
def straight_debugger(tmp_path, monkeypatch):
    act(STRAIGHT, tmp_path, monkeypatch)


def act(gdb, tmp_path, monkeypatch):
    (tmp_path / "gdb.py").write_text(gdb)
    program = tmp_path / "cuda-gdb"
    program.write_text(
        textwrap.dedent(f"""\
        #!{sys.executable}
        import runpy, sys
        sys.path.insert(0, {str(tmp_path)!r})
        runpy.run_path(sys.argv[sys.argv.index("-x") + 1], run_name="__main__")
        """)
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def run(*selectors, programs=(0, 2), **options):
    x = torch.zeros(512)
    request = requests.request(selectors, add, programs=list(programs), level="cubin", **options)
    with triton_runner.using(target="cuda:90"):
        return cuda_gdb.run(request, add, None, (x, x, x, 512), {"B": 128}, (4,))[1].series


@pytest.mark.parametrize("selector", ["FADD", "R10", "0x20", "0x20:R10", "kernel.py:14"])
def test_registers(debugger, selector):
    (series,) = run(selector)
    assert (series.site.value, series.site.op, series.site.type) == ("R10#0x20", "FADD", "f32")
    assert (series.site.file, series.site.line, series.site.level) == ("/k/kernel.py", 14, "cubin")
    assert series.programs[:, 0].tolist() == [0, 2]
    threads = numpy.arange(128)
    values = series.data.view(numpy.float32)
    assert numpy.array_equal(values, [threads, 2000 + threads])
    assert series.mask.all()


def test_every_execution(debugger):
    (series,) = run("FADD", every_iteration=True)
    # A warp that is met again with the same registers has not come round again.
    assert series.iterations.ravel().tolist() == [0, 0]
    (series,) = run("FADD", programs=[0])
    assert series.programs[:, 0].tolist() == [0]


def test_names_that_are_not_there(debugger):
    with pytest.raises(
        triton_runner.DiagnosticError, match="nothing in the SASS of add is named 'DADD'"
    ) as caught:
        run("DADD")
    assert "0x0020: FADD R10, R4, R6" in str(caught.value)
    with pytest.raises(triton_runner.DiagnosticError, match="FADD is of the SASS, other names are of"):
        run("FADD", "total")
    with pytest.raises(triton_runner.DiagnosticError, match="at most 64 programs"):
        x = torch.zeros(1)
        request = requests.request(["FADD"], add, level="cubin")
        with triton_runner.using(target="cuda:90"):
            cuda_gdb.run(request, add, None, (x, x, x, 1), {"B": 128}, (65,))


def values(*names, **options):
    x = torch.zeros(512)
    with (
        triton_runner.using(target="cuda:90", level="ptx"),
        triton_runner.dumping(add, *names, level="cubin", programs=[0, 2], **options) as d,
    ):
        add[(4,)](x, x, x, 512, B=128, num_warps=2)
    return d


def test_values_of_the_ttgir(straight_debugger):
    d = values("total", "x")
    for name, op in (("total", "arith.addf"), ("x", "tt.load")):
        found = d[name]
        assert (found.level, found.op, found.type, found.shape) == ("cubin", op, "f32", (128,))
        assert found.programs[:, 0].tolist() == [0, 2] and found.mask is None
        # Thread t holds elements 2 t and 2 t + 1, each in a register of its own.
        bits = found.to_numpy().reshape(2, 64, 2) - numpy.array([0, 20000])[:, None, None]
        registers = (bits - numpy.arange(64)[None, :, None]) / 100
        assert len(numpy.unique(registers)) == 2
        assert (registers == registers[0, 0]).all() and (registers % 1 == 0).all()
    assert not d.notes


def test_values_that_are_not_kept(straight_debugger):
    with pytest.raises(
        triton_runner.DiagnosticError, match=r"is not kept in the SASS: ld\.param\.b32 at line"
    ):
        values("%n")
    d = values("%n", "total")
    assert "%n is not kept in the SASS: ld.param.b32 at line" in " ".join(d.notes)
    assert len(d["total"]) == 2


def test_registers_of_the_ptx(straight_debugger):
    d = values("add.f32")
    assert [(v.op, v.level, v.shape) for v in d] == [("add.f32", "cubin", (64,))] * 2


def test_no_debugger(monkeypatch):
    monkeypatch.setattr(cuda_gdb, "find", lambda: None)
    with pytest.raises(triton_runner.DiagnosticError, match="this machine has no cuda-gdb"):
        run("FADD")


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        ("FADD R10, R4, R6", ["R10"]),
        ("@!P0 LDG.E.128 R8, desc[UR4][R2.64]", ["R8", "R9", "R10", "R11"]),
        ("LDC.64 R6, c[0x0][0x210]", ["R6", "R7"]),
        ("IMAD.WIDE R2, R9, 0x4, R2", ["R2", "R3"]),
        ("HMMA.16816.F32 R4, R12, R16, R4", ["R4", "R5", "R6", "R7"]),
        ("ISETP.GE.AND P0, PT, R9, R0, PT", ["P0"]),
        ("ULDC UR4, c[0x0][0x208]", ["UR4"]),
        ("STG.E desc[UR4][R2.64], R10", []),
        ("EXIT", []),
    ],
)
def test_what_an_instruction_writes(text, registers):
    assert cuda_gdb_script.results(text, cuda_gdb.table())[1] == registers
