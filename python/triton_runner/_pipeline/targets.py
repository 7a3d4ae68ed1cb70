"""Makes Triton's targets from their names ("cuda:90", "hip:gfx942"), also those whose compilation ends at a
level (StoppedTarget: its level and places are part of the key of Triton's cache), and finds Triton's own
backends beneath ours.

It is tested through tests/python/launch/test_jit.py and tests/python/launch/test_driver.py."""

from __future__ import annotations

import dataclasses
import re

from triton.backends.compiler import GPUTarget

from triton_runner._base.errors import fail
from triton_runner._worker import job


@dataclasses.dataclass(frozen=True)
class StoppedTarget(GPUTarget):
    """A target whose compilation ends at `level`. places: a digest of where the compiled functions stand, as
    part of the key of Triton's cache."""

    level: str = "ttir"
    places: str = ""


def make_target(target: str, level: str | None = None) -> GPUTarget:
    """ "cuda:90" or "hip:gfx942" as Triton's target, stopped at a level where one is given. A target that
    the Triton at hand does not compile for is refused: LLVM would take another processor in its place."""
    try:
        job.check_target(target)
    except job.Refused as error:
        raise fail(error.message, *error.notes) from None
    fields = job.target_fields(target)
    return StoppedTarget(*fields, level) if level else GPUTarget(*fields)


def target_name(target: GPUTarget) -> str:
    """ "cuda:90" of Triton's target."""
    return f"{target.backend}:{target.arch}"


def compiled_for(metadata) -> str:
    """The target that a kernel's metadata says: Triton's option `arch` ("sm80") goes before the device's."""
    arch = getattr(metadata, "arch", None)
    if metadata.target.backend == "cuda" and isinstance(arch, str) and re.fullmatch(r"sm\d+", arch):
        return f"cuda:{arch[2:]}"
    return target_name(metadata.target)


def original(backend_class):
    """The backend class as Triton has it."""
    return getattr(backend_class, "runner_base", backend_class)
