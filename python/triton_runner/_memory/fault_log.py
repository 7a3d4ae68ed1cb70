"""Collects the accesses out of bounds of launches that went on after them (oob="report"): each site once,
with a count."""

from __future__ import annotations

import sys

from triton_runner._base.errors import KernelTrap


class Fault(KernelTrap):
    """The first KernelTrap of an access out of bounds after which the kernel went on; `count`: elements of
    tiles, or threads, that made it, in so many `launches`."""

    def __init__(self, text: str, count: int, **fields):
        super().__init__(text, **fields)
        self.text = text
        self.count = count
        self.launches = 1


_sites: dict[tuple, Fault] = {}


def add(faults: list[tuple[dict, int]]) -> None:
    """Adds what one launch noted, in its order. New sites are shown at once, on stderr."""
    for fields, count in faults:
        fault = Fault(**fields, count=count)
        key = (fault.kernel, fault.op, fault.location, *fault.notes)
        site = _sites.get(key)
        if site is None:
            _sites[key] = fault
            print(f"[triton-runner] {fault}", file=sys.stderr)
        else:
            site.count += count
            site.launches += 1


def faults(clear: bool = False) -> list[Fault]:
    """Returns the out-of-bounds accesses that launches with oob="report" recorded in this process, in the
    order of their first occurrence. clear=True empties the list."""
    faults = list(_sites.values())
    if clear:
        _sites.clear()
    return faults


def summary() -> str:
    """A line a site and one on top, for the end of a program; empty where there was none."""
    if not _sites:
        return ""
    total = sum(fault.count for fault in _sites.values())
    places = "1 place" if len(_sites) == 1 else f"{len(_sites)} places"
    lines = [f"[triton-runner] {total} {'access' if total == 1 else 'accesses'} out of bounds at {places}:"]
    for fault in _sites.values():
        where = fault.location or fault.kernel
        lines.append(f"  {fault.count:>8} x {fault.op} at {where}, kernel '{fault.kernel}'")
    return "\n".join(lines)
