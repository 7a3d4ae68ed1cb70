"""Turns the verdicts of verify() into what CI systems read: a check for each launch, an issue for each
finding.

It is tested by tests/python/cli/test_ci_files.py, tests/python/prove/test_prove_ci.py (with_proofs) and
tests/python/case/test_pytest_plugin.py (check_of, issue_of)."""

from __future__ import annotations

import dataclasses

from triton_runner._base.ci_files import Check, Issue, Suite
from triton_runner._kernel.cases.results import FINE, NO_FAULT, NONDETERMINISTIC, Finding, Judged
from triton_runner.verbs.prove import ci as prove_ci
from triton_runner.verbs.verify.run import Verdict

_STATES = {**dict.fromkeys(FINE, "passed"), "wrong": "failed", "unknown": "error"}
# With strict an order of atomics that decides an output is a fault, and what nothing compares is not judged.
_STRICT = {**_STATES, NONDETERMINISTIC: "failed", NO_FAULT: "error"}
# A sentence on each rule: the checks, and what verify compares.
RULES = {
    "oob": "An access outside of the memory that the kernel may touch.",
    "trap": "A launch stopped: a deadlock, a failed assertion, an instruction that cannot run.",
    "nan": "An operation makes a NaN of numbers that are none.",
    "inf": "An operation makes an infinity of finite numbers.",
    "nanload": "A load brings a NaN.",
    "uninit": "A result depends on memory or a value that nothing has written.",
    "race": "Two accesses to the same memory that nothing orders.",
    "zerodiv": "An integer division by zero.",
    "hints": "A promise to the compiler that does not hold, such as tl.multiple_of.",
    "overflow": "An integer that overflowed decides an address, a mask, a branch or a stored index.",
    "view": "An access beside the view that was passed, and inside of its storage.",
    "reads": "A level reads memory that the level above it does not read.",
    "hazard": "Machine code reads a register before its value is there.",
    "order": "Another order of the programs gives another result.",
    "timing": "Asynchronous copies that land at another time give another result.",
    "reference": "A reference gives another result than the kernel.",
    "compared": "Nothing compares the result of the launch.",
    "levels": "A level of the compilation gives another result than the one above it.",
    "combine": "A reduction or scan combines by a function that is not associative.",
    "drift": "Levels differ, as far as rounding explains.",
    "rounding": "The target's hardware rounds a result far from the exact one.",
    "tail": "A store of TMA writes past the end of a dimension.",
    "copies": "Threads that hold one element hold different values of it.",
    "conflicts": "Bank conflicts of shared memory that slow the launch down.",
    "program": "The program itself failed.",
    "spills": "Registers that are stored to memory and loaded in what runs often.",
}  # fmt: skip


def suite_of(verdict: Verdict, subject: str, version: str) -> Suite:
    """The verdict on a program or a case. A program that fails by itself, or launches nothing, is a check of
    its own."""
    checks = [check_of(judged, verdict.strict) for judged in verdict.judged]
    if verdict.program is not None and (verdict.program.ended.status or verdict.program.failed):
        ended = verdict.program.ended
        why = "\n".join(verdict.program.why())
        is_failure = bool(checks) and verdict.program.failed
        issues = (Issue("program", "error", why, ended.file or "", ended.line or 0),) * is_failure
        state = "failed" if is_failure else "error"
        checks.append(Check("exit status", subject, state, why.partition("\n")[0], issues=issues))
    if not checks:
        checks.append(Check("launches", subject, "error", "no kernel was launched"))
    elif verdict.verdict == "unknown" and not any(check.state == "error" for check in checks):
        checks.append(Check("verdict", subject, "error", verdict.why[0]))
    return Suite("verify", subject, version, tuple(checks), subject, verdict.status, RULES)


def with_proofs(suite: Suite, proofs) -> Suite:
    """The checks of the launches, and those of their kernels for every size."""
    more = [check for proof in proofs.proofs for check in prove_ci.checks_of(proof)]
    status = suite.status or int(proofs.exit_status == 1)
    rules = {**suite.rules, **prove_ci.RULES}
    return dataclasses.replace(suite, checks=(*suite.checks, *more), status=status, rules=rules)


def check_of(judged: Judged, strict: bool = False) -> Check:
    """One launch. strict: an order of atomics that decides an output is a fault."""
    grid = ", ".join(map(str, judged.grid))
    state = (_STRICT if strict else _STATES)[judged.verdict]
    faults = [finding for finding in judged.findings if finding.is_fault]
    if state == "failed":
        found = (faults or judged.findings)[0]
        why = f"{found.check} at {', '.join(found.levels)}: {found.text.splitlines()[0]}"
    elif judged.verdict == NO_FAULT:
        why = "nothing compares the result" if strict else ""
    elif state == "error":
        why = "; ".join(dict.fromkeys(f"{run.level}: {run.why.splitlines()[0]}" for run in judged.not_run))
        why = why or "a level could not be run"
    else:
        why = ""
    issues = tuple(issue_of(finding, judged, strict) for finding in judged.findings)
    if judged.verdict == NO_FAULT:
        issues += (Issue("compared", "note", "nothing here compares the result", kernel=judged.kernel),)
    name = f"{judged.kernel}[({grid})] {judged.target}"
    return Check(name, judged.kernel, state, why, judged.seconds, issues)


def issue_of(finding: Finding, judged: Judged, strict: bool = False) -> Issue:
    """A finding, with its whole report. One in code that torch.compile wrote is at the user's line."""
    is_error = finding.is_fault or (strict and finding.kind == NONDETERMINISTIC)
    levels = f"at {', '.join(finding.levels)}: " if finding.levels else ""
    level, text, made = "error" if is_error else "warning", levels + finding.text, judged.origin
    if is_error and finding.advice:
        text += f"\nadvice: {finding.advice}"
    place = finding.file or "", finding.line or 0, finding.column or 0
    if made and made.line:
        place = made.file, made.line, 0
        text += f"\nin code that torch.compile wrote: {finding.file}:{finding.line}" * bool(finding.line)
    return Issue(finding.check, level, text, *place, judged.kernel)
