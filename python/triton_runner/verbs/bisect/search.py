"""Searches which release, which level and which pass made a program wrong, with no GPU.

The oracle is the program itself, as for `git bisect run`, or one of kernel.py for a kernel.

Each release is judged, by default and at both ends of timing. Other orders of the programs and of their
atomics are tried before a pass is looked for. Each run of consecutive wrong releases is a fault (fault.py).
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import os

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.paths import check_program
from triton_runner._memory.arguments import packed
from triton_runner._pipeline import versions
from triton_runner.verbs.bisect import evidence, failed, kernel, order
from triton_runner.verbs.bisect.fault import Search, of_assembler
from triton_runner.verbs.bisect.results import CompilerFault, Evidence, Found, Releases, Unjudged
from triton_runner.verbs.bisect.runs import BisectedProgram, Release
from triton_runner.verbs.bisect.trial import Trial


def bisect_program(
    program: BisectedProgram, wanted: list[str], say=lambda text, done=None: None, jobs: int = 2
) -> Found:
    """Finds what is wrong with a program, in which of the releases. say: is told each run, and with
    done=(releases judged, of all) how far it is."""
    file = program.name.rpartition(":")[0] if program.launch else program.name
    if program.launch and not os.path.isfile(file):
        raise fail(f"no such file: {file}")
    if not program.launch and not program.is_module:
        check_program(file)
    with contextlib.closing(_Bisection(program, wanted, say, jobs)) as it:
        return it.found()


class _Bisection:
    """A program in all releases: how it ends in each."""

    def __init__(self, program: BisectedProgram, asked: list[str], say, jobs: int):
        self.program, self.wanted, self.say, self.jobs = program, asked, say, jobs
        self.releases: dict[str, Release] = {}
        self.judged: dict[str, Trial] = {}
        self.looked: dict[str, order.Orders] = {}
        self.unfenced: dict[str, Trial] = {}  # releases whose PTX lacks a fence, harmless as it is

    def close(self) -> None:
        for release in self.releases.values():
            release.close()

    def found(self) -> Found:
        if self.program.launch and self.program.launch.oracle.kind == "wrong":
            self.program = self._with_reference()
        if self.program.launch and self.program.launch.oracle.kind == "slower":
            self.program = self._with_time()
        self._judge_releases()
        assembled = self._assembled()
        decided = self._in_other_orders()
        faults, timed = [], {}
        if decided.verdict is None:
            timed = self._at_both_timings()
            faults, decided = self._faults(timed)
        self.judged |= {version: trial for version, (trial, _) in timed.items()} | assembled
        for run in runs_of_wrong([version for version in self.wanted if version in assembled], assembled):
            fault = of_assembler(self.releases, run, assembled, self.judged[run[-1]].last_lines)
            faults.append((run, fault))
        uncompiled = failed.uncompiled(self.wanted, self.judged, self.releases, self.program.name)
        if decided.verdict != "undefined":
            faults += uncompiled.faults
        faults.sort(key=lambda fault: self.wanted.index(fault[0][-1]))
        return self._summed_up(faults, decided, uncompiled)

    def _summed_up(self, faults: list, decided: order.Orders, uncompiled: failed.Uncompiled) -> Found:
        right = self._of("right")
        promise = None
        if not faults and decided.verdict is None and right:
            promise, _ = order.false_promise(self.releases[right[-1]])
        others = [version for version in self._of("unknown") if version not in uncompiled.versions]
        unknown = [Unjudged(version, self.judged[version].why) for version in others]
        releases = Releases(
            self._of("wrong"), right, unknown, uncompiled.crashed or None, uncompiled.refused or None
        )
        each = [
            dataclasses.replace(fault, release=dataclasses.replace(releases, wrong=run))
            for run, fault in faults
        ]
        newest = each[-1] if each else uncompiled.instead or CompilerFault(
            verdict=decided.verdict or ("right" if right else "unknown"), level=None, stage=None, pass_=None,
            confirmed_by=[], evidence=decided.evidence, notes=[*decided.notes, *filter(None, [promise])],
        )  # fmt: skip
        runs = sum(release.runs for release in self.releases.values())
        fields = {field.name: getattr(newest, field.name) for field in dataclasses.fields(newest)}
        fields |= {"release": releases, "faults": each, "notes": [*newest.notes, *self._fences()]}
        return Found(**fields, target=self.program.target, runs=runs)

    def _fences(self) -> list[str]:
        """The note on fences that the compiler leaves out."""
        lacking = [version for version in self.wanted if version in self.unfenced]
        if not lacking:
            return []
        why = self.unfenced[lacking[-1]].first_why
        return [f"harmless in any timing, a fence is missing in the PTX of {', '.join(lacking)}: {why}"]

    def _of(self, verdict: str) -> list[str]:
        return [version for version in self.wanted if self.judged[version].verdict == verdict]

    # --- each release

    def _with_reference(self) -> BisectedProgram:
        """The program, judged by what the newest release's front end makes, executed as it is."""
        version, launch = self.wanted[-1], self.program.launch
        with contextlib.closing(Release(version, self.program, self.say)) as release:
            trial = release.at("source", launches={"keep": 0})
        if not trial.launches or not trial.launches.kept:
            why = trial.why or "no launch"
            raise fail(f"{self.program.name} cannot be run by Triton {version}: {why}")
        reference = {name: packed(array) for name, array in trial.launches.kept.items()}
        return dataclasses.replace(self.program, launch=dataclasses.replace(launch, reference=reference))

    def _with_time(self) -> BisectedProgram:
        """The program, judged by the time that the first release's code takes."""
        version, launch = self.wanted[0], self.program.launch
        with contextlib.closing(Release(version, self.program, self.say)) as release:
            trial = release.at(self.program.lowest)
        if trial.measured is None:
            raise fail(f"{self.program.name} cannot be timed as Triton {version} compiles it: {trial.why}")
        oracle = kernel.than(launch.oracle, version, trial.measured)
        return dataclasses.replace(self.program, launch=dataclasses.replace(launch, oracle=oracle))

    def _judge_releases(self) -> None:
        """How the program ends in each, at the lowest level."""
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for version, trial in zip(self.wanted, pool.map(self._judge, self.wanted), strict=True):
                self.judged[version] = trial
                self.say(f"{version}: {trial.verdict}", done=(len(self.judged), len(self.wanted)))
        if all(trial.verdict == "right" and not trial.kernels for trial in self.judged.values()):
            raise fail(
                f"{self.program.name} compiles no kernel in any release: there is nothing to bisect",
                "a program for bisect launches kernels, and fails where a result is wrong",
            )

    def _judge(self, version: str) -> Trial:
        try:
            release = Release(version, self.program, lambda text: self.say(f"{version}: {text}"))
            self.releases[version] = release
            trial = release.at(self.program.lowest)
        except DiagnosticError as error:  # it cannot be fetched, or does not start
            trial = Trial("unknown", error.message)
        self.say(f"{version}: {trial.verdict}{': ' + trial.first_why if trial.why else ''}")
        return trial

    def _assembled(self) -> dict[str, Trial]:
        """How it ends as machine code, in the releases that are right above it."""
        right = self._of("right") if self.program.is_assembled else ()
        return {version: self.releases[version].at("cubin") for version in right}

    def _in_other_orders(self) -> order.Orders:
        """Returns what other orders decide of the newest wrong release and of the newest right one."""
        decided = order.Orders()
        for verdict in ("wrong", "right"):
            for version in self._of(verdict)[-1:] if decided.verdict is None else ():
                release = self.releases[version]
                decided = self.looked[version] = order.look(release, **release.choices)
        return decided

    def _at_both_timings(self) -> dict[str, tuple[Trial, list[dict]]]:
        """{version: (how it ends, [condition])} of the releases that are right by default, and wrong where
        copies land at another time, by check="race", or in an order that decides it below its own level."""

        def look(version: str) -> tuple[Trial | None, list[dict]]:
            release = self.releases[version]
            wrong, shown = None, []
            is_measured = self.program.is_measured
            conditions = () if is_measured else (*orders, *order.conditions(self.judged[version]))
            for condition in conditions:
                trial = release.at(self.program.lowest, variables=condition, **release.choices)
                self.say(f"{version}: {order.said(condition)}: {trial.verdict}")
                if order.lacks_fence(trial):
                    self.unfenced[version] = trial
                if order.is_fault(trial):
                    wrong = wrong or trial
                    shown.append(condition)
            return wrong, shown

        right = self._of("right")
        flips = [variables for looked in self.looked.values() for variables in looked.compilers]
        orders = [variables for number, variables in enumerate(flips) if variables not in flips[:number]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return {v: faulty for v, faulty in zip(right, pool.map(look, right), strict=True) if faulty[0]}

    # --- faults

    def _faults(self, timed: dict) -> tuple[list, order.Orders]:
        """([(releases, fault)], what another order decides of them): of the releases that are wrong by
        default, and of those that are at another timing."""
        right = [version for version in self._of("right") if version not in timed]
        faults = []
        for run in runs_of_wrong(self.wanted, self.judged):
            orders = self.looked.get(run[-1]) or order.Orders()
            rights = right or self._of("right")
            found = _fault(self.releases[run[-1]], self.releases, rights, self.judged[run[-1]], orders)
            if found is None:
                return [], orders
            faults.append((run, found))
        flips = [note for looked in self.looked.values() if looked.compilers for note in looked.notes]
        late = {v: timed[v][0] if v in timed else Trial("right") for v in self.wanted}
        for run in runs_of_wrong(self.wanted, late):
            trial, shown = timed[run[-1]]
            views = {version: release.under(*shown) for version, release in self.releases.items()}
            found = _fault(views[run[-1]], views, right, trial, order.Orders())
            settings = ", and with ".join(order.said(condition) for condition in shown)
            notes = [f"right by default, and wrong with {settings}", *flips, *found.notes]
            conditions = [order.named(condition) for condition in shown]
            faults.append((run, dataclasses.replace(found, notes=notes, conditions=conditions)))
        return faults, order.Orders()


def runs_of_wrong(asked: list[str], judged: dict[str, Trial]) -> list[list[str]]:
    """Consecutive releases that are wrong; one that could not be judged ends no run."""
    runs: list[list[str]] = []
    inside = False
    for version in asked:
        verdict = judged[version].verdict
        if verdict == "wrong":
            if not inside:
                runs.append([])
            runs[-1].append(version)
        inside = verdict == "wrong" or (inside and verdict == "unknown")
    return runs


def _fault(
    release: Release, releases: dict, right: list[str], trial: Trial, orders: order.Orders
) -> CompilerFault | None:
    """One fault, judged in the newest of its releases; right: the releases that are. None where another order
    of atomics explains it: `orders` takes that verdict."""
    own = versions.key(release.version)
    # The next release first: its parser reads more of this one's IR than an older one's does.
    later = sorted((v for v in right if versions.key(v) > own), key=versions.key)
    earlier = sorted((v for v in right if versions.key(v) < own), key=versions.key, reverse=True)
    search = Search(release, [releases[version] for version in (*later, *earlier)], orders)
    if shown := order.outputs(release, orders, **search.more):
        search.judge_levels()
        if order.explains(orders, shown, evidence.evidence(search, trial.last_lines)):
            return None
        names = ", ".join(
            f"'{store.argument}'" + (f" (line {store.line})" if store.line else "") for store in shown
        )
        order_of = "atomics" if any(store.line for store in shown) else "programs and tasks"
        search.note(f"the bits of {names} depend on the order of {order_of}")
    search.run()
    if search.verdict == "hardware":
        return search.fault([evidence.evidence(search, trial.last_lines)])
    if search.born and search.verdict == "compiler":
        search.verdict = "front end" if right else "kernel"
        if right:
            search.means = {"execution"}
        search.note(
            "the TTIR is wrong as the front end makes it"
            + ("" if right else ", in every release: the kernel, or the program's expectation")
        )
    seen, last = _undefined(search), evidence.evidence(search, trial.last_lines)
    seen = [one for one in seen if one != dataclasses.replace(last, said=one.said)]  # it says more
    return search.fault([*seen, last])


def fault_of(release: Release, trial: Trial) -> CompilerFault:
    """The fault of one release whose program is wrong at the lowest level, with no other to compare with."""
    fault = _fault(release, {release.version: release}, [], trial, order.Orders())
    releases = Releases([release.version], [], [])
    return dataclasses.replace(fault, release=releases)


def _undefined(search: Search) -> list[Evidence]:
    """The places of a race and of a promise that does not hold, if the program has them."""
    release = search.release
    race, place = order.at_other_timings(release, **search.more)
    promise, broken = order.false_promise(release)
    search.notes += filter(None, [race, promise])
    if broken:  # else it is the compiler's: the kernel itself orders it
        search.verdict = "undefined"
    return [Evidence.of_trap(release.program.name, place) for place in (place, broken) if place]
