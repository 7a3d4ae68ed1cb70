"""Puts a number in the place of every value that a check reports. What depends on such a value differs
between runs with two numbers."""

from __future__ import annotations

from triton_runner import _core
from triton_runner._memory.fault_log import Fault


class Substitution:
    """Replaces the values that checks report by a number: `using(check="nan", substitute=Substitution(1.0))`.

    The launch does not stop where a check reports. The elements that the check would report (at PTX: the
    threads' values) are replaced by the number, and the launch continues. Under `uninit` they are replaced
    where the undefined value arises, and count as defined from there on.

    - `number`: is cast to the type of the element. An i1 gets its lowest bit, and pointers are not replaced.
      At PTX under `uninit` only its sign matters.
    - `at`: the places where values are replaced, as "kernel.py:12:5"; by default all places.
    """

    def __init__(self, number: float, at=()):
        self.experiment = _core.Substitution(float(number), list(at))
        self._places: dict[tuple, Fault] = {}

    @property
    def places(self) -> list[Fault]:
        """Returns what the checks would have reported, in the order of the first launch: a Fault a place, as
        faults() has them. `count` is the number of elements (threads), replaced or not, over all launches."""
        for fields, count in self.experiment.take_places():
            fault = Fault(**fields, count=count)
            place = self._places.setdefault((fault.kernel, fault.op, fault.location), fault)
            if place is not fault:
                place.count += count
        return list(self._places.values())
