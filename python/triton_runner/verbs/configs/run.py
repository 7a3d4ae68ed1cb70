"""Judges every configuration of a launch: those of an autotuner, and other numbers of warps and stages.

A configuration is compiled and handed to the observers of launches as the program's own is, but the
program goes on without its result. Each is judged by itself (judge.py), and its outputs are compared with
those of the first one without a fault."""

from __future__ import annotations

import dataclasses

from triton_runner import _core
from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.cases import judge
from triton_runner._kernel.cases.results import FINE, NO_FAULT, Judged
from triton_runner._launch.launchers import observing
from triton_runner._pipeline.failures import CompilerError
from triton_runner._programs import intercept
from triton_runner._programs.intercept import InterceptedLaunch

SCHEMA = "triton-runner.configs/1"
_BAD = ("wrong", "race", "trap", "compiler error")
_STATES = {"race": "race", "oob": "trap", "trap": "trap"}  # of faults by their check; others are wrong


@dataclasses.dataclass(frozen=True)
class Configuration:
    """The verdict on one configuration of one launch. state: no fault found, drift (rounding explains by
    how much its outputs differ from the first such configuration's), nondeterministic, wrong, race, trap,
    unknown, compiler error or out of shared memory. text: why."""

    kernel: str
    launch: int  # which of the program's
    options: dict
    state: str
    text: str = ""
    seconds: float = 0.0
    judged: Judged | None = None


@dataclasses.dataclass(frozen=True)
class Configurations:
    """All that were judged. left_out: launches beyond the limit; status: the program's."""

    schema: str
    configurations: list[Configuration]
    left_out: int
    status: int

    @property
    def exit_status(self) -> int:
        """1 if a configuration is at fault or the program is, 125 if there was no launch."""
        if self.status or any(row.state in _BAD for row in self.configurations):
            return 1
        return 0 if self.configurations else 125


class WatchedConfigs(intercept.Interceptor):
    """A program that runs as it is, while each configuration of its launches is judged.

    `grid`: values by option that are tried in all combinations ({"num_warps": [1, 4], ...}) for launches
    without an autotuner, and for each configuration of one.
    """

    def __init__(self, names=(), most: int = 4, grid=None, checks=judge.CHECKS, say=lambda text: None):
        super().__init__(names, most)
        self._grid, self._checks, self._say = grid or {}, checks, say
        self._rows: list[Configuration] = []

    def result(self, status: int) -> Configurations:
        return Configurations(SCHEMA, self._rows, self.selection.left_out, status)

    def chosen(self, launch: InterceptedLaunch) -> tuple | None:
        """Judges the configurations of a launch. Returns the first without a fault, with which the program
        goes on; None: it goes on with its own."""
        first, chosen, number = None, None, self.selection.count
        for options, hook in launch.variants(self._grid):
            row, judging = self._one(launch, number, options, hook)
            if judging is not None and row.state in FINE:
                chosen = chosen or (options, hook)
                row, first = self._compared(row, judging, first)
            self._rows.append(row)
        return chosen if launch.is_tuned else None

    def _one(self, launch: InterceptedLaunch, number: int, options: dict, hook) -> tuple:
        """The row of a configuration, and its judgement if it could be launched."""
        name = launch.name
        self._say(f"{name}: {intercept.words(options)}")
        state, text, subject = captured(launch, options, hook)
        if subject is None:
            return Configuration(name, number, options, state, text), None
        judging = judge.Judging(subject, self._checks, say=self._say)
        judged = judging.verdict()
        return Configuration(name, number, options, *_state(judged), judged.seconds, judged), judging

    def _compared(self, row: Configuration, judging, first) -> tuple:
        """The row, drift or wrong where its outputs differ from those of the first one without a fault; and
        that configuration."""
        if first is None:
            judging.hold()
            return row, (row, judging)
        known, reference = first
        differences = judging.compared_with(reference)
        odd = [bits for bits in differences if not bits.agrees]
        moved = [bits for bits in differences if not bits.bits_equal]
        if odd or (moved and row.state == NO_FAULT):
            bits = (odd or moved)[0]
            text = (
                f"{bits.argument}: {bits.elements} of {bits.of} elements differ from those of "
                f"{intercept.words(known.options)}, by at most {bits.max_error:.3g}"
            )
            row = dataclasses.replace(row, state="wrong" if odd else "drift", text=text)
        return row, first


def captured(launch: InterceptedLaunch, options: dict, hook) -> tuple[str, str, Relaunch | None]:
    """A launch in a configuration, which does not run; None, with (state, text): it is not compiled, or does
    not fit."""
    calls = []
    try:
        with observing(lambda call, go: calls.append(of_call(call))):
            launch.go((options, hook))
        needs = _too_much(calls[-1]) if calls else ""
    except CompilerError as error:
        return "compiler error", error.message, None
    except DiagnosticError:  # what is asked for, and not a compiler
        raise
    except Exception as error:  # whatever a compiler raises
        return *intercept.refused(error), None
    if not calls:
        return "unknown", "it launches nothing", None
    return ("out of shared memory", needs, None) if needs else ("", "", calls[-1])


def _too_much(launch: Relaunch) -> str:
    """By how much a launch needs more shared memory than its target has; "": it does not."""
    if not launch.target.startswith("cuda:"):
        return ""
    launch.texts["ptx"]  # its compilation says how much it is
    needs, limit = launch.metadata.get("shared", 0), _core.max_shared_bytes(launch.target)
    return f"{needs:,} bytes of shared memory; {launch.target} has {limit:,}" if needs > limit else ""


def _state(judged: Judged) -> tuple[str, str]:
    """(state, text) of a judgement."""
    if judged.verdict != "wrong":
        why = judged.not_run[0].why if judged.verdict == "unknown" and judged.not_run else ""
        return judged.verdict, why
    faults = {finding.check: finding for finding in reversed(judged.findings) if finding.is_fault}
    state = next((state for check, state in _STATES.items() if check in faults), "wrong")
    shown = next((faults[check] for check in _STATES if check in faults), [*faults.values()][-1])
    return state, shown.text.splitlines()[0]
