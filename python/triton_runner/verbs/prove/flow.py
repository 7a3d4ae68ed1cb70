"""Follows the order of blocks, and which values decide addresses, masks, branches and bounds. It is tested
through tests/python/prove/test_prove_odd.py: kernels that leave from within a branch, and loops."""

from __future__ import annotations

from triton_runner._code import walk
from triton_runner._code.carried import CARRYING, carried_to

_WHOLE = (
    "cf.br", "tt.call", "tt.return", "tt.make_tensor_descriptor", "ttng.tensormap_create", "tt.advance",
)  # fmt: skip


def ordered(blocks) -> list | None:
    """The blocks so that each comes after those that lead to it; None: some lead back."""
    leads = {block: [*block.ops[-1].successors] if block.ops else [] for block in blocks}
    order, state = [], {}

    def visit(block) -> bool:
        if block in state:
            return state[block] == "done"
        state[block] = "open"
        if not all(visit(after) for after in leads[block]):
            return False
        state[block] = "done"
        order.append(block)
        return True

    return order[::-1] if visit(blocks[0]) else None


def relevant(module) -> set:
    """The values that an address, a mask, a branch, a loop's bounds or a divisor is made of."""
    first: list = []
    for op in module.walk():
        if op.does("loads") or op.does("stores") or op.does("atomics") or op.does("mover"):
            first += [value for value in op.operands if _is_place(op, value)]
        elif op.name == "scf.for":
            first += op.operands[:3]
        elif op.name in ("scf.if", "cf.cond_br", "scf.condition", "llvm.intr.assume"):
            first += op.operands[:1]
        elif op.does("divides"):
            first += op.operands[:2]
        elif op.name in _WHOLE:
            first += op.operands
        if op.name == "cf.cond_br":
            first += op.operands

    def following(value) -> list:
        op = value.op
        if op is not None and op.name not in CARRYING:
            return list(op.operands)
        return [*carried_to(value), *_bounds(value)]

    return set(walk.reached(first, following))


def _is_place(op, value) -> bool:
    """Whether an access uses a value as its address or mask, or as what a masked load gives."""
    if op.name in ("tt.store", "tt.atomic_rmw", "tt.descriptor_store", "tt.descriptor_reduce"):
        names = ("value", "val", "src")
        for name in names:
            try:
                if value in op.group(name):
                    return False
            except KeyError:
                continue
    return True


def _bounds(value) -> list:
    """Returns what else decides a value of a loop or a branch: its bounds, its condition."""
    op = value.op if value.op is not None else value.block.parent
    if op is None or op.name not in CARRYING:
        return []
    return list(op.operands[:3] if op.name == "scf.for" else op.operands[:1])
