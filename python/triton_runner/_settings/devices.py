"""Decides which device a launch runs on, and what the CPU compiles for and executes, by the settings in
force."""

from __future__ import annotations

import functools
import os
import re

from triton_runner import _settings
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import LEVELS, ON_CPU, executed, levels_of
from triton_runner._settings import messages
from triton_runner._worker.spelling import option

# Devices of the CPU are numbered from here, after GPUs: Triton keeps compiled kernels by number, those of
# GPUs too. Where the CPU pretends to be torch's CUDA device, it is number 0.
first_device = 1024

# Whether torch's tensors say that they are CUDA tensors (--pretend-cuda).
pretends_cuda = False


@functools.cache
def gpu() -> str | None:
    """ "cuda" or "hip" if this machine has such a device, else None. Opens the driver's library, once."""
    from triton_runner import _core  # not at import: that opens and loads nothing

    for backend in ("cuda", "hip"):
        try:
            if _core.device.driver(backend, _library(backend)).device_count() > 0:
                return backend
        except DiagnosticError:
            continue
    return None


def _library(backend: str) -> str:
    """Returns where a driver's library is, if the loader's path is not where Triton looks first: HIP's is
    often torch's own copy, and two copies know nothing of each other's kernels."""
    if backend != "hip":
        return ""
    loaded = sorted(loaded_libraries("libamdhip64.so"))
    return os.environ.get("TRITON_LIBHIP_PATH") or (loaded[0] if loaded else "")


def loaded_libraries(name: str) -> set[str]:
    """The files of this name, or of a version of it, that the process has loaded."""
    with open("/proc/self/maps") as file:
        places = (line.split(maxsplit=5)[-1].strip() for line in file)
        return {place for place in places if os.path.basename(place).startswith(name)}


_resolved: dict[str, str] = {}


def resolved_device() -> str:
    """ "cpu", "cuda" or "hip": the device of the settings in force."""
    wanted = _settings.current().device
    device = _resolved.get(wanted)
    if device is None:
        device = _resolved[wanted] = _resolve(wanted)
        if device == "cpu":
            messages.without_fusion_notice()
    return device


def _resolve(device: str) -> str:
    if device == "auto":
        return gpu() or "cpu"
    if device != "cpu" and gpu() != device:
        raise fail(
            f"device {device!r} was asked for, and this machine has no such device",
            f"{option('device', 'cpu')} (or TRITON_RUNNER_DEVICE=cpu) runs on the CPU",
        )
    return device


def cpu_target() -> tuple[str, str]:
    """("cuda:90", "ttir"): what the CPU compiles for, and the level that it executes."""
    settings = _settings.current()
    level = settings.level or "ttir"
    if level == "python":
        level = "ttir"
    target = settings.target or _settings.DEFAULT_TARGET
    check_level_of(target, level)
    return target, executed(level, target)


_OF_AMD = re.compile(r"hip:gfx(9|11|120)")  # as simt::load_amdgcn() has them


def check_level_of(target: str, level: str) -> None:
    """Refuses a target without the level: PTX and cubins are CUDA's, AMDGCN and hsaco AMD's."""
    if LEVELS[level].engine == "simt" and target and level not in levels_of(target):
        backend = LEVELS[level].backends[0]
        example = _settings.DEFAULT_TARGET if backend == "cuda" else "hip:gfx942"
        raise fail(
            f"{target} has no level {level}",
            f"{option('target', example)} has it",
            f"the levels of {target} that the CPU executes: "
            f"{', '.join(name for name in levels_of(target) if name in ON_CPU)}",
        )
    if LEVELS[level].engine == "simt" and target.startswith("hip:") and not _OF_AMD.match(target):
        raise fail(
            f"the engine does not execute machine code of {target}: it knows that of gfx90a, gfx942, gfx950, "
            "gfx11 and gfx120",
            f"{option('level', 'ttgir')} executes the IR that it is compiled from",
        )
