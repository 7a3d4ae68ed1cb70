"""triton_runner.source_map: which lines of each level belong to which lines of the others.

The core reads every level's debug information into rows (lines that do something) and places (a line and
column of the source, with the call sites around it). Rows of one place are counterparts. Where a level kept
less than the other (SASS has no columns, the PTX of old releases no call sites), the nearest place that both
have counts.
"""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
from typing import NamedTuple

from triton_runner import _core, _tools
from triton_runner._errors import DiagnosticError, fail
from triton_runner._see.material import Material, gather


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

    def __init__(self, name: str, text: str, rows: list[MappedLine]):
        self.name, self.text = name, text
        self.rows = {row.line: row for row in rows}

    @functools.cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")


class SourceMap:
    """The map of a kernel.

    - `levels`: by name: ttir, ttgir, llir, ptx, sass (of a cubin), amdgcn. `files`, `places`: of the source.
    - `counterparts(level, line)`: {level: lines} that belong to a line of a level; its own level too.
    - `of_source(line, file)`: {level: lines} that a line of the source became, through calls as well.
    - `stack(place)`: [(file, line, column)], innermost first. `as_dict()`: all of it, for JSON.
    """

    def __init__(self, material: Material):
        self.name, self.target, self.release = material.name, material.target, material.release
        self.notes = list(material.notes)
        self.files: list[str] = []
        self.places: list[SourcePlace] = []
        self.levels: dict[str, Level] = {}
        self._files: dict = {}
        self._places: dict = {}
        for name, read in _read_all(material, self.notes).items():
            self.add(name, material.asm.get(name, ""), read)

    def add(self, name: str, text: str, read) -> None:
        """Adds a level as _core.report.read_lines() gives it."""
        number = self.numbers(read)
        one = [(n,) for n in number]  # most rows have one place
        rows = [
            MappedLine(line, op, one[at[0]] if len(at) == 1 else tuple([number[p] for p in at]), ptx)
            for line, op, at, ptx in read[2]
        ]
        self.levels[name] = Level(name, read[3] or text, rows)

    def numbers(self, read) -> list[int]:
        """The map's own number of each place that the core read; new ones are added."""
        files = [self._files.setdefault(f, len(self._files)) for f in read[0]]
        self.files = list(self._files)
        out: list[int] = []
        for file, line, column, caller in read[1]:  # callers stand before those whom they call
            place = SourcePlace(files[file], line, column, out[caller] if caller >= 0 else -1)
            out.append(self._places.setdefault(place, len(self._places)))
        self.places = list(self._places)
        self.__dict__.pop("_keys", None)
        return out

    def stack(self, place: int) -> list[tuple[str, int, int]]:
        """The frames of a place, innermost first."""
        out = []
        while place >= 0:
            at = self.places[place]
            out.append((self.files[at.file], at.line, at.column))
            place = at.caller
        return out

    def counterparts(self, level: str, line: int) -> dict[str, list[int]]:
        """The lines of each level that belong to a line of one, its own left out.

        Raises DiagnosticError: no such level, or a line that does nothing.
        """
        row = self.row(level, line)
        found = {name: self._matching(name, level, row) for name in self.levels}
        return {name: sorted(lines - ({line} if name == level else set())) for name, lines in found.items()}

    def row(self, level: str, line: int) -> MappedLine:
        """The row of a line. Raises DiagnosticError."""
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
        """The lines of each level that come from a line of the source: of `file` (a path or its last part),
        or of the kernel's own. Calls on that line count with all that was inlined there."""
        wanted = {n for n, path in enumerate(self.files) if _is_file(path, file or self.main_file)}
        if not wanted:
            raise fail(f"no level names a file {file!r}", f"files: {', '.join(self.files)}")
        hit = set()
        for number, place in enumerate(self.places):
            at = place
            while not (at.file in wanted and at.line == line) and at.caller >= 0:
                at = self.places[at.caller]
            if at.file in wanted and at.line == line:
                hit.add(number)
        return {
            name: [row.line for row in level.rows.values() if hit.intersection(row.places)]
            for name, level in self.levels.items()
        }

    @functools.cached_property
    def main_file(self) -> str:
        """The kernel's own file: the one that the outermost places name most often."""
        counts = [0] * len(self.files)
        for level in self.levels.values():
            for row in level.rows.values():
                for place in row.places:
                    while self.places[place].caller >= 0:
                        place = self.places[place].caller
                    counts[self.places[place].file] += 1
        return self.files[max(range(len(counts)), key=counts.__getitem__)] if counts else ""

    def as_dict(self) -> dict:
        """The map as JSON: rows are [line, op, places, line of the PTX]."""
        return {
            "version": 1, "kernel": self.name, "target": self.target, "release": self.release,
            "files": self.files, "places": [list(p) for p in self.places], "notes": self.notes,
            "levels": {
                name: [*level.rows.values()] for name, level in self.levels.items()
            },
        }  # fmt: skip

    def to_json(self) -> str:
        # Nothing in it contains itself, which is a third of what the encoder would look at.
        return json.dumps(self.as_dict(), check_circular=False, separators=(",", ":"))

    def __repr__(self):
        levels = ", ".join(f"{name} {len(level.rows)}" for name, level in self.levels.items())
        return f"<map of {self.name} for {self.target}: {levels} rows, {len(self.places)} places>"

    # --- how places of two levels meet ------------------------------------------------------------------

    def keys(self, place: int) -> tuple:
        """What a place has in common with others, the closest first: itself, the lines of its frames, its
        innermost line and column, its innermost line."""
        at = self.places[place]
        lines = tuple((file, line) for file, line, _ in self.stack(place))
        return place, lines, (at.file, at.line, at.column), (at.file, at.line)

    @functools.cached_property
    def _keys(self) -> list[tuple]:
        return [self.keys(place) for place in range(len(self.places))]

    def _index(self, level: str) -> list[dict]:
        """Of each kind of key: the lines of a level by it."""
        cache = self.__dict__.setdefault("_indexes", {})
        if level not in cache:
            index: list[dict] = [{}, {}, {}, {}]
            for row in self.levels[level].rows.values():
                for place in row.places:
                    for of_kind, key in zip(index, self._keys[place], strict=True):
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
            for of_kind, key in zip(self._index(level), self._keys[place], strict=True):
                if key in of_kind:
                    found.update(of_kind[key])
                    break
        return found


def _is_file(path: str, asked: str) -> bool:
    return path == asked or path.endswith("/" + asked) or os.path.abspath(asked) == path


def _read_all(material: Material, notes: list[str]) -> dict:
    """What the core reads of each level. nvdisasm, the slowest of all, works meanwhile."""
    texts = {level: text for level, text in material.asm.items() if isinstance(text, str)}
    out: dict = {}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sass = None
        if "cubin" in material.asm:
            sass = pool.submit(_tools.disassembly, material.asm["cubin"], "-gi", "-gp")
        for level, text in texts.items():
            try:
                out[level] = _core.report.read_lines(text, level)
            except DiagnosticError as error:
                notes.append(f"{level} is not mapped: {error.message}")
        if sass is not None:
            try:
                out["sass"] = _through_ptx(_core.report.read_lines(sass.result(), "sass"), out.get("ptx"))
            except DiagnosticError as error:
                notes.append(f"no SASS: {error.message}")
    if "hsaco" in material.asm and "amdgcn" not in material.asm:
        notes.append("an hsaco is not disassembled: its AMDGCN, as Triton keeps it, is what can be mapped")
    return out


def _through_ptx(sass, ptx):
    """SASS with the places of the PTX that it was made from, which have columns, where both say the same
    lines.

    ptxas notes no line for an HGMMA, which then seems to belong to whatever stands before it. Neither LLVM
    nor ptxas moves these past each other: where there are as many of them as of the PTX's wgmma, they are
    paired in their order."""
    if ptx is None:
        return sass
    files, places = [*ptx[0], *sass[0]], list(ptx[1])
    base, shift = len(places), len(ptx[0])
    places += [(f + shift, line, column, c + base if c >= 0 else -1) for f, line, column, c in sass[1]]
    known = {row[0]: row[2] for row in ptx[2]}
    products = [row[0] for row in ptx[2] if row[1].startswith("wgmma.mma_async")]
    own = [row[0] for row in sass[2] if row[1].startswith("HGMMA")]
    paired = dict(zip(own, products, strict=True)) if len(own) == len(products) else {}

    @functools.cache
    def frames(place: int) -> tuple:
        file, line, _, caller = places[place]
        return ((files[file], line), *(frames(caller) if caller >= 0 else ()))

    rows = []
    for line, op, at, ptx_line in sass[2]:
        said = [p + base for p in at]
        if line in paired:
            ptx_line = paired[line]
            said = known[ptx_line] or said
        elif not said:
            said = known.get(ptx_line, [])
        else:
            better = [p for p in known.get(ptx_line, ()) if _same_lines(frames(p), frames(said[0]))]
            # A PTX line of another place is that of an instruction before this one.
            ptx_line = ptx_line if better else 0
            said = better or said
        rows.append((line, op, said, ptx_line))
    return files, places, rows, sass[3]


def _same_lines(of_ptx: tuple, of_sass: tuple) -> bool:
    """Whether two stacks are of the same lines, as far as both go (old releases' PTX has no call sites)."""
    return all(a == b for a, b in zip(of_ptx, of_sass, strict=False))


def source_map(kernel, *, name: str = "") -> SourceMap:
    """The map of a kernel between its source, TTIR, TTGIR, LLIR, PTX and SASS (AMDGCN), from the debug
    information of its artifacts.

    - `kernel`: a folder of artifacts (`name`: which kernel), a file of one (its neighbours of the same name
      are read too), or what compile(), passes(), load() or a launch returns.

    Raises DiagnosticError.
    """
    made = SourceMap(gather(kernel, name))
    if not made.levels:
        raise fail(f"'{made.name}' has no level that could be mapped", *made.notes)
    return made
