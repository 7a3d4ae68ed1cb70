"""Decides, for --quick (TRITON_RUNNER_QUICK=1), how much of what a program measures runs on the CPU: its
launches run their first programs only, once or twice; each kind of shortening is said once on stderr.
_pretend/quick_install.py puts this in the place of what programs measure with."""

from __future__ import annotations

import sys
import time

from triton_runner import _settings
from triton_runner._base.errors import KernelTrap

PROGRAMS = 2
_PATIENCE = 20.0  # seconds
_LONG = 1.0  # seconds after which a call is not repeated for a better time
# The multiprocessors of a GPU of each architecture: T4, A100, RTX 3090, L40S, H100, B200, B300, RTX PRO 6000,
# GB10.
_MULTIPROCESSORS = {
    "75": 40, "80": 108, "86": 82, "89": 142, "90": 132, "100": 148, "103": 148, "120": 188, "121": 48,
}  # fmt: skip
_said: set[str] = set()


def say(text: str) -> None:
    """Says on stderr what is shortened; once."""
    if text not in _said:
        _said.add(text)
        print(f"triton-runner: --quick: {text}", file=sys.stderr, flush=True)


def multiprocessors(arch: str) -> int | None:
    """Returns how many a device of that architecture has; None where quick runs are not asked for."""
    if not _settings.quick() or arch not in _MULTIPROCESSORS:
        return None
    count = _MULTIPROCESSORS[arch]
    say(f"the device has the {count} multiprocessors of cuda:{arch}")
    return count


def shortened(fn):
    """fn(), of whose launches the first programs run; all of them where those wait for others."""
    timeout = _settings.current().timeout
    may_wait = timeout in (0, _PATIENCE)
    try:
        with _settings.using(programs=PROGRAMS, timeout=_PATIENCE if may_wait else timeout):
            return fn()
    except KernelTrap as trap:
        if trap.kind != "timeout" or not may_wait:
            raise
    say(f"a launch whose first programs took {_PATIENCE:g} s, as if they waited for later ones, runs whole")
    return fn()


def milliseconds(fn, grad_to_none=None) -> list[float]:
    """The time of fn() with shortened launches."""
    say(
        f"benchmarks and autotuning run the first {PROGRAMS} programs of each launch, once or twice: their "
        "figures measure nothing"
    )

    def timed():
        for tensor in grad_to_none or ():
            tensor.grad = None
        started = time.perf_counter()
        shortened(fn)
        return max(time.perf_counter() - started, 1e-6)

    seconds = timed()
    if seconds < _LONG:  # without what the first call compiled
        seconds = timed()
    return [seconds * 1e3]
