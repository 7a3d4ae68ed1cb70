"""`triton-runner assemble` puts assemblers on trial."""

from __future__ import annotations

import collections
import itertools
import re

import click

from triton_runner._base.errors import fail
from triton_runner._base.paths import write_file
from triton_runner._base.progress import telling
from triton_runner._programs.options import Output, json_option, print_json, print_result, verbs

_SHOWN = 40  # trials that are listed where nothing is wrong with them


@verbs.command("assemble", group="find", place=5)
@click.option("--check", is_flag=True, help="Run PTX and machine code on the same inputs, on the CPU.")
@click.option(
    "--ptxas", multiple=True, metavar="VERSION|PATH|all",
    help="The assembler: 12.9, a path, or all that this machine has. By default the newest.",
)  # fmt: skip
@click.option("--opt", "opts", multiple=True, type=click.IntRange(0, 3), help="ptxas's -O; several add up.")
@click.option("--target", "-t", default="", help="sm_90a, cuda:90. By default the PTX's own.")
@click.option("--kernel", default="", help="Which kernel, where a file has several.")
@click.option(
    "--inputs", "seeds", type=click.IntRange(1), default=2, show_default=True,
    help="Number of random inputs, and of inputs with the extreme values of their types, for PTX "
        "whose head describes none.",
)  # fmt: skip
@click.option(
    "--jobs", "-j", type=click.IntRange(1), help="Number of processes (default: one for each core)."
)
@click.option("--executor", metavar="dask://HOST:PORT", help="Try on a Dask cluster.")
@click.option("--timeout", type=float, help="Seconds that a trial may take (600).")
@click.option("--again", is_flag=True, help="Repeat trials whose results are kept.")
@click.option("-o", "--output", type=Output(), help="Where the cubin of one PTX is written.")
@json_option
@click.argument("place", metavar="FILE|FOLDER|CASE|CUBIN")
def assemble_command(
    check, ptxas, opts, target, kernel, seeds, jobs, executor, timeout, again, output, as_json, place
):
    """Assemble PTX by one or several ptxas; with --check, execute PTX and machine code side by side on the
    CPU, from the same inputs, and compare what they leave bit for bit.

    The inputs are those of a case (*.trcase), those that comments at the head of the PTX describe, as in
    "// arg: f32[64] iota", or drawn ones. For a difference it shows the first element, the instruction that
    stores it, and the line of the PTX that this was made from. The control words are looked at too: a
    hazard is reported even where the bits are right. In a CUBIN it looks for hazards only. Exit
    status: 0, 1 where machine code is wrong, 2 for bad input.
    """
    from triton_runner.verbs.assemble import run as trials

    if target and not re.fullmatch(r"sm_\d+[af]?|cuda:\d+", target):
        raise fail(f"ptxas has no target {target!r}", "as in sm_90a, or cuda:90")
    if target.startswith("cuda:"):
        number = target.removeprefix("cuda:")
        target = f"sm_{number}" + "a" * (int(number) >= 90)
    if place.endswith(".cubin"):
        return _judge_cubin(place, kernel, as_json)
    chosen = trials.subjects(place, kernel)
    assemblers, opts = trials.chosen_assemblers(ptxas), list(opts) or [None]
    if output and (len(chosen) > 1 or len(assemblers) > 1 or len(opts) > 1):
        raise fail("-o takes the cubin of one PTX by one assembler at one -O")
    if not check or output:
        rows = list(_made(trials, chosen, assemblers, opts, target, output))
        if not check:
            print_result(rows, as_json, _show_made)
            return any("error" in row for row in rows)
    done = itertools.count(1)
    with telling("trials", bar=True) as told:
        found = trials.run(
            chosen, assemblers, opts, target, seeds, jobs, executor, timeout, again,
            told=lambda name, total: told(name, next(done), total),
        )  # fmt: skip
    print_result([one.as_dict() for one in found], as_json, lambda _: _show(found))
    return any(one.result.state in ("different", "hazard") for one in found)


def _judge_cubin(place: str, kernel: str, as_json: bool) -> bool:
    """Prints the hazards of a cubin's kernels; the exit status."""
    from triton_runner._artifact.reading import read_kernel
    from triton_runner.verbs.assemble import hazards

    judged = [
        k for k in hazards.of_cubin(read_kernel(place, True), place) if not kernel or k.kernel == kernel
    ]
    if kernel and not judged:
        raise fail(f"{place} has no kernel '{kernel}'")
    if as_json:
        print_json(judged)
    else:
        for one in judged:
            click.echo(
                f"{place}: {one.kernel}: {len(one.hazards)} hazards; {one.instructions} instructions, "
                f"{one.unjudged} of them not judged"
            )
            for hazard in one.hazards[:_SHOWN]:
                click.echo("\n".join(f"  {line}" for line in hazards.lines(hazard)))
    return any(one.hazards for one in judged)


def _made(trials, chosen, assemblers, opts, target, output):
    for subject, assembler, opt in itertools.product(chosen, assemblers, opts):
        made = trials.made(subject, assembler, opt, target)
        cubin = made.pop("cubin", None)
        if output and cubin is not None:
            write_file(output, cubin)
        yield {"name": subject.name, "ptxas": assembler.version, "opt": opt, **made}


def _by(one: dict) -> str:
    return f"ptxas {one['ptxas']}" + ("" if one["opt"] is None else f" -O{one['opt']}")


def _show_made(rows: list[dict]) -> None:
    for row in rows:
        said = row.get("error") or (
            f"{row['registers']} registers, {row['spills'] or 0} spilled, {row['code']:,} bytes of code"
        )
        click.echo(f"{row['name']}: {_by(row)}: {said}")


def _show(found: list) -> None:
    states = collections.Counter(one.result.state for one in found)
    for one in found:
        if one.result.state != "equal" or len(found) <= _SHOWN:
            click.echo(f"{one.name}: {_by(vars(one))}: {_said(one.result)}")
    if len(found) > 1:
        click.echo(", ".join(f"{n} {state}" for state, n in states.most_common()))


def _said(result) -> str:
    from triton_runner.verbs.assemble.trial import STATES  # with the engines

    if result.state == "equal":
        return f"equal ({result.tried} inputs)"
    lines = [f"{result.state}: {result.why.splitlines()[0] if result.why else STATES[result.state]}"]
    if result.argument:
        lines.append(
            f"  {result.argument}[{result.element}] is {result.got}, the PTX leaves {result.want}; "
            f"{result.differing} elements differ (inputs: {result.inputs})"
        )
    if result.place:
        lines += [f"  {line}" for line in result.place.lines()]
    return "\n".join([*lines, *(f"  {line}" for line in result.why.splitlines()[1:])])
