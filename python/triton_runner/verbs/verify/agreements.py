"""Keeps the comparisons of what some launches wrote with what others wrote. Both may be wrong in the same
way, so that such a comparison counts for one side only if something else compares the other side.

One number beyond those of all launches stands for both sides, in values that depend on such a comparison."""

from __future__ import annotations

_FIRST = 1 << 30  # no program makes as many launches


class Agreements:
    """The comparisons of launches with launches, and which launches something compares."""

    def __init__(self):
        self._sides: list[tuple[frozenset, frozenset]] = []
        self._compared: set[int] = set()
        self._open: list[tuple[frozenset, frozenset, str]] = []  # (one side, the other, the check)

    def between(self, one, other) -> int:
        """The number of a comparison of these launches with those."""
        self._sides.append((self.launches(one), self.launches(other)))
        return _FIRST + len(self._sides) - 1

    def launches(self, numbers) -> frozenset:
        """The launches that numbers stand for, of each side of a comparison too."""
        numbers = set(numbers)
        plain = {number for number in numbers if number < _FIRST}
        pairs = (self._sides[number - _FIRST] for number in numbers if number >= _FIRST)
        return frozenset(plain.union(*(side for pair in pairs for side in pair)))

    def checked(self, numbers, by: str) -> list[tuple[frozenset, str]]:
        """The program came to a check that depends on these numbers. Returns the launches that something
        compares now, each set with its check."""
        plain = frozenset(number for number in numbers if number < _FIRST)
        self._compared |= plain
        self._open += [(*self._sides[number - _FIRST], by) for number in numbers if number >= _FIRST]
        found = [(plain, by)] if plain else []
        while more := [*self._settled()]:
            for launches, _ in more:
                self._compared |= launches
            found += more
        return found

    def _settled(self):
        for one, other, by in self._open:
            for mine, theirs in ((one, other), (other, one)):
                if theirs <= self._compared and not mine <= self._compared:
                    yield mine, by

    def unsettled(self) -> dict[int, str]:
        """The check by launch, of launches that nothing else compares."""
        sides = ((number, by) for one, other, by in self._open for number in one | other)
        return {number: by for number, by in sides if number not in self._compared}
