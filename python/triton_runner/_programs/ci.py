"""Adds --junit, --sarif and --github to the verbs that judge: turns the findings of compare and bisect into
checks, and writes the files."""

from __future__ import annotations

import ast

import click

from triton_runner import __version__
from triton_runner._base import ci_files
from triton_runner._base.ci_files import Check, Issue, Suite
from triton_runner._base.paths import write_file
from triton_runner._programs.options import Output, with_options

_OPTIONS = (
    click.option("--junit", type=Output(), metavar="FILE", help="Write the result as JUnit XML."),
    click.option(
        "--sarif", type=Output(), metavar="FILE", help="Write the result as SARIF 2.1.0, for code scanning."
    ),
    click.option("--github", is_flag=True, help="Print ::error lines, which GitHub shows at the code."),
)


def ci_options(command):
    """The three options, which the command takes as **ci."""
    return with_options(_OPTIONS, command)


def ci_output(
    suite_of, junit: str | None, sarif: str | None, github: bool
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns what was asked for: (contents by file, lines to print). suite_of(version): the result."""
    if not (junit or sarif or github):
        return {}, ()
    suite = suite_of(__version__)
    files = {junit: ci_files.junit, sarif: ci_files.sarif}
    lines = tuple(ci_files.annotations(suite)) if github else ()
    return {file: content(suite) for file, content in files.items() if file}, lines


def write_ci(suite_of, junit: str | None, sarif: str | None, github: bool, aside: bool = False) -> None:
    """Writes what was asked for. aside: stdout is for JSON alone."""
    files, lines = ci_output(suite_of, junit, sarif, github)
    for file, content in files.items():
        write_file(file, content)
    for line in lines:
        click.echo(line, err=aside)


# --- compare


def of_comparison(result, kernel: str, failing: dict, status: int, version: str) -> Suite:
    """A check for each cell. failing: by each condition, (row, why) of those that it is true for."""
    checks = tuple(_cell(row, result.kernel, _place(kernel), failing) for row in result)
    return Suite("compare", kernel, version, checks, _place(kernel)[0], status)


def _cell(row, kernel: str, place: tuple[str, int], failing: dict) -> Check:
    whys = [f"--fail-if {text!r}: {why}" for text, rows in failing.items() for one, why in rows if one is row]
    if row.error:
        state, rule, why = "error", "compile-error", "\n".join(_failure(row))
        place = (row.refused.file, row.refused.line) if row.refused and row.refused.line else place
    elif row.gap:
        state, rule, why = "skipped", "", row.gap
    elif whys:
        state, rule, why = "failed", "fail-if", "; ".join(whys)
    else:
        state, rule, why = "passed", "", ""
    issues = []
    if rule:
        issues.append(Issue(rule, "error", f"{row.name}: {why}", *place, kernel=kernel))
    if row.trap:
        issues.append(Issue("trap", "warning", f"{row.name}: {row.trap}", *place, kernel=kernel))
    return Check(row.name, kernel, state, why, row.figures.get("seconds") or 0.0, tuple(issues))


def _failure(row) -> list[str]:
    """The lines on a cell that is not compiled."""
    one = row.crash or row.refused
    return [str(one), *one.lines()] if one else [row.error]


def _place(kernel: str) -> tuple[str, int]:
    """The file of a kernel, and the line where kernel.py:name begins, or 0."""
    file, _, name = kernel.rpartition(":")
    if not file.endswith(".py"):
        return kernel, 0
    try:
        with open(file, encoding="utf-8") as opened:
            tree = ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError):
        return file, 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name.rpartition(".")[2]:
            return file, node.lineno
    return file, 0


# --- bisect

_FINE = ("right", "nondeterministic")


def of_bisection(result, subject: str, status: int, version: str) -> Suite:
    """A check for each release, and one for a verdict that no release shows. A release that could not be
    judged is left out, and an error where none was."""
    file, line = _place(subject) if ".py:" in subject else (subject, 0)
    checks = [Check(f"Triton {name}", subject, "passed") for name in result.release.right]
    for fault in result.faults or [result]:
        issues = tuple(_issues(fault, file, line, result.target))
        state = "passed" if fault.verdict in _FINE else "failed"
        for name in fault.release.wrong:
            checks.append(Check(f"Triton {name}", subject, state, fault.headline, issues=issues))
    left_out = "error" if result.verdict == "unknown" else "skipped"
    for one in result.release.unknown:
        checks.append(Check(f"Triton {one.version}", subject, left_out, one.why))
    if status and not any(check.state in ("failed", "error") for check in checks):
        issues = tuple(_issues(result, file, line, result.target))
        state = "error" if result.verdict == "unknown" else "failed"
        checks.append(Check("verdict", subject, state, result.headline, issues=issues))
    return Suite("bisect", subject, version, tuple(checks), file, status)


def _issues(fault, file: str, line: int, target: str):
    level = "warning" if fault.verdict in _FINE else "error"
    wrong = fault.release.wrong
    release = f"Triton {wrong[-1]}, {target}: " if wrong else ""
    notes = "".join(f"\n{note}" for note in fault.notes)
    places = [one for one in fault.evidence if one.line] or [None]
    rule = f"bisect-{fault.verdict.replace(' ', '-')}"
    for place in places:
        text = f"{release}{fault.headline}{notes}"
        if place is not None and (told := str(place)):
            text += f"\n{told.strip()}"
        at = (place.file, place.line) if place is not None else (file, line)
        kernel = (place.kernel or "") if place is not None else ""
        yield Issue(rule, level, text, *at, kernel=kernel)


def of_torch(found, status: int, version: str) -> Suite:
    """A check for each release of torch, at the user's line. found: of bisect --torch."""
    checks = []
    for one in found.releases:
        at = (one.line.file, one.line.line) if one.line else (found.program, 0)
        state = "passed" if one.verdict in ("right", "rounding", "random") else "failed"
        state = "error" if one.verdict in ("unknown", "not compiled") else state
        issues = ()
        if state != "passed":
            text = "\n".join([one.headline, *([str(one.parting)] if one.parting else []), *one.notes])
            rule = f"bisect-torch-{one.verdict.replace(' ', '-')}"
            issues = (Issue(rule, "error", f"torch {one.torch}: {text}", *at, kernel=one.kernel or ""),)
        checks.append(Check(f"torch {one.torch}", found.program, state, one.headline, issues=issues))
    return Suite("bisect --torch", found.program, version, tuple(checks), found.program, status)
