"""Writes a layout as text: what each input does, then a grid of cells. Elements that stand together in the
memory of one thread, or of a buffer, share a cell."""

from __future__ import annotations

import itertools

import numpy

MOST_CELLS = 16  # across; the rest of a row is left out
MOST_ROWS = 64


def lines(layout, rows: int = MOST_ROWS, cells: int = MOST_CELLS) -> list[str]:
    """The drawing, a line each; `rows` and `cells` limit what is drawn of each matrix."""
    shape = "x".join(map(str, layout.shape))
    found = [f"{layout.kind} on {shape} of {layout.element}, {_counts(layout)}"]
    for name, bases in layout.bases.items():
        if bases:
            images = ", ".join(f"{1 << bit} -> {basis}" for bit, basis in enumerate(bases))
            found.append(f"  {name:<8} {images}")
    found.append(f"  {_LEGEND[layout.memory]}")
    labels, wide = _cells(layout)
    matrices = labels.reshape(-1, *labels.shape[-2:]) if labels.ndim > 1 else labels[None, None]
    outer = itertools.product(*(range(size) for size in labels.shape[:-2]))
    for index, matrix in zip(outer, matrices, strict=True):
        if index:
            found.append(f"[{', '.join(map(str, index))}, :, :]")
        found += _matrix(matrix, wide, rows, cells)
    return found


def bank_lines(banks) -> list[str]:
    """A table of a warp's accesses: what each moves, its turns and its conflicts."""
    least = sum(access.fewest for access in banks.accesses)
    return [
        f"{len(banks.accesses)} accesses of {banks.vector_bytes} bytes a lane: {banks.turns} turns, "
        f"{least} without conflicts",
        *(
            f"  {_several('register', access.registers)}: lane 0 at byte {access.bytes[0]}, "
            f"turns {access.turns}, conflicts {access.conflicts}"
            for access in banks.accesses[:4]
        ),
        *([f"  ... {len(banks.accesses) - 4} more"] if len(banks.accesses) > 4 else []),
    ]


_LEGEND = {
    "registers": "a cell: thread:registers",
    "shared": "a cell: byte b(bank)",
    "tensor": "a cell: lane,columns",
}


def _counts(layout) -> str:
    if layout.memory == "shared":
        return f"{layout.shared_bytes} bytes of shared memory"
    names = ("register", "lane", "warp", "block") if layout.memory == "registers" else ("row", "col", "block")
    parts = ", ".join(f"{layout.size(name)} {name}s" for name in names if layout.size(name) > 1)
    copies = int(layout.copies.max())
    return f"{parts or 'one thread'}; each element is held {'once' if copies == 1 else f'{copies} times'}"


def _cells(layout):
    """(a label for each cell, how many elements it has along the last dimension)."""
    if layout.memory == "registers":
        owner, place, step = layout.thread, layout.places["register"], 1
    elif layout.memory == "shared":
        place, step = layout.places["byte"], max(1, layout.element_bits // 8)
        owner = numpy.zeros_like(place)
    else:
        owner, place, step = layout.places["row"], layout.places["col"], 1
    wide = 1
    while wide < layout.shape[-1]:
        grouped = (*layout.shape[:-1], layout.shape[-1] // (wide * 2), wide * 2)
        owners, places = owner.reshape(grouped), place.reshape(grouped)
        if (owners != owners[..., :1]).any() or (
            places - places[..., :1] != numpy.arange(wide * 2) * step
        ).any():
            break
        wide *= 2
    owner, place = owner[..., ::wide], place[..., ::wide]
    labels = numpy.empty(owner.shape, object)
    for at in numpy.ndindex(owner.shape):
        labels[at] = _label(layout, owner[at], place[at], wide)
    return labels, wide


def _label(layout, owner, place, wide: int) -> str:
    if place < 0:
        return "-"
    if layout.memory == "shared":
        return f"{place} b{place // 4 % 32}"
    places = f"{place}-{place + wide - 1}" if wide > 1 else f"{place}"
    return f"T{owner}:{places}" if layout.memory == "registers" else f"{owner},{places}"


def _matrix(matrix, wide: int, rows: int, cells: int) -> list[str]:
    shown = matrix[:rows, :cells]
    size = max(6, *(len(label) for label in shown.flat))
    cut = "  ..." if matrix.shape[1] > cells else ""
    head = "".join(f" {column * wide:>{size}}" for column in range(shown.shape[1]))
    found = [f"{'':>5}{head}{cut}"]
    for number, row in enumerate(shown):
        found.append(f"{number:>5}" + "".join(f" {label:>{size}}" for label in row) + cut)
    if matrix.shape[0] > rows:
        found.append(f"  ... {matrix.shape[0] - rows} more rows")
    return found


def _several(name: str, numbers) -> str:
    return f"{name} {numbers[0]}" if len(numbers) == 1 else f"{name}s {', '.join(map(str, numbers))}"
