"""Serves MLIR_ENABLE_DUMP, NVPTX_ENABLE_DUMP and AMDGCN_ENABLE_DUMP where the CPU executes an upper level:
the stages after it, which nothing else would run, are run for what they print. (Dumps of values are
_kernel/dumps.)"""

from __future__ import annotations

import os

import triton

from triton_runner._base.levels import MLIR
from triton_runner._pipeline.stages import compile_onward

_OFF = ("", "0", "false", "off", "no", "n")


def _asked(knob: str, variable: str) -> bool:
    """Returns whether Triton would print it: releases differ in what they take for true."""
    family, _, name = knob.partition(".")
    group = getattr(getattr(triton, "knobs", None), family, None)
    if hasattr(group, name):
        return bool(getattr(group, name))
    return os.environ.get(variable, "").lower() not in _OFF


def _last_stage(target: str) -> str | None:
    """The level up to which the stages print what is asked for; None if nothing is."""
    assembly, knob, variable = (
        ("ptx", "nvidia.dump_nvptx", "NVPTX_ENABLE_DUMP")
        if target.startswith("cuda:")
        else ("amdgcn", "amd.dump_amdgcn", "AMDGCN_ENABLE_DUMP")
    )
    if _asked(knob, variable):
        return assembly
    return None if os.environ.get("MLIR_ENABLE_DUMP", "").lower() in _OFF else "llir"


def print_later_stages(text: str, level: str, target: str, options: dict, filename: str, language: str):
    """Runs the stages after `level` on the text of a kernel as far as the environment asks to see them."""
    last = _last_stage(target)
    if last is not None and level in MLIR:
        compile_onward(text, level, last, target, options, filename, language)
