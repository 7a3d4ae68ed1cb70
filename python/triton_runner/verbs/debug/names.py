"""Checks the names that a condition uses: variables of the kernel, its constexprs, values, registers, NumPy
and FUNCTIONS, which state.py evaluates; and tells which lines assign a variable."""

from __future__ import annotations

import re

import numpy

from triton_runner._base.errors import DiagnosticError
from triton_runner._base.levels import MLIR
from triton_runner._base.recent import Recent
from triton_runner._core import ir, probe
from triton_runner.verbs.debug import conditions

FUNCTIONS = {
    "abs": abs, "max": numpy.max, "min": numpy.min, "sum": numpy.sum, "any": numpy.any, "all": numpy.all,
    "isnan": numpy.isnan, "isinf": numpy.isinf, "int": int, "float": float, "bool": bool, "len": len,
    "True": True, "False": False,
}  # fmt: skip
_ALWAYS = {*FUNCTIONS, "None", "np", "numpy", *conditions.OF_THE_LAUNCH}
_MACHINE = re.compile(r"(UR|R|UP|P)\d+")
_AMD = re.compile(r"[vsa]\d+|(vcc|exec)_(lo|hi)|m0|scc")


def missing(name: str, level: str, texts, kernel: str, constants, variables) -> list[str] | None:
    """None: a kernel has something of that name; else notes: what may be meant, if anything, and what there
    is. variables: those that registers hold (variables.py)."""
    if name in _ALWAYS or name in constants:
        return None
    if level not in MLIR and (variables.why or _is_register(name, level, texts, kernel)):
        return None  # without variables nothing is known
    known = variables.names if level not in MLIR else assigned(texts[level], kernel)
    if name in known:
        return None
    if name.startswith("%") and level in MLIR:
        try:
            probe.select(_parsed(texts[level]), kernel, [name])
            return None
        except DiagnosticError as error:
            return [*error.notes[:1], "values are named as in the text of the level"]
    nearest = conditions.nearest(name, [*known, *constants])[:1]
    return [*nearest, "it has: " + ", ".join([*known, *constants][:20])]


def _is_register(name: str, level: str, texts, kernel: str) -> bool:
    if level == "cubin":
        return _MACHINE.fullmatch(name) is not None
    if level == "amdgcn":
        return _AMD.fullmatch(name) is not None
    return name.startswith("%") and probe.names_registers(texts["ptx"], "<ptx>", kernel, name)


_modules = Recent(4)
_assigned = Recent(4)


def _parsed(text: str):
    return _modules.get(text) or _modules.put(text, ir.parse(text))


def assigned(text: str, kernel: str) -> dict[str, list[int]]:
    """The variables of a module, in the order of its text, each with the lines that assign it."""
    key = (text, kernel)
    if (found := _assigned.get(key)) is None:
        lines: dict[str, dict] = {}
        for one in probe.assigned(text, "<ir>", kernel).all:
            lines.setdefault(one.site.variable, {})[one.line] = None
        found = _assigned.put(key, {name: sorted(at) for name, at in lines.items()})
    return found
