"""Finds what a program's result depends on besides its code: the order of atomics, races, the time at which
asynchronous copies land, and promises that do not hold. A program can be right or wrong by luck, so all of
these are examined before a pass is blamed.

Every run starts its programs in one fixed order (runs.py); here that order, and the order of atomics inside a
program, is shuffled, and copies land as early and as late as they may.

The kernel is defined at the level at which it is born. What depends on the order there is the kernel's own; a
race that is only below is a fault of what made that level.
"""

from __future__ import annotations

import dataclasses

from triton_runner._code import stores
from triton_runner.verbs.bisect import classes
from triton_runner.verbs.bisect.evidence import parsed
from triton_runner.verbs.bisect.results import Evidence
from triton_runner.verbs.bisect.runs import Release
from triton_runner.verbs.bisect.trial import Place, Trial

_SEEDS = ("1", "2")  # of orders
_CHECKED = {"TRITON_RUNNER_TIMING": "late", "TRITON_RUNNER_CHECK": "race"}
_EAGER = {"TRITON_RUNNER_TIMING": "eager"}
_WAITS = {"TRITON_RUNNER_TIMING": "late", "TRITON_RUNNER_CHECK": "race,hazard"}  # of AMD's machine code
_TRAPS = {"data race": "a race", "hazard": "a wait that is missing"}  # what other timings show
_SHOWN = 4  # outputs that evidence lists
_TIMES = 8  # how much more than the orders that were tried another order may change a sum
# Before anything is pipelined or exchanged through shared memory, TTGIR says which thread accesses what.
_COALESCED = {"adds": ["passes.ttgpuir.add_coalesce"], "nth": 1, "stage": "make_ttgir"}


@dataclasses.dataclass
class Orders:
    """The result of running a release in other orders. verdict: "undefined" (a race), "nondeterministic", or
    None if the program's verdict is the same in every order."""

    verdict: str | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    evidence: list[Evidence] = dataclasses.field(default_factory=list)
    # {(launch, argument): (level, variables)}: outputs whose bits differ in another order.
    outputs: dict = dataclasses.field(default_factory=dict)
    # Variables of orders that change the verdict only below the level where the kernel is born.
    compilers: list[dict] = dataclasses.field(default_factory=list)

    def is_of_atomics(self, launch: int) -> bool:
        """Returns whether another order changes the bits of an output of a launch."""
        return any(number == launch for number, _ in self.outputs)


@dataclasses.dataclass(frozen=True)
class Shuffled:
    """A program in other orders at one level. outputs: {(launch, argument): variables} whose bits differ;
    flip: the variables of an order in which it ends otherwise, and said: a sentence about it; inputs: a
    sentence, where the program makes other inputs in each run."""

    level: str
    outputs: dict
    flip: dict | None
    said: str
    inputs: str = ""


def look(release: Release, **more) -> Orders:
    """Runs the program under check="race" at the level where its kernels are born, and as its TTGIR is at
    first, whose layouts tell which warp accesses what; and in other orders at every executed level. more:
    options of the runs, as for Release.at()."""
    orders = Orders()
    program = release.program
    if program.is_measured:
        return orders
    born = born_level(release)
    runs = [(born, None, condition) for condition in ((_CHECKED, _EAGER) if born == "ttgir" else (_CHECKED,))]
    if born == "ttir" and "ttgir" in program.levels and _is_coalesced(release):
        runs.append(("ttgir", {"stop": _COALESCED}, _CHECKED))
    for level, plan, condition in runs:
        trial = release.at(level, plan, variables=condition, **more)
        if trial.trap == "data race":
            orders.verdict, orders.evidence = "undefined", [Evidence.of_trap(program.name, trial.place)]
            orders.notes.append(f"a race at {level} with Triton {release.version}: {trial.why}")
            return orders
    levels = [level for level in program.levels if level != "source"]
    ran = [_in_other_orders(release, level, more) for level in levels]
    orders.notes += dict.fromkeys(one.inputs for one in ran if one.inputs)
    flips = [one for one in ran if one.flip]
    if flips and _is_compilers(release, born, ran, more):
        orders.compilers = [one.flip for one in flips]
        orders.notes.append(
            f"{flips[0].said}; at {born} no order changes it, which is where the kernel is defined"
        )
        ran = [one for one in ran if one.level == born]
    for one in ran:
        for key, variables in one.outputs.items():
            orders.outputs.setdefault(key, (one.level, variables))
    if flips and not orders.compilers:
        places = _atomics(release, **more)
        orders.verdict = "nondeterministic" if places or not release.at(born).kernels else "undefined"
        orders.notes += [one.said for one in flips]
        orders.evidence = evidence(release, orders, places, **more)
    return orders


def _is_compilers(release: Release, born: str, ran: list[Shuffled], more: dict) -> bool:
    """Returns whether the order decides how the program ends only below the level at which its kernels are
    born, by a race of what was made there. A flip without one goes through memory that the kernel itself
    shares among its threads."""
    flipped = next(one for one in ran if one.flip)
    if any(one.level == born and one.flip for one in ran):
        return False
    race = release.at(flipped.level, variables=_CHECKED, **more)
    return race.trap == "data race" and is_fault(race)


def _is_coalesced(release: Release) -> bool:
    """Returns whether every kernel has the TTGIR that is looked at for races of its own."""
    kernels = release.at("ttgir").kernels
    stage, (add,) = _COALESCED["stage"], _COALESCED["adds"]
    return bool(kernels) and all(
        any((one.stage, one.add) == (stage, add) for one in k.passes) for k in kernels
    )


def explains(orders: Orders, shown: list[Evidence], seen: Evidence) -> bool:
    """Returns whether the fault is no larger than what another order of atomics changes. If so, the verdict
    becomes nondeterministic. shown: the outputs that depend on the order; seen: the evidence of the fault."""
    largest = max((finding.differs.size or 0.0 for finding in shown if finding.differs), default=0.0)
    differs = seen.differs
    if not differs or differs.class_ != "atomics" or (differs.size or 0.0) > _TIMES * largest:
        return False
    orders.verdict, orders.evidence = "nondeterministic", shown
    orders.notes.append(
        f"launch {seen.launch + 1}, of kernel '{seen.kernel}', differs by at most {differs.size:.3g} "
        f"of the largest where it is wrong, and by {largest:.3g} in another order of its atomics"
    )
    return True


def outputs(release: Release, orders: Orders, **more) -> list[Evidence]:
    """The evidence of the outputs that depend on the order."""
    return evidence(release, orders, _atomics(release, **more), **more) if orders.outputs else []


def born_level(release: Release) -> str:
    """The highest level that can be judged: TTIR, or TTGIR for Gluon."""
    lowest = release.program.lowest
    return next((level for level in ("ttir", "ttgir") if release.at(level).verdict != "unknown"), lowest)


def _in_other_orders(release: Release, level: str, more: dict) -> Shuffled:
    """The program in other orders at a level. An order in which it makes other inputs tells nothing."""
    plain = release.at(level, launches={}, **more)
    outputs, flip, said, inputs = {}, None, "", ""
    for seed in _SEEDS:
        variables = {"TRITON_RUNNER_SHUFFLE": seed}
        other = release.at(level, variables=variables, launches={}, **more)
        release.say(f"at {level}, shuffle {seed}: {other.verdict}")
        where = f"in each run with Triton {release.version}"
        if (
            plain.launches
            and other.launches
            and (inputs := plain.launches.other_input(other.launches, where))
        ):
            break
        outputs = {**dict.fromkeys(_other_bits(plain, other), variables), **outputs}
        if {plain.verdict, other.verdict} == {"right", "wrong"} and flip is None:
            flip, said = variables, (
                f"at {level} with Triton {release.version} it is {plain.verdict} in one order of its "
                f"programs and atomics, and {other.verdict} in another (shuffle={seed})"
            )  # fmt: skip
    return Shuffled(level, outputs, flip, said, inputs)


def _other_bits(plain: Trial, other: Trial) -> list[tuple[int, str]]:
    """(launch, argument) of the arrays whose fingerprints differ."""
    if not plain.launches or not other.launches:
        return []
    launches = enumerate(zip(plain.launches.seen, other.launches.seen, strict=False))
    return [(number, name) for number, (mine, theirs) in launches
            for name, bits in mine.arrays.items() if theirs.arrays.get(name, bits) != bits]  # fmt: skip


def _atomics(release: Release, **more) -> dict:
    """{(kernel, place of the array among its arrays, or None): (the array's name, [op])} of the atomics of
    all kernels."""
    results: dict = {}
    for kernel in release.at(born_level(release), keep="text", **more).kernels:
        if (module := parsed(kernel)) is None:
            continue
        arrays, _ = stores.parameters(module)
        for op in module.walk():
            if stores.is_atomic(op):
                root = stores.root(stores.pointer(op))
                place = arrays.index(root) if root in arrays else None
                name = stores.name_of(root)
                results.setdefault((kernel.name, place), (name, []))[1].append(op)
    return results


def evidence(release: Release, orders: Orders, places: dict, **more) -> list[Evidence]:
    """The outputs that depend on order, each with the first element that differs and the line of the atomic;
    the lines alone where no output can be compared."""
    plain, seen = Evidence(release.program.name), []
    for (number, name), (level, variables) in list(orders.outputs.items())[:_SHOWN]:
        own, other = (
            release.at(level, variables=settings, launches={"keep": number}, **more).launches
            for settings in (None, variables)
        )
        if not own or not other or name not in own.kept or name not in other.kept:
            continue
        difference = classes.compare(own.kept[name], other.kept[name])
        if difference is None:
            continue
        kernel, position = own.seen[number].kernel, list(own.kept).index(name)
        argument, ops = places.get((kernel, position), (int(name), []))
        seen.append(dataclasses.replace(
            plain.at(ops[0]) if ops else plain, differs=dataclasses.replace(difference, class_="atomics"),
            kernel=kernel, launch=number, launches=len(own.seen), argument=argument,
            than=f"in another order ({level}, shuffle={variables['TRITON_RUNNER_SHUFFLE']})",
        ))  # fmt: skip
    if not seen:
        seen = [dataclasses.replace(plain.at(op), kernel=kernel)
                for (kernel, _), (_, ops) in places.items() for op in ops]  # fmt: skip
    return seen


def conditions(trial: Trial) -> tuple[dict, ...]:
    """Under which variables a release that is right is judged again, by the kernels that it compiled: copies
    that land at once, and where threads share memory the check for races, with copies that land late; AMD's
    machine code under the check for waits too."""
    kernels = trial.kernels
    if any(kernel.waits for kernel in kernels):
        return (_WAITS,)
    is_asynchronous = not kernels or any(kernel.asynchronous for kernel in kernels)
    if is_asynchronous:
        return _EAGER, _CHECKED
    return (_CHECKED,) if any(kernel.shared for kernel in kernels) else ()


def is_fault(trial: Trial) -> bool:
    """Returns whether what a condition shows is a fault of the compiler: not copies of one value that differ
    by rounding (contraction makes them differ, triton#7264), nor a fence that it leaves out, which change
    nothing at any timing."""
    return trial.verdict == "wrong" and trial.race not in ("copies", "fence")


def lacks_fence(trial: Trial) -> bool:
    """Returns whether the check for races misses a proxy fence."""
    return trial.race == "fence"


def named(condition: dict) -> dict:
    """A condition as the settings that show it: {"timing": "late", "check": "race"}."""
    return {name.removeprefix("TRITON_RUNNER_").lower(): value for name, value in condition.items()}


def at_other_timings(release: Release, **more) -> tuple[str | None, Place | None]:
    """Examines a wrong release at both ends of timing: returns a note and the place of a race."""
    level = release.program.lowest
    if release.program.is_measured:
        return None, None
    right = None
    for condition in conditions(release.at(level)):
        trial = release.at(level, variables=condition, **more)
        release.say(f"at {level}, {', '.join(condition.values())}: {trial.verdict}")
        if trial.trap in _TRAPS and is_fault(trial):
            return f"{_TRAPS[trial.trap]} at {level} with Triton {release.version}: {trial.why}", trial.place
        if trial.verdict == "right" and right is None:
            right = f"at {level} with Triton {release.version} it is right with {said(condition)}"
    return right, None


def said(condition: dict) -> str:
    return ", ".join(f"{name}={value}" for name, value in named(condition).items())


def false_promise(release: Release) -> tuple[str | None, Place | None]:
    """A hint of the kernel, or an assumption, that its own values contradict, as check="hints" finds it; and
    where it is if that settles the fault: compiled without hints, the program is right."""
    if release.program.is_measured:
        return None, None
    trial = release.at(born_level(release), variables={"TRITON_RUNNER_CHECK": "hints"})
    if trial.trap != "false hint":
        return None, None
    reason = f"a promise of the kernel that does not hold, with Triton {release.version}: {trial.why}"
    plain = release.at(release.program.lowest, {"without_hints": True})
    if plain.verdict == "right":
        return f"{reason}; compiled without hints it is right", trial.place
    return reason, None
