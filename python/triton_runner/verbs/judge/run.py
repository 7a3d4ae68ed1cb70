"""Judges: one trial, or all of a manifest, some at a time, each in processes of its own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import signal
import tempfile
import traceback
from pathlib import Path

from triton_runner._base import scratch
from triton_runner._base.errors import fail
from triton_runner._base.paths import write_file
from triton_runner._base.typed import as_json, of_json
from triton_runner._worker.child import end_with_parent
from triton_runner.verbs.judge import page, processes
from triton_runner.verbs.judge.results import STATUS, VERSION, Cost, Fault, Row
from triton_runner.verbs.judge.trial import NoTask, Options, Trial

_NO_COST = Cost(0.0, 0.0, 0.0, 0.0)


def judge(task: str, answer: str, options: Options) -> Row:
    """The verdict on an answer; both files are there. Raises DiagnosticError for an unusable task."""
    processes.load()
    try:
        return Trial(task, answer, options).row()
    except NoTask as error:
        raise fail(f"nothing can be judged by {task}: {error}") from None


@dataclasses.dataclass(frozen=True)
class Entry:
    """A line of a manifest."""

    task: str
    answer: str
    expected: str | None = None


def entries(manifest: str) -> list[Entry]:
    """The trials of a manifest: lines of JSON with "task" and "answer" (and "expected", a verdict that a
    summary compares), or of two words. Paths are relative to its folder."""
    folder, found = os.path.dirname(os.path.abspath(manifest)), []
    for number, line in enumerate(Path(manifest).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            words = json.loads(line) if line.lstrip().startswith("{") else None
        except ValueError as error:
            raise fail(f"{manifest}:{number}: {error}") from None
        if words is None:
            task, *rest = line.split()
            words = {"task": task, "answer": rest[0] if rest else None}
        if not isinstance(words.get("task"), str) or not isinstance(words.get("answer"), str):
            raise fail(
                f"{manifest}:{number} names no task and answer", "a line is TASK ANSWER, or JSON with both"
            )
        paths = [os.path.join(folder, words[name]) for name in ("task", "answer")]
        for path in paths:
            if not os.path.isfile(path):
                raise fail(f"{manifest}:{number}: no such file: {path}")
        found.append(Entry(*paths, words.get("expected")))
    if not found:
        raise fail(f"{manifest} names no task and answer", "a line is TASK ANSWER, or JSON with both")
    return found


def _key(entry: Entry, options: Options) -> str:
    """Returns a text that is equal for trials that depend on the same."""
    data = [Path(entry.task).read_bytes(), Path(entry.answer).read_bytes(), repr((options, VERSION)).encode()]
    names = f"{os.path.basename(entry.task)} {entry.answer}".encode()
    return hashlib.sha256(b"\0".join([*data, names])).hexdigest()[:20]


def _row_at(path: Path) -> Row | None:
    """The row that a file holds. None: there is none, or only a part of it."""
    try:
        return of_json(Row, json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _one(entry: Entry, options: Options, path: Path) -> None:
    """A trial, in a process of its own, which writes its row."""
    try:
        row = Trial(entry.task, entry.answer, options).row()
    except NoTask as error:
        row = _unjudged(entry, str(error), options)
    except Exception as error:  # a fault of the judge's is a row too
        told = f"the judge failed: {type(error).__name__}: {error}"
        row = _unjudged(entry, f"{told} ({traceback.extract_tb(error.__traceback__)[-1]})", options)
    write_file(path, json.dumps(as_json(row)))


def _unjudged(entry: Entry, why: str, options: Options) -> Row:
    fault = Fault("not_judged", why, "mend the task")
    status, seed = STATUS["not_judged"], options.seed or 0
    return Row(
        VERSION, entry.task, entry.answer, "not_judged", status, why, [fault], [], 0, [], seed, False, {},
        _NO_COST,
    )  # fmt: skip


def _judge_left(left: list, paths: dict, place: str, jobs: int, options: Options, say) -> None:
    """Judges those that are left, some at a time, each in a process of its own."""
    running: dict[int, Entry] = {}
    done = len(paths) - len(left)
    try:
        while left or running:
            while left and len(running) < jobs:
                entry = left.pop(0)
                trials = os.getpid()
                if pid := os.fork():
                    running[pid] = entry
                    continue
                status = 1
                try:
                    end_with_parent(trials)
                    tempfile.tempdir = place
                    _one(entry, options, paths[entry])
                    status = 0
                finally:
                    os._exit(status)
            pid, _ = os.wait()
            entry = running.pop(pid, None)
            if entry is not None:
                done += 1
                if not paths[entry].is_file():
                    told = _unjudged(entry, "the judge ended", options)
                    write_file(paths[entry], json.dumps(as_json(told)))
                say(f"{done} of {len(paths)}: {os.path.basename(entry.answer)}")
    finally:  # nothing is running, unless somebody has stopped it
        for pid in running:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _judge_on_dask(address: str, left: list, paths: dict, options: Options, say) -> None:
    """Judges those that are left on a cluster."""
    from triton_runner.verbs.judge import cluster  # it is optional

    done = len(paths) - len(left)
    say(f"asking the Dask cluster at {address}")
    for entry, row, why in cluster.rows(address, left, options):
        write_file(paths[entry], json.dumps(as_json(row or _unjudged(entry, why, options))))
        done += 1
        say(f"{done} of {len(paths)}: {os.path.basename(entry.answer)}")


def judge_all(
    manifest: str, out: str, jobs: int, options: Options, say=lambda text: None, dask: str | None = None
) -> list[Row]:
    """Judges a manifest, and writes rows.jsonl, counts.json and index.html below `out`. Trials whose row is
    there already are not done again. dask: the address of a cluster that does them."""
    listed = entries(manifest)
    folder = Path(out) / "rows"
    folder.mkdir(parents=True, exist_ok=True)
    paths = {entry: folder / f"{_key(entry, options)}.json" for entry in listed}
    left = [entry for entry in paths if _row_at(paths[entry]) is None]
    for entry in left:
        paths[entry].unlink(missing_ok=True)
    if left and dask:
        _judge_on_dask(dask, left, paths, options, say)
        left = []
    if left:
        processes.load()
    with scratch.folder("judge") as place:  # goes with all that trials leave, however they end
        _judge_left(left, paths, place, jobs, options, say)
    rows = [of_json(Row, json.loads(paths[entry].read_text())) for entry in listed]
    write_file(Path(out) / "rows.jsonl", "".join(json.dumps(as_json(row)) + "\n" for row in rows))
    write_file(Path(out) / "counts.json", json.dumps(counts(rows), indent=1))
    write_file(Path(out) / "index.html", page.page(rows, counts(rows)))
    return rows


def counts(rows: list[Row]) -> dict[str, int]:
    """How many trials have each verdict."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in STATUS}
