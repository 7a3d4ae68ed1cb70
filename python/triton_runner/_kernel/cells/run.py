"""Measures cells side by side, here or on a Dask cluster, and keeps them in the store one by one as they
finish.

A run that is interrupted, killed or out of disk loses what was being measured at that moment and nothing
else: the next one takes what is in the store and goes on."""

from __future__ import annotations

import collections
import dataclasses
import os
import queue
import threading

from triton_runner._base.typed import as_json, of_json
from triton_runner._kernel.cells import cluster, measure
from triton_runner._kernel.cells.cells import Cell
from triton_runner._kernel.cells.store import Store
from triton_runner._pipeline import versions


def run(
    cells: list[Cell], store: Store, jobs: int, executor: str | None, told, how=measure.measure
) -> dict[str, measure.Result]:
    """The results by key. told(cell, from the store, of how many) for each cell that is done; how(work): what
    measures a cell, a function of a module."""
    results, open_cells = {}, []
    total = len({cell.key for cell in cells if cell.work is not None})
    for cell in cells:
        if cell.key in results or cell.work is None:
            continue
        results[cell.key] = kept = _kept(store, cell.key)
        if kept is None:
            open_cells.append(cell)
        else:
            told(cell, True, total)
    if open_cells:
        # Releases that are not here are fetched before the work begins.
        for release in sorted({cell.release for cell in open_cells}, key=versions.key):
            versions.ensure(release)
        measured = _on_dask(executor, open_cells, how) if executor else _here(open_cells, jobs, how)
        for cell, result in measured:
            results[cell.key] = keep(store, cell.key, result)
            told(cell, False, total)
    return results


def _kept(store: Store, key: str) -> measure.Result | None:
    """The stored result of a cell. A crash whose reproducer is gone by now is to be seen again."""
    if (kept := store.get(key)) is None:
        return None
    result = of_json(measure.Result, kept)
    is_whole = result.crash is None or os.path.isdir(result.crash.reproducer or "")
    return result if is_whole else None


def keep(store: Store, key: str, result: measure.Result) -> measure.Result:
    """The result as it is kept: arrays by the names of their bytes. Those before it, so that a cell that is
    there has them."""
    if result.outputs is not None:
        outputs = [[dtype, shape, store.put_bytes(data)] for dtype, shape, data in result.outputs]
        result = dataclasses.replace(result, outputs=outputs)
    if not result.transient:
        store.put(key, as_json(result))
    return result


def _here(cells: list[Cell], jobs: int, how):
    """(cell, result) as they finish, by threads that each have worker processes of their own."""
    # A thread stays with a release as long as that has cells: its worker is warm then.
    waiting: dict[str, collections.deque] = {}
    for cell in cells:
        waiting.setdefault(cell.release, collections.deque()).append(cell)
    lock, done = threading.Lock(), queue.SimpleQueue()
    at_work: dict[str, int] = collections.Counter()

    def take(last: str | None) -> Cell | None:
        with lock:
            left = {release: cells for release, cells in waiting.items() if cells}
            if not left or stopped:
                return None
            # Its own release, else the one with most cells for each thread that is at it.
            chosen = last if last in left else max(left, key=lambda r: len(left[r]) / (1 + at_work[r]))
            if chosen != last:
                at_work[chosen] += 1
                if last:
                    at_work[last] -= 1
            return left[chosen].popleft()

    def work() -> None:
        cell = take(None)
        while cell is not None:
            try:
                done.put((cell, how(cell.work)))
            except BaseException as error:  # a fault of ours: it ends the run
                done.put((cell, error))
            cell = take(cell.release)
        measure.close_thread()

    stopped: list = []
    measure.start()
    threads = [threading.Thread(target=work, daemon=True) for _ in range(max(1, min(jobs, len(cells))))]
    for thread in threads:
        thread.start()
    try:
        for _ in cells:
            cell, result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield cell, result
    finally:
        stopped.append(True)
        if not all(not thread.is_alive() for thread in threads):
            measure.stop_all()
        for thread in threads:
            thread.join()


def _on_dask(address: str, cells: list[Cell], how):
    """(cell, result) as they finish on a Dask cluster, whose workers fetch releases."""
    by_key = {cell.key: cell for cell in cells}
    works = {cell.key: cell.work for cell in cells}
    for key, result, why in cluster.finished("--executor", address, how, works):
        yield by_key[key], measure.Result(error=why, transient=True) if why else result


def default_jobs() -> int:
    return len(os.sched_getaffinity(0))
