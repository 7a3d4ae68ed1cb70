"""Finds where a result of a loop or branch of TTIR and TTGIR comes from, and an argument of its body: through
the values that these carry."""

from __future__ import annotations

CARRYING = ("scf.for", "scf.if", "scf.while")


def carried_to(value):
    """Yields what a loop hands to an argument of its body, or a loop or branch gives as a result."""
    is_result, number = value.op is not None, value.index
    op = value.op if is_result else value.block.parent
    if op is None or op.name not in CARRYING:
        return
    if op.name == "scf.if":
        for side in range(len(op.regions)):
            if op.regions[side].blocks:
                yield end_of(op, side).operands[number]
    elif op.name == "scf.for" and (is_result or number):  # argument 0 is the number of the turn
        first = number if is_result else number - 1
        yield op.operands[first + 3]
        yield end_of(op, 0).operands[first]
    elif op.name == "scf.while" and not is_result and value.block == op.regions[0].blocks[0]:
        yield op.operands[number]
        yield end_of(op, 1).operands[number]
    elif op.name == "scf.while":
        yield end_of(op, 0).operands[number + 1]


def end_of(op, side: int):
    """The last op of a region."""
    return op.regions[side].blocks[0].ops[-1]
