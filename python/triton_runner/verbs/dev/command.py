"""`triton-runner dev` prints recipes for those who work on Triton itself, or runs them."""

from __future__ import annotations

import subprocess

import click

from triton_runner._base.errors import fail
from triton_runner._programs.options import json_option, print_json, verbs


@verbs.command("dev", group="set up", place=4)
@click.argument("recipe", required=False)
@click.option("--checkout", default=".", show_default=True, help="The folder with Triton's sources.")
@click.option("--run", "is_run", is_flag=True, help="Run the commands instead of printing them.")
@json_option
def dev_command(recipe, checkout, is_run, as_json):
    """Print, or run, recipes for a checkout of Triton: build, rebuild, llvm, test, opt, run, bisect.

    Without RECIPE it prints all, for the version and LLVM of the checkout. Exit status with --run: that of
    the command that failed.
    """
    from triton_runner.verbs.dev import run as dev

    there = dev.Checkout(checkout)
    recipes = dev.recipes(there)
    if recipe is not None and recipe not in recipes:
        raise fail(f"no recipe {recipe!r}", f"recipes: {', '.join(recipes)}")
    if is_run and recipe is None:
        raise fail("--run runs one recipe", f"recipes: {', '.join(recipes)}")
    chosen = {recipe: recipes[recipe]} if recipe else recipes
    if as_json:
        print_json({**there.facts(), "recipes": {name: commands for name, (_, commands) in chosen.items()}})
        return
    if is_run:
        for command in chosen[recipe][1]:
            click.echo(f"+ {command}", err=True)
            status = subprocess.run(command, shell=True).returncode
            if status:
                return status
        return
    for name, value in there.facts().items():
        click.echo(f"# {name:<9} {value}")
    for name, (what, commands) in chosen.items():
        click.echo(f"\n# {name}: {what}")
        for command in commands:
            click.echo(command)
