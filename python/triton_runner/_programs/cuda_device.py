"""Gives programs the libcuda.so.1 of src/driver, and says which device it shows them."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from triton_runner import _core, _settings
from triton_runner._base import tools
from triton_runner._base.errors import fail
from triton_runner._base.paths import cache_folder, make_folder
from triton_runner._kernel.cost.chips import CHIPS, chip_named
from triton_runner._pipeline import own_driver

NAMES = ("libcuda.so.1", "libcuda.so")  # the second one is what linkers and ctypes look for


@dataclasses.dataclass(frozen=True)
class Device:
    """The device that a program sees. chip: of the table of chips; check: checks with commas between them;
    launches: whether each launch is printed; kept: a folder in which launches are kept, kernel: of which;
    verb: that tells what a long launch is at, unless somebody else does."""

    chip: str = "h100"
    check: str = ""
    launches: bool = False
    kept: str = ""
    kernel: str = ""
    verb: str = ""


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
        "TRITON_RUNNER_CUDA_CAPTURE": device.kept,
        "TRITON_RUNNER_CUDA_KERNEL": device.kernel,
        "TRITON_RUNNER_CUDA_VERB": device.verb,
        "TRITON_RUNNER_NVDISASM": tools.toolkit("nvdisasm") or "",
    }


def own_driver_environment(target: str, check: str = "") -> dict[str, str]:
    """Returns the variables by which Triton's own driver, on this library, is the driver of a program that
    imports the package."""
    chip = next((chip for chip in CHIPS.values() if target == f"cuda:{chip.capability}"), None)
    if chip is None:
        known = sorted({chip.capability for chip in CHIPS.values()})
        targets = ", ".join(f"cuda:{capability}" for capability in known)
        raise fail(f"no chip of {target} is known, which --driver needs", f"targets: {targets}")
    return environment(Device(chip.name, check)) | {own_driver.WORD: "1"}
