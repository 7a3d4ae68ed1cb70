"""Implements triton_runner.reduce(): a text is made small while its fault stays."""

from __future__ import annotations

import ast
import dataclasses
import os
from pathlib import Path

from triton_runner import _settings
from triton_runner._artifact import shell_arguments
from triton_runner._artifact.reading import compile_options, describe, is_text_itself, read_kernel, text_of
from triton_runner._base.errors import fail
from triton_runner._base.levels import MLIR, level_of_name
from triton_runner._base.shrink import Shrinker, rounds
from triton_runner._kernel.cases.case import Case, is_case, open_case
from triton_runner._memory.arguments import Arguments
from triton_runner.verbs.reduce import amdgcn_edits, ir_edits, oracles, ptx_edits, python_edits


@dataclasses.dataclass
class Reduction:
    """The result of reduce().

    - `text`: the smallest text that still has the fault; `file`: where it was written.
    - `size`, `size_before`: (ops, characters) for IR and PTX, (statements, nodes, characters) for Python.
    - `tries`, `seconds`: how many candidates were tried, and how long that took.
    """

    text: str
    size: tuple
    size_before: tuple
    tries: int
    seconds: float
    file: str | None

    def __str__(self) -> str:
        return self.text


class _Kind:
    """A kind of text, and what makes it smaller."""

    def __init__(self, suffix: str, size, steps, simpler):
        self.suffix, self.size, self.steps, self.simpler = suffix, size, steps, simpler


def _kind(level: str) -> _Kind:
    if level in MLIR:
        return _Kind(f".{level}", ir_edits.size, ir_edits.steps, ir_edits.without_locations)
    if level == "ptx":
        return _Kind(".ptx", ptx_edits.size, ptx_edits.steps, ptx_edits.stripped)
    if level == "amdgcn":
        return _Kind(".amdgcn", amdgcn_edits.size, amdgcn_edits.steps, amdgcn_edits.stripped)
    if level == "python":
        return _Kind(".py", python_edits.size, python_edits.steps, lambda text: text)
    raise fail(f"reduce does not know {level}", "TTIR, TTGIR, PTX, AMDGCN, Python, and cases of them")


def reduce(
    source, oracle, *, out=None, grid=None, args=None, target=None, metadata=None, name: str = "",
    signature=None, constexprs=None, options=None, python: bool = False, timeout: float = 60.0, say=None,
) -> Reduction:  # fmt: skip
    """Makes IR, PTX, AMDGCN or a kernel in Python as small as possible while it still shows a fault.

    - `source`: a file (.ttir, .ttgir, .ptx, .amdgcn, .py; .hsaco, of which the text that it is decoded to is
      reduced), "kernel.py:name", a text of IR, PTX or AMDGCN, or a case (*.trcase), which contains its
      arguments.
    - `oracle`: decides whether a candidate still has the fault: `"levels"` or `"levels:ttir,ptx"` (the levels
      produce different results), `"trap"` or `"trap:race"` (the launch stops, under a check), `"crash"` (the
      compiler fails in the same way), `"shared>49152"`, `"registers>128"`, `"spills>0"`, a program with its
      arguments (it ends with the exit status that it has for the whole text; the candidate's path replaces {}
      or is appended), or a function of the text that returns a bool.
    - `out`: a file that always contains the smallest text so far.
    - `grid`, `args`: of the launch, for the oracles that run the kernel.
    - `target`, `metadata`: for IR, PTX and AMDGCN, as for `load()`; `name` selects the kernel.
    - `signature`, `constexprs`, `options`: for Python, as for `compile()`.
    - `python`: reduces the Python kernel of a case, not its IR.
    - `timeout`: the most seconds that one candidate may take.

    Raises DiagnosticError if the complete text does not have the fault.
    """
    text, candidates = _taken(
        source, grid, args, target, metadata, name, signature, constexprs, options, python, timeout
    )
    kind = _kind(candidates.level)
    holds = oracles.of(oracle, candidates, kind.suffix, text)
    shrinker = Shrinker(text, holds, kind.size, Path(out) if out else None, say)
    before = kind.size(text)
    shrinker.attempt(kind.simpler(text))
    rounds(shrinker, kind.steps())
    best, file = shrinker.best, os.fspath(out) if out else None
    return Reduction(best, kind.size(best), before, shrinker.tries, shrinker.seconds, file)


def _taken(source, grid, args, target, metadata, name, signature, constexprs, options, python, timeout):
    """The text to reduce, and how candidates of it are compiled and run."""
    if not isinstance(source, (str, os.PathLike)):
        raise fail("reduce takes a file or a text")
    path = os.fspath(source)
    if is_case(path):
        return _of_case(open_case(path), python, timeout)
    held = None
    grid = (*grid, 1, 1)[:3] if grid is not None else None
    target = target or _settings.current().target or _settings.DEFAULT_TARGET
    file, colon, kernel = path.rpartition(":")
    if path.endswith(".py") or (colon and file.endswith(".py")):
        file, kernel = (file, kernel) if colon and file.endswith(".py") else (path, name)
        text = read_kernel(file, False)
        if args is not None:
            names = _parameters(text, kernel, constexprs or {})
            held = Arguments(list(zip(names, args, strict=False)))
        more = {"grid": grid, "arguments": held, "timeout": timeout}
        compiling = _compiling(signature, constexprs, None, options)
        return text, oracles.PythonCandidates("python", target, kernel, compiling=compiling, **more)
    text = path if is_text_itself(path) else text_of(path)
    level = "amdgcn" if text is not path and level_of_name(path) == "hsaco" else oracles.level_of(path, text)
    _kind(level)
    artifact = describe(level, text, "" if text is path else path, name, metadata)
    if args is not None:
        names = [param["name"] or f"#{i}" for i, param in enumerate(artifact.description["params"])]
        held = Arguments(list(zip(names, args, strict=False)))
    about = {**compile_options(artifact), "name": artifact.name}
    target = artifact.description.get("target") or target
    return text, oracles.Candidates(level, target, artifact.name, about, grid, held, timeout)


def _parameters(text: str, kernel: str, constexprs) -> list[str]:
    """The runtime parameters of a kernel in a Python text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            return [argument.arg for argument in node.args.args if argument.arg not in constexprs]
    raise fail(f"there is no function {kernel!r}", "name the kernel as in kernel.py:name")


def _of_case(case: Case, python: bool, timeout: float):
    more = {"grid": case.grid, "arguments": case.subject.arguments, "timeout": timeout}
    if not python:
        level = case.subject.entry
        about = case.subject.metadata
        more |= {"block": case.subject.block, "cluster": case.subject.cluster}
        return case.subject.texts[level], oracles.Candidates(level, case.target, case.name, about, **more)
    if "kernel.py" not in case.archive or "signature" not in case.about:
        raise case.archive.bad("it has no Python of its kernel that could be compiled again")
    about = case.about
    compiling = _compiling(about["signature"], about["constants"], about["attrs"], about["options"])
    candidates = oracles.PythonCandidates("python", case.target, about["python"], compiling=compiling, **more)
    return case.archive.text("kernel.py"), candidates


def _compiling(signature, constexprs, attrs, options) -> dict:
    return {"signature": signature, "constexprs": constexprs, "attrs": attrs, "options": options or {}}


def arguments(texts) -> list | None:
    """Arguments from their texts, as exec takes them."""
    return [shell_arguments.parse_argument(text) for text in texts] if texts else None
