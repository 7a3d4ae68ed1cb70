"""Runs a compiler that failed in this process again in a worker, to see its pass and all that it said, and
leaves a folder that reproduces it."""

from __future__ import annotations

from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._pipeline.failures import failure_of, lines, request_of
from triton_runner._pipeline.workers import WorkerError

_SECONDS = 120.0  # for a compilation that ended in this process already
_known: dict[str, list[str]] = {}  # by the request


def explained(error: BaseException) -> list[str]:
    """The lines that explain why a kernel was not compiled, the reason first; then what the compiler said and
    how to see it again, or the line of the kernel that its front end refuses. Empty: it is another error."""
    failure, request = failure_of(error), request_of(error)
    if failure is None:
        return []
    if request is None:
        return lines(failure)
    key = repr(sorted(request.items(), key=str))
    if key not in _known:
        _known[key] = _again(request) or lines(failure)
    return _known[key]


def _again(request: dict) -> list[str]:
    """Returns what a worker says of the same compilation; nothing where it does not fail there."""
    label = f"kernel '{request['filename']}'" if request["filename"] else "this IR"
    try:
        compiler.run("recorder_job", {**request, "label": label}, timeout=_SECONDS, isolate=True)
    except WorkerError as told:
        first, *rest = told.message.splitlines()
        return [first, *(f"  {line}" for line in (*rest, *map(str, told.notes)))]
    except DiagnosticError:
        pass
    return []
