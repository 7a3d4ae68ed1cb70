"""`triton-runner completion` prints the script by which a shell completes."""

from __future__ import annotations

import click

from triton_runner._programs.options import verbs

SHELLS = ("bash", "zsh", "fish")


@verbs.command("completion", group="set up", place=3)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context, shell):
    """Print a file by which a shell completes verbs, options, files, checks, chips and kernels.

    \b
    bash: triton-runner completion bash > ~/.local/share/bash-completion/completions/triton-runner
    zsh:  triton-runner completion zsh > FOLDER/_triton-runner    (a folder of $fpath)
    fish: triton-runner completion fish > ~/.config/fish/completions/triton-runner.fish

    The file is static: a Tab starts no Python. Print it again after an update.
    """
    from triton_runner.verbs.completion import run as completion

    click.echo(completion.script(shell, context.parent.command), nl=False)
