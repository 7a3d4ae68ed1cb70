"""Compiles onward in this process: the text of one level goes through Triton's own later stages."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pickle
import re
import sys
import tempfile
import time

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import GLIR
from triton_runner._pipeline import failures, translation
from triton_runner._pipeline.guard import death_of_child, in_child
from triton_runner._settings import messages
from triton_runner._worker import job


@dataclasses.dataclass
class Texts:
    """The results of the stages: the text or bytes of each level, and Triton's metadata."""

    asm: dict
    metadata: dict


# As Triton words it ("LLVM ERROR: failed to parse IR: expected instruction opcodelineno: 10"), and MLIR.
_LLVM_SYNTAX = re.compile(r"failed to parse IR: (?P<what>.*?)\s*lineno: (?P<line>\d+)")
_MLIR_SYNTAX = re.compile(r'loc\(".*?":(?P<line>\d+):\d+\): error: (?P<what>.*)')


def _refused_text(said: str, source: str, level: str, filename: str, reason: str | None) -> DiagnosticError:
    """Returns what the compiler said when it ended the process, with the line of the text where it names one;
    reason: why the text could not be translated."""
    import triton

    who = f"LLVM of Triton {triton.__version__}" if level == "llir" else f"Triton {triton.__version__}"
    note = reason or (job.NEWER_LLIR if level == "llir" else "it ends the process that reads it")
    match = (_LLVM_SYNTAX if level == "llir" else _MLIR_SYNTAX).search(said)
    if match is None:
        return fail(f"{who} does not accept {filename or f'this {level.upper()}'}: {said}", note)
    file, line = filename or f"<{level}>", int(match["line"])
    message = f"{who} does not accept this: {match['what']}"
    lines = source.split("\n")
    shown = [f"  {lines[line - 1]}"] if 0 < line <= len(lines) else []
    text = "\n".join([f"{file}:{line}: error: {message}", *shown, f"note: {note}"])
    return DiagnosticError(text, message=message, file=file, line=line, notes=[note])


@functools.cache
def option_names(target: str) -> set[str]:
    """The keyword arguments that the backend takes as compile options (num_warps, num_stages, ...)."""
    return set(job.option_names(job.find_backend(target)))


def try_text(step, source: str, level: str, filename: str, reason: str | None = None) -> None:
    """Runs the first step on a text in a child first: a compiler ends the process on what it cannot read."""
    if (said := death_of_child(step)) is not None:
        raise _refused_text(said, source, level, filename, reason)


class Notes:
    """Notes the compilation of a process in a file, which another process reads if it dies of that."""

    def __init__(self):
        with tempfile.TemporaryFile() as file:  # both processes keep it, to their ends
            self._file = os.dup(file.fileno())
        self._process = 0

    @contextlib.contextmanager
    def taken(self):
        """Inside, each stage of this process is noted as long as it runs."""
        self._process = os.getpid()
        _notes.append(self)
        try:
            yield
        finally:
            _notes.remove(self)

    @contextlib.contextmanager
    def of(self, level: str, request: dict):
        """Notes the stage that makes `level`, and each later one that it is told of."""
        kept = {name: value for name, value in request.items() if name not in _OF_PROCESS}

        def at(level: str) -> None:
            if os.getpid() == self._process:
                self._write(pickle.dumps((level, kept)))

        at(level)
        try:
            yield at
        finally:
            if os.getpid() == self._process:
                self._write(b"")

    def _write(self, data: bytes) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, data, 0)

    def failure(self, died: str) -> failures.CompilerError | None:
        """The error of the stage that a process was in when it died of a signal; None: it was in none."""
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        if not data:
            return None
        level, request = pickle.loads(data)
        return _failed(level, request["filename"], None, died, "", request)


_OF_PROCESS = ("attempt", "hint", "inline")  # what of a request another process makes for itself
_notes: list[Notes] = []


def _noted(level: str, request: dict):
    return _notes[-1].of(level, request) if _notes else contextlib.nullcontext(lambda level: None)


_is_apart = [False]


@contextlib.contextmanager
def apart():
    """While active, compile_onward() compiles in a child, so that a compiler that crashes does not end this
    process."""
    before, _is_apart[0] = _is_apart[0], True
    try:
        yield
    finally:
        _is_apart[0] = before


def _compiled(request: dict, asked: dict) -> dict:
    """The answer of job.run(). asked: the request as it can be repeated elsewhere."""
    reached, how, written = request["level"], "", ""
    if _is_apart[0]:
        ended = in_child(lambda tell: job.run(request, tell))
        if ended.is_done:
            sys.stderr.write(ended.written)
            return ended.result
        error, how, written = ended.error, ended.died, ended.written
        reached = ended.told or reached
    else:
        stages = [reached]
        try:
            with _noted(reached, asked) as at:
                return job.run(request, lambda stage: (stages.append(stage), at(stage)))
        except Exception as raised:
            error, reached = raised, stages[-1]
    if isinstance(error, DiagnosticError):
        raise error
    if isinstance(error, job.Refused):
        refused = fail(error.message, *error.notes)
        if isinstance(error, job.NotAssembled):
            failures.noted(reached, request["filename"], refused)
        raise refused from None
    kept = {name: value for name, value in asked.items() if name not in _OF_PROCESS}
    raise _failed(reached, request["filename"], error, how, written, kept) from error


def _failed(level: str, kernel: str, error, died: str, written: str, request: dict) -> failures.CompilerError:
    """The error of a stage that raised an exception, or of which a signal ended the child."""
    said = str(error).strip() or type(error).__name__ if error else f"it died of {died}"
    message = written.strip() or said
    failure = failures.Failure(level, None, died or type(error).__name__, message, kernel)
    return failures.CompilerError(failure, request)


def tried(level: str, above: str, stage, target: str, language: str):
    """A stage of a program's own compilation: in apart() it runs in a child first, which may crash. What it
    was asked for is left with an exception that it raises. above: the level of what it is given; itself, of
    the first."""

    def run(source, metadata):
        ended = in_child(lambda tell: stage(source, dict(metadata)) and None) if _is_apart[0] else None
        request = None
        if _notes or not (ended is None or ended.is_done):
            request = {
                "text": str(source), "level": above, "to": level, "target": target, "language": language,
                "metadata": job.jsonable(metadata), "filename": failures.kernel_at_work(),
                "walk": above == level,
            }  # fmt: skip
        if ended is not None and ended.died:
            raise _failed(level, request["filename"], None, ended.died, ended.written, request)
        try:
            with _noted(level, request):
                return stage(source, metadata)
        except Exception as error:
            kernel = metadata.get("name") or failures.kernel_at_work()
            failures.noted(level, kernel, error, request=request)
            raise

    return run


_seconds = [0.0]


def seconds() -> float:
    """Returns what compile_onward() took in this process until now."""
    return _seconds[0]


def compile_onward(
    source,
    level: str,
    to: str,
    target: str,
    options: dict | None = None,
    filename: str = "",
    language: str = "triton",
) -> Texts:
    """Runs the stages after `level` up to `to` on the text of a kernel.

    options: compile options, or a metadata dict that holds them. Errors: a level that the target does not
    have or that lies above `level`; CompilerError, if a stage fails.
    """
    import triton

    text, reason = translation.for_compiler(source, level, triton.__version__, filename)
    request = {
        "text": text, "hint": reason, "level": level, "to": to, "target": target, "metadata": options,
        "filename": filename, "inline": translation.has_calls_to_inline(text, level, filename),
        "language": language, "attempt": lambda step: try_text(step, text, level, filename, reason),
    }  # fmt: skip
    started = time.perf_counter()
    try:
        answer = _compiled(request, {**request, "text": source})
    finally:
        _seconds[0] += time.perf_counter() - started
    for line in answer["notes"]:
        messages.note(line)
    answer["asm"].pop("source", None)  # the text itself, where its TTIR was inlined
    answer["asm"].pop(GLIR, None)
    if level != GLIR:
        answer["asm"][level] = source
    return Texts(answer["asm"], answer["metadata"])
