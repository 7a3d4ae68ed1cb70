"""Says what Triton does for a program at this moment, by the calls of the main thread:

    autotuning 'kernel' (configuration 3 of 16): running 'kernel'
    importing torch

A thread asks (progress.lines), while the main one compiles or waits for a launch; neither is slowed down."""

from __future__ import annotations

import os
import sys
import threading
import types

_FILES = {
    os.path.join("triton", "compiler", "compiler.py"): "compile",
    os.path.join("triton", "runtime", "jit.py"): "run",
    os.path.join("triton", "runtime", "autotuner.py"): "_bench",
}
_IMPORTED = ("torch", "triton", "triton_runner")  # packages whose import takes seconds on a busy machine
_LAUNCHES = os.path.join("triton_runner", "_launch", "")


def at_work() -> str | None:
    """None: the program does something else."""
    frame = sys._current_frames().get(threading.main_thread().ident)
    doing = tuning = ""
    imported, is_launch = "", False
    while frame is not None:
        code = frame.f_code
        name = next((name for path, name in _FILES.items() if code.co_filename.endswith(path)), None)
        if code.co_name == name == "_bench":
            tuning = _configuration(frame.f_locals)
        elif code.co_name == name and not doing:
            doing = _said(name, frame.f_locals)
        if code.co_name == "<module>":  # a file's own lines, while it is imported
            package = frame.f_globals.get("__name__", "").partition(".")[0]
            imported = imported or (package if package in _IMPORTED else "")
        else:
            is_launch |= _LAUNCHES in code.co_filename
        frame = frame.f_back
    doing = doing or ("running a kernel" if is_launch else f"importing {imported}" if imported else "")
    return ": ".join(filter(None, (tuning, doing))) or None


def _said(function: str, values: dict) -> str:
    if function == "compile":
        return f"compiling {_name(getattr(values.get('src'), 'fn', None))}"
    return f"running {_name(values.get('self'))}"


def _configuration(values: dict) -> str:
    tuner = values.get("self")
    name = _name(getattr(tuner, "base_fn", None) or getattr(tuner, "fn", None))
    configurations = getattr(tuner, "configs", ())
    number = next((at for at, one in enumerate(configurations, 1) if one is values.get("config")), None)
    of_all = f" (configuration {number} of {len(configurations)})" if number else ""
    return f"autotuning {name}{of_all}"


def _name(kernel) -> str:
    name = getattr(kernel, "__name__", None)
    if name is None and isinstance(function := getattr(kernel, "fn", None), types.FunctionType):
        name = function.__name__
    return f"'{name}'" if name else "a kernel"
