"""`triton-runner layout` draws an encoding, and shows the banks of shared memory that warps touch."""

from __future__ import annotations

import click

from triton_runner._base.paths import read_text
from triton_runner._programs.options import Picture, json_option, print_json, verbs
from triton_runner.verbs.layout import text as layout_text


@verbs.command("layout", group="look", place=3)
@click.argument("encoding")
@click.option("--shape", required=True, help="Shape of the tensor or buffer: 64x64, or 128.")
@click.option(
    "--type", "element", default="f16", show_default=True, help="Type of an element: f16, f32, i8, ..."
)
@click.option("--file", help="A TTGIR file; ENCODING may be a name that it defines: #blocked.")
@click.option("--access", help="For shared memory: the encoding of the tensor that a warp loads or stores.")
@click.option("--warp", default=0, show_default=True, help="With --access: which warp.")
@click.option("--rows", default=layout_text.MOST_ROWS, show_default=True, help="Rows that are drawn.")
@click.option("--cells", default=layout_text.MOST_CELLS, show_default=True, help="Cells of a row.")
@click.option(
    "--png", type=Picture(("svg",)), help="Write a picture to this file: SVG, or with matplotlib PNG or PDF."
)
@json_option
def layout_command(encoding, shape, element, file, access, warp, rows, cells, png, as_json):
    """Draw which thread holds which element under ENCODING, "#ttg.blocked<{...}>"; of shared memory where
    each lies, and which banks a warp's accesses touch.
    """
    aliases = read_text(file) if file else ""
    from triton_runner._kernel import layout
    from triton_runner.verbs.layout import picture as layout_picture

    drawn = layout.layout(encoding, shape, element, aliases)
    if access and drawn.memory != "shared":
        raise click.UsageError(f"--access is for shared memory, which {drawn.kind} is not")
    tables = {}
    if drawn.memory == "shared" and drawn.element_bits >= 8:
        tables = {access: drawn.banks(access, warp)} if access else drawn.usual_banks()
    if png:
        layout_picture.picture(drawn, png, next(iter(tables.values()), None))
    if as_json:
        print_json({**drawn.as_dict(), "banks": {name: table.as_dict() for name, table in tables.items()}})
        return
    for line in layout_text.lines(drawn, rows, cells):
        click.echo(line)
    for name, table in tables.items():
        click.echo(f"{name}:")
        for line in layout_text.bank_lines(table):
            click.echo(f"  {line}")
