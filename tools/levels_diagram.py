"""Draw doc/levels.svg: what can be done at each level, from the package's own tables.

python tools/levels_diagram.py            writes the file
python tools/levels_diagram.py --check    exit status 1 where the file is not what would be written
"""

import itertools
import pathlib
import sys
from xml.sax.saxutils import escape

from triton_runner import _core
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import LEVELS, Level, levels_of
from triton_runner._kernel.dumps import dumping

FILE = pathlib.Path(__file__).resolve().parent.parent / "doc" / "levels.svg"
FRONT = "Python"  # what stands above the first level: triton.jit, Gluon, TLX
TITLES = {"ttir": "TTIR", "ttgir": "TTGIR", "llir": "LLIR", "ptx": "PTX", "amdgcn": "AMDGCN"}
LABELS, COLUMN, ROW, TOP, EDGE = 240, 92, 40, 78, 16
ENGINES = {"tile": ("tile engine", "#3b6fd4"), "simt": ("SIMT engine", "#7a4bc0")}
YES, UNTRIED = "#2d8a5f", "#8b8e99"


def levels() -> list[Level]:
    """All of them; what AMD alone has stands after the others."""
    return sorted(LEVELS.values(), key=lambda level: "cuda" not in level.backends)


def mapped() -> set[str]:
    """The levels whose lines the source map reads; SASS is a cubin's."""
    try:
        _core.report.Map().add("", "")
    except DiagnosticError as error:
        said = error.notes[0].removeprefix("levels: ").split(", ")
    return {"cubin" if name == "sass" else name for name in said}


def rows() -> list[tuple[str, list]]:
    """(what is done, [None, or (text, colour) of each column])."""
    dumped = {*dumping.LEVELS}

    def row(label, wanted, cell):
        made = [cell(level) if wanted(level) else None for level in levels()]
        return label, [made[0], *made]  # Python goes the way of TTIR

    done, untried = ("", YES), ("not tried", UNTRIED)
    return [
        row("a launch may begin there", lambda level: True, lambda level: done),
        row("executed on the CPU", lambda level: level.engine, lambda level: ENGINES[level.engine]),
        row("launched on an NVIDIA GPU", lambda level: "cuda" in level.backends, lambda level: done),
        row("launched on an AMD GPU", lambda level: "hip" in level.backends, lambda level: untried),
        row("values dumped on the CPU", lambda level: level.engine and level.name in dumped,
            lambda level: ENGINES[level.engine]),
        row("values dumped on an NVIDIA GPU", lambda level: level.name in dumped, lambda level: done),
        row("lines mapped to all others", lambda level: level.name in mapped(), lambda level: done),
    ]  # fmt: skip


def text(x, y, words, size=13, colour="#22262e", anchor="middle", weight="normal") -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(words)}</text>'
    )


def head(columns: list[str]) -> list[str]:
    """The levels, and which is made of which."""
    out = []
    middle = {name: LABELS + COLUMN * i + COLUMN / 2 for i, name in enumerate(columns)}
    for name, x in middle.items():
        title = TITLES.get(name, name)
        out.append(
            f'<rect x="{x - 40}" y="30" width="80" height="30" rx="6" fill="#eef2fb" stroke="#9fb2dc"/>'
        )
        out.append(text(x, 50, title, weight="bold"))
    for backend in ("cuda", "hip"):
        chain = [FRONT, *levels_of(backend)]
        for a, b in itertools.pairwise(chain):
            if columns.index(b) == columns.index(a) + 1:
                path = f"M{middle[a] + 40} 45 H{middle[b] - 44}"
            else:  # around what stands between
                path = f"M{middle[a]} 30 V17 H{middle[b]} V26"
            out.append(
                f'<path d="{path}" fill="none" stroke="#6b7488" stroke-width="1.5" marker-end="url(#to)"/>'
            )
    return [*dict.fromkeys(out)]


def drawn() -> str:
    columns = [FRONT, *(level.name for level in levels())]
    table = rows()
    width, height = LABELS + COLUMN * len(columns) + EDGE, TOP + ROW * len(table) + EDGE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        'font-family="system-ui, sans-serif" role="img">',
        "<title>What can be done at each level of a kernel's compilation</title>",
        '<defs><marker id="to" markerWidth="7" markerHeight="7" refX="4" refY="3" orient="auto">'
        '<path d="M0 0 L6 3 L0 6 z" fill="#6b7488"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="10" fill="#ffffff"/>',
        *head(columns),
    ]
    for number, (label, cells) in enumerate(table):
        y = TOP + ROW * number
        if number % 2 == 0:
            out.append(f'<rect x="6" y="{y}" width="{width - 12}" height="{ROW}" rx="6" fill="#f6f7fa"/>')
        out.append(text(EDGE, y + 25, label, anchor="start"))
        column = 0
        while column < len(cells):
            if cells[column] is None:
                column += 1
                continue
            last = column
            while last + 1 < len(cells) and cells[last + 1] == cells[column]:
                last += 1
            words, colour = cells[column]
            x, wide = LABELS + COLUMN * column + 6, COLUMN * (last - column + 1) - 12
            out.append(f'<rect x="{x}" y="{y + 9}" width="{wide}" height="22" rx="11" fill="{colour}"/>')
            out.append(text(x + wide / 2, y + 24, words or "✓", 12, "#ffffff"))
            column = last + 1
    return "\n".join([*out, "</svg>"]) + "\n"


def main() -> int:
    made = drawn()
    if "--check" in sys.argv[1:]:
        is_fresh = FILE.exists() and FILE.read_text() == made
        print(f"{FILE.name}: " + ("fresh" if is_fresh else "old: run tools/levels_diagram.py"))
        return 0 if is_fresh else 1
    FILE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
