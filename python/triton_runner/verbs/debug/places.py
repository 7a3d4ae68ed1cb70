"""Finds the places of a launch that a person names: lines of Python, ops, instructions, lines of the text."""

from __future__ import annotations

import ast
import collections
import functools
import os
import re

from triton_runner._base import tools
from triton_runner._base.errors import fail, is_of_language
from triton_runner._base.levels import MLIR
from triton_runner._base.markers import BREAKPOINT
from triton_runner._code import sources
from triton_runner._core import ir, probe
from triton_runner.verbs.debug.results import Frame

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@functools.lru_cache(maxsize=64)
def _blocks(file: str, kinds: tuple) -> tuple:
    """(first line, last line, name) of the statements of some kinds in a source, inner ones last."""
    those = sources.nodes(file, *kinds)
    return tuple(sorted((n.lineno, n.end_lineno or n.lineno, getattr(n, "name", "")) for n in those))


def function_at(file: str, line: int) -> str:
    """The name of the function around a line; "" where there is none."""
    return next((name for a, b, name in reversed(_blocks(file, _FUNCTIONS)) if a <= line <= b), "")


def is_in_loop(file: str, line: int, frames: list[Frame]) -> bool:
    """Returns whether some frames are inside of the loop that begins on a line."""
    end = next((last for first, last, _ in _blocks(file, (ast.For, ast.While)) if first == line), line - 1)
    return any(frame.file == file and line <= frame.line <= end for frame in frames)


def loops_around(file: str, line: int) -> list[int]:
    """The lines of the loops whose bodies a line is in, outermost first."""
    return [first for first, last, _ in _blocks(file, (ast.For, ast.While)) if first < line <= last]


@functools.lru_cache(maxsize=64)
def loop_lines(file: str) -> frozenset | None:
    """The lines on which loops of a source begin; None: it cannot be read."""
    if not os.path.isfile(file):
        return None
    return frozenset(first for first, _, _ in _blocks(file, (ast.For, ast.While)))


@functools.lru_cache(maxsize=64)
def loop_variables(file: str) -> dict[int, str]:
    """The names that loops of a source count by, by their lines."""
    loops = sources.nodes(file, ast.For)
    return {node.lineno: node.target.id for node in loops if isinstance(node.target, ast.Name)}


class Places:
    """All places of a launch, in the order of its text."""

    def __init__(self, places: list, level: str, texts=None):
        self.all, self.level, self.texts = places, level, texts or {}
        self.frames = [self._frames(place) for place in places]
        self._numbers: dict = {}
        # For each place the numbers of its lines, callers first: the core compares these.
        self.lines = [[self.number(frame) for frame in reversed(frames)] for frames in self.frames]

    def _frames(self, place) -> list[Frame]:
        lines = [line for line in place.lines if not is_of_language(line[0])] or place.lines
        return [Frame(function_at(f, n) or place.function, f, n, c) for f, n, c in lines]

    def number(self, frame: Frame) -> int:
        """The number of a line."""
        return self._numbers.setdefault((frame.file, frame.line), len(self._numbers))

    def text(self, place: int) -> str:
        """The op or instruction, without its location."""
        return re.sub(r"\s+loc\(.*\)$", "", self.all[place].text.strip())

    @functools.cached_property
    def main_file(self) -> str:
        """The file of the kernel."""
        return next((frames[-1].file for frames in self.frames if frames), "")

    def named(self, where: str) -> list[int]:
        """The places that a breakpoint's text means: "42", "kernel.py:42", "tt.dot", "%12", "@57" (a line of
        the text at the level), "" or the function's name (its first place). None of them: an empty list."""
        if where == "entry":
            return [0] if self.all else []
        if re.fullmatch(r"@\d+", where):
            return [i for i, place in enumerate(self.all) if place.at == int(where[1:])]
        if where.startswith("%"):
            return [
                i for i, place in enumerate(self.all) if re.match(rf"{re.escape(where)}\b.*=", place.text)
            ]
        if line := line_of(where):
            return self.of_line(*line)
        named = [i for i, p in enumerate(self.all) if _is_named(p, where)]
        if named or not where.isidentifier():
            return named
        inside = [i for i, frames in enumerate(self.frames) if frames and frames[0].function == where]
        return self._first(inside)[:1]

    def of_line(self, file: str, line: int) -> list[int]:
        """Returns where a line begins: once in each block of the IR, and for each way of calls to it."""
        on_line = [(i, self.depth_of(i, file, line)) for i in range(len(self.all))]
        return self._first([i for i, depth in on_line if depth], [depth for _, depth in on_line if depth])

    def depth_of(self, place: int, file: str, line: int) -> int:
        """How deep in calls a line is that a place stands on, 1 for the kernel's own; 0: it is not on it."""
        frames, file = self.frames[place], file or self.main_file
        on_it = [i for i, frame in enumerate(frames) if frame.line == line and _is_file(frame.file, file)]
        return len(frames) - on_it[-1] if on_it else 0

    def nearest_line(self, where: str) -> str:
        """ "42" where a line has no code: the next one of its function that has, as a place; or ""."""
        found = line_of(where)
        if not found:
            return ""
        name, line = found
        file = name or self.main_file
        every = [frame for frames in self.frames for frame in frames if _is_file(frame.file, file)]
        inside = function_at(every[0].file, line) if every else ""
        lines = {at.line for at in every if at.line > line and function_at(at.file, at.line) == inside}
        return f"{name + ':' if name else ''}{min(lines)}" if lines else ""

    def statements(self) -> list[tuple[int, str]]:
        """(place, the name of its condition) of each dl.breakpoint."""
        marks = [re.match(rf'tt.print "{BREAKPOINT}".*? : (%[\w.$#]+) :', p.text.strip()) for p in self.all]
        return [(i, match[1]) for i, match in enumerate(marks) if match]

    @functools.cached_property
    def counted(self) -> list[tuple]:
        """(file, line, name) of loops, whose variable may have no name in the text: what a pipelined one
        counts by. None where loops were fused: they count by something else."""
        if self.level != "ttgir" or not self.texts.get("ttir"):
            return []
        own, above = (_loops(self.texts[level]) for level in ("ttgir", "ttir"))
        if any(own[at] < count for at, count in above.items()):
            return []
        return [(f, n, loop_variables(f)[n]) for f, n in own if n in loop_variables(f)]

    def loops(self) -> list[tuple[int, list[int], list[int]]]:
        """Returns for PTX and machine code the loops whose iterations are those of a loop of Python: (head,
        body, places before it), the outermost first. Left out are loops in which code waits, and those of a
        loop of Python that became several, or that ptxas unrolled: their rounds are other ones."""
        if self.level == "amdgcn":
            return []  # they are not counted there
        text, kernel = self.texts[self.level], self.all[0].function if self.all else ""
        text = tools.listing(text) if self.level == "cubin" else text
        by_line: dict[int, list[int]] = {}
        for number, place in enumerate(self.all):
            if place.function == kernel:
                by_line.setdefault(place.at, []).append(number)

        def of(lines: list[int]) -> list[int]:
            return [number for line in dict.fromkeys(lines) for number in by_line.get(line, ())]

        rows = probe.loops_of_code(text, kernel, self.level)
        loops = [
            (of([head]), of(body), of(before), unrolled)
            for head, body, before, unrolled in rows
            if of([head])
        ]
        own = [self._own_loops(body, [other for _, other, *_ in loops]) for _, body, *_ in loops]
        count = collections.Counter(at for lines in own for at in lines)
        wrong = {at for at, n in count.items() if n > 1}
        wrong |= {at for lines, (*_, unrolled) in zip(own, loops, strict=True) if unrolled for at in lines}
        return [
            (head[0], body, before)
            for lines, (head, body, before, _) in zip(own, loops, strict=True)
            if lines and not lines & wrong
        ]

    def _own_loops(self, body: list[int], others: list[list[int]]) -> set[tuple[str, int]]:
        """(file, line) of the loops of the source that a loop of code is, without those of loops inside of
        it. Where nobody knows the source, its first place."""

        def lines_of(places) -> set[tuple[str, int]]:
            frames = {(f.file, f.line) for place in places for f in self.frames[place]}
            return {(file, line) for file, line in frames if line in (loop_lines(file) or ())}

        if all(loop_lines(frame.file) is None for place in body for frame in self.frames[place]):
            return {("", min(body))}
        inner = [other for other in others if set(other) < set(body)]
        return lines_of(body) - lines_of(place for other in inner for place in other)

    def pipelined(self, place: int, iterations: list[int]) -> str:
        """Says what a stop outside of a loop does, whose line is inside of it: "" where that is not so."""
        frame = self.frames[place][0] if self.level == "ttgir" and self.frames[place] else None
        around = loops_around(frame.file, frame.line) if frame else []
        if len(around) <= len(iterations):
            return ""
        line = around[len(iterations)]
        loop = next(
            (
                p
                for p in self.all
                if p.name == "scf.for" and any(at[:2] == (frame.file, line) for at in p.lines)
            ),
            None,
        )
        if loop is None:  # it was unrolled
            return ""
        here = self.all[place]
        if here.at > loop.at:
            return f"in the epilogue of the pipeline of line {line}: its last iterations end here"
        alike = [i for i in range(place) if self.all[i].block == here.block and self.all[i].name == here.name]
        nth = sum(self.all[i].lines == here.lines for i in alike)
        return f"in the prologue of the pipeline of line {line}: of iteration {nth}, before the loop begins"

    def _first(self, places: list[int], depths=None) -> list[int]:
        """The first of those of a block of the IR, and of each way of calls to them."""
        seen, first = set(), []
        for n, i in enumerate(places):
            depth = depths[n] if depths else len(self.frames[i])
            outside = tuple(self.frames[i][len(self.frames[i]) - depth + 1 :])
            key = (self.all[i].block, self.all[i].function, outside)
            if self.level not in MLIR:  # no blocks there: where the run of a line begins
                begins = n == 0 or places[n - 1] != i - 1
                first += [i] if begins else []
            elif key not in seen:
                seen.add(key)
                first.append(i)
        return first


def _loops(text: str) -> collections.Counter:
    """Returns how many loops of a module have each (file, line)."""
    ops = [op for op in ir.parse(text).walk() if op.name == "scf.for" and op.location is not None]
    return collections.Counter((op.location.file, op.location.line) for op in ops)


def _is_file(path: str, file: str) -> bool:
    return path == file or path.endswith(f"/{file}") or file.endswith(f"/{path}")


def line_of(where: str) -> tuple[str, int] | None:
    """("kernel.py", 42) of "kernel.py:42", ("", 42) of "42"; None: it is no line."""
    match = re.fullmatch(r"(?:(.+):)?(\d+)", where)
    return (match[1] or "", int(match[2])) if match else None


def check_where(where: str) -> str:
    """The text of a breakpoint's place. Raises DiagnosticError for what can name none."""
    where = where.strip()
    if not where or (re.search(r"\s", where) and not re.fullmatch(r".+:\d+", where)):
        raise fail(
            f"{where!r} names no place", 'as in "42", "kernel.py:42", "tt.dot", "%12", "@57", "my_kernel"'
        )
    return where


def _is_named(place, name: str) -> bool:
    """Returns whether its op has the name, or its instruction an opcode that begins so: "bar", "BAR.SYNC"."""
    spellings = [place.name, *place.text.split()[:2]]
    return any(word == name or word.startswith(f"{name}.") for word in spellings)
