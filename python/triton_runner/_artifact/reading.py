"""Reads the text or bytes of a kernel at one level from a file, and what it and its metadata say about it."""

from __future__ import annotations

import dataclasses
import difflib
import os
from pathlib import Path

from triton_runner import _core, _settings
from triton_runner._base import tools
from triton_runner._base.errors import fail, warn
from triton_runner._base.levels import level_of_name, stage_of
from triton_runner._base.paths import check_name
from triton_runner._worker.spelling import option

SOURCE = ".source"  # a stage of Triton's caches: TTIR as the front end made it, of Gluon TTGIR


@dataclasses.dataclass(frozen=True, eq=False)
class Artifact:
    """The text or bytes of a kernel at one level, and what it and its metadata say about it."""

    level: str
    source: str | bytes
    path: str  # "" for a text
    description: dict

    @property
    def name(self) -> str:
        return self.description["name"]

    @property
    def stage(self) -> str:
        """The stage after which the compilation of its text goes on."""
        return stage_of(self.level, self.source, self.path)

    @property
    def content(self) -> bytes:
        return self.source if isinstance(self.source, bytes) else self.source.encode()

    @property
    def label(self) -> str:
        return self.path or f"{self.name}.{self.level}"


def no_case(path: str) -> None:
    """Raises for a case (*.trcase) where one artifact is meant."""
    if path.endswith(".trcase"):
        raise fail(
            f"{path} is a case: a launch, with its kernel at all levels",
            "run, debug, verify, profile, dump, lockstep, bisect, compare, reduce, report and map take it; "
            "unzip has its files",
        )


def read_kernel(path: str, binary: bool, keyword: str = ""):
    """The content of a file. keyword: of a launch, which messages name; "" of other callers."""
    no_case(path)
    check_name(path)
    by = f"{option(keyword).rstrip('=')}: " if keyword else ""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise fail(f"{by}cannot read {path}: {error.strerror}") from None
    if binary:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise fail(
            f"{path} is not a text file: byte {error.start} is not UTF-8",
            "a binary artifact has a keyword of its own"
            if by
            else "the name of a binary ends in .cubin or .hsaco",
        ) from None


def cubin_in(path: str, name: str, target: str) -> bytes:
    """The cubin in a fatbin, or in a library or object file that holds fatbins, that has a kernel, for a
    target: the one asked for, else the default or the newest. Raises DiagnosticError."""
    pieces = _core.artifact.device_code(read_kernel(path, True), path)
    cubins = [one for one in pieces if one["level"] == "cubin"]
    named = [one for one in cubins if (name in one["kernels"] if name else one["kernels"])]
    unread = next((one["problem"] for one in cubins if one["problem"]), "")
    if not named and unread:
        program = tools.toolkit("cuobjdump") or "cuobjdump (of Triton's wheels, or of NVIDIA's CUDA toolkit)"
        raise fail(
            f"{path}: a cubin in it cannot be read: {unread}",
            f"{program} -xelf all {path} writes its cubins, which load() takes",
        )
    kernels = list(dict.fromkeys(kernel for one in cubins for kernel in one["kernels"]))
    if not named:
        near = difflib.get_close_matches(name, kernels, 3, 0.3) or kernels[:3]
        more = ", ..." if len(kernels) > len(near) else ""
        said = [f"it has {len(kernels)}: {', '.join(near)}{more}"] if kernels else []
        raise fail(f"{path} has no kernel" + (f" '{name}'" if name else " in a cubin"), *said)
    if not name and len(kernels) > 1:
        raise fail(
            f"{path} has {len(kernels)} kernels, and none is named", f"as in {option('name', kernels[0])}"
        )
    targets = {one["target"]: one["content"] for one in named}
    if target and target not in targets:
        raise fail(f"{path} has '{name}' not for {target}", f"it has it for {', '.join(targets)}")
    default = _settings.DEFAULT_TARGET
    newest = max(targets, key=lambda one: int(one.partition(":")[2]))
    return targets[target or (default if default in targets else newest)]


def text_of(path: str) -> str:
    """The text of a file; of an hsaco the AMDGCN that it is decoded to."""
    if level_of_name(path) == "hsaco":
        return _core.amdgcn_of_hsaco(read_kernel(path, True))
    return read_kernel(path, False)


def _metadata_text(path: str, metadata_json: str | None) -> str:
    if metadata_json is None:
        metadata_path = _core.artifact.find_metadata(path) if path else ""
        return read_kernel(metadata_path, False, "metadata") if metadata_path else ""
    if metadata_json.lstrip().startswith("{"):
        return metadata_json
    return read_kernel(metadata_json, False, "metadata_json")


def describe(level: str, source, path: str, name: str, metadata_json: str | None) -> Artifact:
    """The artifact with its description. Errors: malformed, no such kernel, metadata that contradicts it."""
    metadata = _metadata_text(path, metadata_json)
    description = _core.artifact.describe(source, level, name, metadata, path or f"<{level}>")
    for warning in description["warnings"]:
        warn(warning)
    return Artifact(level, source, path, description)


def is_text_itself(value: str) -> bool:
    """Returns whether an argument is the text of a kernel, and not its path: a text has several lines."""
    return "\n" in value


def compile_options(artifact: Artifact, **more) -> dict:
    """Compile options for the stages after an artifact: its metadata's, what its IR says, then the
    caller's."""
    options = dict(artifact.description.get("metadata") or {})
    options.pop("extern_libs", None)  # paths of the machine that wrote the file; the backend knows its own
    for name in ("num_warps", "num_ctas"):
        if artifact.description.get(name) is not None:
            options[name] = artifact.description[name]
    options.update({name: value for name, value in more.items() if value is not None})
    return options


def file_stamps(artifact: Artifact) -> list:
    """[(file, modified, bytes)] of the file that an artifact was read from."""
    file_stamp = stamp(artifact.path) if artifact.path else None
    return [] if file_stamp is None else [(os.path.abspath(artifact.path), *file_stamp)]


def stamp(path: str):
    """(modified, bytes) of a file; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
