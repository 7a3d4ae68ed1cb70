"""Launches that nobody looks at, beside the recorded ones of lockstep(): what they leave, what stops them.

Recording may hide a fault, as values are written out then and instructions are not fused. So a recorded run
alone says little about the launch that a user makes.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy

from triton_runner import _settings
from triton_runner._errors import KernelTrap


def run_again(run, kernel, bound, grid, keywords: dict, settings: dict) -> SimpleNamespace:
    """The launch of a recorded run, without a probe: its outputs and what stopped it."""
    plain = SimpleNamespace(name=f"{run.name}, not recorded", device=run.device, level=run.level, error=None)
    args, named = bound.on(run.device)
    try:
        with _settings.using(
            device=run.device, level=run.level if run.device == "cpu" else None, dump=False,
            **{name: value for name, value in settings.items() if value is not None},
        ):  # fmt: skip
            kernel[grid](*args, **named, **keywords)
    except KernelTrap as error:
        plain.error = str(error).splitlines()[0]
    plain.outputs = bound.contents(run.device)
    return plain


def differences(run, plain, names, differs) -> list[dict]:
    """Where a recorded run and the same one without a probe do not agree, as Lockstep.outputs has it: an
    array, or what one of them stopped with. differs(a, b): which elements do; atomics add in any order."""
    found = []
    if _place(run.error) != _place(plain.error):
        text = f"{plain.name}: {plain.error or 'ran to its end'}; recorded: {run.error or 'ran to its end'}"
        found.append({"name": "", "run": plain.name, "elements": 0, "max_error": 0.0, "text": text})
    for name, a, b in zip(names, run.outputs, plain.outputs, strict=True):
        where = differs(a, b)
        count = int(where.sum())
        if not count:
            continue
        with numpy.errstate(invalid="ignore", over="ignore"):
            worst = float(numpy.abs(a.astype("float64") - b.astype("float64"))[where].max())
        text = f"{count} of {where.size} elements differ from the recorded run, by at most {worst:.6g}"
        found.append({"name": name, "run": plain.name, "elements": count, "max_error": worst, "text": text})
    return found


def _place(error: str | None) -> str:
    """Kind, op and line of a trap: at PTX any of several programs may be the first."""
    return (error or "").split(", program", 1)[0]
