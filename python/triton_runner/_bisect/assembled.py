"""Launches as machine code: a program that runs on the CPU, each of whose launches goes through the release's
assembler to this machine's GPU, with copies of its arrays.

So the program judges what the assembler made as it judges the levels above.
"""

from __future__ import annotations

import contextlib

from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._base.errors import fail
from triton_runner._launch.launchers import Call, observing
from triton_runner._settings import devices


def on_gpu(launch: Relaunch) -> list:
    """What a launch leaves in the blocks of its arguments, run as a cubin by this machine's GPU."""
    if devices.gpu() != "cuda":
        raise fail("this machine has no GPU that runs a cubin", "--levels without cubin does without one")
    return launch.run("cubin", device="cuda").blocks


runner = on_gpu  # tests put another in its place


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
