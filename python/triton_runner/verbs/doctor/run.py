"""Collects what triton-runner doctor and env report of this machine."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path

import triton_runner
from triton_runner import _settings
from triton_runner._base import commands, releases
from triton_runner._base.errors import DiagnosticError, in_a_line
from triton_runner._base.paths import check_output, get_file_dir
from triton_runner._pipeline import cache
from triton_runner._settings import environment


def _version(*names: str) -> str:
    for name in names:
        try:
            return f"{importlib.metadata.version(name)} ({name})"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "not installed"


def facts() -> dict:
    """Versions, devices and settings; "problems" is a dict of what should be looked at."""
    problems = {}
    runner, reason = installed_runner()
    if reason:
        problems["triton-runner"] = reason
    wheels = _owners(releases.place())
    if len(wheels) > 1:
        problems["triton"] = _several(wheels)
    if (pin := torch_pin()) and wheels and not any(_version(name).startswith(pin + " ") for name in wheels):
        problems["torch"] = f"this torch was built for Triton {pin}: torch.compile may fail with another one"
    if os.environ.get("TRITON_INTERPRET") == "1":
        problems["TRITON_INTERPRET"] = "1: kernels run in Triton's interpreter, and nothing is compiled"
    try:
        from triton_runner import _core

        isa, built = _core.isa(), _core.built_isas()
    except ImportError as error:
        isa = built = "-"
        problems["core"] = f"the extension does not load: {error}"
    settings = {}
    try:
        settings = _settings.shown()
    except DiagnosticError as error:
        problems["settings"] = error.sentence
    device = "-"
    try:
        from triton_runner._settings import devices

        device = devices.resolved_device()
    except Exception as error:
        if settings:
            problems["device"] = str(error)
    try:
        check_output(cache.folder(), is_folder=True)
    except DiagnosticError as error:
        problems["cache"] = error.sentence
    return {
        "triton-runner": runner,
        "triton": ", ".join(map(_version, wheels)) or "not installed",
        "torch": _version("torch"),
        "torch pins": torch_pin() or "-",
        "pin kept in": pin_places() or "-",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "isa": isa,
        "isas built": built,
        "device": device,
        "settings": settings,
        "cache": str(cache.folder()),
        "environment": {
            variable.name: {"value": value, "kind": variable.kind, "meaning": variable.meaning}
            for variable, value in environment.in_force(os.environ)
        },
        "problems": problems,
    }


def installed_runner() -> tuple[str, str]:
    """Returns which of the two packages of this name is installed, and where from; and what is wrong with it,
    or "". The original project, which the package index has, does not start this command."""
    here = get_file_dir(triton_runner.__file__)
    try:
        package = importlib.metadata.distribution(commands.PROGRAM)
    except importlib.metadata.PackageNotFoundError:
        return f"not installed: this code is imported from {here}", ""
    shown = f"{package.version} ({commands.PROGRAM})"
    starts = {entry.value for entry in package.entry_points if entry.group == "console_scripts"}
    if "triton_runner._cli:main" not in starts:
        return f"{shown}, which is the original project of that name", (
            f"the package {commands.PROGRAM} {package.version} is another project, and this code is imported "
            f"from {here}: uninstall that one, then {commands.install()} ({commands.WHAT_IS_THERE})"
        )
    origin = json.loads(package.read_text("direct_url.json") or "{}").get("url", "a wheel")
    return f"{shown}, this project, from {origin.removeprefix('file://')}", ""


def _owners(place: Path | None) -> list[str]:
    """The installed packages that have files in the folder of a package."""
    wheels = set()
    for distribution in importlib.metadata.distributions() if place else ():
        record = distribution.read_text("RECORD") or ""
        is_there = f"\n{place.name}/" in f"\n{record}"
        if is_there and Path(distribution.locate_file(place.name)).resolve() == place.resolve():
            wheels.add(distribution.metadata["Name"])
    return sorted(wheels)


def _several(wheels: list[str]) -> str:
    """Returns what to do where several packages have files in the folder of one module."""
    others = {row.on_index: name for name, row in releases.DISTRIBUTIONS.items()}
    beside = next((others[wheel] for wheel in wheels if wheel in others), None)
    keeps = f"; `{commands.shell('versions', 'add', beside)}` keeps {beside} beside the other"
    return (
        f"several packages have the folder {releases.place().name}: {', '.join(wheels)}; which files are "
        f"whose is left to chance: pip uninstall {' '.join(wheels)}, and install one of them again"
        + (keeps if beside else "")
    )


def torch_pin() -> str | None:
    """The release of Triton that the installed torch asks for."""
    try:
        needs = importlib.metadata.requires("torch") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    matches = (re.match(r"(?:pytorch-)?triton(?:-rocm)?\s*\(?==\s*([\w.]+)", need) for need in needs)
    return next((match[1] for match in matches if match), None)


def pin_places() -> str | None:
    """Returns where the pin stands: in the installed torch, and in PyTorch's sources of its commit."""
    try:
        torch = importlib.metadata.distribution("torch")
    except importlib.metadata.PackageNotFoundError:
        return None
    places = [f"Requires-Dist of {torch.locate_file(f'torch-{torch.version}.dist-info/METADATA')}"]
    if not torch_pin():
        places = ["nowhere in this torch, which requires no Triton"]
    commit = None
    try:
        version = torch.locate_file("torch/version.py").read_text(encoding="utf-8")
        commit = re.search(r"git_version = '(\w+)'", version)
    except OSError:
        pass
    sources = f"https://github.com/pytorch/pytorch/blob/{commit[1] if commit else 'main'}/.ci/docker"
    places += [f"{sources}/triton_version.txt (release)", f"{sources}/ci_commit_pins/triton.txt (commit)"]
    return "; ".join(places)


def selftest() -> dict[str, str]:
    """A kernel compiled and run at each level: "ok", or what went wrong, by level."""
    try:
        from triton_runner.verbs.doctor import self_test

        return self_test.run()
    except Exception as error:
        error_text = in_a_line(error)
        from triton_runner._base.releases import unusable

        return {"all": "; ".join(unusable(error_text) or (error_text,))}


def fingerprint() -> dict[str, str]:
    """Returns what somebody who is asked for help wants to know, in short lines."""
    facts_read = facts()
    packages = ["triton-runner", "triton", "torch", "torch pins"]
    machine = ["python", "platform", "cores", "isa", "isas built", "device"]
    kept = {key: str(facts_read[key]) for key in packages + machine}
    kept["cpu"] = _cpu()
    kept["gpu"] = _gpu_text()
    for name, variable in facts_read["environment"].items():
        kept[name] = variable["value"]
    return kept


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((x.partition(":")[2].strip() for x in file if x.startswith("model name")), "-")
    except OSError:
        return platform.processor() or "-"


def _gpu_text() -> str:
    from triton_runner._launch import gpu_driver
    from triton_runner._settings import devices

    if devices.gpu() is None:
        return "none"
    properties = gpu_driver.driver().properties(gpu_driver.current_device())
    return f"{properties.get('name', '')} {properties['target']}".strip()
