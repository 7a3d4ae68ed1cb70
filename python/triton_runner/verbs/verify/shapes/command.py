"""Adds `verify --shapes`: its options, and what it prints."""

from __future__ import annotations

import collections
import json

import click

from triton_runner._base.ci_files import Check, Issue, Suite
from triton_runner._base.progress import telling
from triton_runner._kernel.cases.results import NO_FAULT
from triton_runner._programs import watched
from triton_runner._programs.ci import ci_output
from triton_runner._programs.options import check_settings, prints_aside, with_options

_OPTIONS = (
    click.option("--shapes", is_flag=True, help="Judge a function, program.py:fn, in other calls."),
    click.option(
        "--reference",
        default="",
        help="FILE:FUNCTION that does what the kernel does; with --shapes: that gives the same.",
    ),
    click.option("--dims", multiple=True, help="With --shapes: M=0..5000, N=64,128, 'x=f32[M, N]', x=inout."),
    click.option(
        "--vary", default="", help="With --shapes: what varies, of sizes,layouts,values,dtypes,huge."
    ),
    click.option(
        "--cases",
        type=click.IntRange(1),
        default=60,
        show_default=True,
        help="With --shapes: the largest number of calls.",
    ),
    click.option(
        "--seconds", type=click.FloatRange(0), default=0, help="With --shapes: the longest time, in seconds."
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=0, help="With --shapes: the seed of the numbers drawn."
    ),
    click.option("--calls", default="", help="With --shapes: the program or tests that call the function."),
)


def shapes_options(command):
    return with_options(_OPTIONS, command)


def is_asked(program: str, options: dict) -> bool:
    """Returns whether a function is to be judged. Refuses options of --shapes without it."""
    if options["shapes"]:
        return True
    plain = {"cases": 60, "reference": options["reference"]}
    if given := [name for name, value in options.items() if value and value != plain.get(name)]:
        raise click.UsageError(
            f"--{given[0]} needs --shapes, as in: verify --shapes --{given[0]} ... {program}"
        )
    return False


def check_unused(options: dict) -> None:
    """Refuses options that mean nothing with --shapes."""
    if given := [name for name, value in options.items() if value]:
        raise click.UsageError(f"{given[0]} means nothing with --shapes")


def verify(what: str, arguments, as_json: bool, target: str | None, given: dict, ci: dict) -> int:
    """Prints the verdict and returns the exit status."""
    from triton_runner import _settings
    from triton_runner.verbs.verify.shapes import cases, launching
    from triton_runner.verbs.verify.shapes import run as shapes

    vary = tuple(given["vary"].split(",")) if given["vary"] else ()
    if unknown := [family for family in vary if family not in cases.FAMILIES]:
        raise click.UsageError(f"--vary {unknown[0]}: of {', '.join(cases.FAMILIES)}")
    checks = launching.CHECKS
    if given["checks"]:
        checks = tuple(_settings.using(check=given["checks"]).settings().check.split(","))
    options = shapes.Options(
        given["reference"], given["dims"], vary, given["cases"], given["seconds"], given["seed"],
        given["calls"], checks, given["pretend_cuda"], given["strict"],
    )  # fmt: skip

    def report(result) -> watched.Report:
        files, lines = ci_output(lambda version: suite_of(result, version), **ci)
        text = json.dumps(result.to_dict(), indent=2, default=str) if as_json else shown(result)
        return watched.Report(result.status, text, files, lines, as_json)

    def judge(tell) -> watched.Report:
        with prints_aside(True), _settings.using(target=target), telling("verify") as say:
            check_settings()
            tell(watched.STARTED)
            result = shapes.verify_shapes(what, arguments, options, say)
        return report(result)

    def unfinished(told, end: watched.End) -> watched.Report:
        return report(shapes.unfinished(what, options, end.status, end.signal))

    return watched.watched(judge, unfinished)


_STATES = {
    "right": "passed", NO_FAULT: "passed", "wrong": "failed", "refused": "skipped", "outside": "skipped",
}  # fmt: skip


def suite_of(result, version: str) -> Suite:
    """A check for each call. The smallest call of a fault stands with the first that shows it."""
    file = result.function.rpartition(":")[0]
    issues: dict[str, list[Issue]] = {}
    for found in result.faults:
        fault, text = found.fault, f"{found.fault.message}; smallest call: {found.case}"
        issue = Issue(fault.kind, "error", text, fault.file or file, fault.line, kernel=fault.kernel)
        issues.setdefault(found.first, []).append(issue)
    checks = tuple(
        Check(call.case, result.function, _STATES.get(call.state, "error"),
            "; ".join(fault.message for fault in call.faults) or call.why, call.seconds,
              tuple(issues.get(call.case, ())))
        for call in result.calls
    )  # fmt: skip
    return Suite("verify", result.function, version, checks, file, result.status)


def shown(result) -> str:
    """The result for a person."""
    lines = [f"{result.function}, by {result.source}:"]
    for form in result.forms:
        lines.append(f"  {', '.join(f'{name}: {text}' for name, text in form['arguments'].items())}")
        if form["sizes"]:
            lines.append(f"    {'; '.join(form['sizes'].values())}")
        if form["frozen"]:
            lines.append("    sizes stay as they were: an argument holds offsets, which depend on them")
    for found in result.faults:
        lines.append(f"fault, {found.fault.kind}: {found.fault.message}")
        lines.append(f"  smallest call: {found.case}")
        lines.append(f"  first of {found.count} calls: {found.first}")
    for hint in result.hints:
        lines.append(f"hint, {hint.kind}: {hint.message}" + (f" ({hint.case})" if hint.case else ""))
    counts = collections.Counter(call.state for call in result.calls)
    states = [f"{count} {state}" for state, count in counts.most_common()] or ["no call"]
    lines.append(f"{', '.join(states)}, seed {result.seed}")
    with_what = f"reference {result.reference}" if result.reference else "no reference"
    return "\n".join([*lines, *result.why, f"verdict: {result.verdict} ({with_what})"])
