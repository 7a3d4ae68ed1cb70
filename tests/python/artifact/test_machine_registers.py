"""Tests the registers and spills of machine code that ledger() explains: live ranges against nvdisasm's at
each instruction, against a code that was counted by hand, and spills against the instructions of the
listing."""

import functools
import re
from pathlib import Path

import pytest

triton = pytest.importorskip("triton")
import triton_runner  # noqa: E402
from triton_runner._base import tools  # noqa: E402
from triton_runner._code import live_ranges, machine_registers  # noqa: E402
from triton_runner._code.live_ranges import SLOT  # noqa: E402
from triton_runner._core import sass  # noqa: E402

KERNELS = Path(__file__).resolve().parents[3] / "examples" / "kernels"
POINTER, INT = "*fp16:16", "i32:16"
CASES = {
    "attention": (
        "attention.py:attention_kernel",
        ", ".join([*[POINTER] * 4, "*fp32:16", "fp32", INT, INT, INT]),
        {"HEAD_DIM": 64, "BLOCK_M": 64, "BLOCK_N": 64, "CAUSAL": True},
    ),
    "matmul": (
        "matmul.py:matmul_kernel",
        ", ".join([*[POINTER] * 3, INT, INT, INT, INT, "1", INT, "1", INT, "1"]),
        {"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "ACTIVATION": "leaky_relu"},
    ),
    "layer_norm": (
        "layer_norm.py:layer_norm_forward",
        ", ".join([*[POINTER] * 4, "*fp32:16", "*fp32:16", INT, INT, "fp32"]),
        {"BLOCK": 1024},
    ),
}


@functools.cache
def compiled(name, target, maxnreg=None):
    kernel, signature, constexprs = CASES[name]
    options = {"maxnreg": maxnreg} if maxnreg else None
    return triton_runner.compile(
        f"{KERNELS}/{kernel}", signature, constexprs, target=target, to="cubin", options=options
    )


def machine(one):
    registers = triton_runner.resources(one).registers
    return machine_registers.of_cubin(one.asm["cubin"], one.name, registers, one.asm["ptx"], one.asm["ttgir"])


def of_bank(registers, bank):
    return {number for number in registers if live_ranges.bank(number) == bank}


@pytest.mark.parametrize("name, target, maxnreg", [
    ("attention", "cuda:90", 64), ("attention", "cuda:80", None), ("matmul", "cuda:80", 64),
    ("matmul", "cuda:90", None), ("matmul", "cuda:100", None), ("layer_norm", "cuda:90", None),
    ("layer_norm", "cuda:100", None),
])  # fmt: skip
def test_the_same_registers_as_nvdisasm(name, target, maxnreg):
    """At each instruction, R and P; without CALL, across which nvdisasm does not follow values."""
    one = compiled(name, target, maxnreg)
    printed = live_ranges.of_nvdisasm(one.asm["cubin"], one.name)
    if printed is None:
        pytest.skip("no nvdisasm of this machine prints live ranges of this cubin")
    code = sass.parse_kernel(tools.listing(one.asm["cubin"]), one.name)
    calls = any(instruction.does("calls") for instruction in code.instructions)
    alike, ranges = 0, live_ranges.live(code)
    for instruction, live in zip(code.instructions, ranges, strict=True):
        theirs = printed.get(instruction.address, frozenset())  # it leaves out NOPs after the code
        same = all(of_bank(live, bank) == of_bank(theirs, bank) for bank in ("R", "P"))
        assert same or calls, str(instruction)
        alike += same
    assert alike > len(code.instructions) // 2
    found = machine(one)
    assert found.ranges == (machine_registers.OWN if calls else machine_registers.NVDISASM)
    assert found.live == max(len(of_bank(live, "R")) for live in ranges)


def test_calls_that_jump():
    """ptxas jumps out of the loop by CALL.REL.NOINC to a label that never returns: what is needed there is
    live in the loop. nvdisasm does not say so, and is not asked."""
    one = compiled("attention", "cuda:80")
    code = sass.parse_kernel(tools.listing(one.asm["cubin"]), one.name)
    (call,) = [instruction for instruction in code.instructions if instruction.does("calls")]
    assert len(call.targets) == 2 and any(call.index in body for _, _, body in code.loops)
    needed = code.live(call.targets[0])
    assert len(of_bank(needed, "R")) > 64
    assert set(needed) <= set(code.live(call.index))
    assert machine(one).ranges == machine_registers.OWN


@pytest.mark.parametrize("name, target, spills", [
    ("attention", "cuda:90", 64), ("matmul", "cuda:80", 64), ("layer_norm", "cuda:90", None),
])  # fmt: skip
def test_the_peak_and_the_spills(name, target, spills):
    one = compiled(name, target, spills)
    found = machine(one)
    assert found.live == len(found.registers) == sum(line.registers for line in found.by_place)
    assert found.live <= found.allocated <= (spills or 255)
    assert [r.name for r in found.registers if r.kind == "frame"] == ["R1"]
    text = tools.listing(one.asm["cubin"])
    stores, reloads = (len(re.findall(rf"\b{opcode}\b", text)) for opcode in ("STL", "LDL"))
    assert stores == sum(spill.stores for spill in found.spills)
    assert reloads == sum(spill.reloads for spill in found.spills)
    assert (stores > 100 and reloads > 100) if spills else stores == reloads == 0
    for spill in found.spills:
        assert spill.stores == sum(traffic.stores for traffic in spill.loops)
        assert spill.words <= triton_runner.resources(one).spills
        assert all(bool(traffic.loop) == (traffic.depth > 0) for traffic in spill.loops)
    files = {line.place.partition(":")[0] for line in (*found.by_place, *found.spills)}
    assert files <= {f"{name}.py", "stack frame", "a zero"}
    for register in found.registers:
        assert register.first <= found.address <= register.last or register.reloaded
        assert register.reloaded == ("LDL" in register.by)


def test_the_sums_are_what_spills():
    """128 x 64 sums of 128 threads are 64 registers, all that there are: they and the operands are spilled in
    the loop of the product, and the line that says so is the one with tl.dot."""
    found = machine(compiled("matmul", "cuda:80", 64))
    lines = (KERNELS / "matmul.py").read_text().splitlines()
    dot = next(f"matmul.py:{i}" for i, line in enumerate(lines, 1) if "tl.dot" in line)
    first = found.spills[0]
    assert first.place == dot and "acc" in first.values and first.words >= 64
    assert first.loops[0].depth == 1 and first.loops[0].loop.startswith("matmul.py:")


CODE = """
\t.target\tsm_90
.text.k:
{}
"""
# Live before each, by hand, beside R1: the loop needs R2 (address), R4 (sum), R5 (count), and R6 in the slot.
BY_HAND = [
    ("LDC R1, c[0x0][0x28]", "", ""),
    ("S2R R6, SR_TID.X", "", ""),
    ("STL [R1+0x8], R6", "R6", ""),
    ("LDC.64 R2, c[0x0][0x210]", "", "8"),
    ("IMAD.MOV.U32 R4, RZ, RZ, RZ", "R2 R3", "8"),
    ("IMAD.MOV.U32 R5, RZ, RZ, 0x9", "R2 R3 R4", "8"),
    (".L_x_0:", None, None),
    ("LDG.E R0, desc[UR4][R2.64]", "R2 R3 R4 R5", "8"),
    ("FADD R4, R4, R0", "R0 R2 R3 R4 R5", "8"),
    ("LDL R7, [R1+0x8]", "R2 R3 R4 R5", "8"),
    ("IADD3 R5, R5, -0x1, RZ", "R2 R3 R4 R5 R7", "8"),
    ("ISETP.NE.AND P0, PT, R5, R7, PT", "R2 R3 R4 R5 R7", "8"),
    ("@P0 BRA `(.L_x_0)", "R2 R3 R4 R5", "8"),
    ("STG.E desc[UR4][R2.64], R4", "R2 R3 R4", ""),
    ("EXIT", "", ""),
    (".L_x_1:", None, None),
    ("BRA `(.L_x_1)", "", ""),
]


def test_a_loop_by_hand():
    lines, address = [], 0
    for text, live, _ in BY_HAND:
        if live is None:
            lines.append(text)
        else:
            lines.append(f"        /*{address:04x}*/ {text} ; /* 0x0000000000000000 */")
            lines.append("        /* 0x000fe20000000000 */")
            address += 16
    code = sass.parse_kernel(CODE.format("\n".join(lines)), "k")
    rows = [(live, slots) for _, live, slots in BY_HAND if live is not None]
    assert len(code.instructions) == len(rows)
    for instruction, (live, slots) in zip(code.instructions, rows, strict=True):
        needed = code.live(instruction.index)
        names = {sass.register_name(number) for number in of_bank(needed, "R")} - {"R1"}
        assert names == set(live.split()), str(instruction)
        found = {4 * (number - SLOT) for number in of_bank(needed, "slot")}
        assert found == ({int(slots)} if slots else set()), str(instruction)
    assert code.loops == [(6, 11, [*range(6, 12)])]
    assert code.definitions(4, 7) == [4, 7] and code.definitions(4, 6) == [4, 7]
    assert code.definitions(SLOT + 2, 8) == [2]


def test_text():
    kernel, signature, constexprs = CASES["matmul"]
    found = triton_runner.ledger(
        f"{KERNELS}/{kernel}", signature, constexprs, target="cuda:80", options={"maxnreg": 64}
    )
    text = str(found)
    assert f"{found.machine.allocated} registers, at most {found.machine.live} live at once" in text
    assert "stores, " in text and "in the loop of matmul.py:37" in text
    assert found.as_dict()["machine"]["spills"][0]["place"] == found.machine.spills[0].place
