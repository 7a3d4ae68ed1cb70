"""`triton-runner experiments` switches features of the compiler off, one at a time."""

from __future__ import annotations

import dataclasses

import click

from triton_runner._pipeline import versions
from triton_runner._programs.options import ProgramOrFile, print_json, verbs
from triton_runner._programs.programs import program_arguments, release_option


@verbs.command("experiments", group="find", place=6, cls=ProgramOrFile)
@release_option
@click.option("--target", "-t", default="cuda:90", show_default=True, help="The architecture to compile for.")
@click.option("--passes", is_flag=True, help="Try it also without each compiler pass.")
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds of one run.")
@program_arguments
def experiments_command(release, target, passes, timeout, as_json, program):
    """Find the features of the compiler without which a fault of PROGRAM goes away.

    PROGRAM is the oracle as for bisect: it exits with 0 where it is right, 125 where it cannot tell, another
    status where it is wrong. Exit status: 0 it is right as it is, 1 it is wrong, 125 unknown.
    """
    from triton_runner.verbs.bisect.runs import BisectedProgram
    from triton_runner.verbs.experiments.run import experiments

    version = versions.known(release) if release else versions.installed()
    if version is None:
        raise click.UsageError("Triton is not installed: name a release with --triton")
    subject = BisectedProgram(
        program.name, program.arguments, program.is_module, program.pretend_cuda, target, timeout
    )

    def show(e) -> None:
        if not as_json:
            click.echo(f"{e.verdict:<8} {e.name:<34} {e.off:<36} {e.why[:80]}".rstrip())

    results = experiments(subject, version, passes, show)
    helps = [experiment.name for experiment in results[1:] if experiment.verdict == "right"]
    plain = results[0].verdict
    if as_json:
        rows = [dataclasses.asdict(experiment) for experiment in results]
        print_json({"release": version, "target": target, "verdict": plain, "helps": helps, "runs": rows})
    elif plain == "wrong":
        click.echo("the fault goes away with: " + (", ".join(helps) or "none of these"))
    elif plain == "unknown":
        click.echo(f"it cannot be told: {results[0].why}")
        if helps:
            click.echo(f"it is right with: {', '.join(helps)}")
    return {"right": 0, "wrong": 1}.get(plain, 125)
