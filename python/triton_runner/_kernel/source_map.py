"""Implements triton_runner.source_map(): which lines of each level belong to which lines of the others.

The core reads every level's debug information into rows (lines that do something) and places (a line and
column of the source, with the call sites around it). Rows of one place are counterparts. Where a level kept
less than the other (SASS has no columns, the PTX of old releases no call sites), the nearest place that both
have counts."""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
from typing import NamedTuple

from triton_runner import _core
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._kernel.material import Material, gather


class SourcePlace(NamedTuple):
    """A place of the source. caller: the number of the place that it was inlined into, or -1."""

    file: int
    line: int
    column: int
    caller: int


class MappedLine(NamedTuple):
    """A line of a level that does something. places: numbers, several where ops were merged; ptx_line: of
    SASS, the line of the PTX that it was made from (0: not said)."""

    line: int
    op: str
    places: tuple
    ptx_line: int = 0


class Level:
    """A level's text, as its rows count lines, and its rows by line."""

    def __init__(self, name: str, text: str, core):
        self.name, self.text, self._core = name, text, core

    @functools.cached_property
    def rows(self) -> dict[int, MappedLine]:
        return {row[0]: MappedLine(*row) for row in self._core.rows(self.name)}

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")


class SourceMap:
    """The source map of a kernel.

    - `levels`: the mapped levels by name: ttir, ttgir, llir, ptx, sass (of a cubin), amdgcn.
    - `files`, `places`: the source files, and the places in them.
    """

    def __init__(self, material: Material):
        self.name, self.target, self.release = material.name, material.target, material.release
        self.notes = list(material.notes)
        self._core = _core.report.Map()
        self._places: list[SourcePlace] = []
        self._known_keys: dict[int, tuple] = {}
        self.levels: dict[str, Level] = {}
        for name in _read_all(material, self._core, self.notes):
            self.levels[name] = Level(name, self._core.text(name) or material.asm.get(name, ""), self._core)
        self.files: list[str] = self._core.files()

    @property
    def places(self) -> list[SourcePlace]:
        self._places += [SourcePlace(*place) for place in self._core.places(len(self._places))]
        return self._places

    def places_of_lines(self, ir: str) -> list[int]:
        """Returns for each line of an IR (the IR after a pass) the number of its first place, or -1. Places
        that no level has yet are added. Raises DiagnosticError where the IR cannot be parsed."""
        lines = self._core.places_of_lines(ir)
        self.files = self._core.files()
        return lines

    def stack(self, place: int) -> list[tuple[str, int, int]]:
        """Returns the frames of a place as [(file, line, column)], innermost first."""
        out, places = [], self.places
        while place >= 0:
            at = places[place]
            out.append((self.files[at.file], at.line, at.column))
            place = at.caller
        return out

    def counterparts(self, level: str, line: int) -> dict[str, list[int]]:
        """Returns {level: lines}, the lines of each level that correspond to a line of one level, without
        that line itself.

        Raises DiagnosticError where there is no such level, or where the line holds no instruction.
        """
        row = self.row(level, line)
        matching = {name: self._matching(name, level, row) for name in self.levels}
        return {
            name: sorted(lines - ({line} if name == level else set())) for name, lines in matching.items()
        }

    def row(self, level: str, line: int) -> MappedLine:
        """Returns the row of a line. Raises DiagnosticError where there is none."""
        if level not in self.levels:
            raise fail(f"there is no {level} of '{self.name}'", f"levels: {', '.join(self.levels)}")
        rows = self.levels[level].rows
        if line not in rows:
            near = min(rows, key=lambda n: abs(n - line), default=None)
            raise fail(
                f"line {line} of the {level} of '{self.name}' holds no instruction",
                *([f"the nearest that does is {near}"] if near else []),
            )
        return rows[line]

    def of_source(self, line: int, file: str = "") -> dict[str, list[int]]:
        """Returns {level: lines}, the lines of each level that come from a line of the source. `file` is a
        path or its last part; by default it is the kernel's own file. If the line calls a function,
        everything that was inlined there counts."""
        named = self.files_named(file)
        if not named:
            raise fail(f"no level names a file {file!r}", f"files: {', '.join(self.files)}")
        indices = {self.files.index(path) for path in named}
        hit, places = set(), self.places
        for number, place in enumerate(places):
            at = place
            while not (at.file in indices and at.line == line) and at.caller >= 0:
                at = places[at.caller]
            if at.file in indices and at.line == line:
                hit.add(number)
        return {
            name: [row.line for row in level.rows.values() if hit.intersection(row.places)]
            for name, level in self.levels.items()
        }

    def files_named(self, file: str = "") -> list[str]:
        """Returns the files of the map that match a path or its last part; by default the kernel's own
        file."""
        return [path for path in self.files if _is_file(path, file or self.main_file)]

    @functools.cached_property
    def main_file(self) -> str:
        """The kernel's own file: the one that the outermost places name most often."""
        counts, places = [0] * len(self.files), self.places
        for level in self.levels.values():
            for row in level.rows.values():
                for place in row.places:
                    while places[place].caller >= 0:
                        place = places[place].caller
                    counts[places[place].file] += 1
        return self.files[max(range(len(counts)), key=counts.__getitem__)] if counts else ""

    def as_dict(self) -> dict:
        """Returns the map in the form of its JSON; a row is [line, op, places, line of the PTX]."""
        return json.loads(self.to_json())

    def to_json(self) -> str:
        head = {
            "version": 1, "kernel": self.name, "target": self.target, "release": self.release,
            "notes": self.notes,
        }  # fmt: skip
        return json.dumps(head)[:-1] + "," + self._core.json()[1:]

    def __repr__(self):
        levels = ", ".join(f"{name} {len(level.rows)}" for name, level in self.levels.items())
        return f"<map of {self.name} for {self.target}: {levels} rows, {len(self.places)} places>"

    # --- how places of two levels meet ------------------------------------------------------------------

    def keys(self, place: int) -> tuple:
        """The keys by which a place is matched with places of other levels, the closest match first: the
        place itself, the lines of its frames, its innermost line and column, its innermost line."""
        if place not in self._known_keys:
            at = self.places[place]
            lines = tuple((file, line) for file, line, _ in self.stack(place))
            self._known_keys[place] = place, lines, (at.file, at.line, at.column), (at.file, at.line)
        return self._known_keys[place]

    def _index(self, level: str) -> list[dict]:
        """Returns for each kind of key: the lines of a level by it."""
        cache = self.__dict__.setdefault("_indexes", {})
        if level not in cache:
            index: list[dict] = [{}, {}, {}, {}]
            for row in self.levels[level].rows.values():
                for place in row.places:
                    for of_kind, key in zip(index, self.keys(place), strict=True):
                        of_kind.setdefault(key, []).append(row.line)
            cache[level] = index
        return cache[level]

    def _matching(self, level: str, own: str, row: MappedLine) -> set[int]:
        if own == "sass" and level == "ptx" and row.ptx_line:
            return {row.ptx_line} & self.levels["ptx"].rows.keys()
        if own == "ptx" and level == "sass":
            made = {r.line for r in self.levels["sass"].rows.values() if r.ptx_line == row.line}
            if made:
                return made
        found: set[int] = set()
        for place in row.places:
            for of_kind, key in zip(self._index(level), self.keys(place), strict=True):
                if key in of_kind:
                    found.update(of_kind[key])
                    break
        return found


def _is_file(path: str, asked: str) -> bool:
    return path == asked or path.endswith("/" + asked) or os.path.abspath(asked) == path


def _read_all(material: Material, core, notes: list[str]) -> list[str]:
    """Reads each level into the core's map, and returns their names. nvdisasm, the slowest of all, works
    meanwhile."""
    names = [level for level, text in material.asm.items() if isinstance(text, str)]
    read = []

    def add(level: str, text: str, problem: str) -> None:
        try:
            core.add(text, level)
            read.append(level)
        except DiagnosticError as error:
            notes.append(f"{problem}: {error.message}")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sass = None
        if "cubin" in material.asm:
            sass = pool.submit(tools.disassembly, material.asm["cubin"], "-gi", "-gp")
        for level in names:
            add(level, material.asm[level], f"{level} is not mapped")
        if sass is not None:
            try:
                add("sass", sass.result(), "no SASS")
            except DiagnosticError as error:
                notes.append(f"no SASS: {error.message}")
    if "hsaco" in material.asm and "amdgcn" not in material.asm:
        try:
            add("amdgcn", _core.amdgcn_of_hsaco(material.asm["hsaco"]), "no AMDGCN")
        except DiagnosticError as error:
            notes.append(f"no AMDGCN: {error.message}")
    return read


def source_map(kernel, *, name: str = "") -> SourceMap:
    """Maps a kernel between its source, TTIR, TTGIR, LLIR, PTX and SASS (or AMDGCN), using the debug
    information in its artifacts.

    - `kernel`: a folder of artifacts (`name` selects the kernel), one artifact file (files of the same name
      beside it are read too), or the result of compile(), passes(), load() or a launch.

    Raises DiagnosticError.
    """
    map_ = SourceMap(gather(kernel, name))
    if not map_.levels:
        raise fail(f"'{map_.name}' has no level that could be mapped", *map_.notes)
    return map_
