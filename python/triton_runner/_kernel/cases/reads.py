"""Compares the memory that levels read: a compiler may leave out a load, and must not add one. A load that it
hoists out of a branch or a loop that does not run reads what no line of the kernel reads (triton#11601): its
result is not used, and its address may be anywhere.

The runs under check="race", which look at each access, keep what they read (_core.ReadSet)."""

from __future__ import annotations

import re

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base import commands
from triton_runner._kernel.cases.results import Finding

_BISECT = commands.shell("bisect", "KERNEL", "--oracle", "reads")
ADVICE = f"guard the load with a mask, and find the pass that moves it: {_BISECT}"
PLACE = re.compile(r"(?P<op>.*) at (?P<file>.*?):(?P<line>\d+)(:(?P<column>\d+))?")


def beyond(launch: Relaunch, sets: dict) -> list[Finding]:
    """Finds what each level reads beyond the highest. sets: a _core.ReadSet by level, the highest first."""
    found: dict[tuple, Finding] = {}
    highest = next(iter(sets), "")
    for level, reads in sets.items():
        for place, address, count in reads.beyond(sets[highest]):
            argument, where = _argument_at(launch, address)
            if not argument:  # the launch brings it, as a tensor map; what is nobody's is check="oob"
                continue
            key = (argument, where, count)
            finding = _finding(launch, highest, level, place, argument, where, count)
            found[key] = found[key].at(level) if key in found else finding
    return [*found.values()]


def _finding(launch, highest: str, level: str, place: str, argument: str, where: str, count: int) -> Finding:
    at = PLACE.fullmatch(place)
    message = sentence(highest, level, count, where, place)
    why = (
        "no line of the kernel reads them: the compiler has moved the load; values are compared by themselves"
    )
    return Finding(
        "reads", "warning", [level], "reads more", message, at["file"] if at else "",
        int(at["line"]) if at else 0, argument, f"kernel '{launch.name}': {message}\n{why}",
        op=at["op"] if at else place, place=where, why=why, advice=ADVICE,
    )  # fmt: skip


def sentence(highest: str, level: str, count: int, where: str, place: str) -> str:
    many = f"{count} byte{'s' * (count != 1)}"
    return f"{level} reads {many} that {highest} does not read, from {where} on, in {place}"


def _argument_at(launch: Relaunch, address: int) -> tuple[str, str]:
    """The argument in whose memory an address lies, and the distance from it in elements."""
    arguments = launch.arguments
    near = []
    for name, view in arguments.views.items():
        block = arguments.address(view.block)
        if block <= address < block + arguments.size(view.block):
            near.append((address - block - view.offset, name, view.type.itemsize))
    if not near:
        return "", f"the address {address:#x}"
    far, name, size = min(near, key=lambda one: abs(one[0]))
    return name, f"{name} {'-' if far < 0 else '+'} {abs(far) // size}"
