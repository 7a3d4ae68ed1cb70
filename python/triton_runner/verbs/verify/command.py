"""`triton-runner verify` judges launches."""

from __future__ import annotations

import dataclasses
import functools
import json

import click

from triton_runner._base.progress import telling
from triton_runner._programs import watched
from triton_runner._programs.ci import ci_options, ci_output
from triton_runner._programs.options import ProgramOrFile, check_settings, prints_aside, verbs
from triton_runner._programs.programs import Program, program_arguments
from triton_runner.verbs.verify.shapes import command as shapes_command
from triton_runner.verbs.verify.shapes.command import shapes_options


@verbs.command(
    "verify",
    group="execute",
    place=6,
    first=(3, "all levels, all checks, in one verdict"),
    cls=ProgramOrFile,
)
@click.option("--kernel", "names", multiple=True, help="Judge launches of this kernel only; may be repeated.")
@click.option(
    "--launches",
    "most",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="Largest number of launches to judge.",
)
@click.option(
    "--check",
    "checks",
    help="Run only these checks: oob, nan, inf, nanload, uninit, race, zerodiv, hints, overflow, "
    "view (default: all).",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Treat warnings as faults, and outputs that the order of atomics decides. Without a "
    "comparison of the result the exit status is 125.",
)
@click.option(
    "--assembled", is_flag=True, help="Judge the machine code too (cubin, hsaco), executed on the CPU."
)
@click.option(
    "--prove", "proves", is_flag=True,
    help="Prove for every size, too, what the prove command proves of the kernels; a refutation is a fault.",
)  # fmt: skip
@click.option("--target", "-t", help='The architecture to compile for: "cuda:90", "hip:gfx942".')
@shapes_options
@ci_options
@program_arguments
def verify_command(
    names, most, checks, strict, assembled, proves, target, as_json, program, junit, sarif, github, **shapes
):  # fmt: skip
    """Judge the kernels that PROGRAM launches, or a case (*.trcase); with --shapes a function of it,
    program.py:fn.

    Each launch runs at every level, with every check, with its programs in other orders and its copies at
    other times; levels (and a GPU, if one is there) are compared bit for bit. A report on which no output
    depends is a warning, and so are bank conflicts and spills that are sure to cost time. Options come
    before PROGRAM, or anywhere beside a case. A launch is right if something compared its result: the
    program, or the function of --reference, which takes parameters of the kernel and does with torch or
    NumPy what the kernel does. Otherwise the verdict is "no fault found". Exit status: 0 right, no fault
    found (125 with --strict) or nondeterministic (the order of atomics decides an output; 1 with --strict),
    1 wrong, 2 bad usage, 125 no launch or a level that could not be run, 130 interrupted.
    """
    ci = {"junit": junit, "sarif": sarif, "github": github}
    name = program.name
    if shapes_command.is_asked(name, shapes):
        shapes_command.check_unused(
            {"--kernel": names, "--assembled": assembled, "--prove": proves, "-m": program.is_module}
        )
        options = {"checks": checks, "strict": strict, "pretend_cuda": program.pretend_cuda}
        return shapes_command.verify(name, program.arguments, as_json, target, shapes | options, ci)
    program.check()
    asked = _Asked(
        program, names, most, checks, strict, assembled, proves, target, shapes["reference"], as_json, ci
    )  # fmt: skip
    return watched.watched(asked.judge, asked.unfinished)


@dataclasses.dataclass(frozen=True)
class _Asked:
    """The request that the command was given."""

    program: Program
    names: tuple
    most: int
    checks: str | None
    strict: bool
    assembled: bool
    proves: bool
    target: str | None
    reference: str
    is_json: bool
    ci: dict

    def judge(self, tell) -> watched.Report | watched.Next:
        """The report of the launches of a program, or of a case."""
        from triton_runner import _settings
        from triton_runner._kernel.cases import case, judge
        from triton_runner._kernel.cost.costs import costs
        from triton_runner.verbs.verify import program, references
        from triton_runner.verbs.verify import run as verdict

        checks = judge.checks_of(self.checks)
        compared = (references.named(self.reference),) if self.reference else ()
        with prints_aside(self.is_json), _settings.using(target=self.target), telling("verify") as say:
            check_settings()
            how = verdict.Judge(checks, self.strict, say, self.assembled, costs, compared)
            is_case = case.is_case(self.program.name)
            if is_case:
                result = verdict.of_case(self.program.name, how)
            else:
                judging = program.Judging(how, self.names, self.most, tell)
                say("running the program")
                tell(watched.STARTED)
                outcome = judging.run(*self.program.words)
            proofs = self._proofs(say) if self.proves else None
            if not is_case:
                return self._reported(outcome, proofs)
        return self._report(result, proofs)

    def _reported(self, outcome, proofs) -> watched.Report | watched.Next:
        """The report of a program that has run, or another run where its checks may be idle."""
        if not outcome.is_doubtful:
            return self._report(outcome.verdict(), proofs)
        again = functools.partial(self.try_checks, outcome, proofs)
        return watched.Next(again, functools.partial(self.tried, outcome, proofs))

    def try_checks(self, outcome, proofs, tell) -> watched.Report:
        """The report after the program has run with other results, which its checks should see."""
        from triton_runner import _settings
        from triton_runner.verbs.verify import program

        found = []

        def see(tried) -> None:
            found.append(tried)
            tell(tried)

        with _settings.using(target=self.target), telling("verify") as say:
            say("running the program again with other results: are they seen?")
            tell(watched.STARTED)
            program.tried(outcome, self.program.words, self.names, self.most, see)
        return self._report(outcome.verdict(found), proofs)

    def tried(self, outcome, proofs, told: list, end: watched.End) -> watched.Report:
        """The report where the program ended its process when it ran with other results."""
        return self._report(outcome.verdict(told), proofs)

    def _proofs(self, say):
        """The proofs for the kernels of the program, which runs once more, or of the case."""
        from triton_runner.verbs.prove.command import Proving

        asked = Proving(self.names, self.most, (), None, (), 5.0, 1, say)
        how = {"signature": None, "constexprs": None, "options": {}, "target": self.target}
        return (
            asked.of_program(self.program, how)
            if self.program.is_program
            else asked.of_kernel(self.program, how)
        )

    def unfinished(self, told: list, end: watched.End) -> watched.Report | watched.Next:
        """The report of a program that ended its process."""
        from triton_runner.verbs.verify import program

        outcome = program.unfinished(self.program.name, told, end.status, end.signal, self.strict)
        return self._reported(outcome, None)

    def _report(self, result, proofs=None) -> watched.Report:
        from triton_runner.verbs.verify import ci as ci_checks

        def suite_of(version: str):
            suite = ci_checks.suite_of(result, self.program.name, version)
            return suite if proofs is None else ci_checks.with_proofs(suite, proofs)

        files, lines = ci_output(suite_of, **self.ci)
        status, text = result.status, result.to_json() if self.is_json else str(result)
        if proofs is not None:
            status, text = status or int(proofs.exit_status == 1), _with_proofs(text, proofs, self.is_json)
        return watched.Report(status, text, files, lines, self.is_json)


def _with_proofs(text: str, proofs, is_json: bool) -> str:
    """The report with what was proved."""
    from triton_runner._base.typed import as_json
    from triton_runner.verbs.prove.text import text_of

    if is_json:
        return json.dumps({**json.loads(text), "proofs": as_json(proofs)["proofs"]}, indent=2)
    return f"{text}\n{text_of(proofs)}"
