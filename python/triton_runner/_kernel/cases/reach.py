"""Finds out whether a value that a check reports affects anything. The launch runs again with one number and
with another in place of every such value. If all outputs stay the same, the value affects nothing."""

from __future__ import annotations

import dataclasses

from triton_runner._memory.substitution import Substitution

# Checks whose reports are faults where the value reaches something. The others report an access, an order or
# a promise, or what may be meant wherever it goes.
CHECKS = ("nan", "uninit", "zerodiv")
NUMBERS = (1.0, -2.0)
_MOST = 8  # places that are tried one by one
_PATIENCE = 20  # times the seconds of the run without a substitution, and at least:
_LEAST_SECONDS = 60
_NOT_TRIED = "it was not tried here, as an output depends on one at a level above"


@dataclasses.dataclass
class Report:
    """A place that a check reports. place: the first fault there, with the fields of KernelTrap. reached:
    whether an output, a trap or the end of the launch depends on the value; why: how it does."""

    place: object
    reached: bool
    why: str


def numbers_of(check: str) -> tuple[float, ...]:
    """The numbers that take the place of what a check reports. Remainders are compared with 0."""
    return (*NUMBERS, 0.0) if check == "zerodiv" else NUMBERS


def reports(judge, level: str, check: str, is_certain: bool = False) -> list[Report]:
    """The reports of a check at a level, in the order of execution. is_certain: an output depends on what the
    check reports at a level above, and the verdict on no more than where it reports something here."""
    if check == "uninit":
        return _undefined(judge, level, is_certain)
    if is_certain:
        return [
            Report(place, True, _NOT_TRIED) for place in _Experiment(judge, level, check, NUMBERS[0]).places
        ]
    first = _Experiment(judge, level, check, NUMBERS[0])
    if not first.places:  # another check reported what stopped the run with this one
        return []
    whole = [first, *(_Experiment(judge, level, check, number) for number in numbers_of(check)[1:])]
    places = {(place.location, place.op): place for finding in whole for place in finding.places}
    effects = [finding.effect for finding in whole if finding.effect]
    if len(places) == 1 or not effects:
        return [Report(place, bool(effects), "".join(effects[:1])) for place in places.values()]
    return [
        _of_several(judge, level, check, place, number, whole) for number, place in enumerate(places.values())
    ]


def _undefined(judge, level: str, is_certain: bool) -> list[Report]:
    """Reports of uninit. The check reports uses of undefined values, but the experiment replaces the values
    themselves, most of which have no such use."""
    run = judge.alone(level, "uninit")
    if run is None or run.trap is None:
        return []
    if is_certain:
        return [Report(run.trap, True, _NOT_TRIED)]
    effects = [_Experiment(judge, level, "uninit", number).effect for number in NUMBERS]
    return [Report(run.trap, any(effects), next(filter(None, effects), ""))]


def _of_several(judge, level: str, check: str, place, number: int, whole: list[_Experiment]) -> Report:
    """Finds out whether one of several places reaches something. It is tried alone, and then together with
    all others beside the others without it: two NaNs that reach one output hide each other, because either of
    them makes it NaN. whole: the experiments with all places."""
    if number >= _MOST:
        return Report(place, True, "it was not tried alone, as there are so many places")
    for one in numbers_of(check):
        experiment = _Experiment(judge, level, check, one, at=(place.location,))
        if experiment.effect:
            return Report(place, True, experiment.effect)
    others = {found.location for experiment in whole for found in experiment.places} - {place.location}
    for together in whole if others else ():
        if together.run is None or together.run.trap is not None:
            continue
        without = _Experiment(
            judge, level, check, together.number, tuple(sorted(others)), beside=together.run
        )
        if without.effect:
            return Report(place, True, f"where the other reports have {together.number:g}, {without.effect}")
    return Report(place, False, "")


class _Experiment:
    """One run with a number in place of the values that a check reports. places: where it was put; effect:
    how this run differs from the plain one, or from the run `beside` which has the number in one place more;
    "" where it does not."""

    def __init__(self, judge, level: str, check: str, number: float, at: tuple = (), beside=None):
        self.number = number
        substitution = Substitution(number, at=at)
        how = f"check {check}, {number:g} in place of what it reports" + (
            f" at {', '.join(at)}" if at else ""
        )
        limit = max(_LEAST_SECONDS, _PATIENCE * judge.slowest(level))
        self.run = judge.run(level, how, checks=check, substitute=substitution, timeout=limit)
        self.places = substitution.places
        self.effect = ""
        if self.run is not None:
            self.effect = _effect(beside or judge.plain[level], self.run, number)


def _effect(plain, run, number: float) -> str:
    if run.trap is not None:
        return f"with {number:g} in its place the launch ends in a trap: {run.trap.kind}"
    names = run.differing(plain)
    return f"with {number:g} in its place {', '.join(map(repr, names))} holds something else" if names else ""
