"""Tells what a reduction keeps: an oracle says of a text whether the fault is still there.

- `levels`, `levels:ttgir,ptx`: two levels leave different results, by the engines.
- `trap`, `trap:race`: a run stops as the first did; with a check.
- `crash`: the compiler fails as it did: in the same stage and pass, with the same signal or message.
- `shared>49152`, `registers>128`, `spills>0`: a resource of the compiled kernel.
- anything else is a program: it ends with the status that it had for the whole file ({} is the path).
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import os
import re
import shlex
import subprocess
import time

from triton_runner import _core, _settings
from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import (
    EXECUTED,
    ON_CPU,
    binary_level,
    executed,
    level_of_name,
    level_of_text,
)
from triton_runner._base.paths import in_a_file
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._memory.arguments import Arguments
from triton_runner._memory.difference import difference, tolerance
from triton_runner._memory.files import kind_of
from triton_runner._pipeline import versions, workers
from triton_runner._worker import child

_RESOURCE = re.compile(r"(shared|registers|spills)\s*(>=|<=|>|<)\s*(\d+)")
_ORACLES = "oracles: levels, trap, crash, shared>N, registers>N, spills>N"
_SHORT, _TIMES = 2.0, 20  # seconds; and how often as long as the whole file a candidate may run
_COMPARE = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}


@dataclasses.dataclass(frozen=True)
class Candidates:
    """How the texts that are tried are compiled and run: level, target, name, metadata; grid and arguments,
    where they run; block and cluster, of PTX that does not say them."""

    level: str
    target: str
    name: str
    metadata: dict = dataclasses.field(default_factory=dict)
    grid: tuple | None = None
    arguments: Arguments | None = None
    timeout: float = 60.0
    block: tuple | None = None
    cluster: tuple | None = None

    def compile(self, text: str, to: str) -> dict:
        """The answer of a worker: "result", or what it failed with."""
        try:
            request = compiler.request_of(
                text, None, None, self.target, self.level, to, None, None, self.metadata
            )
        except DiagnosticError as error:
            return {"error": {"type": "refused", "message": error.message}}
        return workers.worker(versions.installed()).call({**request, "do": "job"}, self.timeout)

    def run(self, text: str, checks: str | None = None) -> Outcome | None:
        """The run of a candidate at its own level; None where it cannot be run."""
        return self.engine(text, self.level, checks)

    def engine(self, text: str, level: str, checks: str | None = None) -> Outcome | None:
        """The run of a text on the engine; None where the engine refuses it."""
        if self.arguments is None:
            raise fail(
                "this oracle runs the kernel, and its arguments are not known",
                "give --grid and --arg as for exec, or reduce a case (*.trcase)",
            )
        try:
            return self.run_at(text, level, checks)
        except DiagnosticError:
            return None

    def run_at(self, text: str, level: str, checks: str | None = None) -> Outcome:
        """The run of a text on the engine. Errors: what the engine refuses it with."""
        about = self.metadata
        launch = Relaunch(
            self.name, self.target, {level: text}, lambda: about, level, self.grid, self.arguments,
            self.block, self.cluster,
        )  # fmt: skip
        return launch.run(level, checks=checks, timeout=self.timeout)

    def refusal(self, text: str) -> list[str]:
        """Says why a text cannot be run; empty where it can, or where no arguments are given."""
        try:
            if self.arguments is not None:
                self.run_at(text, self.level)
        except DiagnosticError as error:
            return [f"it cannot be run: {error.message}", *error.notes]
        return []


@dataclasses.dataclass(frozen=True)
class PythonCandidates(Candidates):
    """Candidates in Python: modules with the kernel, compiled by a worker, never imported here. compiling:
    what it is asked beside the kernel."""

    compiling: dict = dataclasses.field(default_factory=dict)

    def compile(self, text: str, to: str) -> dict:
        with in_a_file(text, "kernel.py") as path:
            request = {
                "do": "job", "target": self.target, "to": to, **self.compiling,
                "kernel": {"file": path, "name": self.name},
            }  # fmt: skip
            return workers.worker(versions.installed()).call(request, self.timeout)

    def only_valid(self, holds, text: str):
        """The oracle, asked of texts that still define the kernel, and compile to TTIR if the first one does:
        a program may fail in the same way where there is no kernel any more."""
        compiles = self.compiling["signature"] is not None and "result" in self.compile(text, "ttir")

        def asked(candidate: str) -> bool:
            kernels = {
                node.name
                for node in ast.parse(candidate).body
                if isinstance(node, ast.FunctionDef) and node.decorator_list
            }
            if self.name and self.name not in kernels:
                return False
            return (not compiles or "result" in self.compile(candidate, "ttir")) and holds(candidate)

        return asked

    def refusal(self, text: str) -> list[str]:
        error = self.compile(text, "ttir").get("error") or {}
        return [f"it does not compile: {error['message']}", *error.get("notes", [])] if error else []

    def run(self, text: str, checks: str | None = None) -> Outcome | None:
        answer = self.compile(text, "ttir")
        return self.engine(answer["result"]["asm"]["ttir"], "ttir", checks) if "result" in answer else None


def of(spec, candidates: Candidates, suffix: str, text: str):
    """The oracle of a specification: a function of a text. Errors: a fault that `text` does not have."""
    word, _, more = ("", "", "") if callable(spec) else spec.partition(":")
    is_program = False
    if callable(spec):
        holds = spec
    elif spec == "crash":
        binary = binary_level(candidates.target)
        holds = _as_before(lambda candidate: sign(candidates.compile(candidate, binary)), text)
    elif word == "levels":
        holds = _levels(candidates, more)
    elif word == "trap":
        holds = _trap(candidates, more, text)
    elif match := _RESOURCE.fullmatch(spec.strip()):
        holds = _resource(candidates, *match.groups())
    else:
        holds, is_program = _program(spec, suffix, text, candidates.timeout), True
    if isinstance(candidates, PythonCandidates) and (callable(spec) or is_program):
        holds = candidates.only_valid(holds, text)
    if not holds(text):
        raise fail(
            f"the fault that --oracle {spec!r} describes is not there in the whole file",
            *candidates.refusal(text),
        )
    return holds


def _as_before(told_by, text: str, nothing=("", ())):
    """An oracle: a candidate is told by what the whole text is told by, if that is anything."""
    whole = told_by(text)
    return lambda candidate: whole not in nothing and told_by(candidate) == whole


def _levels(candidates: Candidates, names: str):
    """The highest level is the reference: what stops there, or reads what was never written, is another
    fault. So is a race, unless the whole file has one."""
    wanted = names.split(",") if names else []
    unknown = [level for level in wanted if level not in ON_CPU]
    if unknown or (wanted and len(wanted) != 2):
        raise fail(f"--oracle levels:{names}: expected two of {', '.join(ON_CPU)}", "as in levels:ttir,ptx")

    lowest = wanted[1] if wanted else executed("llir", candidates.target)
    checks = ["uninit,race"]

    def holds(text: str) -> bool:
        texts = {candidates.level: text} if candidates.level in ON_CPU else {}
        reference = None
        for level in dict.fromkeys([*EXECUTED, lowest]):
            is_next = reference is not None or (wanted and level == wanted[0])
            if not texts or (level not in texts and is_next and lowest not in texts):
                answer = candidates.compile(text, lowest)
                if "result" not in answer:
                    return False
                texts = {**answer["result"]["asm"], **texts}
            if level not in texts or (reference is not None and wanted and level != lowest):
                continue
            if wanted and reference is None and level != wanted[0]:
                continue
            run = candidates.engine(texts[level], level, checks[-1] if reference is None else None)
            trap = run.trap if run and reference is None and len(checks) == 1 else None
            if trap and trap.kind == "data race":
                checks.append("uninit")
                run = candidates.engine(texts[level], level, checks[-1])
            if len(checks) == 1:
                checks.append(checks[0])  # the whole file has been run
            if run is None or (reference is None and run.trap):
                return False
            if reference is not None and run.trap and run.trap.kind == "timeout":
                return False  # a slow machine is not a fault
            if reference is not None and (run.trap or _different(reference, run)):
                return True
            reference = run
        return False

    return holds


def _different(first: Outcome, second: Outcome) -> bool:
    pairs = ((array, second.arrays[name]) for name, array in first.arrays.items())
    return any(difference(a, b, tolerance(kind_of(a.dtype))) for a, b in pairs)


def _trap(candidates: Candidates, check: str, text: str):
    if check and check not in _settings.CHECKS:
        raise fail(f"--oracle trap:{check}: there is no such check", f"checks: {', '.join(_settings.CHECKS)}")

    began = time.monotonic()
    candidates.run(text, check or None)
    # Without some of its jumps a kernel goes round for ever.
    most = _SHORT + _TIMES * (time.monotonic() - began)
    candidates = dataclasses.replace(candidates, timeout=min(candidates.timeout, most))

    def kind(candidate: str) -> str:
        run = candidates.run(candidate, check or None)
        return run.trap.kind if run and run.trap else ""

    return _as_before(kind, text)


def sign(answer: dict) -> tuple:
    """Returns what identifies a failure, without names and numbers; empty where nothing failed."""
    if "result" in answer:
        return ()
    if answer.get("timeout"):
        return ("timeout",)
    output = answer.get("output", "")
    failed = re.search(r"Pass '?(\w+)'? failed|LLVM ERROR: [^\n]*|Assertion [^\n]*|error: [^\n]*", output)
    error = answer.get("error") or {}
    reason = failed[0] if failed else str(error.get("message", "")).split("\n")[0]
    reason = re.sub(r"\d+|%\w+|'[^']*'|<[^>]*>", "", reason)
    return (answer.get("signal"), error.get("type"), answer.get("stage"), reason)


def _resource(candidates: Candidates, name: str, how: str, number: str):
    def holds(text: str) -> bool:
        binary = binary_level(candidates.target)
        answer = candidates.compile(text, binary)
        if "result" not in answer:
            return False
        answer_result = answer["result"]
        if name == "shared":
            value = answer_result["metadata"].get("shared")
        else:
            described = _core.artifact.describe(
                answer_result["asm"][binary], binary, candidates.name, "", "<reduced>"
            )
            value = described[{"registers": "n_regs", "spills": "n_spills"}[name]]
        return value is not None and _COMPARE[how](value, int(number))

    return holds


def _program(command: str, suffix: str, text: str, timeout: float):
    given = shlex.split(command)
    if not given:
        raise fail("--oracle is empty", f"{_ORACLES} or a program")

    def status(candidate: str):
        with in_a_file(candidate, f"reduced{suffix}") as path:
            words = [path if word == "{}" else word for word in given]
            words += [] if "{}" in given else [path]
            variables = {"TRITON_CACHE_DIR": os.path.dirname(path), "TRITON_RUNNER_THREADS": "1"}
            try:
                process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env={**os.environ, **variables},
                )  # fmt: skip
            except OSError as error:
                raise fail(
                    f"--oracle {words[0]} is neither an oracle nor a program that runs: {error.strerror}",
                    f"{_ORACLES} or a program",
                ) from None
            return _ended(process, timeout)

    return _as_before(status, text, nothing=(0, 125))


def _ended(process: subprocess.Popen, timeout: float):
    """The exit status, "timeout" where it took too long; what it waited for a core does not count."""
    left, began = timeout, time.monotonic()
    try:
        while left > 0:
            try:
                return process.wait(left)
            except subprocess.TimeoutExpired:
                left = timeout + child.waited(process.pid) - (time.monotonic() - began)
        return "timeout"
    finally:
        process.kill()
        process.wait()


def level_of(path: str, text: str) -> str:
    """The level of a file by its name, else by its text."""
    level = level_of_name(path)
    return level if level in ON_CPU else level_of_text(text)
