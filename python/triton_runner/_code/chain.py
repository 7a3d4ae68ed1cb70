"""Finds what one element of a stored value is made of, in the TTGIR of a kernel: the graph of values back
from a store, each with the part of it that matters (its index by axis; None: all of the axis)."""

from __future__ import annotations

import dataclasses

import numpy

from triton_runner._code.carried import CARRYING, carried_to, end_of
from triton_runner._code.walk import reached
from triton_runner._core import ir, probe

# Ops that give what they are given, in another layout or after a wait.
_SAME = {
    "ttg.convert_layout", "triton_gpu.convert_layout", "ttg.local_load", "triton_gpu.local_load",
    "ttg.local_alloc", "triton_gpu.local_alloc", "ttng.warp_group_dot_wait",
    "triton_nvidia_gpu.warp_group_dot_wait",
}  # fmt: skip
_LEAVES = {
    "tt.load", "tt.descriptor_load", "tt.experimental_descriptor_load", "tt.descriptor_gather",
    "tt.get_program_id", "tt.call",
    "tt.make_range", "arith.constant", "tt.atomic_rmw", "tt.atomic_cas",
}  # fmt: skip
DOTS = {"tt.dot", "ttng.warp_group_dot", "triton_nvidia_gpu.warp_group_dot", "tt.dot_scaled"}
INEXACT = ("arith.addf", "arith.mulf", "arith.subf", "math.fma")  # whose order matters
REDUCTIONS = ("tt.reduce", "tt.scan")


@dataclasses.dataclass(frozen=True)
class Node:
    """A value, and the part of it that matters."""

    value: object
    part: tuple

    @property
    def op(self):
        return self.value.op


class Chain:
    """The values of a kernel's TTGIR by the names that dumps give them."""

    def __init__(self, text: str, kernel: str):
        self.module = ir.parse(text, f"{kernel}.ttgir")
        named = probe.values(self.module, kernel)
        self.names = {value: name for name, value in named}

    def below(self, node: Node) -> list[Node]:
        """A node and all that it is made of, the nodes with names."""
        return [one for one in reached([node], sources) if one.value in self.names]


def settled(node: Node) -> Node:
    """The node without what only moves it to another layout."""
    while node.op is not None and node.op.name in _SAME and node.op.operands:
        at = node.value.index if len(node.op.results) > 1 else 0
        inner = node.op.operands[at]
        if "memdesc" in str(inner.type) and not _is_filled(inner.op):
            break  # a buffer that copies fill
        node = Node(inner, node.part)
    return node


def _is_filled(op) -> bool:
    """Returns whether a buffer is one that a tensor was put into when it was made."""
    return op is not None and op.name.endswith(".local_alloc") and bool(op.operands)


def sources(node: Node) -> list[Node]:
    """The operands of a node, each with the part that matters."""
    op, value = node.op, node.value
    if op is None or op.name in CARRYING:
        return [Node(one, node.part) for one in carried_to(value)]
    if op.name in _LEAVES:
        return []
    if op.name in _SAME:
        inner = settled(node)
        return [inner] if inner != node else []
    return [Node(one, _part(op, one, at, node.part)) for at, one in enumerate(op.operands) if _is_data(one)]


def is_permuted(node: Node) -> bool:
    """Returns whether a node has what it is made of in an order that the compiler chooses."""
    op = node.op
    return op is not None and (op.name == "tt.cat" or op.attr("allow_reorder") is not None)


def is_carried(node: Node) -> bool:
    """Returns whether a node is what a loop carries: its result, or an argument of its body."""
    return node.op is None or node.op.name in ("scf.for", "scf.while")


def adds(node: Node) -> bool:
    """Returns whether what a loop gives is made by ops that round, so that the number of its turns
    matters."""

    def inside(nodes: list[Node]) -> list[Node]:
        return [one for one in nodes if one.op is not None and one.op.block.parent == node.op]

    last = Node(end_of(node.op, 0).operands[node.value.index], node.part)
    found = reached(inside([last]), lambda one: inside(sources(one)))
    return any(one.op.name in (*INEXACT, *DOTS) for one in found)


def _is_data(value) -> bool:
    """Numbers: neither pointers nor buffers."""
    text = str(value.type)
    return "ptr" not in text and "memdesc" not in text and "async.token" not in text and "desc<" not in text


def _part(op, operand, at: int, part: tuple) -> tuple:
    """The part of an operand that a part of the result is made of; all of it where nothing better is
    known."""
    shape = tuple(operand.type.shape or ())
    by_op = _PARTS.get(op.name)
    if by_op is not None:
        return by_op(op, shape, at, part)
    if op.does("elementwise") and len(shape) == len(part):
        return part
    result = tuple(op.results[0].type.shape or ()) if op.results else ()
    return part if shape == result and not op.does("computes") else (None,) * len(shape)


def _of_broadcast(op, shape, at, part):
    return tuple(0 if n == 1 else i for n, i in zip(shape, part, strict=True))


def _of_expand(op, shape, at, part):
    axis = op.attr("axis").value
    return (*part[:axis], *part[axis + 1 :])


def _of_trans(op, shape, at, part):
    order = [int(one.value) for one in op.attr("order").elements] if op.attr("order").elements else [1, 0]
    result = [None] * len(shape)
    for i, axis in enumerate(order):
        result[axis] = part[i]
    return tuple(result)


def _of_reshape(op, shape, at, part):
    result = tuple(op.results[0].type.shape)
    if None in part or op.attr("allow_reorder") is not None:
        return (None,) * len(shape)
    flat = numpy.ravel_multi_index(part, result) if result else 0
    return tuple(int(i) for i in numpy.unravel_index(flat, shape)) if shape else ()


def _of_reduce(op, shape, at, part):
    axis = op.attr("axis").value
    return (*part[:axis], None, *part[axis:])


def _of_scan(op, shape, at, part):
    axis = op.attr("axis").value
    return (*part[:axis], None, *part[axis + 1 :])


def _of_dot(op, shape, at, part):
    if at == 0:
        return (*part[:-1], None)
    return (*part[:-2], None, part[-1]) if at == 1 else part


_PARTS = {
    "tt.broadcast": _of_broadcast, "tt.expand_dims": _of_expand, "tt.trans": _of_trans,
    "tt.reshape": _of_reshape, "tt.reduce": _of_reduce, "tt.scan": _of_scan,
    "tt.splat": lambda op, shape, at, part: (), **dict.fromkeys(DOTS, _of_dot),
}  # fmt: skip
