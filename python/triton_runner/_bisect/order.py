"""What nothing settles: races, copies that may land early or late, and float atomics, whose sum depends on
the order of the programs, and promises of the kernel that are not so. A program can be right by luck, so
they are always looked for."""

from __future__ import annotations

import numpy

from triton_runner._bisect import classes
from triton_runner._bisect.runs import Release

_SEEDS = ("1", "2")  # of orders of the programs, which the tile engine can change
_TTIR = ("source", "ttir")  # without asynchronous copies
_TILE = ("ttir", "ttgir")
_LUCK = {
    "TIMING": "by when asynchronous copies land: something is read before its wait",
    "SHUFFLE": "by the order of its programs: float atomics, or a race",
}


def unsettled(release: Release, level: str) -> tuple[str | None, dict | None]:
    """What the program's result hangs on at a level that nothing settles, None where everything does; and
    the place of a race.

    It runs under check="race" with copies that land at once and as late as they may, and with its programs in
    other orders.
    """
    if release.program.is_measured:
        return None, None
    plain = release.at(level).verdict
    ends = ("eager", "late") if level not in _TTIR else ("",)
    runs = [("TIMING", end, "race") for end in ends]
    runs += [("SHUFFLE", seed, "") for seed in (_SEEDS if level != "ptx" else ())]
    verdicts = []
    for what, value, check in runs:
        variables = {f"TRITON_RUNNER_{what}": value, "TRITON_RUNNER_CHECK": check}
        outcome = release.at(level, variables={name: value for name, value in variables.items() if value})
        release.say(f"at {level}, {value and f'{what.lower()} {value}, '}{check}: {outcome.verdict}")
        if outcome.trap == "data race":
            return f"a race at {level} with Triton {release.version}: {outcome.why}", outcome.place
        verdicts.append(outcome.verdict)
        # Checked for races the programs run one after the other: what differs from the plain run alone
        # differs by their order.
        for luck, others in (("TIMING", verdicts[: len(ends)]), ("SHUFFLE", [plain, *verdicts])):
            if len(verdicts) >= len(ends) and {"right", "wrong"} <= set(others):
                return f"at {level} with Triton {release.version} it is right or wrong {_LUCK[luck]}", None
    return None, None


def false_promise(release: Release) -> tuple[str | None, dict | None]:
    """A hint of the kernel, or an assumption, that its own values contradict, as check="hints" finds it; and
    where it is if that settles the fault: compiled without hints, the program is right."""
    if release.program.is_measured:
        return None, None
    for level in _TILE:  # Gluon has no TTIR
        outcome = release.at(level, variables={"TRITON_RUNNER_CHECK": "hints"})
        if outcome.verdict != "unknown":
            break
    if outcome.trap != "false hint":
        return None, None
    said = f"a promise of the kernel that is not so, with Triton {release.version}: {outcome.why}"
    plain = release.at(release.program.lowest, {"without_hints": True})
    if plain.verdict == "right":
        return f"{said}; compiled without hints it is right", outcome.place
    return said, None


def is_of_atomics(release: Release, number: int, **more) -> bool:
    """Whether the programs of a launch, in another order, leave other bits: float atomics add in the order
    in which they come."""
    kept = {"launches": {"keep": number}, **more}
    plain = _after(release, kept)
    return plain is not None and any(
        (other := _after(release, kept, {"TRITON_RUNNER_SHUFFLE": seed})) is not None
        and any(_differ(plain[name], other.get(name)) for name in plain)
        for seed in _SEEDS
    )


def _after(release: Release, kept: dict, variables: dict | None = None) -> dict | None:
    """The arrays behind the launch, at the lowest level whose programs can be shuffled."""
    launches = release.at("ttgir", variables={"TRITON_RUNNER_THREADS": "1", **(variables or {})}, **kept)
    after = ((launches.launches or {}).get("kept") or {}).get("after")
    return after and {name: classes.unpacked(taken) for name, taken in after.items()}


def _differ(one: numpy.ndarray, other: numpy.ndarray | None) -> bool:
    return other is not None and one.tobytes() != other.tobytes()
