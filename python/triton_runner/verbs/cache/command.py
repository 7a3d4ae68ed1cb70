"""`triton-runner cache` shows what Triton's cache holds, and why a kernel was compiled again."""

from __future__ import annotations

import os

import click

from triton_runner._pipeline import cache
from triton_runner._programs.options import json_option, print_json, verbs

_SHOWN = 5  # kernels of one name that explain compares with


@verbs.group("cache", group="carry", place=3, invoke_without_command=True)
@click.option("--clear", is_flag=True, help="The same as clean.")
@json_option
@click.pass_context
def cache_command(context, clear, as_json):
    """Triton's cache of compiled kernels (TRITON_CACHE_DIR): ls (the default), explain, clean."""
    if context.invoked_subcommand is None:
        return context.invoke(clean_command if clear else ls_command, as_json=as_json)


@cache_command.command("ls")
@json_option
def ls_command(as_json):
    """List the kernels, newest first."""
    folder, entries = cache.entries()
    if as_json:
        print_json({"folder": folder, "entries": entries})
        return
    for entry in entries:
        click.echo(
            f"{entry['modified']}  {entry['kernel']:<32} {entry['target']:<12} "
            f"{','.join(entry['levels']):<28} {entry['path']}"
        )
    missing = "" if os.path.isdir(folder) else ", which is not a folder"
    click.echo(f"{len(entries)} kernels in {folder}{missing}")


@cache_command.command("explain")
@click.argument("hash_", metavar="HASH")
@json_option
def explain_command(hash_, as_json):
    """Say what a kernel was compiled from, and why there are others of its name.

    HASH is the beginning of its folder's name or of the hash in its metadata.
    """
    entry = cache.explain(hash_)
    if as_json:
        print_json(entry)
        return
    click.echo(f"{entry['kernel']} for {entry['target']}, {entry['modified']}, {entry['path']}")
    for name, size in entry["files"].items():
        click.echo(f"  {size:>9} {name}")
    for name, value in sorted(entry["metadata"].items()):
        if value not in (None, False, [], {}, ""):
            click.echo(f"  {name}: {value}")
    for other in entry["others"][:_SHOWN]:
        click.echo(f"unlike {other['path']}:")
        for name, (here, there) in other["differs"].items():
            click.echo(f"  {name}: {here} here, {there} there")
    if len(entry["others"]) > _SHOWN:
        click.echo(f"and {len(entry['others']) - _SHOWN} more kernels of that name (--json has all)")


@cache_command.command("clean")
@click.option("--cells", is_flag=True, help="Delete the finished cells of compare, too.")
@json_option
def clean_command(cells=False, as_json=False):
    """Delete every kernel."""
    deleted, left = cache.clear()
    report = {"folder": str(cache.folder()), "deleted": deleted, "left": left}
    if cells:
        from triton_runner._kernel.cells.store import Store  # of another cache

        report["cells"] = Store().clear()
    if as_json:
        print_json(report)
        return bool(left)
    click.echo(f"deleted {deleted} entries of {report['folder']}")
    if cells:
        click.echo(f"deleted {report['cells']} cells of compare")
    if left:
        click.echo(f"error: {left} entries could not be deleted: check who owns them", err=True)
        return 1
