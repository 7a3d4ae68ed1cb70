"""Executes an artifact on the device of the settings in force: chooses the level and the target, and compiles
onward where that level lies below the artifact's own."""

from __future__ import annotations

import importlib.util

from triton_runner import _core, _settings
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.onward import compile_artifact
from triton_runner._artifact.reading import Artifact, compile_options
from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, executed, is_above, levels_of
from triton_runner._base.recent import Recent
from triton_runner._base.releases import RELEASES, Release, installed, is_known, release_of
from triton_runner._launch import gpu_driver, native, simt
from triton_runner._settings import devices
from triton_runner._worker.spelling import option


def _check_level(artifact: Artifact, level: str) -> None:
    if level in LEVELS and is_above(level, artifact.level):
        raise fail(
            f"{option('level', level)} was asked for, and the kernel enters at {artifact.level}: "
            "execution cannot go back",
            f"leave {option('level')} out, or give the kernel at {level}",
        )


def _check_target(artifact: Artifact, target: str) -> str:
    own_target = artifact.description.get("target") or ""
    if own_target and target and own_target != target and artifact.level != "ttir":
        raise fail(
            f"{artifact.label} was compiled for {own_target}, and {option('target', target)} was asked for",
            f"compile the kernel for that target, or leave {option('target')} out",
        )
    return target or own_target


_executables = Recent(512)


def executable(artifact: Artifact, block=None, cluster=None, **options) -> ArtifactKernel:
    """The artifact loaded on the device of the settings in force, compiled onward where that is needed.
    block, cluster: where PTX or a cubin does not say them; options: of the compilation."""
    settings = _settings.current()
    device = devices.resolved_device()
    shape = (block, cluster)
    key = (artifact, device, settings.level, settings.target, shape, tuple(sorted(options.items())))
    kernel = _executables.get(key)
    if kernel is None:
        if device == "cpu":
            kernel = _on_cpu(artifact, settings, device, options, *shape)
        else:
            kernel = _on_gpu(artifact, settings, device, options, *shape)
        _executables.put(key, kernel)
    return kernel


def _on_cpu(artifact: Artifact, settings, device, options, block, cluster) -> ArtifactKernel:
    _check_level(artifact, settings.level)
    target = _check_target(artifact, settings.target)
    level = artifact.level if settings.level in ("", "python") else settings.level
    level = executed(level, target or _settings.DEFAULT_TARGET)
    asm = {artifact.level: artifact.source}
    if level != artifact.level:
        target = target or _settings.DEFAULT_TARGET
        devices.check_level_of(target, level)
        asm |= compile_artifact(artifact, level, target, options)
    label = artifact.label if level == artifact.level else f"{artifact.name}.{level}"
    # Without Triton TTIR and TTGIR run all the same.
    if LEVELS[level].is_text and importlib.util.find_spec("triton") is not None:
        from triton_runner._pipeline.printed_stages import print_later_stages  # it needs Triton

        of = target or _settings.DEFAULT_TARGET
        print_later_stages(asm[level], level, of, compile_options(artifact), artifact.label, "triton")
    if LEVELS[level].engine == "simt":
        description = _described(artifact, asm, level)
        kernel = simt.executor(asm[level], label, description, block, cluster)
    else:
        metadata = artifact.description.get("metadata") or {}
        kernel = _core.load_tile(
            asm[level], label, artifact.name, contract=simt.contracts(metadata),
            sums_in_trees=_compiler(metadata).sums_in_trees, target=target or "",
        )  # fmt: skip
    return ArtifactKernel(artifact, kernel, asm, target or kernel.target or _settings.DEFAULT_TARGET, device)


def _compiler(metadata: dict) -> Release:
    """The release that compiles the artifact onward: the one that its metadata name, else the installed one,
    else, or if that one cannot be used, the newest."""
    if version := metadata.get("triton_version"):
        return release_of(version)
    is_there = importlib.util.find_spec("triton") is not None and is_known()
    return installed() if is_there else RELEASES[max(RELEASES)]


def _described(artifact: Artifact, asm: dict, level: str) -> dict:
    """Returns what is known of the code at `level`: of the artifact itself, or of what was compiled from it,
    whose metadata is taken out of asm."""
    if level == artifact.level:
        return {**artifact.description, "level": level}
    described = _core.artifact.describe(
        asm[level], level, artifact.name, asm.pop("metadata"), f"{artifact.name}.{level}"
    )
    return {**native.inherit(described, artifact.description), "level": level}


def _on_gpu(artifact: Artifact, settings, device, options, block, cluster) -> ArtifactKernel:
    _check_level(artifact, settings.level)
    here = gpu_driver.current_target()
    # TTIR belongs to no architecture, whatever the one that its metadata was written for.
    target = (
        settings.target or here
        if artifact.level == "ttir"
        else _check_target(artifact, settings.target) or here
    )
    if target.split(":")[0] != device:
        raise fail(f"{artifact.label} was compiled for {target}, and the device here is {here}")
    levels = levels_of(device)
    # Code for an older architecture runs through the driver's own compiler of PTX; a cubin is for its
    # architecture.
    load_level = levels[-1] if target == here or device == "hip" else "ptx"
    if levels.index(artifact.level) > levels.index(load_level):
        load_level = artifact.level
    asm = {artifact.level: artifact.source}
    if load_level != artifact.level:
        asm |= compile_artifact(artifact, load_level, target, options)
    description = _described(artifact, asm, load_level)
    number = gpu_driver.current_device()
    kernel = gpu_driver.executor(asm[load_level], description, number, block, cluster)
    return ArtifactKernel(artifact, kernel, asm, target, device)
