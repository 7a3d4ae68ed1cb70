"""A program that runs as it is, while the configurations of its launches are ranked for a chip."""

from __future__ import annotations

from triton_runner import _settings
from triton_runner._case import asked
from triton_runner._tune.ranking import Ranker
from triton_runner._tune.results import SCHEMA, Ranking, Tuning


class Program(asked.Watching):
    """names: of these kernels only; most: launches, each kernel, autotuning key and grid once; grid: values
    by option that are tried in all combinations."""

    def __init__(self, ranker: Ranker, names=(), most: int = 4, grid: dict | None = None):
        super().__init__()
        self._ranker, self._names, self._most, self._grid = ranker, names, most, grid or {}
        self._rankings: list[Ranking] = []
        self._chosen: dict = {}  # by launch
        self._left_out = 0

    def tuned(
        self, program: str, arguments=(), is_module: bool = False, pretend_cuda: bool = False
    ) -> Tuning:
        """Runs the program."""
        with _settings.using(threads=1):
            return self.result(self.run(program, arguments, is_module, pretend_cuda))

    def result(self, status: int) -> Tuning:
        return Tuning(SCHEMA, self._rankings, self._left_out, status)

    def seen(self, launch: asked.Asked) -> tuple | None:
        """The chosen configuration of an autotuner, with which the program goes on."""
        if launch.key not in self._chosen:
            self._chosen[launch.key] = self._rank(launch)
        return self._chosen[launch.key]

    def _rank(self, launch: asked.Asked) -> tuple | None:
        if self._names and launch.name not in self._names:
            return None
        if not launch.is_tuned and not self._grid:
            return None  # there is nothing to choose from
        if len(self._rankings) == self._most:
            self._left_out += 1
            return None
        ranking = self._ranker.rank(launch, self._grid)
        self._rankings.append(ranking)
        if not launch.is_tuned or ranking.chosen is None:
            return None
        return next(
            (variant for variant in launch.variants(self._grid) if variant[0] == ranking.chosen.options), None
        )
