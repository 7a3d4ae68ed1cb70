"""triton_runner.compare: one kernel on several releases, targets and configurations; what became worse."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os

import numpy

from triton_runner import _settings
from triton_runner._base import commands, expression
from triton_runner._base.errors import fail
from triton_runner._base.typed import as_json, of_json
from triton_runner._compare import cells as making
from triton_runner._compare import measure, run, table
from triton_runner._compare.cells import Cell, Subject
from triton_runner._compare.store import Store
from triton_runner._compiler import versions
from triton_runner._compiler.constants import constant
from triton_runner._compiler.crashes import Crash, Refused
from triton_runner._memory.difference import difference
from triton_runner._settings import devices


@dataclasses.dataclass(frozen=True)
class Measured:
    """One cell of a comparison: a release, a target and a configuration, with what was measured.

    - `release`, `target`, `config`: identify the cell.
    - `figures`: the measured numbers by name; None where one is not available.
    - `mix`, `ptx`: how often each instruction occurs, in the machine code and in the PTX.
    - `error`: why there are no figures, with `stage` and `pass_name` of the failure; `crash`: the compiler
      fails, with its `stage`, `pass`, whole `message` and `reproducer`; `refused`: the front end does not
      take the kernel, at `file`, `line` and `column`; `gap`: why the release cannot compile this cell.
    - `trap`: the fault that stopped its launch; `unrun`: why it was not launched.
    - `outputs`: type, shape and hash of each array after the launch.
    - `files`: a hash of the text of each level.
    - `notes`: sentences on the figures. `base`: the row that this one is compared with, or None; `is_base`:
      it is the row itself.
    """

    release: str
    target: str
    config: dict
    figures: dict
    mix: dict
    ptx: dict
    error: str | None
    gap: str | None
    trap: str | None
    unrun: str | None
    stage: str | None
    pass_name: str | None
    files: dict
    outputs: list | None
    notes: list = dataclasses.field(default_factory=list)
    crash: Crash | None = None
    refused: Refused | None = None
    base: Measured | None = None
    is_base: bool = False

    @property
    def name(self) -> str:
        return Cell(self.release, self.target, self.config).name

    def figure(self, name, of_base: bool = False):
        """Returns a figure by name; ("count", opcode) is the number of instructions with that opcode. Raises
        expression.Unknown where the figure is not available."""
        row = self.base if of_base else self
        if row is None:
            raise expression.Unknown("base")
        if isinstance(name, tuple):
            if row.error or row.gap:
                raise expression.Unknown(f"count({name[1]})")
            return measure.count(row, name[1])
        if (value := row.figures.get(name)) is None:
            raise expression.Unknown(f"base.{name}" if of_base else name)
        return value

    def as_dict(self) -> dict:
        fields = {_SAID.get(name, name): value for name, value in vars(self).items() if name != "is_base"}
        failures = {name: as_json(fields.pop(name)) for name in ("crash", "refused")}
        failures = {name: one for name, one in failures.items() if one is not None}
        return fields | failures | {"base": self.base.name if self.base else None}


_OPEN = ("notes", "crash", "refused", "base", "is_base")  # what JSON of an earlier run may lack
_SAID = {"mix": "instructions", "pass_name": "pass"}  # what JSON calls some of them


def _of_json(said: dict) -> Measured:
    """The row that as_dict() gave, without its base."""
    names = [field.name for field in dataclasses.fields(Measured) if field.name not in _OPEN]
    found = {name: said[_SAID.get(name, name)] for name in names}
    failures = {"crash": of_json(Crash | None, said.get("crash")),
                "refused": of_json(Refused | None, said.get("refused"))}  # fmt: skip
    return Measured(**found, notes=said.get("notes", []), **failures)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of compare(). It is a sequence of rows (for row in comparison, len(comparison)); str() gives
    the table.

    - `kernel`: the kernel's name; `rows`: the cells, ordered by target, configuration and release.
    - `computed`, `kept`: how many cells were measured in this call, and how many came from the store.
    - `trouble`: the error that kept finished cells from being stored, or None.
    """

    kernel: str
    rows: list[Measured]
    computed: int
    kept: int
    trouble: OSError | None

    def failing(self, text: str) -> list[tuple[Measured, str]]:
        """Returns the rows for which an expression is true, and those for which it cannot be evaluated, each
        with the reason. Rows without figures (`error`, `gap`) are skipped."""
        node = expression.parse(text, "--fail-if", measure.FIGURES)
        rows = []
        for row in self.rows:
            if row.gap or row.error:
                continue
            try:
                if expression.evaluate(node, row.figure, f"--fail-if {text!r}"):
                    rows.append((row, _why(node, row)))
            except expression.Unknown as error:
                rows.append((row, f"{error} is not known{': ' + row.unrun if row.unrun else ''}"))
        return rows

    @property
    def is_judged(self) -> bool:
        """Whether some cell was compiled, or the front end alone refuses the kernel: what a compiler fails on
        everywhere cannot be judged."""
        return any(not row.error and not row.gap for row in self) or not any(row.crash for row in self)

    def as_dict(self) -> dict:
        return {
            "kernel": self.kernel, "cells": [row.as_dict() for row in self.rows], "computed": self.computed,
            "kept": self.kept,
        }  # fmt: skip

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __str__(self):
        return "\n".join(table.lines(self))


def _why(node, row: Measured) -> str:
    """The figures that an expression names, with the base's beside them."""
    words = []
    for leaf in expression.named(node):
        name = leaf[1] if leaf[0] == "name" else ("count", leaf[2][1])
        shown = name if isinstance(name, str) else f"count({name[1]})"
        text = f"{shown} {table.short(row.figure(name))}"
        if row.base and not row.is_base:
            try:
                text += f" (base {table.short(row.figure(name, True))})"
            except expression.Unknown:
                text += " (base none)"
        words.append(text)
    return ", ".join(words)


def compare(
    kernel, args=None, *, grid=None, signature=None, constexprs: dict | None = None,
    versions: str | list | None = None, targets: str | list | None = None, configs: str | list | None = None,
    base=None, jobs: int | None = None, executor: str | None = None, store=None,
    timeout: float | None = None, counts: bool = False, chip: str = "", told=None,
) -> Comparison:  # fmt: skip
    """Compiles a kernel with several releases, for several targets, in several configurations, in processes
    side by side, and compares registers, memory, instructions, occupancy, time, and what the CPU computes.

    - `kernel`, `signature`, `constexprs`: as for `compile()`.
    - `args`, `grid`: a launch: the arguments that are not constexprs, and the grid as a number, a tuple, a
      function of the constants, or a text such as "cdiv(n, BLOCK)". The signature is derived from them, and
      each cell is run on the CPU: at PTX, for AMD's targets at TTGIR.
    - `versions`: "3.4.0..3.9.0", "all", or a list; by default the installed release. `targets`:
      "cuda:80,hip:gfx942".
    - `configs`: "num_warps=4,8;num_stages=1..4", or a list of dicts: options of Triton and constexprs.
    - `base`: what each cell is compared with: {"release": "3.4.0"}, "num_warps=4", or the JSON file of an
      earlier comparison (its cell with the same release, target and configuration). By default it is the
      first release that can compile for the target; with one release the first configuration; with one
      configuration the first target.
    - `jobs`: the number of processes (by default the number of cores); `executor`: "dask://host:port".
    - `store`: a folder that keeps finished cells; a cell with a known kernel, release, target, configuration
      and launch is not measured again. `timeout`: the most seconds that a cell may take.
    - `counts`: also counts what each launch executes. `chip`: also estimates its time on a chip (`h200`) by
      the replay of an SM, as `profile(chip=, replay=True)` does: `cycles`, `microseconds`, `bound_by`.
    - `told(cell, from_store, total)` is called when a cell
      is finished.
    """
    place = store if isinstance(store, Store) else Store(store)
    subject = Subject(kernel, signature, dict(constexprs or {}), args, grid, timeout, place, counts, chip)
    releases = _releases(versions)
    target_names = _listed(targets) or [_settings.current().target or _settings.DEFAULT_TARGET]
    chosen = _configs(configs)
    gpu = _gpu_name()
    cells = making.all_cells(subject, releases, target_names, chosen, gpu)
    finished = {True: 0, False: 0}

    def note(cell, kept, total):
        finished[kept] += 1
        if told:
            told(cell, kept, total)

    results = run.run(cells, place, jobs or run.default_jobs(), executor, note)
    rows = [_row(cell, results.get(cell.key)) for cell in cells]
    bases = _bases(rows, base, releases, chosen)
    rows = [_judged(row, base, place) for row, base in zip(rows, bases, strict=True)]
    return Comparison(subject.name, rows, finished[False], finished[True], place.trouble)


def _releases(wanted) -> list[str]:
    if wanted is None:
        if (own := versions.installed()) is None:
            raise fail("Triton is not installed", 'name releases: versions="3.4.0..3.9.0"')
        return [own]
    return versions.expand(wanted if isinstance(wanted, str) else ",".join(wanted))


def _listed(text) -> list[str]:
    parts = text.split(",") if isinstance(text, str) else text or []
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _configs(given) -> list[dict]:
    result = []
    for item in [given] if isinstance(given, (str, dict)) else given or [{}]:
        result += making.parse_configs(item, constant) if isinstance(item, str) else [dict(item)]
    return result


def _gpu_name() -> str:
    """ "cuda:90 NVIDIA H200" of the GPU that launches are timed on; "" if there is none."""
    if devices.resolved_device() == "cpu":
        return ""
    from triton_runner._launch import gpu_driver  # it opens the driver

    number = gpu_driver.current_device()
    return f"{gpu_driver.current_target()} {gpu_driver.driver().properties(number).get('name', '')}"


def _row(cell: Cell, result: measure.Result | None) -> Measured:
    data = result or measure.Result()
    figures = {**dict.fromkeys(measure.FIGURES), **data.figures}
    return Measured(
        cell.release, cell.target, cell.config, figures, data.mix, data.ptx, data.error, cell.gap,
        data.trap, data.unrun, data.stage, data.pass_, data.files, data.outputs, data.notes, data.crash,
        data.refused,
    )  # fmt: skip


# --- the base -----------------------------------------------------------------------------------------------


def _bases(rows: list[Measured], base, releases, configs) -> list[Measured | None]:
    """Returns the row that each row is compared with."""
    if isinstance(base, (str, os.PathLike)) and os.fspath(base).endswith(".json"):
        earlier = _earlier(os.fspath(base))
        return [earlier.get(_place(row)) for row in rows]
    fixed = base if isinstance(base, dict) else making.parse_configs(base, constant)[0] if base else None
    if fixed is None:
        return [
            next((other for other in rows if _is_base(other, row, releases, configs)), None) for row in rows
        ]
    baseline = {_place(row): row for row in rows}
    for name in fixed:
        if name not in ("release", "target") and not any(name in config for config in configs):
            axes = dict.fromkeys(["release", "target", *(n for config in configs for n in config)])
            raise fail(f"base: {name!r} is compared nowhere", f"compared: {', '.join(axes)}")
    config = {n: v for n, v in fixed.items() if n not in ("release", "target")}
    release, target = str(fixed.get("release", "")), fixed.get("target", "")
    cells = [Cell(release or r.release, target or r.target, {**r.config, **config}) for r in rows]
    bases = [baseline.get(_place(cell)) for cell in cells]
    if rows and not any(bases):
        raise fail(f"base: no cell has {making.config_text(fixed)}", f"cells: {rows[0].name}, ...")
    return bases


def _is_base(other: Measured, row: Measured, releases, configs) -> bool:
    """Whether a row is what another one is compared with where nobody says."""
    if len(releases) > 1:
        return not other.gap and (other.target, other.config) == (row.target, row.config)
    return len(configs) == 1 or (other.target, other.config) == (row.target, configs[0])


def _place(cell) -> str:
    return json.dumps([cell.release, cell.target, cell.config], sort_keys=True, default=str)


def _earlier(path: str) -> dict:
    """The rows of a comparison's JSON by their places."""
    try:
        with open(path, encoding="utf-8") as file:
            cells = json.load(file)["cells"]
        rows = [_of_json(cell) for cell in cells]
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        made_by = commands.shell("compare", "KERNEL", "--json")
        raise fail(f"{path} is not what `{made_by}` prints: {error!r}") from None
    return {_place(row): row for row in rows}


# --- results ------------------------------------------------------------------------------------------------


def _judged(row: Measured, base: Measured | None, store: Store) -> Measured:
    """The row beside its base, with the figures equal and difference of what the two computed."""
    figures: dict = {}
    if base is not None and row.outputs is not None and base.outputs is not None:
        figures = {"equal": row.outputs == base.outputs, "difference": 0.0}
        if not figures["equal"]:
            pairs = list(zip(row.outputs, base.outputs, strict=True))
            sizes = [_difference(store, mine, theirs) for mine, theirs in pairs if mine != theirs]
            figures["difference"] = None if None in sizes else max(sizes)
    elif row.trap is not None and base is not None and base.trap is None:
        figures = {"equal": False}
    return dataclasses.replace(row, base=base, is_base=base is row, figures={**row.figures, **figures})


def _difference(store: Store, mine, theirs) -> float | None:
    """The largest difference of two arrays by the largest magnitude of the second; None where the store has
    them no more."""
    arrays = [_array(store, *entry) for entry in (mine, theirs)]
    if any(array is None for array in arrays) or arrays[0].shape != arrays[1].shape:
        return None
    distance = difference(arrays[1], arrays[0])
    return distance.size if numpy.isfinite(distance.max_error) else math.inf


def _array(store: Store, dtype: str, shape: list, key: str):
    data = store.get_bytes(key)
    return None if data is None else _decode(dtype, tuple(shape), data)


@functools.lru_cache(8)
def _decode(dtype: str, shape: tuple, data: bytes):
    return measure.as_arrays([[dtype, list(shape), data]])[0]
