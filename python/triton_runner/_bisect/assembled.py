"""Launches as machine code: the program runs on the CPU, but each launch is assembled by the release and
runs on this machine's GPU with copies of its arrays, or without a GPU on the SIMT engine.

The program thus judges the machine code in the same way as the levels above it.
"""

from __future__ import annotations

import contextlib

from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._launch.launchers import Call, observing
from triton_runner._settings import devices


def as_cubin(launch: Relaunch) -> list:
    """Runs a launch as a cubin on this machine's GPU, or else on the CPU; returns the memory of its arguments
    afterwards."""
    run = launch.run("cubin", device="cuda" if devices.gpu() == "cuda" else "cpu")
    if run.trap is not None:
        raise run.trap
    return run.blocks


runner = as_cubin  # tests put another in its place


@contextlib.contextmanager
def machine(enabled: bool = True):
    """While active, every launch runs as machine code."""
    if not enabled:
        yield
        return

    def see(call: Call, go) -> None:
        there = of_call(call)
        there.arguments.put_back((runner(there), there.arguments.state()[1]))

    with observing(see):
        yield
