"""Gathers what pages and maps show of a kernel: its texts by level, its binary, its passes. They come from a
compilation, a launch, a folder or a file."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path

from triton_runner._artifact import compiled_kernel
from triton_runner._artifact.reading import describe
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import ENDINGS, GLIR, LEVELS, is_above, level_of_name, levels_of
from triton_runner._base.paths import check_name, no_level, read_json

_PASS_FILE = re.compile(r"(\d+)(-changed)?-(\w+)\.mlir$")
_BINARIES = {"cubin": "cuda", "hsaco": "hip"}


@dataclasses.dataclass
class Snapshot:
    """The IR after a pass; `text` is None where nothing changed (it is that of the pass before) or where it
    was not kept."""

    number: int
    name: str
    changed: bool
    text: str | None
    stage: str = ""
    seconds: float | None = None


@dataclasses.dataclass
class Material:
    """A kernel's levels (texts; bytes of binaries) in the order of compilation, its metadata, its passes, and
    notes on what is missing.

    folder: where it was read from; variant: the constants that it was compiled with, which tell it from
    another kernel of its name; sources: {path: text} of its source; None: the files are read.
    """

    name: str
    target: str
    release: str
    asm: dict
    metadata: dict
    passes: list[Snapshot] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    folder: str = ""
    variant: str = ""
    sources: dict | None = None


def gather(kernel, name: str = "") -> Material:
    """The material of a folder, a file with its neighbours, a trace, a compilation, a launched kernel, or of
    what gives its own.

    name: which kernel, where a folder has several. Raises DiagnosticError.
    """
    if isinstance(kernel, Material):
        return kernel
    if isinstance(kernel, (str, os.PathLike)):
        check_name(kernel)
        path = Path(kernel)
        if path.is_dir():
            return _of_folder(path, name)
        if path.is_file():
            return _of_file(path)
        raise fail(f"no such file or folder: {path}")
    if hasattr(kernel, "material"):
        return kernel.material()
    if hasattr(kernel, "asm") and hasattr(kernel, "release"):
        return _of_compilation(kernel)
    if hasattr(kernel, "asm"):
        return _of_launched(kernel)
    if (compiled := last_compiled(kernel)) is not None:
        return _of_launched(compiled)
    raise fail(
        f"nothing is known of the levels of {kernel!r}",
        "give a folder, a file, or what compile(), passes(), load() or a launch returns; or launch it first",
    )


def gather_all(kernel, name: str = "") -> list[Material]:
    """The materials of all kernels of a folder, or of the one that gather() finds."""
    if not name and isinstance(kernel, (str, os.PathLike)) and len(names := kernels_of(Path(kernel))) > 1:
        return [gather(kernel, each) for each in names]
    return [gather(kernel, name)]


def _of_compilation(trace) -> Material:
    out = Material(trace.name, trace.target, trace.release, _known(trace.asm), dict(trace.metadata))
    if isinstance(getattr(trace, "texts", None), list | dict):
        for step in trace:
            text = step.after if trace.keep == "text" and step.changed is not False else None
            out.passes.append(
                Snapshot(step.number, step.name, bool(step.changed), text, step.stage, step.seconds)
            )
        if len(trace) and trace.keep == "text" and trace[0].before is not None:
            out.passes.insert(0, Snapshot(0, "source", True, trace[0].before, trace[0].stage))
    return out


def _of_launched(kernel) -> Material:
    compiled = compiled_kernel.compiled_of(kernel)
    asm, notes = {}, []
    for level in levels_of(compiled.target):
        if is_above(level, compiled.entry) if compiled.entry in LEVELS else False:
            continue
        try:
            asm[level] = compiled.asm[level]  # compiled when it is asked for
        except (KeyError, DiagnosticError) as error:
            if not asm and isinstance(error, KeyError):
                continue  # a Gluon kernel has no TTIR
            notes.append(f"no {level}: {error}")
            break
    metadata = {k: v for k, v in (compiled.metadata() or {}).items() if not k.startswith("_")}
    release = str(metadata.get("triton_version") or "")
    return Material(compiled.name, compiled.target, release, _known(asm), metadata, notes=notes)


def last_compiled(function):
    """Returns what Triton compiled last for a JIT function; None if it never was."""
    while (
        hasattr(function, "fn") and not hasattr(function, "device_caches") and not hasattr(function, "cache")
    ):
        function = function.fn
    for cache in (getattr(function, "device_caches", None), getattr(function, "cache", None)):
        for entry in reversed(list((cache or {}).values())):
            kernels = entry[0] if isinstance(entry, tuple) else entry
            compiled = [k for k in getattr(kernels, "values", list)() if hasattr(k, "asm")]
            if compiled:
                return compiled[-1]
    return None


def _known(asm) -> dict:
    """The levels that can be shown, in the order of compilation."""
    return {level: asm[level] for level in LEVELS if level in dict.keys(asm)}


def kernels_of(folder: Path) -> list[str]:
    """The kernels whose levels lie in a folder, in the order of their names; none of what is not a folder."""
    if not folder.is_dir():
        return []
    return sorted({p.stem for p in folder.iterdir() if level_of_name(p) and p.is_file()})


def _of_folder(folder: Path, name: str) -> Material:
    names = kernels_of(folder)
    if not names:
        raise fail(
            f"{folder} holds no kernel",
            f"its files end in .{', .'.join(LEVELS)}, as compile --save writes them",
        )
    if name and name not in names:
        raise fail(f"{folder} holds no kernel {name!r}", f"it holds {', '.join(names)}")
    if not name and len(names) > 1:
        raise fail(f"{folder} holds {len(names)} kernels: {', '.join(names)}", "name one of them")
    return _read(folder, name or names[0])


def _of_file(path: Path) -> Material:
    if path.suffix == ".trcase":
        raise fail(f"{path} is a case", f"triton_runner.open_case({path.name!r}) gives what has its levels")
    if not level_of_name(path):
        raise no_level(path, ENDINGS)
    return _read(path.parent, path.stem)


def _read(folder: Path, name: str) -> Material:
    asm = {}
    for level in LEVELS:
        path = folder / f"{name}.{level}"
        if path.is_file():
            content = path.read_bytes()
            asm[level] = content if level in _BINARIES else content.decode(errors="replace")
    if "ttgir" not in asm and (path := folder / f"{name}.{GLIR}").is_file():
        asm["ttgir"] = path.read_text(errors="replace")
    metadata = _json_of(folder / f"{name}.json")
    out = Material(
        name, _target(asm, metadata, name), str(metadata.get("triton_version") or ""), asm, metadata
    )
    out.folder = str(folder)
    listed = _json_of(folder / "passes.json")
    if listed and listed.get("kernel") != name:
        return out  # the passes are another kernel's
    out.release = listed.get("release") or out.release
    ran = {one["number"]: one for one in listed.get("passes", ())}
    files = [(m, p) for p in sorted(folder.glob("[0-9]*.mlir")) if (m := _PASS_FILE.match(p.name))]
    for match, path in sorted(files, key=lambda pair: int(pair[0][1])):
        changed = bool(match[2]) or int(match[1]) == 0
        text = path.read_text(errors="replace") if changed else None
        step = ran.get(int(match[1]), {})
        out.passes.append(
            Snapshot(int(match[1]), match[3], changed, text, step.get("stage", ""), step.get("seconds"))
        )
    if len(out.passes) > 1 and not out.passes[0].stage:
        out.passes[0].stage = out.passes[1].stage  # the source stands before the first stage's passes
    return out


def _json_of(path: Path) -> dict:
    return read_json(path) if path.is_file() else {}


def _target(asm: dict, metadata: dict, name: str) -> str:
    target = metadata.get("target")
    if isinstance(target, dict) and "backend" in target:
        return f"{target['backend']}:{target['arch']}"
    if isinstance(target, str):
        return target
    for level in reversed(asm):
        try:
            own_target = describe(level, asm[level], "", name, None).description.get("target")
        except DiagnosticError:
            continue
        if own_target:
            return own_target
    return ""
