"""Says on stdout what happens when a kernel is compiled: nothing when TRITON_RUNNER_PROD=1, only its folder
when TRITON_RUNNER_PROD_TEST=1. A line here has a row in its page.

Also keeps what would be said beside it quiet: Triton's own notice, and lines within silent(). A compilation
takes TRITON_ALWAYS_COMPILE=1 from here, where that is not set, as the first line says.

It is described in doc/reference/errors.md#messages."""

from __future__ import annotations

import contextlib
import contextvars
import os
import warnings

from triton_runner import _settings

_default_told = False


def without_fusion_notice() -> None:
    """From here on Triton 3.9 does not warn that another release will have another default of
    TRITON_DEFAULT_FP_FUSION: it would on each command."""
    warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION is unset")


_silent: contextvars.ContextVar[bool] = contextvars.ContextVar("triton_runner_silent", default=False)


@contextlib.contextmanager
def silent():
    """Inside the block a compilation prints none of these lines: its kernel is Triton's own, which prints
    none."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def say(line: str, in_prod_test: bool = False) -> None:
    if _silent.get():
        return
    if not _settings.prod() or (in_prod_test and _settings.prod_test()):
        print(line, flush=True)


@contextlib.contextmanager
def always_compile_by_default():
    """Inside the block TRITON_ALWAYS_COMPILE is 1 unless the user set it; says so once a process."""
    global _default_told
    name = "TRITON_ALWAYS_COMPILE"
    if name in os.environ:
        yield
        return
    if not _default_told and not _silent.get():
        _default_told = True
        say("[triton-runner] TRITON_ALWAYS_COMPILE defaults to ON.")
        say("For production, It is recommended to disable it by running: export TRITON_ALWAYS_COMPILE=0")
    os.environ[name] = "1"
    try:
        yield
    finally:
        os.environ.pop(name, None)


_held: contextvars.ContextVar[list | None] = contextvars.ContextVar("triton_runner_saved", default=None)


def kernel_saved(folder: str, cache_hit: bool) -> None:
    """A kernel was compiled, or found in the cache with TRITON_ALWAYS_COMPILE off."""
    line = f"[Triton Runner] Triton kernel {'cache hit and ' if cache_hit else ''}saved at {folder}"
    if (held := _held.get()) is not None:
        held.append(line)
    else:
        say(line, in_prod_test=True)


@contextlib.contextmanager
def saved_last():
    """Lines of kernel_saved() inside of the block are printed at its end: after those of a dump."""
    held = []
    token = _held.set(held)
    try:
        yield
    finally:
        _held.reset(token)
        for line in held:
            say(line, in_prod_test=True)


def note(line: str) -> None:
    """Tells what a person should know of how a text was compiled."""
    say(f"[Triton Runner] {line}")


def translated(what: str, release: str, changes: list) -> None:
    """A text of another release was rewritten before it was compiled."""
    shown = "; ".join(changes[:3]) + (f"; {len(changes) - 3} more" if len(changes) > 3 else "")
    say(f"[Triton Runner] {what} is of another Triton release, translated for {release}: {shown}")


def dump_mode(value: str, op: str, location: str, size: int) -> None:
    """A value that dump_value= names or a dl.dump statement dumps; once for it and the code that has it."""
    say(f"[Triton Runner] In dump mode, ssa={value}, op={op}, loc={location}, size={size}")
