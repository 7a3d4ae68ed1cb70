"""Compiles an artifact to a level below its own, by Triton's cache or its stages."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from triton_runner._artifact.reading import Artifact, compile_options
from triton_runner._base.levels import LEVELS, MLIR
from triton_runner._base.markers import without_markers
from triton_runner._base.metadata import jsonable
from triton_runner._pipeline.stages import compile_onward
from triton_runner._settings import messages


def compile_artifact(artifact: Artifact, to: str, target: str, options: dict) -> dict:
    """The levels after the artifact up to `to` (and "metadata", a JSON text), from Triton's cache or its
    stages."""
    import triton
    from triton.runtime.cache import get_cache_manager

    options_given = compile_options(artifact, **options)
    text = json.dumps(
        [triton.__version__, artifact.stage, to, target, options_given], default=str, sort_keys=True
    )
    manager = get_cache_manager(hashlib.sha256(text.encode() + artifact.content).hexdigest())
    group_name = f"{artifact.name}.json"
    folder = getattr(manager, "cache_dir", "the cache")
    with messages.always_compile_by_default():
        if os.environ.get("TRITON_ALWAYS_COMPILE", "0") != "1":
            group = manager.get_group(group_name) or {}
            if f"{artifact.name}.{to}" in group:
                messages.kernel_saved(folder, cache_hit=True)
                files = {Path(p).suffix[1:]: Path(p) for p in group.values()}
                asm = {
                    level: p.read_text() if LEVELS[level].is_text else p.read_bytes()
                    for level, p in files.items()
                    if level != "json"
                }
                return {**asm, "metadata": files["json"].read_text()}
        source = artifact.source
        if to not in MLIR:  # a dump on a GPU has stores in the place of its markers
            source = without_markers(source, artifact.level, artifact.label)
        compiled = compile_onward(source, artifact.stage, to, target, options_given, artifact.label)
        metadata = json.dumps(compiled.metadata, default=jsonable)
        files = {
            **{f"{artifact.name}.{level}": value for level, value in compiled.asm.items()},
            group_name: metadata,
        }
        manager.put_group(
            group_name,
            {
                name: manager.put(value, name, binary=isinstance(value, bytes))
                for name, value in files.items()
            },
        )
        messages.kernel_saved(folder, cache_hit=False)
    return {**compiled.asm, "metadata": metadata}
