"""PTX and machine code on the CPU: an artifact, or what Triton compiled for a launch, as a kernel of the SIMT
engine."""

from __future__ import annotations

import json
import re

from triton_runner import _core, _settings, _tools
from triton_runner._errors import fail
from triton_runner._native import NativeKernel
from triton_runner._pipeline.versions import installed

LISTING = ("-hex", "-gi", "-gp")  # what nvdisasm is asked for
_WIDTHS = re.compile(r"(bf|fp|f|i|u)(\d+)")


def contracts(metadata: dict) -> bool:
    """Whether mul and add are contracted, as ptxas does unless Triton's enable_fp_fusion is off."""
    fmad = _settings.current().fmad
    return metadata.get("enable_fp_fusion", True) is not False if fmad == "auto" else fmad == "on"


def _block(options: dict, text_says: bool):
    if text_says or not options.get("num_warps"):
        return None
    return (options["num_warps"] * (options.get("warp_size") or 32), 1, 1)


def _loaded(source, filename: str, name: str, params: list, options: dict) -> _core.Kernel:
    """The kernel of a PTX text or of a cubin's bytes on the SIMT engine. Machine code is read from its listing,
    with the lines of the PTX and of the program where the cubin has them."""
    if isinstance(source, str):
        return _core.load_simt(source, filename, name, params, options)
    listing = _tools.disassembly(source, *LISTING)
    return _core.load_cubin(source, listing, filename, name, params, options)


class SimtKernel(NativeKernel):
    """A PTX text or a cubin on the SIMT engine. Its code is lowered when it is first launched."""

    device = "cpu"

    def __init__(self, source: str | bytes, filename: str, description: dict, block=None, cluster=None):
        self.source = source
        self.filename = filename
        self.block = block
        self.cluster = cluster
        super().__init__(description)

    @property
    def _says_block(self) -> bool:
        return isinstance(self.source, str) and ".reqntid" in self.source

    def _check_complete(self) -> None:
        if self.block is None and not self._says_block:
            super()._check_complete()

    def mode(self) -> int:
        return contracts(self.description.get("metadata") or {})

    def load_code(self, params: list, options: dict) -> _core.Kernel:
        given = {**options, "block": self.block or _block(options, self._says_block)}
        given["contract"] = self.mode()
        if self.cluster:
            given["cluster"] = self.cluster
        return _loaded(self.source, self.filename, self.name, params, given)

    def __repr__(self):
        return f"<{self.level} kernel {self.name} on the CPU>"


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
    """The kernel of a PTX text or a cubin that the installed Triton compiled; signature: (name, type) of its
    parameters, metadata: what Triton's stages said of it."""
    level = "ptx" if isinstance(source, str) else "cubin"
    filename = f"{name}.{level}"
    said = json.dumps(metadata, default=lambda value: getattr(value, "__dict__", None) or str(value))
    d = _core.artifact.describe(source, level, name, said, filename)
    options = {
        "block": _block(d, level == "ptx" and ".reqntid" in source),
        "cluster": d["cluster"] or (d["num_ctas"] or 1, 1, 1),
        "shared": d["shared"],
        "hidden_pointers": installed().hidden_pointers,
        "tensordesc_meta": d["tensordesc_meta"] or None,
        "contract": contracts(metadata),
    }
    for scratch in ("global_scratch", "profile_scratch"):
        for what in ("size", "align"):
            options[f"{scratch}_{what}"] = d[f"{scratch}_{what}"]
    return _loaded(source, filename, name, params_of(signature), options)
