"""Bounds the least time that a launch can take on a chip, by each resource that it needs: counts divided by
rates.

A bound says that a launch is not faster, and nothing of how much slower it is. Work of programs that agree is
dealt to the SMs a program at a time; otherwise it is spread evenly. An SM has a scheduler and pipes in each
of four parts; a warp stays in its part, so that fewer warps than four leave parts of the SM idle."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from triton_runner._kernel.cost.chips import Chip
from triton_runner._kernel.cost.results import Bound, Instruction, Roofline

_WARP = 32
# XU executes these at its published rate; that of conversions depends on their types.
_XU = ("MUFU", "POPC", "FLO")
_OF_THE_SM = ("shared memory", "lsu")  # of which all parts of an SM have one together


@dataclasses.dataclass(frozen=True)
class Dealt:
    """part: of the launch's work, what the busiest SM has at least; used: of an SM's parts, how many its
    warps can keep at work, as a fraction."""

    part: float
    used: float = 1.0


def dealt(chip: Chip, programs: int, warps: int, resident: int | None, even: bool) -> Dealt:
    """How programs of so many warps come to the SMs. resident: programs that an SM holds, None: not known;
    even: they have equal work, each on one SM."""
    if not even or not programs:
        return Dealt(1 / chip.sms)
    most = math.ceil(programs / chip.sms)
    at_once = min(most, resident or most) * warps
    return Dealt(most / programs, min(at_once, chip.schedulers) / chip.schedulers)


def of_instructions(instructions: Iterable[Instruction], chip: Chip, deal: Dealt) -> dict[str, float]:
    """Cycles by resource that the busiest SM takes at least for its part of them."""
    cycles: dict[str, float] = {}

    def add(name: str, amount: float) -> None:
        if amount:
            used = 1.0 if name in _OF_THE_SM else deal.used
            cycles[name] = cycles.get(name, 0.0) + amount * deal.part / used

    for one in instructions:
        executed = one.counts.get("executed", 0)
        add("issue", executed / chip.schedulers)
        if one.pipe in chip.pipes and (one.pipe != "XU" or one.opcode.startswith(_XU)):
            add(one.pipe.lower(), executed * _WARP / chip.pipes[one.pipe])
        if one.pipe == "FMAHEAVY":  # a half of what FMA has
            add("fma", executed * _WARP / chip.pipes["FMA"])
        if one.matrix_type in chip.matrices:
            add("tensor", executed * one.matrix_operations / chip.matrices[one.matrix_type])
        add("shared memory", one.counts.get("shared_wavefronts", 0) / chip.shared)
    return cycles


def of_launch(
    instructions: list[Instruction], chip: Chip, deal: Dealt, loaded: int, stored: int
) -> list[Bound]:
    """The bounds of a launch, the largest first. loaded, stored: bytes of global memory, each once; 0 where
    they are not those of all programs."""
    out = [
        _bound(name, cycles, chip, f"{_ABOUT.get(name, 'warps of this pipe')}, {_rate(name, chip)}")
        for name, cycles in of_instructions(instructions, chip, deal).items()
    ]
    must_move = loaded + max(0, stored - chip.l2_bytes)
    if must_move:
        seconds = must_move / chip.memory
        about = f"bytes that are read (caches empty at first), {chip.memory / 1e12:g} TB/s"
        out.append(_bound("memory", seconds * chip.clock, chip, about))
    if chip.l2:
        sectors = sum(one.counts.get("global_sectors", 0) for one in instructions if _passes_l1(one))
        if sectors:
            about = f"sectors that are stored, updated or copied, {chip.l2:,} bytes a clock"
            out.append(_bound("L2", sectors * 32 / chip.l2, chip, about))
    return sorted(out, key=lambda bound: -bound.cycles)


def _passes_l1(one: Instruction) -> bool:
    """Returns whether each of its sectors goes to L2: stores, atomics, and copies that L1 does not keep."""
    is_cached = one.access == "load" or (one.opcode.startswith("LDGSTS") and "BYPASS" not in one.opcode)
    return bool(one.access) and not is_cached


_ABOUT = {
    "issue": "warp instructions", "shared memory": "wavefronts", "tensor": "operations of matrices"
}  # fmt: skip


def _rate(name: str, chip: Chip) -> str:
    if name == "issue":
        return f"{chip.schedulers} a cycle and SM"
    if name == "shared memory":
        return f"{chip.shared} a cycle and SM"
    if name == "tensor":
        return ", ".join(f"{kind} {rate:,}" for kind, rate in chip.matrices.items()) + " a cycle and SM"
    return f"{chip.pipes[name.upper()]} threads a cycle and SM"


def _bound(name: str, cycles: float, chip: Chip, about: str) -> Bound:
    return Bound(name, round(cycles, 3), round(cycles / chip.clock * 1e6, 4), about)


def roofline(bounds: list[Bound], chip: Chip, operations: int, types: dict, moved: int) -> Roofline:
    """Returns where the launch stands between memory and arithmetic: for matrices, by the type that it
    multiplies most; else by f32."""
    kind = max(types, key=types.get) if types else ""
    peak = chip.matrices.get(kind) or 2 * chip.pipes["FMA"]
    ridge = peak * chip.sms * chip.clock / chip.memory
    intensity = round(operations / moved, 4) if moved else None
    return Roofline(operations, moved, intensity, round(ridge, 2), bounds[0].name if bounds else "")
