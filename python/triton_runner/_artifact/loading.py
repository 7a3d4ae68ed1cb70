"""Implements triton_runner.load(): a kernel from an artifact alone, without its Python source."""

from __future__ import annotations

import os

from triton_runner import _settings
from triton_runner._artifact.executable import executable
from triton_runner._artifact.reading import (
    SOURCE,
    cubin_in,
    describe,
    is_text_itself,
    no_case,
    read_kernel,
    text_of,
)
from triton_runner._base.errors import fail
from triton_runner._base.levels import ENDINGS, HOLDERS, LEVELS, level_of_name, level_of_text
from triton_runner._base.metadata import as_path_or_text
from triton_runner._base.paths import no_level


def load(
    source,
    metadata=None,
    device: str | None = None,
    *,
    name: str = "",
    target: str = "",
    level: str = "",
    check: str = "",
    shuffle: int = -1,
    block=None,
    cluster=None,
):
    """Loads the kernel of a file or a text, without its Python source.

    - `source`: a path (.ttir, .ttgir, .glir, .llir, .ptx, .cubin, .amdgcn, .hsaco, or .source of Triton's
      cache), or a text; or a file that holds cubins (.fatbin, or .so and .o with fatbins), of which `name`
      and `target` choose one.
    - `metadata`: the metadata, if it is not beside the file: a JSON file or text, a dict, or a compiled
      kernel's `.metadata`.
    - `device`: as for `using()`; by default the device on which a kernel of `jit` would run.
    - `name`: selects the kernel if the source contains several.
    - `level`: the level to execute; by default the level of the source. At "amdgcn" an hsaco runs as the
      text that it is decoded to.
    - `check`, `shuffle`: as for `using()`, for all launches of this kernel.
    - `block`, `cluster`: the threads of a block and the blocks of a cluster (three numbers each), for PTX
      or a cubin that does not specify them.

    The result is launched as kernel[grid](*args), and has `.params`, `.asm` and `.metadata`. Raises
    DiagnosticError.
    """
    text = os.fspath(source)
    metadata = as_path_or_text(metadata, "metadata")
    if isinstance(text, bytes):
        raise fail("load() takes a path or a text", "give a binary artifact as a file")
    if is_text_itself(text):
        artifact = describe(level_of_text(text), text, "", name, metadata)
    else:
        entry = os.path.splitext(text)[1][1:]
        is_source = f".{entry}" == SOURCE
        no_case(text)
        if entry in HOLDERS:
            content = cubin_in(text, name, target or _settings.current().target)
            artifact = describe("cubin", content, text, name, metadata)
            return _kernel(artifact, device, target, level, check, shuffle, block, cluster)
        entry = level_of_name(text)
        if not entry and not is_source:
            raise no_level(text, (*ENDINGS, *HOLDERS, SOURCE[1:]))
        if entry == "hsaco" and (level or _settings.current().level) == "amdgcn":
            entry, content = "amdgcn", text_of(text)
        else:
            content = read_kernel(text, not is_source and not LEVELS[entry].is_text)
            entry = level_of_text(content) if is_source else entry
        artifact = describe(entry, content, text, name, metadata)
    return _kernel(artifact, device, target, level, check, shuffle, block, cluster)


def _kernel(artifact, device, target, level, check, shuffle, block, cluster):
    with _settings.using(device=device, target=target or None, level=level or None):
        kernel = executable(artifact, block=block, cluster=cluster)
    if not check and shuffle < 0:
        return kernel
    return kernel.with_settings(check=check or None, shuffle=shuffle if shuffle >= 0 else None)
