"""Implements triton_runner.compare(): one kernel on several releases, targets and configurations, and what
became worse."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os

import numpy

from triton_runner import _settings
from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._kernel.cells import cells as making
from triton_runner._kernel.cells import measure, run
from triton_runner._kernel.cells.cells import Cell, ComparedKernel
from triton_runner._kernel.cells.store import Store
from triton_runner._memory.difference import difference
from triton_runner._pipeline import versions
from triton_runner._pipeline.constants import constant
from triton_runner._settings import devices
from triton_runner._worker.spelling import option
from triton_runner.verbs.compare.results import Comparison, Measured, earlier_row


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
      each cell is run on the CPU: at PTX, for AMD's targets at AMDGCN.
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
    subject = ComparedKernel(
        kernel, signature, dict(constexprs or {}), args, grid, timeout, place, counts, chip
    )
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
            raise fail("Triton is not installed", f"name releases: {option('versions', '3.4.0..3.9.0')}")
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
    """Returns whether a row is what another one is compared with where nobody says."""
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
        rows = [earlier_row(cell) for cell in cells]
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        made_by = commands.shell("compare", "KERNEL", "--json")
        raise fail(f"{path} is not what `{made_by}` prints: {error!r}") from None
    return {_place(row): row for row in rows}


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
