"""The verbs of the command line about compiling: compile, versions."""

from __future__ import annotations

import os
import sys

import click

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.paths import read_text, write_file
from triton_runner._compiler import versions
from triton_runner._programs.options import json_option, print_json, print_result, verbs
from triton_runner._programs.programs import kernel_options


@verbs.command("compile")
@click.argument("kernel")
@kernel_options
@click.option("--from", "from_", help="The level of the file, where its name does not say it.")
@click.option("--to", help="The last level: source, ttir, ttgir, llir, ptx, cubin (amdgcn, hsaco).")
@click.option(
    "--triton", "release", help="The release, 3.4.0; several: 3.0.0..3.9.0, all. Else the installed one."
)
@click.option("--metadata", help="Of an IR: the metadata JSON, where it is not beside it.")
@click.option("--timeout", type=float, help="Seconds that a release other than the installed one may take.")
@click.option(
    "--save", help="A folder for all levels and the metadata (of several releases: one folder each)."
)
@click.option("--print", "printed", is_flag=True, help="Print the text of the last level.")
@json_option
def compile_command(kernel, how, from_, to, release, metadata, timeout, save, printed, as_json):
    """Compile KERNEL through Triton's stages, from any level to any other, with any release
    of Triton.

    KERNEL is kernel.py:name, or a file *.ttir, *.ttgir, *.glir, *.llir, *.ptx, *.amdgcn.
    """
    from triton_runner._compiler import compile as compiler

    rows, failures = [], []
    releases = versions.expand(release) if release else [None]
    for version in releases:
        try:
            compiled = compiler.compile(
                kernel, **how, from_=from_, to=to, triton=version, metadata=metadata, timeout=timeout
            )
        except DiagnosticError as error:
            if len(releases) == 1:
                raise
            failures.append(version)
            rows.append({"release": version, "error": error.message})
            click.echo(f"{version}: {error}", err=True)
            continue
        folder = save and (os.path.join(save, compiled.release) if len(releases) > 1 else save)
        row = {
            "kernel": compiled.name, "target": compiled.target, "release": compiled.release,
            "level": compiled.level,
            "bytes": {level: len(content) for level, content in compiled.asm.items()},
            "metadata": compiled.metadata,
            "files": compiled.save(folder) if folder else [],
        }  # fmt: skip
        rows.append(row)
        if as_json:
            continue
        if printed:
            content = compiled.asm[compiled.level]
            click.get_binary_stream("stdout").write(
                content if isinstance(content, bytes) else content.encode()
            )
        else:
            sizes = ", ".join(f"{level} {size}" for level, size in row["bytes"].items())
            click.echo(f"{compiled.name} for {compiled.target} by Triton {compiled.release}: {sizes} bytes")
            for file in row["files"]:
                click.echo(f"  {file}")
    if as_json:
        print_json(rows if len(releases) > 1 else rows[0])
    return bool(failures)


@verbs.command("translate")
@click.argument("file", type=click.Path())
@click.option("--from", "from_", help="The release that wrote it: an error where that cannot be.")
@click.option("--to", required=True, help="The release that is to read it: 3.9.0.")
@click.option("--output", "-o", help="Where to write it; else stdout.")
@json_option
def translate_command(file, from_, to, output, as_json):
    """Rewrite TTIR, TTGIR or LLIR of one Triton release as another release reads it.

    LLIR does not say which release wrote it. What was changed goes to stderr. What the other release has no
    op for is an error that names the op.
    """
    from triton_runner._pipeline import translation

    releases = {
        translation.number(version): version
        for version in (versions.installed(), *versions.RELEASES)
        if version
    }
    for named in filter(None, (from_, to)):
        if (number := translation.number(named)) not in releases:
            near = releases[min(releases, key=lambda n: abs(n - number))]
            raise fail(f"there is no Triton release {named!r}", f"the nearest: {near}")
    source = read_text(file)
    if file.endswith(".llir"):
        written, of = [], from_ or "another release"
        text, changes = translation.translate_llir(source, to)
    else:
        first, last = map(translation.spelled, translation.written_by(source, file))
        written, of = [first, last], first + (f" to {last}" if first != last else "")
        text, changes = translation.translate(source, to, file, from_)
    if output:
        write_file(output, text)
    if as_json:
        print_json({"file": file, "written_by": written, "to": to, "changes": changes, "text": text})
        return
    if not output:
        click.echo(text, nl=not text.endswith("\n"))
    click.echo(f"{file}: of Triton {of}, " + ("as it is" if not changes else f"for {to}:"), err=True)
    for change in changes:
        click.echo(f"  {change}", err=True)


@verbs.group("versions", invoke_without_command=True)
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
    for row in rows:
        size = f"{row['bytes'] / 2**20:6.0f} MiB" if row["bytes"] is not None else "         -"
        click.echo(f"{row['version']:<8} {size}  {row['folder'] or 'installed'}")
    there = {row["version"] for row in rows}
    click.echo("to fetch: " + (", ".join(v for v in versions.RELEASES if v not in there) or "none"))


@versions_command.command("add")
@click.argument("releases", nargs=-1, required=True)
def versions_add(releases):
    """Fetch releases: 3.4.0, 3.0.0..3.9.0 (the newest patch of each minor release), all."""
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
    path = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "triton_runner", *words]
    os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": path} if folder else os.environ)


def _may_remove(rows) -> bool:
    """Shows the folders of releases with who uses them, and asks."""
    for row in rows:
        click.echo(f"{row['version']:<8} {row['bytes'] / 2**20:6.0f} MiB  {row['folder']}")
        for number, command in versions.processes(row["folder"]):
            click.echo(f"{'':<8} in use by process {number}: {command}")
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
