"""Records a session as an animated SVG: a screen on which each command appears, then its answer, as in a
terminal. All lines stand below each other once; what moves is the column of them, in steps, behind a
window."""

from __future__ import annotations

import contextlib
import dataclasses
import html

from triton_runner._base.paths import write_file
from triton_runner.verbs.debug.heat import UPPER

_COLUMNS, _ROWS = 100, 24  # of the screen
_WIDTH, _HEIGHT, _EDGE = 8.4, 18, 12  # of a character, of a line, around the screen
_FURTHER = "    "  # before what is left of a line that is too long
_TYPED, _READ, _LINE, _LAST = 0.9, 1.3, 0.22, 4.0  # seconds: a command, its answer, a line of it, the end
_STYLE = "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d4d4d4;white-space:pre}.p{fill:#7ec8ff}"


@dataclasses.dataclass
class Recording:
    """The lines of a session, and after how many of them the screen stands, for how many seconds."""

    path: str
    lines: list[str] = dataclasses.field(default_factory=list)
    stops: list[tuple[int, float]] = dataclasses.field(default_factory=list)

    def command(self, line: str) -> None:
        """A command at its prompt."""
        self._add([line], _TYPED)

    def answer(self, lines: list[str]) -> None:
        """Adds what a command answers, where heat maps have colours (ANSI)."""
        if lines:
            self._add(lines, _READ + _LINE * min(len(lines), _ROWS))

    def _add(self, lines: list[str], seconds: float) -> None:
        self.lines += [part for line in lines for part in _broken(line)]
        self.stops.append((len(self.lines), seconds))

    @contextlib.contextmanager
    def written(self):
        """The file is written at the end of the block."""
        try:
            yield
        finally:
            write_file(self.path, self.svg())

    def svg(self) -> str:
        from rich.text import Text  # few sessions are recorded

        rows = [_row(Text.from_ansi(line), number) for number, line in enumerate(self.lines)]
        width, height = _COLUMNS * _WIDTH + 2 * _EDGE, _ROWS * _HEIGHT + 2 * _EDGE
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            'xml:space="preserve">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="6" fill="#1e1e1e"/>',
            f'<svg x="{_EDGE}" y="{_EDGE}" width="{width - 2 * _EDGE:g}" height="{_ROWS * _HEIGHT}">',
            f'<g transform="translate(0 {_above(len(self.lines))})">{self._steps()}',
            *rows, "</g></svg></svg>", "",
        ])  # fmt: skip

    def _steps(self) -> str:
        """The element that moves the lines."""
        stops = [*self.stops[:-1], (len(self.lines), _LAST)]
        total, at, times, places = sum(seconds for _, seconds in stops), 0.0, [], []
        for count, seconds in stops:
            times.append(f"{at / total:.4f}".rstrip("0").rstrip("."))
            places.append(f"0 {_above(count)}")
            at += seconds
        return (
            f'<animateTransform attributeName="transform" type="translate" calcMode="discrete" '
            f'dur="{total:.1f}s" repeatCount="indefinite" keyTimes="{";".join(times)}" '
            f'values="{";".join(places)}"/>'
        )


def _broken(line: str) -> list[str]:
    """A line in pieces that fit on the screen."""
    if UPPER in line or len(line) <= _COLUMNS:
        return [line]
    room = _COLUMNS - len(_FURTHER)
    rest = line[_COLUMNS:]
    return [line[:_COLUMNS], *(_FURTHER + rest[at : at + room] for at in range(0, len(rest), room))]


def _above(count: int) -> int:
    """Returns how far the lines are moved where `count` of them are to be seen."""
    return (_ROWS - count) * _HEIGHT


def _row(text, number: int) -> str:
    """A line: blocks of colours, and runs of text."""
    top = number * _HEIGHT
    if UPPER in text.plain:
        return "".join(_cells(text, top))
    if not text.plain.strip():
        return ""
    name = ' class="p"' if text.plain.startswith("(tri) ") else ""
    return f'<text{name} y="{top + 13}">{html.escape(text.plain)}</text>'


def _cells(text, top: int):
    """The two halves of each character as rectangles; neighbours of one colour are one."""
    for half in range(2):
        run: list = []  # [colour, first column, columns]
        for column, colour in enumerate([*_colours(text, half), None]):
            if run and colour == run[0]:
                run[2] += 1
                continue
            if run and run[0]:
                y = top + half * _HEIGHT // 2
                x, width = run[1] * _WIDTH, run[2] * _WIDTH
                yield f'<path fill="{run[0]}" d="M{x:.1f} {y}h{width:.1f}v{_HEIGHT // 2}h-{width:.1f}z"/>'
            run = [colour, column, 1]


def _colours(text, half: int) -> list:
    """The colour of a half of each character; None where it has none."""
    colours: list = [None] * len(text.plain)
    for span in text.spans:
        colour = (span.style.color, span.style.bgcolor)[half]
        if colour is not None and colour.triplet is not None:
            colours[span.start : span.end] = [colour.triplet.hex] * (span.end - span.start)
    return colours
