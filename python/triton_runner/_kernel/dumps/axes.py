"""Writes programs and grids as (x, y, z)."""

from __future__ import annotations

from triton_runner._base.errors import fail


def programs_of(programs) -> tuple:
    """The programs that a caller names, (x, y, z) each. A number or a tuple names one, a list several; axes
    that are left out are 0, and None names no program."""
    if programs is None:
        return ()
    listed = list(programs) if isinstance(programs, (list, range, set)) else [programs]
    return tuple(program_of(program, "programs") for program in listed)


def program_of(program, name: str = "program") -> tuple:
    """(x, y, z) of a program as a person writes it: 3, "3", "3,0", (3, 0). -1 is any; axes that are left out
    are 0."""
    axes = program.split(",") if isinstance(program, str) else program
    axes = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    try:
        numbers = tuple(int(axis) if isinstance(axis, str) else axis for axis in axes)
    except ValueError:
        numbers = ()
    if not 1 <= len(numbers) <= 3 or not all(isinstance(n, int) and n >= -1 for n in numbers):
        raise fail(f"{name}: {program!r} is not a program", 'as in 3, (3, 0) or "3,0,1"; -1 is any')
    return (*numbers, 0, 0)[:3]
