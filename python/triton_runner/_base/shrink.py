"""Makes anything smaller by delta debugging: edits are tried many at once, then fewer, then one by one, each
kept if the fault is still there. The smallest so far is always on disk, whole."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from triton_runner._base.paths import write_file


class Shrinker:
    """A text that gets smaller.

    holds(text): whether the fault is there; size(text): what is to become small, (ops, characters) say.
    """

    def __init__(self, text: str, holds: Callable[[str], bool], size, out: Path | None = None, say=None):
        self.best, self.size = text, size
        self._holds, self._out, self._say = holds, out, say or (lambda text: None)
        self._tried: set[bytes] = set()
        self.tries, self.kept = 0, 0
        self._started = time.monotonic()
        self._save()

    def attempt(self, text: str | None) -> bool:
        """Returns whether a text takes the place of the best: it is smaller and has the fault. Each is judged
        once."""
        if text is None or self.size(text) >= self.size(self.best):
            return False
        key = hashlib.sha256(text.encode()).digest()
        if key in self._tried:
            return False
        self._tried.add(key)
        self.tries += 1
        good = self._holds(text)
        if good:
            self.best = text
            self.kept += 1
            self._save()
        self._say(self)
        return good

    def __str__(self) -> str:
        """Returns how far it is, in a line."""
        size = self.size(self.best)[0]
        return f"{size} left, {self.kept} of {self.tries} tries kept, {self.seconds:.0f} s"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def _save(self) -> None:
        """A reader, and whoever comes after a crash, sees a whole file."""
        if self._out is None:
            return
        write_file(self._out, self.best)

    def each(self, places: Callable[[str], Sequence], edited: Callable[[str, Sequence], str | None]) -> None:
        """Tries edits at places(text), from the last to the first, as those after use what stands before:
        edited(text, some of the places)."""
        there = places(self.best)
        width = len(there)
        while width:
            end = len(there)
            while end > 0:
                chosen = there[max(end - width, 0) : end]
                if self.attempt(edited(self.best, chosen)):
                    there = places(self.best)
                    end = min(end, len(there)) if width > 1 else min(end - 1, len(there))
                    if width == 1:
                        continue
                else:
                    end -= width
            width = min(width // 2, len(there))


def rounds(shrinker: Shrinker, steps: Sequence[Callable[[Shrinker], None]]) -> None:
    """All steps, until none makes it smaller."""
    while True:
        before = shrinker.size(shrinker.best)
        for step in steps:
            step(shrinker)
        if shrinker.size(shrinker.best) >= before:
            return
