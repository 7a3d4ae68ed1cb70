"""Is imported as a Python begins that a program under `triton-runner run` has started: PYTHONPATH leads here.
The process is prepared as the program's own is, once it has imported torch or Triton; until then nothing is
loaded. The sitecustomize that would be imported otherwise is imported too."""

import importlib.machinery
import importlib.util
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _Prepares:
    """A finder that has torch or Triton found as ever, and then prepares the process."""

    def find_spec(self, name, path=None, target=None):
        if name not in ("torch", "triton") or self not in sys.meta_path:
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


def _is_prepared():
    """Whether it is a command of ours, one of multiprocessing's processes, which is sent what it needs, or a
    compile worker of torch, which makes no launches."""
    words = ("triton_runner", "triton-runner", "multiprocessing", "_inductor")
    return any(one in word for one in words for word in sys.orig_argv[1:4])


_hidden()
if os.environ.get("TRITON_RUNNER_STARTED") and not _is_prepared():
    sys.meta_path.insert(0, _Prepares())
