"""`triton-runner versions` lists, adds and removes the releases of Triton that this machine has."""

from __future__ import annotations

import os
import sys

import click

from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._pipeline import versions
from triton_runner._programs.options import json_option, print_result, verbs


@verbs.group("versions", group="compile", place=5, invoke_without_command=True)
@click.pass_context
def versions_command(context):
    """The Triton releases in the cache: ls (the default), add, run, remove.

    Another release than the installed one runs in a process of its own, with this interpreter and these
    packages.
    """
    if context.invoked_subcommand is None:
        context.invoke(versions_ls)


@versions_command.command("ls")
@json_option
def versions_ls(as_json=False):
    """List the releases that are there."""
    rows = versions.listed()
    print_result(rows, as_json, _show_versions)


def _show_versions(rows: list[dict]) -> None:
    width = max((len(row["version"]) for row in rows), default=0)
    for row in rows:
        size = f"{row['bytes'] / 2**20:6.0f} MiB" if row["bytes"] is not None else "         -"
        click.echo(f"{row['version']:<{width}} {size}  {row['folder'] or 'installed'}")
    there = {row["version"] for row in rows}
    click.echo("to fetch: " + (", ".join(v for v in versions.RELEASES if v not in there) or "none"))
    click.echo("builds of others: " + (", ".join(v for v in versions.OTHERS if v not in there) or "none"))


@versions_command.command("add")
@click.argument("releases", nargs=-1, required=True)
def versions_add(releases):
    """Fetch releases: 3.4.0, 3.0.0..3.9.0 (the newest patch of each minor release), all.

    Builds of others by their name here or on the package index: fbtriton-3.7.4, fbtriton==3.7.4, next.
    """
    for version in dict.fromkeys(v for text in releases for v in versions.expand(text)):
        folder, _ = versions.ensure(version)
        click.echo(f"{version} {folder or 'is installed'}")


@versions_command.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("release")
@click.argument("words", nargs=-1, required=True, metavar="VERB [ARGUMENTS]...", type=click.UNPROCESSED)
def versions_run(release, words):
    """Run a verb with another release, which is fetched first where it is not there.

    versions run 3.7.1 verify program.py: for programs that the installed release refuses.
    """
    folder, python = versions.ensure(release)
    if python != sys.executable:
        raise fail(
            f"Triton {release} has no wheel for this Python, and this package is not installed for {python}",
            "use a release of versions ls whose python is this one, or an environment with that Python",
        )
    command = [sys.executable, "-m", "triton_runner", *words]
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    more = {"PYTHONPATH": path, commands.RELEASE: release} if folder else {}
    os.execve(sys.executable, command, {**os.environ, **more})


def _may_remove(rows) -> bool:
    """Shows the folders of releases with who uses them, and asks."""
    width = max(len(row["version"]) for row in rows)
    for row in rows:
        click.echo(f"{row['version']:<{width}} {row['bytes'] / 2**20:6.0f} MiB  {row['folder']}")
        for number, command in versions.processes(row["folder"]):
            click.echo(f"{'':<{width}} in use by process {number}: {command}")
    click.echo(
        f"Every environment with Python {sys.version_info[0]}.{sys.version_info[1]} that has this cache uses "
        "them, and fetches them again when it needs them."
    )
    try:
        return click.confirm("Remove " + ", ".join(row["version"] for row in rows) + "?")
    except click.Abort:
        raise fail("nobody answered: nothing was removed", "--yes removes without asking") from None


@versions_command.command("remove")
@click.argument("releases", nargs=-1, required=True)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def versions_remove(releases, yes):
    """Delete releases from the cache: 3.4.0, 3.0.0..3.9.0 (the newest patch of each minor release), all.

    Shows which processes use them, and asks first.
    """
    there = {row["version"]: row for row in versions.listed() if row["folder"]}
    several = [versions.expand(text) for text in releases]
    named = dict.fromkeys(
        v
        for versions_matched in several
        for v in versions_matched
        if v in there or len(versions_matched) == 1
    )
    chosen = [there[version] for version in named if version in there]
    if chosen and not yes and not _may_remove(chosen):
        click.echo("nothing was removed")
        return True
    missing = [version for version in named if not versions.remove(version)]
    if not named:
        click.echo("no release is in the cache")
    for version in named:
        outcome = "was not there" if version in missing else "removed"
        if version in missing and version == versions.installed():
            outcome = "is installed, and not in the cache: pip uninstall triton removes it"
        click.echo(f"{version} {outcome}")
    return bool(missing)
