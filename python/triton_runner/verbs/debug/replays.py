"""Replays keeps the runs of one launch: the first, and one for each time that somebody goes back in it, or
looks closer at a stop that a run without values came to. A launch runs on one thread and is deterministic, so
that the count of the places that it has come to says where it stands, in each run."""

from __future__ import annotations

from triton_runner import _settings
from triton_runner._base.errors import KernelTrap
from triton_runner._memory import uninit
from triton_runner.verbs.debug.driver import Ended


class Replays:
    """- `edits`: (moment, number of the value, elements) that this launch was given.
    - `trap`: (moment, trap) that it ran into.
    - `arrival`: (reason, breakpoints, their hits) of the stop that it is run again to.
    - `returning`: this run goes to where the one before stood: statements do not stop it.
    - `sparse`: this run stops at breakpoints alone, and shows nothing there.
    """

    def __init__(self, debugger):
        self._debugger = debugger
        self.returning = self.sparse = False
        self._begin()

    def _begin(self) -> None:
        self.trap: tuple | None = None
        self.arrival: tuple | None = None
        self.edits: list[tuple] = []
        self._order = None  # called with the debugger when the launch begins again
        self._start = -1  # the moment that the next run has to begin before; -1: none

    def run(self, go, driver) -> None:
        """Runs a launch by go(), and again as often as somebody goes back in it."""
        self._begin()
        undefined = uninit.snapshot()
        self._debugger.begin_launch()
        try:
            while True:
                self._start = -1
                trap = self._launch(go)
                if driver.ending:
                    raise Ended
                if self._order is None and not self._has_more(trap):
                    return
                self._debugger.put_back(self._start)
                uninit.put_back(undefined)
        finally:
            self._debugger.end_launch()

    def _launch(self, go) -> KernelTrap | None:
        try:
            with _settings.using(debugger=self._debugger):
                go()
        except KernelTrap as trap:
            return trap
        return None

    def _has_more(self, trap: KernelTrap | None) -> bool:
        """Returns whether a run to the end is followed by another: up to its trap. Raises a trap that was
        shown."""
        if trap is None:
            return False
        if self.sparse:
            self._look_closer(trap)
        elif self.trap is None:
            self.trap = (max(self._debugger.moment - 1, 0), trap)
            self._start = self.trap[0]
            self._order = lambda debugger: debugger.go_to(self.trap[0])
        else:
            raise trap
        return True

    def _look_closer(self, trap: KernelTrap) -> None:
        """A run that shows nothing trapped: it is run again up to there."""
        if trap.kind == "interrupted":
            self.arrival = ("interrupt", [], {})
            self._order = lambda debugger: debugger.go_to_visit(0, trap.program, 0, 1)
        else:
            self._order = lambda debugger: debugger.go()

    def begin_run(self, debugger) -> bool:
        """The next run begins. Whether it has an order, which it then follows."""
        debugger.set_edits(self.edits)
        self.sparse = False
        order, self._order = self._order, None
        self.returning = order is not None
        if order is not None:
            order(debugger)
        return self.returning

    def arrive(self, debugger, place: int, why: str, hits: list, breakpoints) -> None:
        """A run that shows nothing came to a stop: it ends, and is run again up to there."""
        counts = {b.number: debugger.hits(b.number) for b in breakpoints}
        at = (place, [*debugger.program], debugger.task, debugger.visit)
        self.arrival = (why, hits, counts)
        self._order = lambda again: again.go_to_visit(*at)

    def go_back(self, debugger, start: int, order) -> bool:
        """An order to go back to a moment that is not after `start` (-1: this program's begin, or before),
        and on from there by another. False: the launch has to begin again for that."""
        self.trap = None
        if debugger.go_back(start):
            self.returning = True
            debugger.set_edits(self.edits)
            order(debugger)
            return True
        self._order, self._start = order, start
        return False
