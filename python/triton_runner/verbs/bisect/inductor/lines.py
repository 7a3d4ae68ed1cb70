"""Finds the user's line of a node of a graph of torch.compile: the innermost frame of its stack trace that is
not torch's."""

from __future__ import annotations

import os
import re

import torch

from triton_runner.verbs.bisect.inductor.compiled import Line

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n(?: +(?P<code>.*))?')
_TORCH = os.path.join(os.path.dirname(torch.__file__), "")
_NEAR = 4  # steps from a node that a pass made to one that has a line


def of_trace(trace: str | None) -> Line | None:
    """The line of a stack trace as torch keeps it."""
    frames = [frame for frame in _FRAME.finditer(trace or "") if not frame["file"].startswith(_TORCH)]
    if not frames:
        return None
    last = frames[-1]
    return Line(last["file"], int(last["line"]), last["function"], (last["code"] or "").strip())


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
