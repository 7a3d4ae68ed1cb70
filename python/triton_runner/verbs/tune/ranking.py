"""Ranks the configurations of a launch on a chip: by the replay of an SM, but for those that cannot win.

A configuration's bound, the least time by any resource, is known from three of its programs. In the order of
their bounds each is replayed, until a bound is above the best time by more than that time's error."""

from __future__ import annotations

import dataclasses
import math

from triton_runner import _settings, testing
from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError, KernelTrap
from triton_runner._kernel.cost import bounds, lines
from triton_runner._kernel.cost.chips import chip_named
from triton_runner._kernel.cost.counting import blocks_of, counted
from triton_runner._kernel.cost.replay import estimate
from triton_runner._launch import gpu_driver
from triton_runner._launch.launchers import unseen
from triton_runner._programs import intercept
from triton_runner._settings import devices
from triton_runner.verbs.configs import run as configs
from triton_runner.verbs.tune.results import SCHEMA, Ranking, Row, Tuning, ordered, regret_of

_PROGRAMS = 3  # that run for a bound


class Ranker:
    """chip: its name; top: how many of the first are timed on a GPU, if one of the chip's kind is there."""

    def __init__(self, chip: str, top: int = 3, say=lambda text: None, device: str | None = "auto"):
        self.chip, self._top, self._say, self._device = chip_named(chip), top, say, device
        self.number = 0  # launches so far

    def rank(self, launch: intercept.InterceptedLaunch, grid: dict | None = None) -> Ranking:
        """grid: values by option, of which all combinations are tried with each of the launch's own
        configurations."""
        subjects = [self._subject(launch, *variant) for variant in launch.variants(grid or {})]
        rows = [row for row, _ in subjects]
        order = [i for i, (row, subject) in enumerate(subjects) if subject is not None]
        best = math.inf  # time of the fastest, with its error
        for i in sorted(order, key=lambda i: rows[i].least):
            if rows[i].least > best:
                rows[i] = dataclasses.replace(rows[i], state="pruned")
                continue
            rows[i] = self._estimated(rows[i], subjects[i][1])
            if rows[i].state == "estimated":
                best = min(best, rows[i].microseconds * (1 + rows[i].likely_error))
        programs = next((subjects[i][1].grid for i in order), ())
        timed = self._is_timed()
        if timed:
            first = sorted(
                (i for i in order if rows[i].state == "estimated"), key=lambda i: rows[i].microseconds
            )
            for i in first[: self._top]:
                rows[i] = dataclasses.replace(rows[i], milliseconds=self._timed(rows[i], subjects[i][1]))
        by_estimate = sorted(rows, key=lambda row: row.microseconds or math.inf)
        regret = regret_of(by_estimate, self._top if timed else 1)
        self.number += 1
        return Ranking(launch.name, self.number - 1, self.chip.name, list(programs), ordered(rows), regret)

    def _subject(
        self, launch: intercept.InterceptedLaunch, options: dict, hook
    ) -> tuple[Row, Relaunch | None]:
        """A configuration with its bound, and what is replayed; None: it does not run."""
        state, text, subject = configs.captured(launch, options, hook)
        if subject is None:
            return Row(options, state, text), None
        self._say(f"{launch.name}: {intercept.words(options)}: bounds")
        try:
            return Row(options, "estimated", least=self._least(subject)), subject
        except (DiagnosticError, KernelTrap) as error:
            return self._failed(options, error), None

    def _least(self, subject: Relaunch) -> float:
        """The bound of a launch in microseconds; not that of memory, for which all programs have to run."""
        what = counted(subject, _PROGRAMS)
        if not what.is_extrapolated and what.programs < what.of:
            return 0.0  # its programs differ
        even = what.agree and blocks_of(subject) == 1
        deal = bounds.dealt(self.chip, what.of, what.by_warp.shape[1], None, even)
        every = lines.instructions(what, None, subject.name)
        cycles = max(bounds.of_instructions(every, self.chip, deal).values(), default=0.0)
        return round(cycles / self.chip.clock * 1e6, 4)

    def _estimated(self, row: Row, subject: Relaunch) -> Row:
        self._say(f"{subject.name}: {intercept.words(row.options)}: replay")
        try:
            it = estimate(subject, chip=self.chip.name)
        except (DiagnosticError, KernelTrap) as error:
            return self._failed(row.options, error)
        return dataclasses.replace(
            row, microseconds=it.microseconds, cycles=it.cycles, bound_by=it.bound_by, kind=it.kind,
            error=it.error,
        )  # fmt: skip

    @staticmethod
    def _failed(options: dict, error) -> Row:
        state = "trap" if isinstance(error, KernelTrap) else "unknown"
        return Row(options, state, str(error).splitlines()[0])

    def _is_timed(self) -> bool:
        """Returns whether a GPU of the chip's kind is there and may be used."""
        if self._device is None or devices.gpu() != "cuda":
            return False
        return gpu_driver.current_target() == f"cuda:{self.chip.capability}"

    def _timed(self, row: Row, subject: Relaunch) -> float:
        """Milliseconds on the GPU, the median."""
        self._say(f"{subject.name}: {intercept.words(row.options)}: on the GPU")
        with unseen(), _settings.using(device="cuda", level=""):
            kernel = subject.kernel(subject.entry)
            there = subject.arguments.copied("cuda", gpu_driver.driver().allocate).named
            return testing.do_bench(lambda: kernel.launch(subject.grid, there), return_mode="median")


class WatchedTuning(intercept.Interceptor):
    """grid: values by option that are tried in all combinations."""

    def __init__(self, ranker: Ranker, names=(), most: int = 4, grid: dict | None = None):
        super().__init__(names, most)
        self._ranker, self._grid = ranker, grid or {}
        self._rankings: list[Ranking] = []

    def result(self, status: int) -> Tuning:
        return Tuning(SCHEMA, self._rankings, self.selection.left_out, status)

    def seen(self, launch: intercept.InterceptedLaunch) -> tuple | None:
        # Elsewhere there is nothing to choose from.
        return super().seen(launch) if launch.is_tuned or self._grid else None

    def chosen(self, launch: intercept.InterceptedLaunch) -> tuple | None:
        """The chosen configuration of an autotuner."""
        ranking = self._ranker.rank(launch, self._grid)
        self._rankings.append(ranking)
        if not launch.is_tuned or ranking.chosen is None:
            return None
        return next(
            (variant for variant in launch.variants(self._grid) if variant[0] == ranking.chosen.options), None
        )
