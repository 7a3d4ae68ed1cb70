"""Reads a kernel's metadata in any form in which a caller has it: a file, its text, a dict, a compiled
kernel's .metadata."""

from __future__ import annotations

import json
import os

from triton_runner._base.errors import fail


def jsonable(value):
    """Answers json.dumps for a value that it does not know: Triton's targets and options are objects."""
    return vars(value) if hasattr(value, "__dict__") else str(value)


def as_path_or_text(value, keyword: str) -> str | None:
    """A path, or the JSON text, of the metadata. Raises DiagnosticError for anything else."""
    if value is None:
        return None
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    fields = _fields(value)
    if fields is None:
        raise fail(
            f"{keyword}={value!r}: expected metadata, not {type(value).__name__}",
            "a path, a JSON text, a dict, or a compiled kernel's .metadata",
        )
    return json.dumps(fields, default=jsonable)


def _fields(value) -> dict | None:
    if isinstance(value, dict):
        return value
    if hasattr(value, "_asdict"):  # Triton's named tuple
        return value._asdict()
    if hasattr(value, "asm") and hasattr(value, "metadata"):  # the compiled kernel itself
        return _fields(value.metadata)
    if not isinstance(value, type) and hasattr(value, "name") and hasattr(value, "__dict__"):
        return vars(value)
    return None
