"""Runs trials of a manifest on a Dask cluster. A worker gets the texts of some tasks and answers, judges
them by the command line in a process of its own (a worker has threads, and a trial is forked from a process
that has none), and gives back their rows."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from triton_runner._base import scratch
from triton_runner._base.errors import fail
from triton_runner._base.typed import of_json
from triton_runner._kernel.cells import cluster
from triton_runner.verbs.judge.results import Row

_AT_ONCE = 16  # trials of one task of Dask's, which share the start of a process


def rows(address: str, entries: list, options) -> Iterator[tuple]:
    """(entry, row, why there is none) as trials are finished."""
    parts = {str(at): entries[at : at + _AT_ONCE] for at in range(0, len(entries), _AT_ONCE)}
    works = {key: _work(part, options) for key, part in parts.items()}
    for key, texts, why in cluster.finished("--dask", address, judged, works):
        for number, entry in enumerate(parts[key]):
            row = None if texts is None else of_json(Row, json.loads(texts[number]))
            if row is not None:
                row = dataclasses.replace(row, task=entry.task, answer=entry.answer)
            yield entry, row, why


def _work(entries: list, options) -> dict:
    files = [
        {name: (os.path.basename(path), Path(path).read_bytes()) for name, path in _paths(entry).items()}
        for entry in entries
    ]
    return {"files": files, "options": _words(options)}


def _paths(entry) -> dict[str, str]:
    return {"task": entry.task, "answer": entry.answer}


def _words(options) -> list[str]:
    """The options as the command line has them."""
    words = ["--seconds", options.seconds, "--memory", options.memory >> 30, "--inputs", options.inputs >> 20]
    words += ["--sandbox", options.sandbox, *(["--no-generated"] * (not options.generated))]
    for name, value in (("--seed", options.seed), ("--format", options.format), ("--chip", options.chip)):
        words += [name, value] if value is not None else []
    return [str(word) for word in words]


def judged(work: dict) -> list[str]:
    """The rows of some trials, as JSON. It runs on a worker."""
    with scratch.folder("judge") as folder:
        lines = []
        for number, files in enumerate(work["files"]):
            line = {}
            for name, (file, data) in files.items():
                place = Path(folder) / str(number) / name
                place.mkdir(parents=True)
                (place / file).write_bytes(data)
                line[name] = str(place / file)
            lines.append(json.dumps(line))
        (Path(folder) / "manifest").write_text("\n".join(lines))
        command = [sys.executable, "-m", "triton_runner", "judge", "--manifest", f"{folder}/manifest"]
        command += ["--out", f"{folder}/out", *work["options"]]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if done.returncode:
            raise fail(f"a worker cannot judge: {(done.stderr.strip() or 'it ended')[-500:]}")
        rows = (Path(folder) / "out" / "rows.jsonl").read_text().splitlines()
        return [row.replace(f"{folder}/{number}/answer/", "") for number, row in enumerate(rows)]
