"""Compiling onward: the text of one level through Triton's own later stages."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import tempfile

import triton.backends
from triton._C.libtriton import ir

from triton_runner._errors import DiagnosticError, fail
from triton_runner._levels import MLIR, levels_of
from triton_runner._pipeline.guard import death_of_child
from triton_runner._pipeline.targets import make_target, original
from triton_runner._pipeline.versions import installed


@dataclasses.dataclass
class Compilation:
    """What the stages made: the text or bytes of each level, and Triton's metadata."""

    asm: dict
    metadata: dict


def find_backend(target: str):
    """Triton's own backend for a target, never one that stops early."""
    gpu_target = make_target(target)
    for backend in triton.backends.backends.values():
        compiler = original(backend.compiler)
        if compiler.supports_target(gpu_target):
            return compiler(gpu_target)
    raise fail(f"this Triton has no backend for {target}", f"backends: {', '.join(triton.backends.backends)}")


def _tuples(value):
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


def _parse(text: str, level: str, context, filename: str):
    """The module of a TTIR or TTGIR text, by Triton's own parser (which reads files only)."""
    handle, path = tempfile.mkstemp(suffix=f".{level}")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        module = ir.parse_mlir_module(path, context)
    except RuntimeError as error:
        raise fail(
            f"Triton {triton.__version__} does not accept {filename or 'this ' + level.upper()}: {error}",
            "its parser wrote the place to stderr; an artifact of another release may need that release",
        ) from None
    finally:
        os.unlink(path)
    module.context = context
    return module


# As Triton words it: "LLVM ERROR: failed to parse IR: expected instruction opcodelineno: 10".
_LLVM_SYNTAX = re.compile(r"failed to parse IR: (.*?)\s*lineno: (\d+)")


def _refused_llir(said: str, source: str, filename: str) -> DiagnosticError:
    """What LLVM said when it ended the process, with the line of the text where it names one."""
    who = f"LLVM of Triton {triton.__version__}"
    note = "LLIR of a newer release may need that release; enter at ttir or ptx"
    found = _LLVM_SYNTAX.search(said)
    if found is None:
        return fail(f"{who} does not accept {filename or 'this LLIR'}: {said}", note)
    file, line = filename or "<llir>", int(found[2])
    message = f"{who} does not accept this: {found[1]}"
    lines = source.split("\n")
    shown = [f"  {lines[line - 1]}"] if 0 < line <= len(lines) else []
    text = "\n".join([f"{file}:{line}: error: {message}", *shown, f"note: {note}"])
    return DiagnosticError(text, message=message, file=file, line=line, notes=[note])


@functools.cache
def option_names(target: str) -> set[str]:
    """The keyword arguments that the backend takes as compile options (num_warps, num_stages, ...)."""
    return {field.name for field in dataclasses.fields(type(find_backend(target).parse_options({})))}


def compile_onward(
    source,
    level: str,
    to: str,
    target: str,
    options: dict | None = None,
    filename: str = "",
    language: str = "triton",
) -> Compilation:
    """Runs the stages behind `level` up to `to` on the text of a kernel.

    options: compile options, or a metadata dict that holds them. Errors: a level that the target does not
    have or that lies above `level`; what Triton's stages raise.
    """
    levels = levels_of(target)
    for name in (level, to):
        if name not in levels:
            raise fail(f"{target} has no level {name!r}", f"its levels: {', '.join(levels)}")
    if levels.index(to) < levels.index(level):
        raise fail(f"{to} lies above {level}: compilation cannot go back", f"levels: {', '.join(levels)}")
    backend = find_backend(target)
    known = {field.name for field in dataclasses.fields(type(backend.parse_options({})))}
    given = {
        name: _tuples(value) for name, value in (options or {}).items() if name in known and value is not None
    }
    given.pop("arch", None)  # the target says it
    # Behind the TTGIR it is a number like any other: that of a warp-specialised kernel is a sum.
    warps = given.pop("num_warps", None) if level not in MLIR else None
    parsed = backend.parse_options(given)
    stages: dict = {}
    if installed().language_argument:
        from triton.backends.compiler import Language

        backend.add_stages(stages, parsed, Language.GLUON if language == "gluon" else Language.TRITON)
    else:
        backend.add_stages(stages, parsed)
    metadata = {**(options or {}), **parsed.__dict__, "target": backend.target}
    metadata["num_warps"] = warps or metadata["num_warps"]
    module = source
    if level in MLIR:
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        module = _parse(source, level, context, filename)
        if level == "ttgir" and hasattr(module, "get_tensordesc_metadata"):
            metadata.setdefault("tensordesc_meta", module.get_tensordesc_metadata())
    elif level == "llir":
        from triton._C.libtriton import llvm

        llvm.init_targets()  # else done by the stage above; without it LLVM crashes
    asm = {level: source}
    names = list(stages)
    for name in names[names.index(level) + 1 : names.index(to) + 1]:
        stage = stages[name]
        if level == "llir" and module is source:
            died = death_of_child(lambda stage=stage: stage(source, dict(metadata)))
            if died is not None:
                raise _refused_llir(died, source, filename)
        try:
            module = stage(module, metadata)
        except Exception as error:
            lines = [line for line in str(error).splitlines() if "ptxas" in line]
            fatal = [line for line in lines if "fatal" in line or "error" in line]
            if not fatal or isinstance(error, DiagnosticError):
                raise
            what = f"ptxas of Triton {triton.__version__} does not accept {filename or 'this PTX'}"
            raise fail(what, *fatal) from None
        asm[name] = module if isinstance(module, (str, bytes)) else str(module)
    return Compilation(asm, metadata)
