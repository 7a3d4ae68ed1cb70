"""`triton-runner compile` compiles a kernel from any level to any other."""

from __future__ import annotations

import os

import click

from triton_runner._base.errors import DiagnosticError
from triton_runner._pipeline import versions
from triton_runner._programs.options import Output, json_option, print_json, verbs
from triton_runner._programs.programs import kernel_options


@verbs.command("compile", group="compile", place=1)
@click.argument("kernel")
@kernel_options
@click.option("--from", "from_", help="The level of the file, where its name does not say it.")
@click.option("--to", help="The last level: source, ttir, ttgir, llir, ptx, cubin (amdgcn, hsaco).")
@click.option(
    "--triton",
    "release",
    help="The release, 3.4.0; or several: 3.0.0..3.9.0, all (default: the installed one).",
)
@click.option("--metadata", help="For an IR: the metadata JSON, where it is not beside it.")
@click.option("--timeout", type=float, help="Seconds that a release other than the installed one may take.")
@click.option(
    "--save",
    type=Output(is_folder=True),
    help="A folder for all levels and the metadata (of several releases: one folder each).",
)
@click.option("--print", "printed", is_flag=True, help="Print the text of the last level.")
@json_option
def compile_command(kernel, how, from_, to, release, metadata, timeout, save, printed, as_json):
    """Compile KERNEL through Triton's stages, from any level to any other, with any release
    of Triton.

    KERNEL is kernel.py:name, or a file *.ttir, *.ttgir, *.glir, *.llir, *.ptx, *.amdgcn.
    """
    from triton_runner._kernel.compiling import compile as compiler

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
