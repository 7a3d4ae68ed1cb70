"""Defines the command `prove`, which proves properties of kernels for every size."""

from __future__ import annotations

import functools

import click

from triton_runner import _settings
from triton_runner._base.errors import fail
from triton_runner._base.progress import telling
from triton_runner._programs.ci import ci_options, write_ci
from triton_runner._programs.options import ProgramOrFile, check_settings, print_result, prints_aside, verbs
from triton_runner._programs.programs import kernel_options, program_arguments
from triton_runner._programs.watched import in_own_process
from triton_runner.verbs.prove.results import PROPERTIES, SCHEMA, Proofs


@verbs.command("prove", group="find", place=8, cls=ProgramOrFile)
@click.option("--kernel", "names", multiple=True, help="Look at this kernel only; may be repeated.")
@click.option(
    "--launches", "most", type=click.IntRange(1), default=16, help="Largest number of kernels (default: 16)."
)
@click.option(
    "--given", multiple=True,
    help='Assume this of sizes: "M <= 2**31, x.shape == (M, K), x.stride == (stride_xm, 1), index in 0..V"; '
    "may be repeated.",
)  # fmt: skip
@click.option(
    "--grid", help='For kernel.py:NAME: the programs over parameters: "cdiv(n, BLOCK)". Default: any.'
)
@click.option(
    "--property", "properties", multiple=True, type=click.Choice([*PROPERTIES]),
    help="Prove this only; may be repeated. Default: all.",
)  # fmt: skip
@click.option(
    "--timeout", "seconds", type=click.FloatRange(0.1), default=5.0,
    help="Seconds for each property (default: 5).",
)  # fmt: skip
@click.option("--jobs", "-j", type=click.IntRange(1), default=1, show_default=True, help="Kernels at a time.")
@kernel_options
@ci_options
@program_arguments
@in_own_process
def prove_command(
    names, most, given, properties, seconds, jobs, how, as_json, program, junit, sarif, github
):  # fmt: skip
    """Prove of kernels, for every size, that they stay inside of their arguments, do not overflow, write
    disjoint elements and all of an output, divide by nothing that is 0, and end.

    PROGRAM is kernel.py:NAME with --signature, --constexpr, --grid and --given, or a program whose launches
    say how sizes belong together, or a case (*.trcase). What is refuted has a launch that was run and goes
    wrong. Options come before PROGRAM. Exit status: 0 all is proved, 1 something is refuted (or the program
    failed), 2 bad usage, 3 the assumptions contradict each other or a launch, 4 something is unknown, 125 no
    kernel.
    """
    from triton_runner.verbs.prove.solver import z3

    with prints_aside(as_json), telling() as say, _settings.using(target=how["target"]):
        check_settings()
        z3()
        asked = Proving(tuple(names), most, tuple(given), program.grid, tuple(properties), seconds, jobs, say)
        result = asked.of_program(program, how) if program.is_program else asked.of_kernel(program, how)
    from triton_runner.verbs.prove.ci import suite_of
    from triton_runner.verbs.prove.text import text_of

    print_result(result, as_json, text_of)
    write_ci(lambda version: suite_of(result, program.name, version), junit, sarif, github, as_json)
    return result.exit_status


class Proving:
    """Proves what a command line asks for, and tells how far it is."""

    def __init__(self, names, most, given, grid, properties, seconds, jobs, say):
        self.names, self.most, self.given, self.grid = names, most, given, grid
        self.properties, self.seconds, self.jobs, self.say = properties, seconds, jobs, say

    def of_kernel(self, program, how: dict) -> Proofs:
        """The proofs of kernel.py:NAME, or of the launch in a case."""
        from triton_runner._kernel.cases.case import is_case

        if is_case(program.name):
            return self._of_case(program)
        from triton_runner.verbs.prove import run

        path, _, name = program.name.rpartition(":")
        if not path.endswith(".py"):
            raise fail(f"{program.name} is not a program, a case (*.trcase) or kernel.py:name")
        return self._proofs([run.of_kernel(program.name, name, how)])

    def _of_case(self, program) -> Proofs:
        program.check()  # before torch is imported
        from triton_runner.verbs.prove import run
        from triton_runner.verbs.prove.held import Held

        subject, named = run.of_case(program.name)
        held = Held(self.given)
        held.look(subject.name, named)
        return self._proofs([subject], broken=held.broken)

    def of_program(self, program, how: dict) -> Proofs:
        for option in ("signature", "constexprs", "options"):
            if how[option]:
                raise fail(f"--{option.rstrip('s')} is for kernel.py:NAME, and {program.name} is a program")
        program.check()
        from triton_runner.verbs.prove import launches

        watching = launches.Watching(self.names, self.most, how["target"], self.given)
        status = watching.run(*program.words)
        return self._proofs(watching.subjects, watching.left_out, status, watching.held.broken)

    def _proofs(self, subjects, left_out=(), status: int = 0, broken=()) -> Proofs:
        from triton_runner.verbs.prove import apart, run

        for subject in subjects:
            subject.assume(self.given, self.grid)
            subject.simplify()
        proving = [
            functools.partial(run.proof, subject, self.properties, self.seconds, self.say)
            for subject in subjects
        ]

        def died(number: int, words: str):
            return run.without_answers(subjects[number], self.properties, words)

        proofs = apart.each(proving, self.jobs, died)
        return Proofs(SCHEMA, proofs, list(left_out), status, list(broken))
