"""Reads what a Python source says before anything runs: its kernels, and which lines have code.

kernels("scaled_rows.py")       {"normalize": Kernel(first=8, last=16)}
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import os

from triton_runner._base.errors import fail

_CODE = (ast.stmt, ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The lines of a function that Triton compiles, without decorators; code: those that may have some."""

    first: int
    last: int
    code: list[int]


def is_source(path: str) -> bool:
    return path.endswith(".py") and os.path.isfile(path)


@functools.lru_cache(maxsize=64)
def nodes(path: str, *kinds: type[ast.AST]) -> list:
    """The nodes of some kinds in a source, outer ones first; [] where it cannot be read or parsed."""
    try:
        with open(path, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


@functools.lru_cache(maxsize=64)
def kernels(path: str) -> dict[str, Kernel]:
    """The functions of a source that are decorated by some jit; {} where it cannot be read."""
    out = {}
    for node in nodes(path, ast.FunctionDef):
        if any(map(_is_jit, node.decorator_list)):
            inside = [one for one in ast.walk(node) if isinstance(one, _CODE) and one.lineno > node.lineno]
            code = sorted({one.lineno for one in inside if not _is_text(one)})
            out[node.name] = Kernel(node.lineno, node.end_lineno or node.lineno, code)
    return out


def _is_jit(decorator: ast.expr) -> bool:
    """@triton.jit, @gluon.jit, @jit(...)."""
    of = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else "") == "jit"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@functools.lru_cache(maxsize=64)
def count_lines(path: str) -> int:
    with open(path, encoding="utf-8", errors="replace") as source:
        return sum(1 for _ in source)


def file_of(name: str, program: str) -> str:
    """The source that a breakpoint's "kernel.py" means; "" means the program's. "": there is none of that
    name."""
    if not name:
        return program if is_source(program) else ""
    for path in (name, os.path.join(os.path.dirname(program), name)):
        if is_source(path):
            return path
    return program if is_source(program) and os.path.basename(program) == name else ""


def check_line(name: str, line: int, program: str) -> str:
    """A note on a breakpoint at a line before anything runs; "" where there is nothing to say. Raises
    DiagnosticError for a line that the file does not have."""
    path = file_of(name, program)
    own = kernels(path) if path else {}
    if not path or (not name and not own):  # a number alone is a line of the kernel's file, whichever that is
        return ""
    if not 1 <= line <= count_lines(path):
        others = [] if name else [f"lines of another file are FILE.py:{line}"]
        raise fail(
            f"{os.path.basename(path)} has no line {line}", f"it has {count_lines(path)} lines", *others
        )
    if not own:
        return ""
    around = next((k for k in own.values() if k.first <= line <= k.last), None)
    if around is None:
        names = ", ".join(f"{name} (lines {k.first} to {k.last})" for name, k in own.items())
        return f"line {line} is in no kernel, where alone it can stop: {names}"
    following = [at for at in around.code if at >= line]
    if line in around.code or not following:
        return ""
    return f"line {line} has no code: it stops at {following[0]}, or at the next one that has some"
