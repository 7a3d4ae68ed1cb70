"""Defines the results of compare: a row a cell, and the table of all. _programs/ci.py and
_kernel/page/findings.py read their fields, too."""

from __future__ import annotations

import dataclasses

from triton_runner._base import expression
from triton_runner._base.typed import as_json, of_json
from triton_runner._kernel.cells import measure
from triton_runner._kernel.cells.cells import Cell
from triton_runner._kernel.compiling.crashes import Crash, Refused
from triton_runner.verbs.compare import table


@dataclasses.dataclass(frozen=True)
class Measured:
    """One cell of a comparison: a release, a target and a configuration, with what was measured.

    - `release`, `target`, `config`: identify the cell.
    - `figures`: the measured numbers by name; None where one is not available.
    - `mix`, `ptx`: how often each instruction occurs, in the machine code and in the PTX.
    - `error`: why there are no figures, with `stage` and `pass_name` of the failure; `crash`: the compiler
      fails, with its `stage`, `pass`, whole `message` and `reproducer`; `refused`: the front end does not
      take the kernel, at `file`, `line` and `column`; `gap`: why the release cannot compile this cell.
    - `trap`: the fault that stopped its launch; `unrun`: why it was not launched.
    - `outputs`: type, shape and hash of each array after the launch.
    - `files`: a hash of the text of each level.
    - `notes`: sentences on the figures. `base`: the row that this one is compared with, or None; `is_base`:
      it is the row itself.
    """

    release: str
    target: str
    config: dict
    figures: dict
    mix: dict
    ptx: dict
    error: str | None
    gap: str | None
    trap: str | None
    unrun: str | None
    stage: str | None
    pass_name: str | None
    files: dict
    outputs: list | None
    notes: list = dataclasses.field(default_factory=list)
    crash: Crash | None = None
    refused: Refused | None = None
    base: Measured | None = None
    is_base: bool = False

    @property
    def name(self) -> str:
        return Cell(self.release, self.target, self.config).name

    def figure(self, name, of_base: bool = False):
        """Returns a figure by name; ("count", opcode) is the number of instructions with that opcode. Raises
        expression.Unknown where the figure is not available."""
        row = self.base if of_base else self
        if row is None:
            raise expression.Unknown("base")
        if isinstance(name, tuple):
            if row.error or row.gap:
                raise expression.Unknown(f"count({name[1]})")
            return measure.count(row, name[1])
        if (value := row.figures.get(name)) is None:
            raise expression.Unknown(f"base.{name}" if of_base else name)
        return value

    def as_dict(self) -> dict:
        fields = {_SAID.get(name, name): value for name, value in vars(self).items() if name != "is_base"}
        failures = {name: as_json(fields.pop(name)) for name in ("crash", "refused")}
        failures = {name: one for name, one in failures.items() if one is not None}
        return fields | failures | {"base": self.base.name if self.base else None}


_OPEN = ("notes", "crash", "refused", "base", "is_base")  # what JSON of an earlier run may lack


_SAID = {"mix": "instructions", "pass_name": "pass"}  # what JSON calls some of them


def earlier_row(said: dict) -> Measured:
    """The row that as_dict() gave, without its base."""
    names = [field.name for field in dataclasses.fields(Measured) if field.name not in _OPEN]
    found = {name: said[_SAID.get(name, name)] for name in names}
    failures = {"crash": of_json(Crash | None, said.get("crash")),
                "refused": of_json(Refused | None, said.get("refused"))}  # fmt: skip
    return Measured(**found, notes=said.get("notes", []), **failures)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of compare(). It is a sequence of rows (for row in comparison, len(comparison)); str() gives
    the table.

    - `kernel`: the kernel's name; `rows`: the cells, ordered by target, configuration and release.
    - `computed`, `kept`: how many cells were measured in this call, and how many came from the store.
    - `trouble`: the error that kept finished cells from being stored, or None.
    """

    kernel: str
    rows: list[Measured]
    computed: int
    kept: int
    trouble: OSError | None

    def failing(self, text: str) -> list[tuple[Measured, str]]:
        """Returns rows with figures for which an expression is true or cannot be evaluated, with why."""
        condition = expression.parse(text, "--fail-if", measure.FIGURES)
        rows = []
        for row in self.rows:
            if row.gap or row.error:
                continue
            try:
                if condition.value(row.figure):
                    rows.append((row, _why(condition, row)))
            except expression.Unknown as error:
                rows.append((row, f"{error} is not known{': ' + row.unrun if row.unrun else ''}"))
        return rows

    @property
    def is_judged(self) -> bool:
        """Returns whether some cell was compiled, or the front end alone refuses the kernel: what a compiler
        fails on everywhere cannot be judged."""
        return any(not row.error and not row.gap for row in self) or not any(row.crash for row in self)

    def as_dict(self) -> dict:
        return {
            "kernel": self.kernel, "cells": [row.as_dict() for row in self.rows], "computed": self.computed,
            "kept": self.kept,
        }  # fmt: skip

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __str__(self):
        return "\n".join(table.lines(self))


def _why(condition, row: Measured) -> str:
    """The figures that an expression names, with the base's beside them."""
    words = []
    for name in condition.figures:
        shown = name if isinstance(name, str) else f"count({name[1]})"
        text = f"{shown} {table.short(row.figure(name))}"
        if row.base and not row.is_base:
            try:
                text += f" (base {table.short(row.figure(name, True))})"
            except expression.Unknown:
                text += " (base none)"
        words.append(text)
    return ", ".join(words)
