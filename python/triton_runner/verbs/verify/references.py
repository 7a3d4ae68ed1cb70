"""Finds the reference for a launch's result: a function that does in torch or NumPy what the kernel does.

def add(x_ptr, y_ptr, out_ptr):      # parameters of the kernel, as many of them as it needs
    out_ptr[:] = x_ptr + y_ptr       # it writes into its arguments, as the kernel does"""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._launch.launchers import unseen
from triton_runner._worker import program_file


@dataclasses.dataclass
class Expected:
    """A reference leaves these in the arguments of a launch. arrays: by parameter, of what it takes."""

    reference: Reference
    arrays: dict

    @property
    def by(self) -> str:
        return self.reference.name

    def compares(self, written: list[str]) -> bool:
        """Returns whether the kernel writes into nothing but what the reference takes too."""
        self.reference.left_alone += [name for name in written if name not in self.arrays]
        is_compared = bool(written) and {*written} <= self.arrays.keys()
        self.reference.is_used |= is_compared
        return is_compared


class Reference:
    """A function to compare with. find(): gives it, when the first launch is judged: the program may define
    it. lacking: kernels that lack one of its parameters, with that; left_alone: arguments that kernels write
    and it does not take; searched: kernels of which a change was looked for that makes the result agree;
    is_used: whether it was compared with; error: why it cannot be found."""

    def __init__(self, name: str, find: Callable):
        self.name, self._find = name, find
        self.lacking: dict[str, str] = {}
        self.left_alone: list[str] = []
        self.searched: set[str] = set()
        self.is_used = False
        self.error: DiagnosticError | None = None

    def of(self, launch, constants: dict) -> Expected | None:
        """Returns what it gives for a launch; None where the kernel lacks one of its parameters, or where
        there is an error. constants: the kernel's constexprs by parameter."""
        try:
            function = self._find()
        except DiagnosticError as error:  # the program goes on, which is not at fault
            self.error = error
            return None
        taken = [*inspect.signature(function).parameters]
        copies = launch.arguments.copied(first=True)
        values = {**constants, **dict(copies.named)}
        if missing := [name for name in taken if name not in values]:
            self.lacking[launch.name] = missing[0]
            return None
        with unseen():
            function(**{name: values[name] for name in taken})
        arrays = copies.arrays()
        return Expected(self, {name: arrays[name] for name in taken if name in arrays})

    def why(self) -> list[str]:
        """Why nothing was compared with it."""
        if self.is_used:
            return []
        lines = [
            f"{self.name} takes '{name}', which is no parameter of {kernel}"
            for kernel, name in self.lacking.items()
        ]
        names = dict.fromkeys(self.left_alone)
        return lines + [f"{self.name} does not take '{name}', which the kernel writes" for name in names]


def notes(references) -> list[str]:
    """Why nothing was compared with each of them."""
    return [line for reference in references for line in reference.why()]


def listed(function) -> tuple[Reference, ...]:
    """The references of a function, or of none."""
    return () if function is None else (Reference(function.__qualname__, lambda: function),)


def named(text: str) -> Reference:
    """The reference FILE:FUNCTION. A function of the program that runs is the program's."""
    file, colon, name = text.rpartition(":")
    if not colon or not name or not file.endswith(".py"):
        raise fail(f"--reference {text}: expected FILE:FUNCTION", "as in reference.py:add")
    if not os.path.isfile(file):
        raise fail(f"no such file: {file}")
    return Reference(text, lambda: _function(file, name))


def _function(file: str, name: str):
    main = sys.modules.get("__main__")
    here = os.path.realpath(file)
    if os.path.realpath(getattr(main, "__file__", None) or "") == here:
        values = vars(main)
    else:
        values = _imported(here)
    if not callable(values.get(name)):
        raise fail(f"{file} has no function {name!r}" + (" yet" if values is vars(main) else ""))
    return values[name]


def _imported(path: str) -> dict:
    known = sys.modules.get(f"triton_runner_reference:{path}")
    if known is None:
        spec = program_file.spec_of(f"triton_runner_reference:{path}", path)
        known = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = known
        with unseen():
            spec.loader.exec_module(known)
    return vars(known)
