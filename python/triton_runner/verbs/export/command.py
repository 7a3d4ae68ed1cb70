"""`triton-runner export` reads the variants of a kernel from their texts, and says what was written."""

from __future__ import annotations

import itertools
import re

import click

from triton_runner._base.errors import fail
from triton_runner._base.progress import telling
from triton_runner._pipeline.constants import constant
from triton_runner._programs.options import Output, json_option, print_json, verbs

_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg", "enable_fp_fusion", "waves_per_eu")
_FORM = '"*fp32:16, i32:16?; BLOCK=512,1024; num_warps=4"'


def parse_variants(text: str) -> list[dict]:
    """The variants of "SIGNATURE; NAME=VALUE,VALUE; ...": one for each combination of values."""
    signature, names, choices = "", [], []
    for i, part in enumerate(re.split(r";", text)):
        name, equals, values = part.partition("=")
        if not equals and i == 0:
            signature = part.strip()
            continue
        if not equals or not name.strip().isidentifier():
            raise fail(f"--variants: {part.strip()!r} is not of the form NAME=VALUE", f"as in {_FORM}")
        names.append(name.strip())
        choices.append([constant(value.strip()) for value in values.split(",")])
    variants = []
    for values in itertools.product(*choices):
        options = dict(zip(names, values, strict=True))
        variants.append(
            {
                "signature": signature,
                "constexprs": {name: value for name, value in options.items() if name not in _OPTIONS},
                "options": {name: value for name, value in options.items() if name in _OPTIONS},
            }
        )
    return variants


@verbs.command("export", group="carry", place=2)
@click.argument("kernel")
@click.option(
    "--variants",
    "texts",
    multiple=True,
    required=True,
    help=f"SIGNATURE; NAME=VALUE,VALUE; ... as in {_FORM}: a variant for each combination. T:16 is a "
    "multiple of 16, T:16? both with that and without.",
)
@click.option("--out", "-o", required=True, type=Output(is_folder=True), help="The folder to write.")
@click.option("--targets", "-t", help="Architectures: cuda:80,cuda:90,hip:gfx942.")
@click.option(
    "--levels",
    default="binary",
    show_default=True,
    help="What is kept: binary (cubin, hsaco), ptx (for newer GPUs too), ttir (for the CPU).",
)
@click.option("--triton", "release", help="The Triton release that compiles; else the installed one.")
@json_option
def export_command(kernel, texts, out, targets, levels, release, as_json):
    """Write KERNEL (kernel.py:name) into a folder from which C++ programs launch it, without Python.

    The folder holds a binary for each variant and target, and index.json. A launch takes the binary that
    fits the GPU and the arguments.
    """
    from triton_runner.verbs.export.run import export

    variants = [variant for text in texts for variant in parse_variants(text)]
    kept = levels.split(",")
    with telling("compiling", bar=True) as report:
        entries = export(
            kernel, variants, out, targets=targets, levels=kept, triton=release,
            progress=lambda done, total: report(None, done, total),
        )  # fmt: skip
    if as_json:
        print_json({"folder": out, "kernel": kernel.rpartition(":")[2], "variants": entries})
        return
    for entry in entries:
        constants = ", ".join(f"{name}={value}" for name, value in entry["constants"].items())
        multiples = ", ".join(entry["multiples_of_16"])
        click.echo(
            f"{entry['target']:<12} {', '.join(entry['files'].values())}"
            + (f"  {constants}" if constants else "")
            + (f"  multiples of 16: {multiples}" if multiples else "")
        )
    click.echo(f"{len(entries)} variants in {out}")
