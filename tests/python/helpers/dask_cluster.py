"""Has a Dask cluster on this machine, for tests of what runs on one."""

import contextlib
import json
import subprocess
import sys
import time

import pytest


@contextlib.contextmanager
def running(folder, workers=3):
    """A scheduler and worker processes over TCP: (address, workers). Their logs are in the folder."""
    pytest.importorskip("distributed", reason="Dask is not installed: pip install distributed")
    found, log = folder / "scheduler.json", (folder / "dask.log").open("w")

    def start(*arguments):
        return subprocess.Popen([sys.executable, "-m", "dask", *arguments], stdout=log, stderr=log)

    scheduler = start(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", found
    )
    started = [
        start("worker", "--scheduler-file", found, "--nthreads", "1", "--no-nanny", "--no-dashboard",
              "--local-directory", folder / f"worker{i}")
        for i in range(workers)
    ]  # fmt: skip
    while not found.exists() or not found.read_text().strip().endswith("}"):
        assert scheduler.poll() is None, (folder / "dask.log").read_text()
        time.sleep(0.05)
    yield json.loads(found.read_text())["address"].replace("tcp://", "dask://"), started
    for one in [*started, scheduler]:
        one.kill()
        one.wait()
    log.close()
