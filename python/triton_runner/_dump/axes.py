"""Programs and grids as (x, y, z)."""

from __future__ import annotations

from triton_runner._base.errors import fail


def triple(program) -> tuple:
    """(x, y, z) of a program: a number, or a tuple of one to three."""
    axes = tuple(program) if isinstance(program, (tuple, list)) else (program,)
    if not 1 <= len(axes) <= 3 or not all(isinstance(axis, int) for axis in axes):
        raise fail(
            f"{program!r} is not a program", "a program is a number, or a tuple of one to three: (0, 1)"
        )
    return (*axes, 0, 0)[:3]


def programs_of(programs) -> tuple:
    """The programs that a caller names, (x, y, z) each. A number or a tuple names one, a list several; axes
    that are left out are 0, and None names no program."""
    if programs is None:
        return ()
    listed = list(programs) if isinstance(programs, (list, range, set)) else [programs]
    result = []
    for program in listed:
        axes = tuple(program) if isinstance(program, (tuple, list)) else (program,)
        if not 1 <= len(axes) <= 3 or not all(isinstance(a, int) and a >= -1 for a in axes):
            raise fail(
                f"programs={programs!r}: {program!r} is not a program",
                "a program is a number or a tuple, as in programs=[(0, 1), (2, 0)]; -1 is any",
            )
        result.append((*axes, 0, 0)[:3])
    return tuple(result)
