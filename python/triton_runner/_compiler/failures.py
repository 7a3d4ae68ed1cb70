"""A compiler that failed in this process, seen again in a worker: with its pass, all that it said, and a
folder that reproduces it."""

from __future__ import annotations

from triton_runner._base.errors import DiagnosticError
from triton_runner._compiler import compile as compiler
from triton_runner._compiler.workers import WorkerError
from triton_runner._pipeline.failures import CompilerError

_SECONDS = 120.0  # for a compilation that ended in this process already
_known: dict[str, list[str]] = {}


def explained(error: DiagnosticError) -> list[str]:
    """The lines that explain an error, one line first; those of a compiler's failure have its pass, what it
    said and how to see it again."""
    if not isinstance(error, CompilerError):
        return [error.message]
    request = error.request
    key = repr(sorted(request.items(), key=str))
    if key not in _known:
        _known[key] = _again(error, {**request, "label": request["filename"] or "this IR"})
    return _known[key]


def _again(error: CompilerError, request: dict) -> list[str]:
    try:
        compiler.run("recorder_job", request, timeout=_SECONDS, isolate=True)
    except WorkerError as told:
        first, *rest = told.message.splitlines()
        return [first, *rest, *map(str, told.notes)]
    except DiagnosticError:
        pass
    return [error.message, *error.triton_runner_failure.message.splitlines()[1:8]]
