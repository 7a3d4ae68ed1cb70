"""Runs programs in front of whose other libraries stands the libcuda.so.1 of src/driver."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

from triton_runner._artifact.reading import no_case
from triton_runner._base import commands, scratch
from triton_runner._base.errors import fail
from triton_runner._base.paths import check_program
from triton_runner._programs.cuda_device import Device, environment
from triton_runner._worker.child import end_with_parent
from triton_runner.verbs.cuda import captured


def words_of(program: str, arguments: list[str], is_module: bool) -> list[str]:
    """Returns the command: Python for its own programs and modules, else the program itself."""
    if is_module:
        return [sys.executable, "-m", program, *arguments]
    found = shutil.which(program)
    is_folder = os.path.isdir(program) and (
        found is None or os.path.exists(os.path.join(program, "__main__.py"))
    )
    if program.endswith(".py") or is_folder:
        check_program(program)
        return [sys.executable, program, *arguments]
    no_case(program)
    if found is None and os.path.isfile(program):
        raise fail(
            f"{program} is neither a Python program (.py) nor a file that can be executed",
            "compile it, or let its interpreter stand before it: python x",
        )
    if found is None:
        raise fail(f"no such program: {program}", "name a Python program, or a program on $PATH")
    return [found, *arguments]


def run_program(program: str, arguments: list[str], is_module: bool, device: Device) -> int:
    """Runs the program and returns its exit status, or 128 and the number of the signal that ended it. The
    program has the signals that ask this process to end, and does not outlive it."""
    words = words_of(program, arguments, is_module)
    with subprocess.Popen(words, env=environment(device), preexec_fn=end_with_parent) as child:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda number, _: child.send_signal(number))
        while True:
            with contextlib.suppress(KeyboardInterrupt):  # of the terminal: the program has it, too
                status = child.wait()
                break
    if status < 0:
        _say(f"the program was ended by {signal.Signals(-status).name}")
    return status if status >= 0 else 128 - status


def run_captured(words: tuple, device: Device, folder: str, is_debugged: bool) -> int:
    """Runs the program with its words as run_program() takes them, and writes cases of launches into the
    folder; then debugs the one that a fault has stopped, or the first. Returns the exit status: the
    debugger's, if it ran."""
    with scratch.folder("cuda") as place:
        kept = Path(place) / "kept"
        kept.mkdir()
        status = run_program(*words, dataclasses.replace(device, kept=str(kept)))
        target = Path(folder or place)
        found = captured.cases_of(kept, target)
        if not found:
            of = f"kernel {device.kernel!r}" if device.kernel else "kernel"
            _say(f"the program has launched no {of}: there is nothing to {'capture' if folder else 'debug'}")
            if others := captured.others(kept):
                _say(f"it has launched {', '.join(others)}")
        for launch, case, reason in found:
            name = f"launch {launch.number} of {launch.shown}"
            if not case:
                _say(f"{name} is not captured: {reason}")
            elif folder:
                _say(f"{name}: {commands.shell('debug', case)}")
        cases = [(launch, case) for launch, case, _ in found if case]
        if not is_debugged or not cases:
            return status
        stopped = [case for launch, case in cases if launch.fault]
        return subprocess.run(
            [sys.executable, "-m", "triton_runner", "debug", (stopped or [cases[0][1]])[-1]]
        ).returncode


def _say(text: str) -> None:
    print(f"triton-runner: {text}", file=sys.stderr)
