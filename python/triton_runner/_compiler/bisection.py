"""triton-runner bisect: which release, which level and which pass made a program wrong, with no GPU.

The oracle is the program itself, as for `git bisect run`. Each run is a process forked from a worker of the
release, in which torch and Triton are loaded once; the CPU engines execute the level asked for.

A fault has two means of finding its pass: executing the IR behind a pass, and leaving a pass out. The first
tells where values become wrong, as far down as the conversion to LLVM's dialect; the second confirms it.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import shutil
import tempfile

from triton_runner._compiler import passes_select, workers
from triton_runner._errors import DiagnosticError, fail

# From the top: the front end's TTIR, then what the engines execute of each stage's result.
LEVELS = ("source", "ttir", "ttgir", "ptx")
_STAGE = {"ttir": "make_ttir", "ttgir": "make_ttgir", "llir": "make_llir"}
_CONVERSION = "add_to_llvmir"
_PRELOADED = ("numpy", "torch", "triton_runner", "triton_runner._pretend")


@dataclasses.dataclass(frozen=True)
class Program:
    """What is run: a script or a module with its arguments."""

    name: str
    arguments: tuple = ()
    is_module: bool = False
    pretend_cuda: bool = False
    target: str = "cuda:90"
    timeout: float = 300.0

    @property
    def lowest(self) -> str:
        """The lowest level that an engine executes for the target."""
        return "ptx" if self.target.startswith("cuda:") else "ttgir"

    @property
    def levels(self) -> tuple:
        return LEVELS[: LEVELS.index(self.lowest) + 1]


@dataclasses.dataclass
class Outcome:
    """How a run ended: "right", "wrong" or "unknown", why, what it printed, and the passes of its kernels."""

    verdict: str
    why: str = ""
    output: str = ""
    kernels: list = dataclasses.field(default_factory=list)


class Release:
    """A release that runs the program in variants: at a level, under a plan of passes."""

    def __init__(self, version: str, program: Program, say=lambda text: None):
        self.version, self.program, self.say = version, program, say
        self._worker = workers.Worker(version)
        self._caches = tempfile.mkdtemp(prefix="triton-runner-bisect-")
        self._known: dict = {}

    def close(self) -> None:
        self._worker.close()
        shutil.rmtree(self._caches, ignore_errors=True)

    def at(self, level: str, plan: dict | None = None, optimised: bool = True) -> Outcome:
        """The outcome of a variant; each is run once."""
        key = (level, repr(plan), optimised)
        if key not in self._known:
            self._known[key] = self._run(level, plan, optimised)
        return self._known[key]

    def _run(self, level: str, plan: dict | None, optimised: bool) -> Outcome:
        program = self.program
        executed = "ttir" if level == "source" else level
        if level == "source":
            plan = {"stop": {"number": 0}}
        folder = os.getcwd() if program.is_module else os.path.dirname(os.path.abspath(program.name))
        variables = {
            **workers.environment(), "TRITON_RUNNER_DEVICE": "cpu", "TRITON_RUNNER_LEVEL": executed,
            "TRITON_RUNNER_TARGET": program.target, "TRITON_RUNNER_PROD": "1",
            "TRITON_CACHE_DIR": tempfile.mkdtemp(dir=self._caches),
        }  # fmt: skip
        variables.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
        if not optimised:
            variables["DISABLE_LLVM_OPT"] = "1"
        request = {
            "do": "bisection_job", "program": program.name, "arguments": list(program.arguments),
            "is_module": program.is_module, "pretend_cuda": program.pretend_cuda, "plan": plan,
            "folder": folder, "environment": variables, "preload": list(_PRELOADED),
        }  # fmt: skip
        answer = self._worker.call(request, program.timeout)
        shutil.rmtree(variables["TRITON_CACHE_DIR"], ignore_errors=True)
        output = answer.get("output", "")
        if "result" in answer:
            result = answer["result"]
            return Outcome(result["verdict"], result["why"], output, result["kernels"])
        if answer.get("timeout"):
            return Outcome("unknown", f"it ran longer than {program.timeout:.0f} s", output)
        if "signal" in answer:
            return Outcome("unknown", f"it died of signal {answer['signal']}", output)
        error = answer.get("error") or {"type": "worker", "message": f"status {answer.get('status')}"}
        return Outcome("unknown", f"{error['type']}: {error['message']}", output)

    # --- where it became wrong --------------------------------------------------------------------------

    def fault(self) -> dict:
        """The level, the stage and the pass of a release that is wrong at the lowest level."""
        found = {"level": None, "stage": None, "pass": None, "confirmed_by": [], "notes": []}
        outcomes = {level: self.at(level) for level in self.program.levels}
        self.say(", ".join(f"{level} {outcome.verdict}" for level, outcome in outcomes.items()))
        levels = list(outcomes)
        first = levels[-1]
        for level in reversed(levels):
            if outcomes[level].verdict != "wrong":
                break
            first = level
        above = levels[: levels.index(first)]
        found["notes"] += [
            f"{level} is wrong too, but a level below it is right: a fault of the engine at {level}"
            for level in above
            if outcomes[level].verdict == "wrong"
        ]
        found["notes"] += [
            f"{level} could not be judged: {outcomes[level].why.splitlines()[0]}"
            for level in above
            if outcomes[level].verdict == "unknown"
        ]
        if first == "source":
            return {**found, "level": "ttir", "born": True}
        if above and outcomes[above[-1]].verdict == "unknown":
            return {**found, "level": first if first in _STAGE else "llir"}
        if first == "ptx":
            return self._behind_ttgir(found)
        return self._in_stage(found, first)

    def _steps(self, stage: str) -> list[dict]:
        """Selectors of the passes of a stage, of the kernel that has most of them."""
        kernels = self.at(self.program.lowest).kernels
        longest = max(kernels, key=len, default=[])
        adds = [add for of_stage, add, _ in longest if of_stage == stage]
        return [
            {"adds": [add], "nth": adds[: i + 1].count(add), "stage": stage} for i, add in enumerate(adds)
        ]

    def _in_stage(self, found: dict, level: str) -> dict:
        """The pass of a stage whose input is right and whose output is wrong."""
        stage = _STAGE[level]
        steps = self._steps(stage)
        found |= {"level": level, "stage": stage}
        if (step := self._first_wrong(level, steps)) is None:
            found["notes"].append(f"no pass of {stage} was found by executing what it makes")
            return found
        return self._named(found, step)

    def _behind_ttgir(self, found: dict) -> dict:
        """TTGIR is right and PTX is wrong: a pass before the conversion to LLVM, the conversion, or LLVM."""
        found |= {"level": "llir", "stage": "make_llir"}
        steps = self._steps("make_llir")
        names = [step["adds"][0].rpartition(".")[2] for step in steps]
        if _CONVERSION not in names:
            return found
        place = names.index(_CONVERSION)
        if (step := self._first_wrong("ttgir", steps[:place])) is not None:
            return self._named(found, step)
        unoptimised = self.at(self.program.lowest, optimised=False)
        if unoptimised.verdict == "right":
            found["notes"].append(
                "right without LLVM's optimisation (DISABLE_LLVM_OPT=1): it is LLVM, or exposed by it"
            )
            return found
        found["notes"].append(
            "the IR is right behind every pass before the conversion to LLVM, and wrong behind it, with "
            "LLVM's optimisation off too"
            if unoptimised.verdict == "wrong"
            else f"whether LLVM's optimisation matters could not be judged: {unoptimised.why}"
        )
        return self._named(found, steps[place], leave_out=False)

    def _first_wrong(self, level: str, steps: list[dict]) -> dict | None:
        """The pass behind which the IR is wrong, and before which it is right; None if it is right behind
        the last."""
        right, wrong = -1, len(steps) - 1
        while wrong >= 0 and self._behind(level, steps[wrong]) == "unknown":
            wrong -= 1
        if wrong < 0 or self._behind(level, steps[wrong]) == "right":
            return None
        while wrong - right > 1:
            tried = [*range((right + wrong) // 2, wrong), *range((right + wrong) // 2 - 1, right, -1)]
            judged = next((i for i in tried if self._behind(level, steps[i]) != "unknown"), None)
            if judged is None:
                break
            if self._behind(level, steps[judged]) == "wrong":
                wrong = judged
            else:
                right = judged
        return steps[wrong]

    def _behind(self, level: str, step: dict) -> str:
        """The verdict on the IR behind a pass."""
        outcome = self.at("ttir" if step["stage"] == "make_ttir" else "ttgir", {"stop": step})
        self.say(f"behind {step['adds'][0].rpartition('.')[2]}: {outcome.verdict}")
        return outcome.verdict

    def _named(self, found: dict, step: dict, leave_out: bool = True) -> dict:
        add = step["adds"][0]
        name, argument = passes_select.name_of(add)
        found["pass"] = {"name": name, "argument": argument, "add": add, "nth": step["nth"]}
        found["confirmed_by"].append("execution")
        if leave_out:
            without = self.at(self.program.lowest, {"skip": [step]})
            self.say(f"without {add.rpartition('.')[2]}: {without.verdict}")
            if without.verdict == "right":
                found["confirmed_by"].append("leave-out")
            else:
                why = f" ({without.why.splitlines()[0]})" if without.verdict == "unknown" else ""
                found["notes"].append(f"without this pass the program is {without.verdict}{why}")
        return found


def bisect(program: Program, wanted: list[str], say=lambda text: None, jobs: int = 2) -> dict:
    """What is wrong with a program, in which of the releases: the JSON of the command."""
    if not program.is_module and not os.path.isfile(program.name):
        raise fail(f"no such file: {program.name}")
    releases: dict[str, Release] = {}
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            judged = dict(
                zip(wanted, pool.map(lambda v: _judged(v, program, releases, say), wanted), strict=True)
            )
        runs = _runs_of_wrong(wanted, judged)
        faults = [_fault(run, releases[run[-1]], judged) for run in runs]
    finally:
        for release in releases.values():
            release.close()
    said = {
        "wrong": [v for v in wanted if judged[v].verdict == "wrong"],
        "right": [v for v in wanted if judged[v].verdict == "right"],
        "unknown": [{"version": v, "why": judged[v].why} for v in wanted if judged[v].verdict == "unknown"],
    }
    newest = faults[-1] if faults else {
        "verdict": "unknown" if said["unknown"] and not said["right"] else "right",
        "level": None, "stage": None, "pass": None, "confirmed_by": [], "evidence": [], "notes": [],
    }  # fmt: skip
    return {**newest, "release": said, "target": program.target, "faults": faults}


def _judged(version: str, program: Program, releases: dict, say) -> Outcome:
    try:
        release = releases[version] = Release(version, program, lambda text: say(f"{version}: {text}"))
        outcome = release.at(program.lowest)
    except DiagnosticError as error:  # it cannot be fetched, or does not start
        outcome = Outcome("unknown", error.message)
    say(f"{version}: {outcome.verdict}{': ' + outcome.why.splitlines()[0] if outcome.why else ''}")
    return outcome


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


def _fault(run: list[str], release: Release, judged: dict) -> dict:
    """One fault, judged in the newest of its releases."""
    found = release.fault()
    right_elsewhere = any(outcome.verdict == "right" for outcome in judged.values())
    if found.pop("born", False):
        found["verdict"] = "front end" if right_elsewhere else "kernel"
        found["notes"].append(
            "the TTIR is wrong as the front end makes it"
            + ("" if right_elsewhere else ", in every release: the kernel, or the program's expectation")
        )
    else:
        found["verdict"] = "compiler"
    evidence = [{"file": release.program.name, "said": _last_lines(judged[run[-1]].output)}]
    return {**found, "releases": run, "evidence": evidence}


def _last_lines(output: str, count: int = 8) -> list[str]:
    return [line[:200] for line in output.splitlines() if line.strip()][-count:]


def page(found: dict, program: Program) -> str:
    """The verdict as a person pastes it into an issue."""
    release = found["release"]
    lines = [f"{program.name}: {headline(found)}", ""]
    for kind in ("wrong", "right"):
        if release[kind]:
            lines.append(f"{kind:<8} {', '.join(release[kind])}")
    lines += [f"unknown  {one['version']}: {one['why'].splitlines()[0]}" for one in release["unknown"]]
    for fault in reversed(found["faults"]):
        lines += ["", f"Triton {fault['releases'][-1]}, {program.target}: {headline(fault)}"]
        if fault["confirmed_by"]:
            lines.append(f"  found by {' and '.join(fault['confirmed_by'])}")
        lines += [f"  {note}" for note in fault["notes"]]
        lines += [f"  | {line}" for one in fault["evidence"] for line in one["said"]]
    return "\n".join(lines)


def headline(found: dict) -> str:
    """The verdict in a line."""
    if found["verdict"] in ("right", "unknown"):
        return {"right": "right in every release that was judged", "unknown": "cannot be told"}[
            found["verdict"]
        ]
    if found["verdict"] in ("front end", "kernel"):
        return f"wrong as it is born: {found['verdict']}"
    where = f"first wrong at {found['level']}"
    if found["pass"]:
        return f"{where}, in {found['stage']}, pass {found['pass']['name']} ({found['pass']['argument']})"
    return f"{where}{', in ' + found['stage'] if found['stage'] else ''}"
