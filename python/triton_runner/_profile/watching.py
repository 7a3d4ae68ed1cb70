"""The launches of a running program, each counted before it goes on as it is."""

from __future__ import annotations

import contextlib
import math

from triton_runner._artifact.relaunch import of_call
from triton_runner._launch.launchers import Call, observing
from triton_runner._profile.profiling import counted_launch
from triton_runner._profile.results import SCHEMA, Launch, Profile


class Watching:
    """names: launches of these kernels only, () of all; most: launches, each kernel and grid once; options:
    of counted_launch()."""

    def __init__(self, names=(), most: int = 4, options: dict | None = None):
        self._names, self._most, self._options = set(names), most, options or {}
        self._launches: list[Launch] = []
        self._seen: set = set()
        self._others: dict[str, None] = {}
        self._left_out = 0

    @contextlib.contextmanager
    def watching(self):
        """Launches inside of the block are counted, and then run as the program asks."""
        with observing(self._observe):
            yield self

    def result(self, status: int) -> Profile:
        return Profile(SCHEMA, self._launches, self._left_out, status, [*self._others])

    def _observe(self, call: Call, go) -> None:
        launch = of_call(call)
        key = (launch.name, tuple(launch.grid), launch.target)
        if self._names and launch.name not in self._names:
            self._others[launch.name] = None
        elif key not in self._seen and math.prod(launch.grid):  # an empty grid executes nothing
            self._seen.add(key)
            if len(self._launches) < self._most:
                self._launches.append(counted_launch(launch, number=len(self._launches), **self._options))
            else:
                self._left_out += 1
        return go()
