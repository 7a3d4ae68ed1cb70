"""What verbs of the command line share: --json, how a kernel is compiled, options of the form NAME=VALUE."""

from __future__ import annotations

import contextlib
import json
import os
import sys

import click


class ProgramOrCase(click.Command):
    """What stands behind a program is the program's. Behind a case (*.trcase), which takes nothing, there are
    options of the command."""

    def parse_args(self, context, args):
        given = [*args]
        rest = super().parse_args(context, args)
        program, behind = context.params.get("program") or "", context.params.get("arguments") or ()
        if program.endswith(".trcase") and behind:
            end = len(given) - len(behind)
            context.params.clear()
            rest = super().parse_args(context, [*given[: end - 1], *behind, program])
        return rest


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_KERNEL_OPTIONS = (
    click.option(
        "--signature", "-s",
        help='Types in order: "*fp32:16, i32, 128" (T:16: a multiple of 16; T:1: it is 1).',
    ),
    click.option(
        "--constexpr", "-c", "constexprs", multiple=True, help="NAME=VALUE: 64, True, text, tl.float16."
    ),
    click.option("--target", "-t", help='The architecture: "cuda:90", "hip:gfx942".'),
    click.option(
        "--option", "-o", "options", multiple=True, help="NAME=VALUE of Triton's options: num_warps=8."
    ),
)  # fmt: skip


def kernel_options(command):
    """The options that say how a command's kernel is compiled."""
    for option in reversed(_KERNEL_OPTIONS):
        command = option(command)
    return command


def print_json(value) -> None:
    click.echo(json.dumps(value, indent=2, default=str))


@contextlib.contextmanager
def prints_aside(as_json: bool):
    """While a program runs: what it prints goes to stderr where stdout is for JSON alone, and what libraries
    print (a GPU's printf) too."""
    if not as_json:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def pairs(texts, option: str, form: str = "NAME=VALUE") -> dict[str, str]:
    """{name: text behind the first "="} of an option that may be repeated. Raises UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{option} {text}: expected {form}")
        found[name] = value
    return found
