"""Makes a call that shows a fault smaller as long as it shows it: first what it varies beside sizes, then the
sizes, each to the smallest that is tried."""

from __future__ import annotations

import dataclasses
import json

from triton_runner._base.shrink import Shrinker, rounds
from triton_runner.verbs.verify.shapes.cases import MOST_ELEMENTS, Case
from triton_runner.verbs.verify.shapes.domain import Domain

_FIELDS = ("layouts", "dtypes", "values", "repeated", "config", "huge")
_MOST_TRIES = 60


class Smaller:
    """The smallest case like a given one. fails(case): whether the fault is there."""

    def __init__(self, domain: Domain, case: Case, fails, most: int = _MOST_TRIES):
        self._domain, self._form, self._fails, self._most = domain, case.form, fails, most
        self._shrinker = Shrinker(_text(case), self._holds, self._size)
        rounds(self._shrinker, (self._plainer, self._jumps, self._steps))

    @property
    def case(self) -> Case:
        return _case(self._shrinker.best)

    @property
    def tries(self) -> int:
        return self._shrinker.tries

    def _holds(self, text: str) -> bool:
        return self._shrinker.tries <= self._most and self._fails(_case(text))

    def _size(self, text: str) -> tuple:
        case = _case(text)
        changes = len(case.layouts) + sum(bool(getattr(case, field)) for field in _FIELDS[1:])
        return changes, sum(case.sizes.values()), case.config

    def _attempt(self, **changes) -> bool:
        case = dataclasses.replace(self.case, **changes)
        too_large = not case.huge and self._domain.elements(case.sizes) > MOST_ELEMENTS
        if too_large or not self._domain.fits(case.sizes):
            return False
        return self._shrinker.attempt(_text(case))

    def _plainer(self, shrinker: Shrinker) -> None:
        """One variation after the other is left out."""
        plain = Case({})
        for field in _FIELDS[1:]:
            self._attempt(**{field: getattr(plain, field)})
        for path in [*self.case.layouts]:
            self._attempt(layouts={other: how for other, how in self.case.layouts.items() if other != path})

    def _jumps(self, shrinker: Shrinker) -> None:
        """Each size to 0, 1, 2, 4, ..., the first that shows it."""
        if self._domain.frozen:
            return
        for name in [*self.case.sizes]:
            now, least = self.case.sizes[name], max(self._domain.sizes[name].low, 0)
            steps = sorted({least, *(least + 2**power for power in range(now.bit_length() + 1))})
            for value in steps:
                if value >= now or self._attempt(sizes={**self.case.sizes, name: value}):
                    break

    def _steps(self, shrinker: Shrinker) -> None:
        """Each size between the last that does not show it and the one that does."""
        if self._domain.frozen:
            return
        for name in [*self.case.sizes]:
            low, high = max(self._domain.sizes[name].low, 0) - 1, self.case.sizes[name]
            low = max(low, high // 2 - 1)
            while high - low > 1:
                middle = (low + high) // 2
                if self._attempt(sizes={**self.case.sizes, name: middle}):
                    high = middle
                else:
                    low = middle


def _text(case: Case) -> str:
    return json.dumps(dataclasses.asdict(case), sort_keys=True)


def _case(text: str) -> Case:
    return Case(**json.loads(text))
