"""Is imported as a Python begins that a program under `triton-runner run` has started: PYTHONPATH leads here.
The process is prepared as the program's own is, once it has imported torch, Triton or this package; until
then nothing is loaded. The sitecustomize that would be imported otherwise is imported too."""

import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _Prepares:
    """A finder that has torch, Triton or this package found as ever, and then prepares the process. Our own
    package is among them, since a module of it may import torch, and is half made at that moment."""

    def find_spec(self, name, path=None, target=None):
        if name not in ("torch", "triton", "triton_runner") or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            from triton_runner._pretend import running  # with the package, which asks for Triton and torch

            running.prepare_started(os.environ["TRITON_RUNNER_STARTED"] == "cuda")

        spec.loader.exec_module = exec_module
        return spec


def _hidden():
    """Imports the sitecustomize that this one hides."""
    elsewhere = [place for place in sys.path if os.path.abspath(place or ".") != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _what_runs():
    """The code, module or script that Python was started with, after its own options."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-c", "-m"):
            return next(words, "")
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            next(words, "")
        elif not word.startswith("-") or word == "-":
            return word
    return ""


def _is_prepared():
    """Returns whether it is a command of ours, one of multiprocessing's processes, which is sent what it
    needs, or a compile worker of torch, which makes no launches."""
    runs = _what_runs()
    return any(one in runs for one in ("triton_runner", "triton-runner", "multiprocessing", "_inductor"))


_hidden()
if os.environ.get("TRITON_RUNNER_STARTED") and not _is_prepared():
    sys.meta_path.insert(0, _Prepares())
