"""The launches of a running program, each counted before it goes on as it is."""

from __future__ import annotations

import contextlib
import math

from triton_runner._artifact.relaunch import of_call
from triton_runner._launch.launchers import Call, Selection, observing
from triton_runner._profile.profiling import counted_launch
from triton_runner._profile.results import SCHEMA, Launch, Profile


class Watching:
    """names: launches of these kernels only, () of all; most: launches, each kernel and grid once; options:
    of counted_launch()."""

    def __init__(self, names=(), most: int = 4, options: dict | None = None):
        self._selection, self._options = Selection(names, most), options or {}
        self._launches: list[Launch] = []

    @contextlib.contextmanager
    def watching(self):
        """Launches inside of the block are counted, and then run as the program asks."""
        with observing(self._observe):
            yield self

    def result(self, status: int) -> Profile:
        selection = self._selection
        return Profile(SCHEMA, self._launches, selection.left_out, status, [*selection.others])

    def _observe(self, call: Call, go) -> None:
        launch = of_call(call)

        def count() -> None:
            self._launches.append(counted_launch(launch, number=len(self._launches), **self._options))

        if math.prod(launch.grid):  # an empty grid executes nothing
            self._selection.look(launch.name, (launch.name, tuple(launch.grid), launch.target), count)
        return go()
