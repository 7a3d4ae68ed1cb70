"""Goes back in a launch that stands: its program continues from the last moment that was kept of it, or the
launch runs again (replays.py), up to the moment that is looked for."""

from __future__ import annotations

import dataclasses
import functools

from triton_runner._core import probe
from triton_runner.verbs.debug.breakpoints import statements
from triton_runner.verbs.debug.results import Exited, Stopped


class Back:
    """A part of Session."""

    def reverse_step(self) -> Stopped | Exited:
        """To where the line of Python before this one began, in this program; into functions."""
        return self._search(probe.Until.LINE)

    def reverse_next(self) -> Stopped | Exited:
        """The same, over functions that were called."""
        return self._search(probe.Until.LINE, depth=self.depth())

    def reverse_op(self) -> Stopped | Exited:
        """To the op or instruction before this one, in this program."""
        return self._search(probe.Until.OP)

    def reverse_resume(self) -> Stopped | Exited:
        """Back to the last stop at a breakpoint, in this program."""
        event = self._search(probe.Until.NOTHING)
        if not isinstance(event, Stopped) or event.reason == "beginning":
            return event
        hits = self.breakpoints.at(event.place, self.places)
        frames, hidden = self._shown(event.place, self.breakpoints.depth(hits, self.places, event.place))
        reason = "breakpoint" if hits else "statement"
        self.stopped = dataclasses.replace(
            event, reason=reason, breakpoints=hits, frames=frames, hidden=hidden
        )
        return self.stopped

    def last_write(self, what: str) -> Stopped | Exited:
        """Back to after the op that gave "acc" or "acc[3, 5]" the value it has."""
        self.state.shown(what)  # it is there, and has the element
        return self._search(probe.Until.NOTHING, [self.breakpoints.watching(what)])

    def go_to(self, moment: int) -> Stopped | Exited:
        """To the moment of an earlier stop of this launch, or of a later one."""
        self._depth = 0
        if moment > self._standing().moment:
            return self._go(lambda debugger: debugger.go_to(moment))
        return self._back_to(moment)

    def _search(self, what, breakpoints=None, depth: int = 1 << 20) -> Stopped | Exited:
        """Runs the program again to find the moment before this one: its last part, then as much before that
        as has been searched, and so on to its begin; and then once more up to that moment."""
        here = self._standing()
        self._depth, last, start, late = depth, here.moment, here.moment - 1, None
        while True:
            order = functools.partial(self._look_back, what, breakpoints, depth, last, late is not None)
            event = self._run_again(order, start, stands=late is None)
            if isinstance(event, Exited):
                return event
            noted, late = self._debugger.noted, self._debugger.late
            if noted >= 0:
                return self._back_to(noted)
            if late is None:
                break
            last, start = self._debugger.unsure + 1 or last, max(2 * late - here.moment, -1)
        if self.stopped.moment != here.moment:
            self._go(lambda debugger: debugger.go_to(here.moment))
        # It stands where it stood.
        self.stopped = dataclasses.replace(here, reason="beginning", breakpoints=[])
        return self.stopped

    def _look_back(self, what, breakpoints, depth: int, last: int, further: bool, debugger) -> None:
        """The order to look for moments before `last`. further: those of the task of the search before."""
        every = what == probe.Until.NOTHING and breakpoints is None
        own = self.breakpoints.of_core(self.places) + statements(self.places) if every else []
        debugger.set_breakpoints(own if breakpoints is None else breakpoints)
        debugger.search(what, depth, last, further)

    def _back_to(self, moment: int) -> Stopped | Exited:
        self._replays.edits = [edit for edit in self._replays.edits if edit[0] <= moment]
        event = self._run_again(lambda debugger: debugger.go_to(moment), moment)
        self._end_alone()
        return event

    def _run_again(self, order, start: int = -1, stands: bool = True) -> Stopped | Exited:
        """Goes back to a moment that is not after `start` (-1: this program's begin, or before), and on from
        there by an order."""

        def again(debugger):
            if stands:
                debugger.go()  # it notes where it stands
            return self._replays.go_back(debugger, start, order)

        return self._go(again)
