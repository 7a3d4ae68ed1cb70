"""Finds where a difference between machine code and its PTX comes from: the instruction that stores the first
element that differs, or stops, and the one that computes something else (apart.py).
"""

from __future__ import annotations

import ctypes
import dataclasses

import numpy

from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base import tools
from triton_runner._base.errors import KernelTrap
from triton_runner._kernel.lockstep import apart
from triton_runner._memory.arguments import Arguments
from triton_runner._memory.difference import differing, same_bits
from triton_runner._memory.registry import register_memory


@dataclasses.dataclass(frozen=True)
class Place:
    """An instruction of the machine code: its text; the line of the PTX that it was made from (0: not
    known) and that line; where it is in the program, or else in the listing. maker, maker_line, maker_ptx:
    the same of the instruction that computes something else, and `said` what is shown of it; is_first: that
    it is the first one. Otherwise it is near."""

    sass: str
    ptx_line: int = 0
    ptx: str = ""
    program: str = ""
    maker: str = ""
    maker_line: int = 0
    maker_ptx: str = ""
    is_first: bool = False
    said: str = ""

    def lines(self) -> list[str]:
        """The place in sentences."""
        result = [f"the instruction: {self.sass}"]
        if self.ptx_line:
            result.append(f"made from line {self.ptx_line} of the PTX: {self.ptx}")
        if self.maker:
            of = f", of line {self.maker_line} of the PTX: {self.maker_ptx}" if self.maker_line else ""
            result.append(f"{'the first that differs' if self.is_first else 'near'}: {self.maker}{of}")
        result += [f"  {self.said}"] * bool(self.said)
        return result + [f"at {self.program}"] * bool(self.program)


def line_of(ptx: str, number: int) -> str:
    """A line of a PTX text, counted from 1; "" where it has none of that number."""
    lines = ptx.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def parting(launch: Relaunch) -> Place | None:
    """Returns where a launch's machine code parts from its PTX, from the launch's own inputs; None: it does
    not on the CPU, or the PTX stops."""
    want = launch.run("ptx")
    got = launch.run("cubin") if want.trap is None else want
    difference = None if got.trap is not None else first_difference(want, got)
    if want.trap is not None or (got.trap is None and difference is None):
        return None
    return place_of(launch, want, got, *(difference[:2] if difference else ()))


def place_of(
    launch: Relaunch, want: Outcome, got: Outcome, argument: str = "", element: int = 0
) -> Place | None:
    """Finds where the machine code of a launch parts from its PTX. want, got: what the two leave; argument,
    element: the first element that differs; "": the machine code stops."""
    ptx, trap, of_ptx, address = launch.texts["ptx"], got.trap, None, 0
    if argument:
        trap = _toucher(launch, argument, element, "cubin")
        of_ptx = None if trap else _toucher(launch, argument, element, "ptx")
        address = _address(launch, argument, element)
    if (trap or of_ptx) is None:
        return None

    def run(level: str, observer) -> bool:
        ended = launch.run(level, recorder=observer)
        if not argument:
            return goes_on(launch, want, got, ended)
        return ended.trap is None and is_better(want, got, ended, argument, element)

    at = of_ptx.artifact_line if of_ptx else 0
    store = apart.Store(
        (trap or of_ptx).program, (trap or of_ptx).thread, address, trap.artifact_line if trap else 0, at
    )  # fmt: skip
    place = _place(trap, ptx) if trap else Place("nothing stores it", at, line_of(ptx, at))
    found = apart.parting(launch, tools.listing(launch.texts["cubin"]), store, run)
    if found is None:
        return place
    made, line = found.instruction, found.instruction.ptx_line
    return dataclasses.replace(
        place, maker=str(made), maker_line=line, maker_ptx=line_of(ptx, line),
        is_first=found.is_first, said=found.said,
    )  # fmt: skip


def _toucher(launch: Relaunch, argument: str, element: int, level: str) -> KernelTrap | None:
    """The trap of what touches an element of an array: what stops where these bytes are nobody's memory, and
    all around them is."""
    view = launch.arguments.views[argument]
    data = launch.arguments.saved[view.block]
    memory = ctypes.create_string_buffer(data.tobytes() + bytes(64))  # no array that anybody would find
    start, size = -(-ctypes.addressof(memory) // 64) * 64, view.type.itemsize
    ctypes.memmove(start, data.tobytes(), data.nbytes)
    at = start + view.offset + element * size
    pieces = [(start, at - start), (at + size, start + data.nbytes - at - size)]
    for address, length in pieces:
        if length:
            register_memory(address, length, argument)
    named = [
        (name, start + view.offset if name == argument else value) for name, value in launch.arguments.named
    ]
    try:
        return dataclasses.replace(launch, arguments=Arguments(named)).run(level).trap
    finally:
        for address, length in pieces:
            if length:
                register_memory(address, 0)


def _address(launch: Relaunch, argument: str, element: int) -> int:
    view = launch.arguments.views[argument]
    return launch.arguments.address(view.block) + view.offset + element * view.type.itemsize


def goes_on(launch: Relaunch, want: Outcome, before: Outcome, after: Outcome) -> bool:
    """Returns whether a launch does not stop any more where it did, and all that it left until it ended, or
    stopped in another program, is right."""
    if after.trap is not None and after.trap.program == before.trap.program:
        return False
    first, changed = launch.arguments.arrays(launch.arguments.saved), 0
    for name, right in want.arrays.items():
        now = after.arrays[name]
        written = ~same_bits(now, first[name])
        changed += int(written.sum())
        if (differing(right, now) & (written if after.trap is not None else True)).any():
            return False
    return changed > 0


def is_better(want: Outcome, before: Outcome, after: Outcome, argument: str, element: int) -> bool:
    """Returns whether an element is right after an experiment, and none is wrong that was right before."""
    for name, left in want.arrays.items():
        wrong = differing(left, after.arrays[name])
        if (wrong & ~differing(left, before.arrays[name])).any():
            return False
        if name == argument and wrong.ravel()[element]:
            return False
    return True


def first_difference(want: Outcome, got: Outcome):
    """(argument, index of the element, (want, got) as hexadecimal numbers, how many differ) of the first
    array that differs; None where none does. All NaNs of a float type are one."""
    for name, left in want.arrays.items():
        right = got.arrays[name]
        wrong = differing(left, right)
        if wrong.any():
            at = int(numpy.flatnonzero(wrong.ravel())[0])
            bits = f"u{left.dtype.itemsize}"
            pair = [numpy.ascontiguousarray(array).view(bits).ravel()[at] for array in (left, right)]
            return (
                name,
                at,
                tuple(f"{int(x):#0{2 + 2 * left.dtype.itemsize}x}" for x in pair),
                int(wrong.sum()),
            )
    return None


def _place(trap: KernelTrap, ptx: str) -> Place:
    """Returns where a trap of machine code stands."""
    text = trap.instruction if trap.ptx_line else trap.op or trap.message
    return Place(text, trap.ptx_line, line_of(ptx, trap.ptx_line), trap.location)
