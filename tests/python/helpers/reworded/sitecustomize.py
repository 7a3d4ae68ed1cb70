"""Rewords every message of a KernelTrap in a Python that has this folder in PYTHONPATH: what decides by the
words of a message decides otherwise then (test_strangers.py).
"""

import importlib.abc
import importlib.util
import sys

ERRORS = "triton_runner._base.errors"
WORDS = ("message", "nearest", "place", "notes")


class Reworded(importlib.abc.MetaPathFinder):
    """Finds the module of the exceptions as others do, and changes the traps that it makes."""

    def find_spec(self, name, path=None, target=None):
        if name != ERRORS:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            reword(module)

        spec.loader.exec_module = exec_module
        return spec


def reword(module):
    init = module.KernelTrap.__init__

    def reworded(trap, text, **fields):
        fields |= {word: "Some words" for word in WORDS if word in fields}
        init(trap, "Some words", **fields | {"notes": ["Some words"]})

    module.KernelTrap.__init__ = reworded


if ERRORS in sys.modules:  # a warm process has loaded it
    reword(sys.modules[ERRORS])
else:
    sys.meta_path.insert(0, Reworded())
