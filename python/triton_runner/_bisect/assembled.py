"""Launches as machine code: a program that runs on the CPU, each of whose launches goes through the release's
assembler, and to this machine's GPU with copies of its arrays, or without one to the SIMT engine.

So the program judges what the assembler made as it judges the levels above.
"""

from __future__ import annotations

import contextlib

from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._launch.launchers import Call, observing
from triton_runner._settings import devices


def as_cubin(launch: Relaunch) -> list:
    """What a launch leaves in the blocks of its arguments, run as a cubin by this machine's GPU or by the
    CPU."""
    run = launch.run("cubin", device="cuda" if devices.gpu() == "cuda" else "cpu")
    if run.trap is not None:
        raise run.trap
    return run.blocks


runner = as_cubin  # tests put another in its place


@contextlib.contextmanager
def machine(enabled: bool = True):
    """Every launch inside of the block runs as machine code."""
    if not enabled:
        yield
        return

    def see(call: Call, go) -> None:
        there = of_call(call)
        there.arguments.put_back((runner(there), there.arguments.state()[1]))

    with observing(see):
        yield
