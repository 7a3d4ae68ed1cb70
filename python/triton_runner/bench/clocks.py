"""Reads the clocks of what is measured: a GPU's as nvidia-smi has them, a CPU's as the kernel has them.

A time means little without them: a GPU that is hot or limited runs at half its clock."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import subprocess

_FIELDS = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "clocks_throttle_reasons.active")
_NAMES = ("sm_mhz", "memory_mhz", "celsius", "watts", "throttled")
# Reasons that say nothing bad: idle, clocks set by an application.
_HARMLESS = 0x1 | 0x2
_SECONDS = 10


def _gpu() -> dict:
    command = ["nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    command += ["--id", chosen or "0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    values = [value.strip() for value in done.stdout.strip().split(",")]
    if done.returncode or len(values) != len(_FIELDS):
        return {}
    clocks = {}
    for name, value in zip(_NAMES, values, strict=True):
        with contextlib.suppress(ValueError):
            clocks[name] = int(value, 16) & ~_HARMLESS if name == "throttled" else float(value)
    return clocks


def _cpu() -> dict:
    with contextlib.suppress(OSError):
        text = pathlib.Path("/proc/cpuinfo").read_text()
        speeds = [float(mhz) for mhz in re.findall(r"^cpu MHz\s*: ([\d.]+)", text, re.MULTILINE)]
        cores = os.sched_getaffinity(0)
        used = [mhz for core, mhz in enumerate(speeds) if core in cores] or speeds
        if used:
            return {"cpu_mhz": round(max(used))}
    return {}


def read(on_gpu: bool | None = None) -> dict:
    """The clocks now: sm_mhz, memory_mhz, celsius, watts and throttled (bits of NVIDIA's reasons) of a GPU,
    cpu_mhz; what cannot be read is left out. on_gpu: by default whether a GPU runs the kernels."""
    if on_gpu is None:
        from triton_runner._settings import devices  # a test reads clocks without a device

        on_gpu = devices.resolved_device() == "cuda"
    return {**_cpu(), **(_gpu() if on_gpu else {})}


def summary(readings: list[dict]) -> str:
    """ "SM 1755 to 1980 MHz, memory 2619 MHz, 41 to 58 C, throttled in 2 of 8 readings"."""
    parts = []
    for name, form in (("sm_mhz", "SM {} MHz"), ("memory_mhz", "memory {} MHz"), ("celsius", "{} C"),
                       ("cpu_mhz", "CPU {} MHz")):  # fmt: skip
        values = [reading[name] for reading in readings if name in reading]
        if values:
            low, high = min(values), max(values)
            parts.append(form.format(f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}"))
    throttled = sum(bool(reading.get("throttled")) for reading in readings)
    if throttled:
        parts.append(f"throttled in {throttled} of {len(readings)} readings")
    return ", ".join(parts) or "clocks not readable"


@contextlib.contextmanager
def lock(sm_mhz: int, memory_mhz: int = 0):
    """Holds the GPU's clocks (0: leaves one as it is). Raises RuntimeError where that is not allowed."""

    def smi(*arguments: str) -> None:
        if shutil.which("nvidia-smi") is None:
            raise RuntimeError("this machine has no nvidia-smi")
        done = subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"nvidia-smi {arguments[0]}: {(done.stdout + done.stderr).strip()}")

    with contextlib.ExitStack() as stack:
        for mhz, name in ((sm_mhz, "gpu"), (memory_mhz, "memory")):
            if mhz:
                smi(f"--lock-{name}-clocks={mhz}")
                stack.callback(smi, f"--reset-{name}-clocks")
        yield
