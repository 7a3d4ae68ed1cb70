"""Estimates the estimated time of an answer on a chip, and of its reference as torch.compile makes it: the
replay of an SM of each launch (_kernel/cost/replay.py), one launch after the other. What libraries compute
(a product of cuBLAS) and what torch's own operators do between launches has no estimate."""

from __future__ import annotations

import re

from triton_runner import _settings
from triton_runner._artifact.relaunch import of_call
from triton_runner._base.errors import DiagnosticError, KernelTrap
from triton_runner._base.levels import binary_level
from triton_runner._kernel.cost.chips import chip_named
from triton_runner._kernel.cost.replay import estimate
from triton_runner._launch.launchers import observing
from triton_runner.verbs.judge.results import Time

_EXTERN = re.compile(r"extern_kernels\.(\w+)\(")


class Summed:
    """The sum of launches' times; mean errors are weighted by the times that they are of."""

    def __init__(self, chip: str):
        self._chip = chip
        self.microseconds = self._errors = 0.0
        self.launches, self.is_measured, self.why = 0, True, ""

    def add(self, launch) -> None:
        """Estimates a launch (a Relaunch)."""
        try:
            launch.texts[binary_level(launch.target)]  # compiled first, as metadata say what came of it
            it = estimate(launch, chip=self._chip)
        except (DiagnosticError, KernelTrap) as error:
            self.why = self.why or f"{launch.name}: {getattr(error, 'message', '') or error}"
            return
        self.launches += 1
        self.microseconds += it.microseconds
        self.is_measured = self.is_measured and it.error is not None
        self._errors += (it.error or 0.0) * it.microseconds

    def time(self, without: str = "") -> Time:
        """without: what runs beside the launches and has no estimate."""
        why = self.why or without or ("" if self.launches else "it launches no kernel")
        error = self._errors / self.microseconds if self.microseconds and self.is_measured else None
        return Time(
            None if why else round(self.microseconds, 3), error and round(error, 3), self.launches, why
        )


def of_reference(call, chip: str) -> Time:
    """The time of the kernels that torch.compile makes of call(), which are run."""
    import torch
    from torch._inductor.utils import run_and_get_code

    summed = Summed(chip)

    def see(made, go):
        summed.add(of_call(made))
        go()

    target = f"cuda:{chip_named(chip).capability}"
    with _settings.using(device="cpu", threads=1, target=target), torch.no_grad():
        compiled = torch.compile(call)
        _, codes = run_and_get_code(compiled)
        with observing(see):
            compiled()
    library = sorted({name for code in codes for name in _EXTERN.findall(code)})
    return summed.time(f"{', '.join(library)}: of a library, which has no estimate" if library else "")
