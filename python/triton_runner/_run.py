"""Running another program in this process, as python would, with the CPU (or what was asked for) as Triton's
device."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import traceback

from triton_runner import _device, _pretend, _settings
from triton_runner._errors import fail
from triton_runner._paths import check_program


def run_program(program: str, arguments: list[str], is_module: bool, pretend_cuda: bool) -> int | None:
    """Runs a script or module as __main__ and returns its exit status."""
    if not is_module:
        check_program(program)
    if pretend_cuda:
        if _device.resolved_device() != "cpu":
            raise fail(
                "--pretend-cuda is for the CPU, and a GPU is in use",
                "add --device cpu, or leave --pretend-cuda out",
            )
        _pretend.install()
    if _settings.quick():
        from triton_runner import _quick_install  # it changes triton.testing

        _quick_install.install()
    sys.argv = [program, *arguments]
    if "uninit" in _settings.current().check.split(",") and importlib.util.find_spec("torch") is not None:
        from triton_runner._uninit import track_empty

        track_empty().__enter__()
    try:
        if is_module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
            runpy.run_path(program, run_name="__main__")
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return stop.code
        print(stop.code, file=sys.stderr)
        return 1
    except BaseException as error:  # printed as python prints it, without our own frames
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in (
            __file__,
            runpy.__file__,
            "<frozen runpy>",
        ):
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        if not pretend_cuda and "CUDA" in str(error) and _device.resolved_device() == "cpu":
            print(
                "triton-runner: a program that asks torch for CUDA runs on the CPU with --pretend-cuda",
                file=sys.stderr,
            )
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0
