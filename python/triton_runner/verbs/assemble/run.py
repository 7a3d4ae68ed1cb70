"""Tries many PTX: of files, folders and cases, by several assemblers and at several -O, side by side, here or
on a Dask cluster. A trial (trial.py) that is done is kept: a run that was interrupted goes on."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

from triton_runner import _core
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.paths import read_text
from triton_runner._base.typed import as_json
from triton_runner._kernel.cells import measure
from triton_runner._kernel.cells import run as running
from triton_runner._kernel.cells.cells import Cell
from triton_runner._kernel.cells.store import Store, key_of
from triton_runner._kernel.lockstep import where
from triton_runner._pipeline import versions, workers
from triton_runner.verbs.assemble import assemblers, trial

_END_OF_CASE = "\n// ---- expected\n"  # of the project's own cases: what they print follows


@dataclasses.dataclass(frozen=True)
class TriedPtx:
    """A PTX to try: what it is called, and more of what trial.work_of takes."""

    name: str
    ptx: str
    more: dict


@dataclasses.dataclass(frozen=True)
class Tried:
    """A trial that is done; opt: None: the assembler's own choice."""

    name: str
    ptxas: str
    opt: int | None
    target: str
    result: trial.Result

    def as_dict(self) -> dict:
        result = as_json(self.result)
        return {"name": self.name, "ptxas": self.ptxas, "opt": self.opt, "target": self.target, **result}


def subjects(place: str, kernel: str = "") -> list[TriedPtx]:
    """The PTX of a file, of the files of a folder, or of a case."""
    # A case needs what its launches need.
    from triton_runner._kernel.cases.case import is_case, open_case

    if is_case(place):
        case = open_case(place)
        launch = case.subject
        if "ptx" not in launch.texts:
            raise fail(f"{place} has no PTX", "a case of a kernel for NVIDIA's GPUs has")
        more = {
            "case": launch.arguments.named, "grid": list(launch.grid), "block": launch.block,
            "metadata": json.dumps(launch.metadata), "kernel": case.name,
        }  # fmt: skip
        return [TriedPtx(place, launch.texts["ptx"], more)]
    if not os.path.exists(place):
        raise fail(f"no such file or folder: {place}")
    paths = [Path(place)] if os.path.isfile(place) else sorted(Path(place).rglob("*.ptx"))
    results = []
    for path in paths:
        text = read_text(path).partition(_END_OF_CASE)[0]
        if ".entry" not in text or not assemblers.target_of(text):
            if os.path.isdir(place):
                continue
            raise fail(f"{place} is not PTX with a kernel", "as in: .version 8.7, .target sm_90a, .entry k()")
        metadata = _core.artifact.find_metadata(str(path))
        metadata_text = read_text(metadata) if metadata else ""
        results.append(TriedPtx(str(path), text, {"metadata": metadata_text, "kernel": kernel}))
    if not results:
        raise fail(f"{place} has no PTX file (*.ptx)")
    return results


def run(
    chosen: list[TriedPtx], with_: list, opts: list, target: str, seeds: int, jobs: int | None = None,
    executor: str | None = None, timeout: float | None = None, again: bool = False, told=lambda *_: None,
) -> list[Tried]:  # fmt: skip
    """The trials of each subject by each assembler at each -O; those of the store are taken from there."""
    release = versions.installed()
    if release is None:
        raise fail("this needs Triton, which is not installed", "a trial runs in a process of its own")
    cells, rows = [], []
    for subject in chosen:
        for assembler in with_:
            for opt in opts:
                into = target or assemblers.target_of(subject.ptx)
                more = {**subject.more}
                case, kernel = more.pop("case", None), more.pop("kernel", "")
                work = trial.work_of(
                    subject.ptx, kernel, assembler, into, opt, seeds, case, release=release,
                    label=subject.name, timeout=timeout, **more,
                )  # fmt: skip
                key = key_of({"assemble": trial.key_parts(work), "again": os.getpid() if again else 0})
                cells.append(Cell(release, into, {}, None, work, key))
                rows.append((subject.name, assembler.version, opt, into, key))
    results = running.run(
        cells, Store(), jobs or running.default_jobs(), executor,
        lambda cell, kept, total: told(cell.work["label"], total), how=judged,
    )  # fmt: skip
    return [Tried(name, version, opt, into, _result(results[key])) for name, version, opt, into, key in rows]


def _result(found: measure.Result) -> trial.Result:
    if found.trial is None:
        return trial.Result("unjudged", found.error)
    place = found.trial.get("place")
    fields = {field.name for field in dataclasses.fields(trial.Result)}
    keywords = {name: value for name, value in found.trial.items() if name in fields and name != "place"}
    return trial.Result(**keywords, place=where.Place(**place) if place else None)


def judged(work: dict) -> measure.Result:
    """The result of a trial, by this thread's worker."""
    return measure.tried(_judged, work)


def _judged(work: dict) -> measure.Result:
    variables = {**workers.environment(), "TRITON_RUNNER_PROD": "1", "TRITON_RUNNER_THREADS": "1"}
    request = {
        "do": "verbs.assemble.trial",
        "preload": ["numpy", "ml_dtypes"],
        "environment": variables,
        "work": work,
    }
    own, what = measure.worker(work["release"]), f"the trial of {work['label']}"
    return measure.Result(trial=workers.ask(work["release"], request, work["timeout"], what, own))


def chosen_assemblers(texts) -> list:
    """The assemblers of paths, versions or "all"; by default the newest."""
    if not texts:
        return [assemblers.default()]
    if "all" in texts:
        return assemblers.assemblers()
    return [assemblers.find(text) for text in texts]


def made(subject: TriedPtx, assembler, opt: int | None, target: str) -> dict:
    """Returns what an assembler makes of a PTX, without running it: {"cubin", "registers", "spills", "code"},
    or "error"."""
    try:
        cubin = assemblers.assemble(subject.ptx, assembler, target, opt)
    except DiagnosticError as error:
        return {"error": "\n".join([error.message, *error.notes])}
    about = _core.artifact.describe(cubin, "cubin", subject.more.get("kernel", ""), "", subject.name)
    return {
        "cubin": cubin,
        "registers": about["n_regs"],
        "spills": about["n_spills"],
        "code": about["code_bytes"],
    }
