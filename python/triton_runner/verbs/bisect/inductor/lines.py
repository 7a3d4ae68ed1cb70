"""Finds the user's line of a node of a graph of torch.compile: the innermost frame of its stack trace that is
not torch's."""

from __future__ import annotations

from triton_runner._base import generated
from triton_runner.verbs.bisect.inductor.compiled import Line

_NEAR = 4  # steps from a node that a pass made to one that has a line


def of_trace(trace: str | None) -> Line | None:
    """The line of a stack trace as torch keeps it."""
    frame = generated.users_frame(trace)
    if frame is None:
        return None
    return Line(frame["file"], int(frame["line"]), frame["function"], (frame["code"] or "").strip())


def of_node(node) -> Line | None:
    """The line of a node; of one that a pass made, that of the closest node that it is computed from or that
    uses it."""
    seen, near = {node}, [node]
    for _ in range(_NEAR):
        for one in near:
            if (line := of_trace(one.meta.get("stack_trace"))) is not None:
                return line
        near = [other for one in near for other in (*one.all_input_nodes, *one.users) if other not in seen]
        seen.update(near)
    return None
