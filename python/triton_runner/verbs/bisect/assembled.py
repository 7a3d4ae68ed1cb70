"""Runs launches as machine code: the program runs on the CPU, but each launch is assembled by the release and
runs on this machine's GPU with copies of its arrays, or without a GPU on the SIMT engine.

The program thus judges the machine code in the same way as the levels above it."""

from __future__ import annotations

import contextlib

from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._kernel.lockstep import where
from triton_runner._launch.launchers import Call, observing
from triton_runner._memory.contents import Contents
from triton_runner._settings import devices


def as_cubin(launch: Relaunch) -> Contents:
    """Runs a launch as a cubin on this machine's GPU, or else on the CPU; returns what the memory of its
    arguments holds afterwards."""
    run = launch.run("cubin", device="cuda" if devices.gpu() == "cuda" else "cpu")
    if run.trap is not None:
        raise run.trap
    return run.contents


runner = as_cubin  # tests put another in its place


@contextlib.contextmanager
def machine(partings: list | None = None):
    """While active, every launch runs as machine code. partings: what the first one whose machine code leaves
    other bits than its PTX says of the instruction (where.Place.lines)."""

    def see(call: Call, go) -> None:
        there = of_call(call)
        if partings == [] and (place := where.parting(there)) is not None:
            partings.extend(place.lines())
        there.arguments.put_back(runner(there))

    with observing(see):
        yield
