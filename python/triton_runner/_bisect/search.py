"""triton-runner bisect: which release, which level and which pass made a program wrong, with no GPU.

The oracle is the program itself, as for `git bisect run`, or one of kernel.py for a kernel.

Each release is judged, by default and at both ends of timing. Other orders of the programs and of their
atomics are tried before a pass is looked for. Each run of consecutive wrong releases is a fault (fault.py).
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os

from triton_runner._bisect import assembler, evidence, order, stores
from triton_runner._bisect.fault import Search
from triton_runner._bisect.runs import Outcome, Program, Release
from triton_runner._compiler import versions
from triton_runner._errors import DiagnosticError, fail
from triton_runner._paths import check_program


def bisect_program(
    program: Program, wanted: list[str], say=lambda text, done=None: None, jobs: int = 2
) -> dict:
    """What is wrong with a program, in which of the releases: the JSON of the command. say: is told each run,
    and with done=(releases judged, of all) how far it is."""
    file = program.name.rpartition(":")[0] if program.launch else program.name
    if program.launch and not os.path.isfile(file):
        raise fail(f"no such file: {file}")
    if not program.launch and not program.is_module:
        check_program(file)
    releases: dict[str, Release] = {}
    looked: dict[str, order.Orders] = {}
    try:
        if program.launch and program.launch["oracle"]["kind"] == "wrong":
            program = _with_reference(program, wanted, say)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            judged = {}
            for version, outcome in zip(
                wanted, pool.map(lambda v: _judged(v, program, releases, say), wanted), strict=True
            ):
                judged[version] = outcome
                say(f"{version}: {outcome.verdict}", done=(len(judged), len(wanted)))
        assembled = _assembled(program, releases, judged)
        decided = order.Orders()
        for version in _looked_at(wanted, judged):
            if decided.verdict is None:
                decided = looked[version] = order.look(releases[version], **_choices(releases[version]))
        timed = {} if decided.verdict else _at_both_timings(wanted, releases, judged, say)
        faults = []
        if decided.verdict is None:
            faults, decided = _faults(wanted, releases, judged, timed, looked)
        judged |= {version: outcome for version, (outcome, _) in timed.items()} | assembled
        for run in _runs_of_wrong([version for version in wanted if version in assembled], assembled):
            faults.append((run, assembler.fault(run, releases, assembled, _last_lines(judged[run[-1]]))))
        faults.sort(key=lambda one: wanted.index(one[0][-1]))
        promise = None
        if not faults and decided.verdict is None and (right := _of(wanted, judged, "right")):
            promise, _ = order.false_promise(releases[right[-1]])
    finally:
        for release in releases.values():
            release.close()
    said = {
        "wrong": _of(wanted, judged, "wrong"),
        "right": _of(wanted, judged, "right"),
        "unknown": [{"version": v, "why": judged[v].why} for v in _of(wanted, judged, "unknown")],
    }
    newest = faults[-1][1] if faults else {
        "verdict": decided.verdict or ("right" if said["right"] else "unknown"),
        "level": None, "stage": None, "pass": None, "confirmed_by": [], "evidence": decided.evidence,
        "notes": [*decided.notes, *([promise] if promise else [])],
    }  # fmt: skip
    runs = sum(release.runs for release in releases.values())
    each = [_in_order({**fault, "release": {**said, "wrong": run}}) for run, fault in faults]
    return _in_order({**newest, "release": said, "faults": each, "target": program.target, "runs": runs})


def _of(wanted: list[str], judged: dict, verdict: str) -> list[str]:
    return [version for version in wanted if judged[version].verdict == verdict]


def _choices(release: Release) -> dict:
    """Which configuration an autotuner takes, as the runs of a release take it."""
    choices = release.at(release.program.lowest).choices
    return {"choices": choices} if choices else {}


def _looked_at(wanted: list[str], judged: dict) -> list[str]:
    """The releases in which other orders are tried: the newest wrong one and the newest right one."""
    return [
        _of(wanted, judged, verdict)[-1] for verdict in ("wrong", "right") if _of(wanted, judged, verdict)
    ]


def _at_both_timings(wanted: list[str], releases: dict, judged: dict, say) -> dict:
    """{version: (outcome, [condition])} of the releases that are right by default, and wrong where copies
    land at another time, or by check="race"."""

    def look(version: str) -> tuple[Outcome | None, list[dict]]:
        release = releases[version]
        wrong, shown = None, []
        for condition in order.conditions(judged[version]) if not release.program.is_measured else ():
            outcome = release.at(release.program.lowest, variables=condition, **_choices(release))
            say(f"{version}: {order.said(condition)}: {outcome.verdict}")
            if order.is_fault(outcome):
                wrong = wrong or outcome
                shown.append(condition)
        return wrong, shown

    right = _of(wanted, judged, "right")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return {v: found for v, found in zip(right, pool.map(look, right), strict=True) if found[0]}


def _faults(wanted: list[str], releases: dict, judged: dict, timed: dict, looked: dict) -> tuple:
    """([(releases, fault)], what another order decides of them): of the releases that are wrong by default,
    and of those that are at another timing."""
    right = [v for v in _of(wanted, judged, "right") if v not in timed]
    faults = []
    for run in _runs_of_wrong(wanted, judged):
        orders = looked.get(run[-1]) or order.Orders()
        rights = right or _of(wanted, judged, "right")
        faults.append((run, _fault(releases[run[-1]], releases, rights, judged[run[-1]], orders)))
        if orders.verdict is not None:
            return [], orders
    late = {v: timed[v][0] if v in timed else Outcome("right") for v in wanted}
    for run in _runs_of_wrong(wanted, late):
        outcome, shown = timed[run[-1]]
        views = {version: release.under(*shown) for version, release in releases.items()}
        found = _fault(views[run[-1]], views, right, outcome, order.Orders())
        settings = ", and with ".join(order.said(condition) for condition in shown)
        found["notes"].insert(0, f"right by default, and wrong with {settings}")
        found["conditions"] = [order.named(condition) for condition in shown]
        faults.append((run, found))
    return faults, order.Orders()


def _in_order(found: dict) -> dict:
    """The keys in the order in which the guide has them."""
    known = ("verdict", "release", "level", "stage", "pass", "confirmed_by", "evidence", "faults")
    return {key: found[key] for key in dict.fromkeys((*known, *found)) if key in found}


def _with_reference(program: Program, wanted: list[str], say) -> Program:
    """The program, judged by what the newest release's front end makes, executed as it is."""
    release = Release(wanted[-1], program, say)
    try:
        outcome = release.at("source", launches={"keep": 0})
        kept = (outcome.launches or {}).get("kept") or {}
        if "after" not in kept:
            raise fail(f"{program.name} cannot be run by Triton {wanted[-1]}: {outcome.why or 'no launch'}")
    finally:
        release.close()
    return dataclasses.replace(program, launch={**program.launch, "reference": kept["after"]})


def _judged(version: str, program: Program, releases: dict, say) -> Outcome:
    try:
        release = releases[version] = Release(version, program, lambda text: say(f"{version}: {text}"))
        outcome = release.at(program.lowest)
    except DiagnosticError as error:  # it cannot be fetched, or does not start
        outcome = Outcome("unknown", error.message)
    say(f"{version}: {outcome.verdict}{': ' + outcome.first_why if outcome.why else ''}")
    return outcome


def _assembled(program: Program, releases: dict, judged: dict) -> dict:
    """The outcomes as machine code, of the releases that are right above it."""
    if not program.is_assembled:
        return {}
    right = [version for version, outcome in judged.items() if outcome.verdict == "right"]
    return {version: releases[version].at("cubin") for version in right}


def _runs_of_wrong(wanted: list[str], judged: dict) -> list[list[str]]:
    """Consecutive releases that are wrong; one that could not be judged ends no run."""
    runs: list[list[str]] = []
    inside = False
    for version in wanted:
        verdict = judged[version].verdict
        if verdict == "wrong":
            if not inside:
                runs.append([])
            runs[-1].append(version)
        inside = verdict == "wrong" or (inside and verdict == "unknown")
    return runs


def _fault(
    release: Release, releases: dict, right: list[str], outcome: Outcome, orders: order.Orders
) -> dict:
    """One fault, judged in the newest of its releases; right: the releases that are. Where another order of
    atomics explains it, `orders` takes that verdict."""
    own = versions.key(release.version)
    # The next release first: its parser reads more of this one's IR than an older one's does.
    later = sorted((v for v in right if versions.key(v) > own), key=versions.key)
    earlier = sorted((v for v in right if versions.key(v) < own), key=versions.key, reverse=True)
    search = Search(release, [releases[version] for version in (*later, *earlier)], orders)
    printed = _last_lines(outcome)
    if shown := order.outputs(release, orders, **search.more):
        search.judge_levels()
        (seen,) = evidence.evidence(search, printed)
        if order.explains(orders, shown, seen):
            return {}
        names = ", ".join(f"'{one['argument']}' (line {one['line']})" for one in shown)
        search.note(f"the bits of {names} depend on the order of atomics")
    found = search.run()
    if found.pop("born", False) and found["verdict"] == "compiler":
        found["verdict"] = "front end" if right else "kernel"
        if right:
            found["confirmed_by"] = ["execution"]
        found["notes"].append(
            "the TTIR is wrong as the front end makes it"
            + ("" if right else ", in every release: the kernel, or the program's expectation")
        )
    race, place = order.at_other_timings(release, **search.more)
    promise, broken = order.false_promise(release)
    found["notes"] += filter(None, [race, promise])
    if broken:  # else it is the compiler's: the kernel itself orders it
        found["verdict"] = "undefined"
    seen = [stores.of_trap(release.program, one) for one in (place, broken) if one]
    seen += [one for one in evidence.evidence(search, printed) if one not in seen]
    return {**found, "evidence": seen}


def _last_lines(outcome: Outcome, count: int = 8) -> list[str]:
    lines = [line[:200] for line in outcome.output.splitlines() if line.strip()][-count:]
    return [*lines, *([outcome.why] if outcome.why and not lines else [])]
