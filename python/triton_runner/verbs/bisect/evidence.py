"""Finds the evidence of a fault: the first launch with a wrong result, its first wrong element, and the line
that stores it.

The launches of the wrong release are compared with those of a right release, or, if there is none, with
those of a level at which the release is right."""

from __future__ import annotations

import dataclasses

from triton_runner import ir
from triton_runner._base.errors import DiagnosticError
from triton_runner._code import stores
from triton_runner.verbs.bisect import classes
from triton_runner.verbs.bisect.results import Evidence
from triton_runner.verbs.bisect.runs import Release
from triton_runner.verbs.bisect.trial import Kernel

_TRIED = 16  # launches that differ whose contents are looked at
_WORST = ("wrong", "bits", "drift")


def evidence(search, printed: list[str]) -> Evidence:
    """The evidence of the first wrong launch. If no launch can be compared: what the program printed."""
    plain = Evidence(search.program.name, said=printed)
    wrong = search.at(search.wrong_at)
    if wrong.place:
        return Evidence.of_trap(search.program.name, wrong.place, printed)
    pair = None if search.program.is_measured else _pair(search)
    first = pair and _first_difference(search, plain, *pair)
    return first or plain


def _pair(search) -> tuple | None:
    """(release, level, its description) of the run to compare with."""
    for right in search.rights[:1]:
        return right, search.program.lowest, f"Triton {right.version}"
    levels = [level for level, verdict in search.levels.items() if verdict == "right"]
    return (search.release, levels[-1], f"at {levels[-1]}") if levels else None


def _first_difference(search, plain: Evidence, right: Release, level: str, name: str) -> Evidence | None:
    got = search.at(search.wrong_at, launches={}).launches
    want = right.at(level, launches={}, **search.more).launches
    if got is None or want is None:
        return None
    if other := got.other_input(want, f"with {name}" if right is not search.release else name):
        search.note(other)
        return None
    drifts, tried = None, 0
    for number, (mine, theirs) in enumerate(zip(got.seen, want.seen, strict=False)):
        if mine.kernel != theirs.kernel:
            search.note(f"launch {number} is of {mine.kernel}, and of {theirs.kernel} with {name}")
            break
        if mine.arrays == theirs.arrays:
            continue
        tried += 1
        keep = {"launches": {"keep": number}}
        trials = search.at(search.wrong_at, **keep), right.at(level, **keep, **search.more)
        if difference := worst(*(trial.launches.kept for trial in trials)):
            position, count, differs = difference
            if differs.class_ != "wrong" and search.orders.is_of_atomics(number):
                differs = dataclasses.replace(differs, class_="atomics")
            evidence = dataclasses.replace(
                plain, differs=differs, kernel=mine.kernel, argument=position, launch=number,
                launches=len(got.seen), than=name,
            )  # fmt: skip
            if differs.class_ not in ("drift", "atomics"):
                return _placed(search, evidence, count)
            drifts = drifts or (evidence, count)
        if tried == _TRIED:
            break
    return drifts and _placed(search, *drifts)


def worst(mine: dict, theirs: dict) -> tuple | None:
    """(position, number of arrays, difference) of the array of a launch that differs most severely."""
    differing = []
    for position, (name, array) in enumerate(mine.items()):
        if name in theirs and (difference := classes.compare(array, theirs[name])):
            differing.append((position, len(mine), difference))
    return min(differing, key=lambda entry: _WORST.index(entry[2].class_), default=None)


def _placed(search, evidence: Evidence, count: int) -> Evidence:
    """The evidence with the op and line of Python that store to the array. count: arrays of the launch."""
    kernels = search.at(search.wrong_at, keep="text").kernels
    module = next(
        (parsed(kernel) for kernel in kernels if kernel.name == evidence.kernel and kernel.first is not None),
        None,
    )
    if module is None:
        return evidence
    name, op = stores.store(module, evidence.argument, count)
    placed = evidence if op is None else evidence.at(op)
    return dataclasses.replace(placed, argument=name or evidence.argument)


def parsed(kernel: Kernel):
    """The IR of a kernel as the front end produced it; None if it cannot be read."""
    try:
        return None if kernel.source is None else ir.parse(kernel.source)
    except DiagnosticError:
        return None
