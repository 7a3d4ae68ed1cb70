"""Checks that matplotlib, an optional package, can draw a picture before the work that the picture shows is
done."""

from __future__ import annotations

import os

from triton_runner._base.errors import fail


def kind_of(path) -> str:
    """The kind of picture that a file's name says: "svg"."""
    return os.path.splitext(os.fspath(path))[1][1:].lower()


def check_picture(path) -> None:
    """Refuses a picture that cannot be drawn: no matplotlib, or a name that says no kind of picture."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise fail(
            f"{path} is drawn by matplotlib, which is not installed", "pip install matplotlib"
        ) from None
    if kind_of(path) not in FigureCanvasBase.get_supported_filetypes():
        raise fail(f"the name {path} says no kind of picture", "give it the ending .png, .svg or .pdf")
