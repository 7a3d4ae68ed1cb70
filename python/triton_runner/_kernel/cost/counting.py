"""Runs a launch's machine code on the CPU while the engine counts what it executes.

The arguments are copies at the addresses that a GPU's allocator would give them (multiples of 512 bytes): how
many sectors a request touches depends on them. The program's own arguments stay as they are.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy

from triton_runner import _settings
from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base import tools
from triton_runner._base.errors import fail
from triton_runner._core import amdgcn, probe, sass
from triton_runner._launch.launchers import unseen
from triton_runner._memory.arguments import Arguments
from triton_runner._worker.spelling import option

ALIGNMENT = 512  # of what PyTorch's CUDA allocator gives; cudaMalloc: 256
COUNTS = [name for name, *_ in probe.COUNTS]


@dataclasses.dataclass(frozen=True, eq=False)
class Counted:
    """The counts of the engine. table: a row for each of `rows` (Instruction of sass or amdgcn), a column for
    each of COUNTS; by_warp: likewise, warps of a block; scale: by how much the counts were multiplied to be
    those of all programs, or 1; agree: whether the programs that ran have equal counts."""

    rows: list
    listing: str
    table: numpy.ndarray
    by_warp: numpy.ndarray
    collisions: dict
    touched: tuple
    programs: int
    of: int
    agree: bool
    is_extrapolated: bool


def programs_of(grid: tuple, sample: int | list | None) -> list | None:
    """The programs of a sample, as places in the grid; None: all of them. A number: that many, spread over
    the grid, the first and the last among them. Raises DiagnosticError for one that is not in the grid."""
    total = grid[0] * grid[1] * grid[2]
    if sample is None or (isinstance(sample, int) and sample >= total):
        return None
    if isinstance(sample, int):
        if sample < 1:
            raise fail(
                f"a sample of {sample} programs",
                f"{option('programs')} takes a number of at least 1, or a list",
            )
        sample = sorted({i * (total - 1) // max(1, sample - 1) for i in range(sample)})
    wrong = [number for number in sample if not 0 <= number < total]
    if wrong:
        raise fail(f"there is no program {wrong[0]}", f"the grid has {total:,}: 0 to {total - 1:,}")
    return [(n % grid[0], n // grid[0] % grid[1], n // grid[0] // grid[1]) for n in dict.fromkeys(sample)]


def counted(launch: Relaunch, sample=None, threads: int = 0, told=lambda text, done, total: None) -> Counted:
    """Raises DiagnosticError for a launch without machine code, KernelTrap for one that stops."""
    grid = (*launch.grid, 1, 1)[:3]
    places, observer = programs_of(grid, sample), probe.CountObserver()
    copies = launch.arguments.copied("cpu", alignment=ALIGNMENT)
    _run(launch, observer, copies, places, threads, told)
    rows, listing = _rows(launch)
    return _of(observer, rows, listing, grid, places is not None)


def level_of(launch: Relaunch) -> str:
    """The level of the machine code that is counted: "cubin", or "amdgcn"."""
    return "amdgcn" if launch.target.startswith("hip:") else "cubin"


def _rows(launch: Relaunch) -> tuple[list, str]:
    """(the instructions of the machine code, its text)."""
    if level_of(launch) == "amdgcn":
        text = launch.texts["amdgcn"]
        return amdgcn.instructions(text, launch.name), text
    listing = tools.listing(launch.texts["cubin"])
    return sass.parse_kernel(listing, launch.name).instructions, listing


@dataclasses.dataclass(frozen=True, eq=False)
class Traced:
    """The instructions that warps of these programs executed in order, kept by the observer. rows: as Counted
    has them; memory: (address, bytes) of each block of the arguments' memory as the programs saw it."""

    observer: probe.CountObserver
    rows: list
    listing: str
    memory: list[tuple[int, int]]

    @functools.cached_property
    def sizes(self) -> dict[int, int]:
        """Instructions of warps by program, which is its number in the grid."""
        return probe.traced_instructions(self.observer)


def traced(launch: Relaunch, programs: list[int], more: list[int], most: int) -> Traced:
    """A trace of programs, by number: so many steps and requests at most. more: those that run too if
    programs differ in size, of which the first three are looked at. Raises as counted()."""
    observer = probe.CountObserver()
    observer.keep_trace(most)
    grid, tell = (*launch.grid, 1, 1)[:3], lambda text, done, total: None
    copies = launch.arguments.copied("cpu", alignment=ALIGNMENT)
    ran = list(dict.fromkeys([*programs, *more[:3]]))
    _run(launch, observer, copies, programs_of(grid, ran), 0, tell)
    rest = [number for number in more if number not in ran]
    if rest and len(set(probe.traced_instructions(observer).values())) > 1:
        _run(launch, observer, copies, programs_of(grid, rest), 0, tell)
    rows, listing = _rows(launch)
    memory = [(copies.address(i), data.nbytes) for i, data in enumerate(copies.live())]
    return Traced(observer, rows, listing, memory)


def _run(launch: Relaunch, observer, copies: Arguments, places: list | None, threads: int, told) -> None:
    """Launches these programs on copies of the arguments."""
    level = level_of(launch)
    fixed = {"device": "cpu", "level": level, "target": launch.target, "recorder": observer}
    with unseen(), _settings.using(**fixed, threads=threads, programs=0, check="", shuffle=-1):
        kernel = launch.kernel(level)
        for number, place in enumerate(places or [()]):
            told(launch.name, number if places else None, len(places) if places else None)
            with _settings.using(program=",".join(map(str, place))):
                kernel.launch(launch.grid, copies.named)
    if observer.is_mixed:
        raise fail(f"kernel '{launch.name}': its launches ran different machine code")


class Binary:
    """A launch as resources() takes it."""

    def __init__(self, launch: Relaunch):
        self.name, self.metadata = launch.name, launch.metadata
        self.asm = {level_of(launch): launch.texts[level_of(launch)]}


def blocks_of(launch: Relaunch) -> int:
    """Blocks of a program: a cluster's blocks are on several SMs."""
    dims = launch.cluster or launch.metadata.get("cluster_dims") or (launch.metadata.get("num_ctas") or 1,)
    return math.prod(int(extent) for extent in dims)


def _of(observer, rows: list, listing: str, grid: tuple, is_sample: bool) -> Counted:
    least, most = observer.spread
    of, ran = grid[0] * grid[1] * grid[2], observer.programs
    table, by_warp = observer.instructions.astype(numpy.int64), observer.by_warp.astype(numpy.int64)
    agree = least == most
    can = is_sample and agree and ran > 0 and not any((t * of % ran).any() for t in (table, by_warp))
    if can:
        table, by_warp = table * of // ran, by_warp * of // ran
    collisions = {one["instruction"]: one for one in observer.collisions}
    return Counted(rows, listing, table, by_warp, collisions, observer.touched, ran, of, agree, can)
