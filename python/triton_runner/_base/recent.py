"""Recent is a cache of bounded size: the entry that was used longest ago goes."""

from __future__ import annotations


class Recent:
    """Values that were made, found by what they were made of. At most `most` are kept: the one that was last
    asked for the longest time ago goes first."""

    def __init__(self, most: int):
        self._most = most
        self._kept: dict = {}  # in the order of asking

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key):
        """Returns what was put there, or None."""
        value = self._kept.pop(key, None)
        if value is not None:
            self._kept[key] = value
        return value

    def put(self, key, value):
        """Keeps the value, and gives it back."""
        self._kept.pop(key, None)
        while len(self._kept) >= self._most:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[key] = value
        return value
