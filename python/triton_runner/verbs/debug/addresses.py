"""Addresses names the element of an argument at an address: "x_ptr[1, 4]", "x_ptr + 6 bytes", "x_ptr + 320
bytes, past its end"; "" where no argument begins at or before it."""

from __future__ import annotations


class Addresses:
    """The memory of a launch's arguments (an Arguments)."""

    def __init__(self, arguments):
        self._rows = sorted(
            (arguments.address(view.block) + view.offset, name, view)
            for name, view in arguments.views.items()
        )

    def view(self, name: str):
        """(address, View) of an argument, or None."""
        return next(((address, view) for address, own, view in self._rows if own == name), None)

    def place_of(self, address: int) -> str:
        before = [row for row in self._rows if row[0] <= address]
        inside = [row for row in before if address < row[0] + _extent(row[2])]
        if not before:
            return ""
        start, name, view = (inside or before)[-1]
        distance, size = address - start, view.type.itemsize
        index = None if distance % size or not inside else _index(distance // size, view)
        if index is not None:
            return f"{name}[{', '.join(map(str, index))}]"
        return f"{name} + {distance} bytes" + ("" if inside else ", past its end")


def _extent(view) -> int:
    """Bytes from the first to the last element."""
    last = sum((n - 1) * max(step, 0) for n, step in zip(view.shape, view.strides, strict=True))
    return (last + 1) * view.type.itemsize if all(view.shape) else 0


def _index(element: int, view) -> list[int] | None:
    """Returns the index of an element by its distance from the first one; None: it is between the view's
    elements."""
    axes = sorted(range(len(view.shape)), key=lambda axis: -view.strides[axis])
    index = [0] * len(axes)
    for axis in axes:
        if view.strides[axis] > 0 and view.shape[axis] > 1:
            index[axis] = min(element // view.strides[axis], view.shape[axis] - 1)
            element -= index[axis] * view.strides[axis]
    return index if element == 0 else None
