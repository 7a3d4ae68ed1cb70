"""Turns counts of instructions into counts of lines: of the program, the PTX and the TTGIR.

Each instruction belongs to one line of each level, so that the lines' counts add up. In the program that is
the innermost line in the kernel's own file; of several lines of TTGIR the first."""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Iterable, Iterator

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import LEVELS, levels_of
from triton_runner._core import sass
from triton_runner._kernel.cost import bounds
from triton_runner._kernel.cost.chips import Chip
from triton_runner._kernel.cost.counters import FLOATS
from triton_runner._kernel.cost.counting import COUNTS, Counted
from triton_runner._kernel.cost.results import Collision, Instruction, Line
from triton_runner._kernel.material import Material
from triton_runner._kernel.page.kernel_data import addresses
from triton_runner._kernel.source_map import SourceMap


def map_of(launch: Relaunch, notes: list[str]) -> SourceMap | None:
    """The source map of the launch's levels, as far as they are there or compile."""
    asm = {}
    for level in levels_of(launch.target):
        try:
            asm[level] = launch.texts[level]
        except (KeyError, DiagnosticError):
            continue  # a level above its entry, or one that nobody kept
    asm = {level: asm[level] for level in LEVELS if level in asm}
    map_ = SourceMap(Material(launch.name, launch.target, "", asm, launch.metadata))
    notes += map_.notes
    return map_ if machine_level(map_) else None


def machine_level(map_: SourceMap) -> str:
    """The level of a map that is machine code: "sass", "amdgcn", or ""."""
    return next((level for level in ("sass", "amdgcn") if level in map_.levels), "")


class _Places:
    """Finds where an instruction comes from: (line of TTGIR, file, line), by its address, or by its line."""

    def __init__(self, map_: SourceMap | None, kernel: str):
        self._map, self._known = map_, {}
        self._level = machine_level(map_) if map_ else ""
        self._lines = addresses(map_.levels["sass"].text, kernel) if self._level == "sass" else {}

    def of(self, row: sass.Instruction) -> tuple[int, str, int]:
        if self._map is None:
            return 0, *_split(row.program)
        at = row.line if self._level == "amdgcn" else self._lines.get(row.address, -1)
        found = self._map.levels[self._level].rows.get(at)
        if found is None:
            return 0, *_split(row.program)
        key = found.places
        if key not in self._known:
            self._known[key] = self._look(found.line, key, row)
        return self._known[key]

    def _look(self, line: int, places: tuple, row: sass.Instruction) -> tuple[int, str, int]:
        ttgir = self._map.counterparts(self._level, line).get("ttgir") or [0]
        for file, number, _ in self._map.stack(places[0]) if places else ():
            if file == self._map.main_file:
                return ttgir[0], file, number
        return ttgir[0], *_split(row.program)


def _split(program: str) -> tuple[str, int]:
    file, _, line = program.rpartition(":")
    return (file, int(line)) if line.isdigit() else ("", 0)


def instructions(counted: Counted, map_: SourceMap | None, kernel: str) -> list[Instruction]:
    """The kernel's instructions with their counts."""
    places, out = _Places(map_, kernel), []
    total = max(1, int(counted.table[:, COUNTS.index("executed")].sum()))
    for i, row in enumerate(counted.rows):
        counts = {name: int(n) for name, n in zip(COUNTS, counted.table[i], strict=True) if n}
        ttgir, file, line = places.of(row)
        out.append(
            Instruction(
                row.address, str(row), row.spelling, row.pipe, row.space, row.access, row.ptx_line, ttgir,
                file, line, counts.get("executed", 0) / total, counts, row.flops, row.matrix_operations,
                row.matrix_type,
                _collision(counted.collisions.get(i)),
            )
        )  # fmt: skip
    return out


def _collision(found: dict | None) -> Collision | None:
    if found is None:
        return None
    return Collision(
        found["ways"], found["bank"], list(found["threads"]), list(found["offsets"]), found["program"]
    )


def flops_of(one: Instruction) -> int:
    """Floating-point operations of all its executions; those of integer matrices do not count."""
    counts = one.counts
    of_matrix = one.matrix_operations if one.matrix_type in FLOATS else 0
    return one.flops * counts.get("threads_on", 0) + of_matrix * counts.get("executed", 0)


def lines(every: list[Instruction], launch: Relaunch, chip: Chip | None, deal) -> list[Line]:
    """The lines of each level, the largest share first. deal: a bounds.Dealt, where there is a chip."""
    out = []
    for level in ("python", "ttgir", "ptx"):
        by_line: dict[tuple, list[Instruction]] = collections.defaultdict(list)
        for one in every:
            key = {"python": (one.file, one.line), "ttgir": ("", one.ttgir_line), "ptx": ("", one.ptx_line)}
            by_line[key[level]].append(one)
        texts = _Texts(level, launch)
        made = [
            _line(level, file, line, texts.of(file, line), members, chip, deal)
            for (file, line), members in by_line.items()
            if line
        ]
        out += sorted(made, key=lambda one: (-one.share, one.line))
    return out


def _line(level, file, number, text, members: list[Instruction], chip: Chip | None, deal) -> Line:
    worst = max((m.collision for m in members if m.collision), key=lambda c: c.ways, default=None)
    counts = total(members)
    line = Line(
        level, file, number, text, sum(m.share for m in members), counts, sum(map(flops_of, members)),
        collision=worst, causes=[*_causes(counts, worst)],
    )  # fmt: skip
    if chip is None:
        return line
    cycles = bounds.of_instructions(members, chip, deal)
    name = max(cycles, key=cycles.get, default="")
    seconds = cycles.get(name, 0.0) / chip.clock
    return dataclasses.replace(line, bound_by=name, microseconds=float(f"{seconds * 1e6:.4g}"))


def total(members: Iterable[Instruction]) -> dict[str, int]:
    out: dict[str, int] = {}
    for one in members:
        for name, n in one.counts.items():
            out[name] = out.get(name, 0) + n
    return out


class _Texts:
    """The text of a line: of the level's text, or of a file of the program that is still there."""

    def __init__(self, level: str, launch: Relaunch):
        self._files: dict[str, list[str]] = {}
        if level != "python":
            text = launch.texts.get(level, "")
            self._files[""] = text.split("\n") if isinstance(text, str) else []

    def of(self, file: str, line: int) -> str:
        if file not in self._files:
            try:
                with open(file, errors="replace") as source:
                    self._files[file] = source.read().split("\n")
            except OSError:
                self._files[file] = []
        lines = self._files[file]
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def short(file: str) -> str:
    """A file's name for a table."""
    return os.path.basename(file)


def _causes(counts: dict[str, int], collision: Collision | None) -> Iterator[str]:
    """Yields what a line with these counts pays for."""
    wavefronts, least = counts.get("shared_wavefronts", 0), counts.get("shared_least", 0)
    if wavefronts > least:
        yield f"bank conflicts: {wavefronts:,} wavefronts of shared memory, {least:,} without"
        if collision:
            yield _said(collision)
    sectors, requested = counts.get("global_sectors", 0), counts.get("global_bytes", 0)
    if sectors * 32 > 2 * requested and requested:
        yield f"{sectors:,} sectors ({sectors * 32:,} bytes) for {requested:,} bytes of global memory"
    if spilled := counts.get("local_requests", 0):
        yield f"spills: {spilled:,} requests to local memory, {counts.get('local_sectors', 0):,} sectors"
    if divergent := counts.get("divergent", 0):
        yield f"{divergent:,} predicated instructions ran with part of the warp inactive"


def _said(collision: Collision) -> str:
    a, b = collision.threads
    left, right = collision.offsets
    return (
        f"the worst: {collision.ways}-way, threads {a} and {b} of program {collision.program} at shared "
        f"{left:#x} and {right:#x}, bank {collision.bank}"
    )
