"""Launches as machine code: the program runs on the CPU, but each launch is assembled by the release and
runs on this machine's GPU with copies of its arrays.

The program thus judges the machine code in the same way as the levels above it.
"""

from __future__ import annotations

import contextlib

from triton_runner._artifact.relaunch import Launch, of_call
from triton_runner._base.errors import fail
from triton_runner._launch.launchers import Call, observing
from triton_runner._settings import devices


def on_gpu(launch: Launch) -> list:
    """Runs a launch as a cubin on this machine's GPU; returns the memory of its arguments afterwards."""
    if devices.gpu() != "cuda":
        raise fail("this machine has no GPU that runs a cubin", "--levels without cubin does without one")
    return launch.run("cubin", device="cuda").blocks


runner = on_gpu  # tests put another in its place


@contextlib.contextmanager
def machine(wanted: bool = True):
    """While active, every launch runs as machine code."""
    if not wanted:
        yield
        return

    def see(call: Call, go) -> None:
        there = of_call(call)
        there.arguments.put_back((runner(there), there.arguments.state()[1]))

    with observing(see):
        yield
