"""Finds the user's line and the nodes of the graph for a kernel in code that Inductor, the default backend of
torch.compile, has written: a place such as "cyjk...py:26" says nothing to a person.

Inductor keeps the line of each call of its code, in memory and in its cache; a comment above the call names
the nodes. A line in the cache may be that of another program, or of this one before it was edited: it counts
only where the text of the line is still the same."""

from __future__ import annotations

import bisect
import dataclasses
import linecache
import os
import re
import sys

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)\n(?: +(?P<code>.*))?')
_NODES = re.compile(r"# (?:Topologically Sorted|Unsorted) Source Nodes: \[(.*?)\]")
_ABOVE = 6  # lines between a call and the comment that names its nodes


@dataclasses.dataclass(frozen=True)
class Origin:
    """The part of a graph that a kernel computes. nodes: by name; file, line, code: the user's line, or ""
    and 0."""

    nodes: list[str]
    file: str = ""
    line: int = 0
    code: str = ""

    def __str__(self) -> str:
        names, many = ", ".join(self.nodes), "s" * (len(self.nodes) != 1)
        nodes = f"node{many} {names} of torch.compile" if names else ""
        place = f"{self.file}:{self.line}: {self.code}" if self.line else ""
        return ": ".join(filter(None, (nodes, place)))


def origin() -> Origin | None:
    """The origin of the kernel that is being launched, from the call of Inductor's code that launches it;
    None where none does."""
    linemaps = _linemaps()
    frame = sys._getframe(1) if linemaps else None
    while frame is not None:
        if linemaps.get(frame.f_code.co_filename):
            return _of_call(frame.f_code.co_filename, frame.f_lineno, linemaps[frame.f_code.co_filename])
        frame = frame.f_back
    return None


def is_generated(file: str) -> bool:
    """Returns whether Inductor wrote a file that this process has loaded."""
    return bool(file) and file in _linemaps()


def users_frame(trace: str | None) -> re.Match | None:
    """The innermost frame of a stack trace of torch's that is not torch's own: file, line, function, and code
    (None where the trace has none)."""
    library = os.path.join(os.path.dirname(sys.modules["torch"].__file__), "")
    frames = [frame for frame in _FRAME.finditer(trace or "") if not frame["file"].startswith(library)]
    return frames[-1] if frames else None


def _linemaps() -> dict:
    """Inductor's lines of the graph for each file that it wrote and this process has loaded."""
    codecache = sys.modules.get("torch._inductor.codecache")
    return getattr(getattr(codecache, "PyCodeCache", None), "linemaps", None) or {}


def _of_call(file: str, number: int, linemap) -> Origin | None:
    lines, traces = linemap
    at = bisect.bisect_right(lines, number) - 1
    nodes: list[str] = []
    for above in range(number, max(number - _ABOVE, 0), -1):
        if found := _NODES.search(linecache.getline(file, above)):
            nodes = [name for name in found[1].split(", ") if name]
            break
    place = _users(traces[at]) if at >= 0 else None
    return Origin(nodes, *(place or ())) if nodes or place else None


def _users(trace: str | None) -> tuple[str, int, str] | None:
    """The line of users_frame(), where it is still there."""
    frame = users_frame(trace)
    if frame is None:
        return None
    file, line, code = frame["file"], int(frame["line"]), (frame["code"] or "").strip()
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    if (file not in loaded and file not in _running()) or linecache.getline(file, line).strip() != code:
        return None
    return file, line, code


def _running() -> set[str]:
    """The files whose functions are on the stack: a script that runpy runs is no module."""
    files, frame = set(), sys._getframe()
    while frame is not None:
        files.add(frame.f_code.co_filename)
        frame = frame.f_back
    return files
