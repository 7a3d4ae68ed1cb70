"""A program that runs as it is, while the configurations of its launches are ranked for a chip."""

from __future__ import annotations

from triton_runner._case import asked
from triton_runner._tune.ranking import Ranker
from triton_runner._tune.results import SCHEMA, Ranking, Tuning


class Program(asked.Watching):
    """grid: values by option that are tried in all combinations."""

    def __init__(self, ranker: Ranker, names=(), most: int = 4, grid: dict | None = None):
        super().__init__(names, most)
        self._ranker, self._grid = ranker, grid or {}
        self._rankings: list[Ranking] = []

    def result(self, status: int) -> Tuning:
        return Tuning(SCHEMA, self._rankings, self.selection.left_out, status)

    def seen(self, launch: asked.Asked) -> tuple | None:
        # Elsewhere there is nothing to choose from.
        return super().seen(launch) if launch.is_tuned or self._grid else None

    def chosen(self, launch: asked.Asked) -> tuple | None:
        """The chosen configuration of an autotuner."""
        ranking = self._ranker.rank(launch, self._grid)
        self._rankings.append(ranking)
        if not launch.is_tuned or ranking.chosen is None:
            return None
        return next(
            (variant for variant in launch.variants(self._grid) if variant[0] == ranking.chosen.options), None
        )
