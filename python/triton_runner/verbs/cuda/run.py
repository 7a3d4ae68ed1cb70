"""Runs programs in front of whose other libraries stands the libcuda.so.1 of src/driver."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from triton_runner import _core, _settings
from triton_runner._base import tools
from triton_runner._base.errors import fail
from triton_runner._base.paths import cache_folder, check_program, make_folder
from triton_runner._kernel.cost.chips import chip_named

NAMES = ("libcuda.so.1", "libcuda.so")  # the second one is what linkers and ctypes look for


@dataclasses.dataclass(frozen=True)
class Device:
    """The device that a program sees. chip: of the table of chips; check: checks with commas between them;
    launches: whether each launch is printed."""

    chip: str = "h100"
    check: str = ""
    launches: bool = False


def library() -> Path:
    """Returns the path of libcuda.so.1, beside the package's core."""
    path = Path(_core.__file__).parent / "_cuda" / NAMES[0]
    if not path.exists():
        raise fail(f"{path} is not there", "this package was built without it: install it again")
    return path


def folder() -> Path:
    """Returns a folder that has the library under both of its names, and nothing else."""
    place, there = cache_folder("cuda"), library()
    make_folder(place)
    for name in NAMES:
        link = place / name
        if not link.is_symlink() or os.readlink(link) != str(there):
            part = place / f".{name}.{os.getpid()}"
            part.symlink_to(there)
            part.replace(link)
    return place


def environment(device: Device) -> dict[str, str]:
    """Returns the variables by which a program, and each that it starts, comes to the library."""
    chip, place = chip_named(device.chip), str(folder())
    before = os.environ.get("LD_LIBRARY_PATH", "")
    facts = (chip.name, chip.capability, chip.sms, chip.clock, chip.memory, chip.l2_bytes)
    return {
        **os.environ,
        "LD_LIBRARY_PATH": place + (os.pathsep + before if before else ""),
        "TRITON_LIBCUDA_PATH": place,
        "TRITON_RUNNER_CUDA_CHIP": " ".join(map(str, facts)),
        "TRITON_RUNNER_CUDA_CHECKS": str(_settings.check_bits(device.check)),
        "TRITON_RUNNER_CUDA_LAUNCHES": str(int(device.launches)),
        "TRITON_RUNNER_NVDISASM": tools.toolkit("nvdisasm") or "",
    }


def words_of(program: str, arguments: list[str], is_module: bool) -> list[str]:
    """Returns the command: Python for its own programs and modules, else the program itself."""
    if is_module:
        return [sys.executable, "-m", program, *arguments]
    if program.endswith(".py") or os.path.isdir(program):
        check_program(program)
        return [sys.executable, program, *arguments]
    found = shutil.which(program)
    if found is None:
        raise fail(f"no such program: {program}", "name a Python program, or a program on $PATH")
    return [found, *arguments]


def run_program(program: str, arguments: list[str], is_module: bool, device: Device) -> int:
    """Runs the program and returns its exit status, or 128 and the number of the signal that ended it."""
    with subprocess.Popen(words_of(program, arguments, is_module), env=environment(device)) as child:
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # of the terminal: the program has it, too
                status = child.wait()
                break
    if status < 0:
        print(f"triton-runner: the program was ended by {signal.Signals(-status).name}", file=sys.stderr)
    return status if status >= 0 else 128 - status
