"""Finds what to say of integers that a kernel loads: the bounds with which something is proved.

Whether they hold is for the reader to say, who knows what the memory holds: of one launch it is known, whose
integers come first. Bounds are sizes that the kernel has by name, and quotients of those by its constants.
"""

from __future__ import annotations

from triton_runner.verbs.prove.model import Reader
from triton_runner.verbs.prove.solver import Solver
from triton_runner.verbs.prove.terms import FALSE, Cond, atoms_of, ge, poly, quotient

_SECONDS = 0.15  # for a question
_QUESTIONS = 20  # a second of what there is for all: they are counted, as a slow machine is to say the same
_MOST_CANDIDATES = 24
_TILE = 1 << 12


class Advice:
    """sizes: {the words of a size in --given: its term}; divisors: {the same of a constant: its number};
    seconds: for all that is asked; against(words): what of the launch goes against bounds, "" for nothing."""

    def __init__(
        self, reader: Reader, solver: Solver, sizes: dict, divisors: dict, seconds: float, against
    ):  # fmt: skip
        self._reader, self._solver, self.against = reader, solver, against
        self._sizes, self._divisors, self._left = sizes, divisors, seconds * _QUESTIONS
        self._proposed: dict = {}  # {an argument: the bound that decided something before}

    def declaration(self, goal: Cond, given, arguments) -> str:
        """The words of --given with which a goal is proved; "": none were found."""
        own = atoms_of(goal)
        close = {one.base for one in self._reader.loads if atoms_of(one.number) & own}
        known = {one.base for one in self._reader.loads}
        # Bounds of the goal's own integers come last, as a loop of no turns proves anything.
        loaded = sorted((name for name in arguments if name in known), key=lambda name: name in close)
        least = dict.fromkeys(loaded, ("1", poly(1)))
        some = self._some(given) if loaded else ()
        if not loaded or not self._proves(goal, some, least):
            return ""
        chosen = dict(least)
        for name in loaded:
            others = {other: bound for other, bound in chosen.items() if other != name}
            if self._proves(goal, some, others):
                chosen = others
        for name in chosen:
            bound = next(
                (
                    one
                    for one in self._candidates(name, goal)
                    if self._proves(goal, given, chosen | {name: one})
                ),
                None,
            )
            if bound is None:
                return ""
            chosen[name] = bound
        self._proposed |= chosen
        return ", ".join(f"{name} in 0..{word}" for name, (word, _) in chosen.items())

    def _some(self, given) -> tuple:
        """Returns what is given, of sizes that have room for a tile, if such may be, or for an element."""
        for least in (_TILE, 1):
            some = (*given, *(ge(term, least) for term in self._sizes.values() if term.const is None))
            if not self._proves(FALSE, some, {}):
                break
        return some

    def _candidates(self, name: str, goal: Cond) -> list:
        """(words, term) of bounds: those that were proposed before, then sizes that the goal is about."""
        own = atoms_of(goal) - atoms_of(*(one.number for one in self._reader.loads))
        near = sorted(self._sizes.items(), key=lambda size: not atoms_of(size[1]) & own)
        found = [self._proposed[name]] if name in self._proposed else []
        for word, term in near:
            found += [(f"{word} + 1", term + 1), (word, term)]
        for word, term in near:
            found += [(f"{word} // {one}", quotient(term, number)) for one, number in self._divisors.items()]
        found = [one for one in found if one[1].const is None or one[1].const > 0]  # or no integer is left
        found.sort(key=lambda one: bool(self.against(f"{name} in 0..{one[0]}")))
        return found[:_MOST_CANDIDATES]

    def _proves(self, goal: Cond, given, bounds: dict) -> bool:
        if self._left <= 0:
            return False
        self._left -= 1
        facts = [
            one.within(0, bounds[one.base][1]) for one in self._reader.loads if one.base in bounds
        ]  # fmt: skip
        return self._solver.proves(goal, (*given, *facts), _SECONDS) is True
