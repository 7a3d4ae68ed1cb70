"""Makes kernels of the SIMT engine, which runs PTX, AMDGCN and machine code (cubin, hsaco) on the CPU: from
an artifact, or from the code that Triton compiled for a launch."""

from __future__ import annotations

import json
import re

from triton_runner import _core, _settings
from triton_runner._base import tools
from triton_runner._base.errors import fail
from triton_runner._base.levels import level_of_binary, level_of_text
from triton_runner._base.releases import installed
from triton_runner._launch.native import Executor, launch_options

_WIDTHS = re.compile(r"(bf|fp|f|i|u)(\d+)")


def contracts(metadata: dict) -> bool:
    """Whether mul and add are contracted, as ptxas does unless Triton's enable_fp_fusion is off."""
    fmad = _settings.current().fmad
    return metadata.get("enable_fp_fusion", True) is not False if fmad == "auto" else fmad == "on"


def _level_of(source: str | bytes) -> str:
    return level_of_text(source) if isinstance(source, str) else level_of_binary(source)


def _loaded(source: str | bytes, filename: str, name: str, params: list, options: dict) -> _core.Kernel:
    """The kernel of a text of PTX or AMDGCN, or of the bytes of a cubin or an hsaco. A cubin is read from its
    listing, with the lines of the PTX and of the program where it has them; the core decodes an hsaco."""
    if isinstance(source, str):
        load = _core.load_amdgcn if _level_of(source) == "amdgcn" else _core.load_simt
        return load(source, filename, name, params, options)
    if _level_of(source) == "hsaco":
        return _core.load_hsaco(source, filename, name, params, options)
    return _core.load_cubin(source, tools.listing(source), filename, name, params, options)


def executor(source: str | bytes, filename: str, description: dict, block=None, cluster=None) -> Executor:
    """A text of PTX or AMDGCN, a cubin or an hsaco on the SIMT engine, lowered when it is first launched."""

    def mode() -> int:
        return contracts(description.get("metadata") or {})

    def load(name: str, level: str, params: list, options: dict) -> _core.Kernel:
        return _loaded(source, filename, name, params, {**options, "contract": mode()})

    is_text = isinstance(source, str)
    says_block = (
        ".reqntid" in source or ".amdgpu_metadata" in source if is_text else _level_of(source) == "hsaco"
    )
    return Executor(description, load, "cpu", mode, block, cluster, says_block)


def params_of(signature) -> list:
    """(name, kind, type, bits) of what a launch passes, from (name, type) pairs of Triton's signature."""
    result = []
    for name, kind in signature:
        if isinstance(kind, (tuple, list)):
            result += params_of((f"{name}.{i}", part) for i, part in enumerate(kind))
        elif kind.startswith("tensordesc"):
            result.append((name, "tensordesc", kind, 0))
        elif kind.startswith("*") or kind == "nvTmaDesc":
            result.append((name, "pointer", kind, 64))
        elif kind != "constexpr":
            width = _WIDTHS.fullmatch(kind)
            if width is None:
                raise fail(f"argument '{name}' has the type {kind!r}, which PTX on the CPU does not take")
            is_float = width[1] in ("bf", "fp", "f")
            result.append((name, "float" if is_float else "integer", kind, int(width[2])))
    return result


def load_compiled(source: str | bytes, name: str, signature, metadata: dict) -> _core.Kernel:
    """The kernel of a text or of machine code that the installed Triton compiled; signature: (name, type) of
    its parameters, metadata: what Triton's stages said of it."""
    level = _level_of(source)
    filename = f"{name}.{level}"
    metadata_text = json.dumps(metadata, default=lambda value: getattr(value, "__dict__", None) or str(value))
    d = _core.artifact.describe(source, level, name, metadata_text, filename)
    options = {
        **launch_options(d),
        "hidden_pointers": installed().hidden_pointers,
        "contract": contracts(metadata),
    }
    return _loaded(source, filename, name, params_of(signature), options)
