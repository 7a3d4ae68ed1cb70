"""Driver runs a program on a thread of its own, beside the one who drives it: orders go there, events come
back.

driver.go(run, order)        # who drives: hands an order on, and waits for the next event
driver.stand(event, debugger)  # the program's thread: tells where it stands, and waits for what to do"""

from __future__ import annotations

import contextvars
import queue

from triton_runner._base.errors import fail

_WAIT = 5.0  # seconds that a program has to end by itself


class Ended(SystemExit):
    """Unwinds the program when the session ends before it."""


class Driver:
    """start(run): runs the program somewhere, and returns what has is_alive() and join() of a thread."""

    def __init__(self, start):
        self._start, self.thread = start, None
        self._events: queue.SimpleQueue = queue.SimpleQueue()
        self._orders: queue.SimpleQueue = queue.SimpleQueue()
        self.ending = False

    def check(self) -> None:
        if self.ending:
            raise fail("the session has ended", "begin another")

    def go(self, run, order, interrupt):
        """Hands an order to the thread of the program, which the first one starts, and waits for its next
        event. interrupt(): stops a launch that runs, where the user asks for that meanwhile."""
        if self.thread is None:
            context = contextvars.copy_context()
            self.thread = self._start(lambda: context.run(run))
        else:
            self.order(order)
        interrupts = 0
        while True:
            try:
                return self._events.get()
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts > 1:  # no launch runs that could stop
                    raise
                interrupt()

    def order(self, call, is_aside: bool = False) -> None:
        self._orders.put((call, is_aside))

    def tell(self, event) -> None:
        self._events.put(event)

    def stand(self, event, debugger):
        """On the program's thread: what the next order gives, after what was to be done aside."""
        self.tell(event)
        while True:
            order, is_aside = self._orders.get()
            if not is_aside:
                return order(debugger)
            order()

    def close(self, debugger) -> None:
        """Ends the program where it stands."""
        self.ending = True
        if self.thread is not None and self.thread.is_alive():
            debugger.interrupt()
            self.order(lambda debugger: False)
            self.thread.join(_WAIT)
        debugger.close()
