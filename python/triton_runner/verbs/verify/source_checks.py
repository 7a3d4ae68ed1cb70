"""Finds what the program's text does with a value that it reads from a result: checks it, keeps it under a
name, hands it back, or nothing of that.

    err = (out - want).abs().max().item()    # keeps it: `err`
    print(err)                               # nothing
    assert err < 1e-3                        # a check, which depends on `err`

A check is what can end the program: an assertion, a call of assert_...(), an exit, or a branch with one of
these.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import functools
import itertools
import linecache

from triton_runner._base.errors import is_of_library

# These let the program go on after what fails inside of them, and these want a function to fail.
_SWALLOWS = {"suppress", "raises", "assertRaises", "assertRaisesRegex"}
_EXPECT_FAILURE = {"expectedFailure", "xfail"}
_EXITS = {"exit", "quit", "_exit", "abort", "fail", "SystemExit"}
# These names say something of an array without looking at its elements.
_METADATA = {
    "shape", "dtype", "device", "ndim", "size", "numel", "stride", "is_cuda", "requires_grad", "names",
    "layout", "is_contiguous", "data_ptr", "element_size", "nbytes", "dim", "strides", "itemsize",
    "storage_offset",
}  # fmt: skip
_CHANGES = {"append", "extend", "insert", "add", "update", "setdefault", "appendleft"}


@dataclasses.dataclass(frozen=True)
class Use:
    """The use that a statement makes of a value in it. check: what the check is called, "" for none; names:
    those that then depend on the value; is_returned: it goes to the caller."""

    check: str = ""
    names: frozenset = frozenset()
    is_returned: bool = False


@dataclasses.dataclass(frozen=True)
class Scope:
    """A function of a file, or its outermost statements: (statement, those around it within the scope)."""

    statements: tuple

    def at(self, place: tuple[int, int]):
        """The innermost statement at a line and column, with those around it."""
        within = [one for one in self.statements if one[0].lineno <= place[0] <= one[0].end_lineno]
        beside = [one for one in within if begin_of(one[0]) <= place]
        return max(beside or within, key=lambda one: (len(one[1]), begin_of(one[0])), default=None)

    def depending(self, names: frozenset) -> list[tuple[ast.stmt, Use]]:
        """The checks and returns that depend on names, or on names that depend on these."""
        known = set(names)
        while more := {name for one in self._using(known) for name in one[1].names} - known:
            known |= more
        return [one for one in self._using(known) if one[1].check or one[1].is_returned]

    def _using(self, names: set) -> list[tuple[ast.stmt, Use]]:
        used = [one for one in self.statements if any(_mentions(part, names) for part in _own(one[0]))]
        return [(statement, use_of(statement, around)) for statement, around in used]

    def loops(self, statement: ast.stmt) -> list[ast.stmt]:
        """The loops around a statement."""
        around = next(around for one, around in self.statements if one is statement)
        return [one for one in around if isinstance(one, (ast.For, ast.While, ast.AsyncFor))]


def scope_of(code) -> Scope | None:
    """The scope that a code object was compiled from; None where its text is not known."""
    scopes = _scopes(code.co_filename)
    first = code.co_firstlineno if code.co_name != "<module>" else 0
    return scopes.get((code.co_name, first))


def use_at(frame) -> Use:
    """Returns what the statement that a frame is at does with a value."""
    scope = scope_of(frame.f_code)
    found = scope.at(place_of(frame)) if scope else None
    return use_of(*found) if found else Use()


def is_failure(error: BaseException, frames) -> bool:
    """Returns whether an exception is a check that failed: it comes from a statement which is one. frames: of
    its traceback."""
    if isinstance(error, SystemExit):
        return error.code not in (None, 0)
    last = None
    while frames is not None:
        last = frames.tb_frame if not is_of_library(frames.tb_frame.f_code.co_filename) else last
        frames = frames.tb_next
    return isinstance(error, AssertionError) or bool(last and use_at(last).check)


def place_of(frame) -> tuple[int, int]:
    """The line and the column of a frame: several statements may stand in one line."""
    positions = getattr(frame.f_code, "co_positions", lambda: iter(()))()  # Python 3.10 keeps none
    at = next(itertools.islice(positions, frame.f_lasti // 2, None), (None,) * 4)
    line, column = at[0], at[2]
    return (line, column) if line is not None and column is not None else (frame.f_lineno, 1 << 30)


def begin_of(statement: ast.stmt) -> tuple[int, int]:
    return statement.lineno, statement.col_offset


def is_at(statement: ast.stmt, line: int) -> bool:
    """Returns whether a line is one of a statement, and not only of statements inside of it."""
    body = getattr(statement, "body", None)
    last = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno
    return statement.lineno <= line <= last


def use_of(statement: ast.stmt, around: tuple) -> Use:
    """Returns what a statement does with a value in its own expressions."""
    check = _check(statement)
    if check:
        return Use() if _is_caught(statement, around) else Use(check)
    if isinstance(statement, ast.Return):
        return Use(is_returned=True)
    if isinstance(statement, (ast.If, ast.While)):
        inside = [one for part in (*statement.body, *statement.orelse) for one in ast.walk(part)]
        return Use(names=frozenset().union(*map(_targets, inside)))
    return Use(names=_targets(statement))


def _check(statement: ast.stmt) -> str:
    """Returns the name of a check; "" for another statement."""
    if isinstance(statement, ast.Assert):
        return "" if _is_true(statement.test) else "assert"
    if isinstance(statement, ast.Raise):
        return "raise"
    if isinstance(statement, (ast.If, ast.While)):
        inside = [one for part in (*statement.body, *statement.orelse) for one in ast.walk(part)]
        return next(filter(None, (_check(one) for one in inside if isinstance(one, ast.stmt))), "")
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        name = _called(statement.value)
        return name if name.startswith("assert") or name in _EXITS else ""
    return ""


def _is_true(test: ast.expr) -> bool:
    """Returns whether a condition is written so that it always holds: `... or True`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(_is_true, test.values))
    return isinstance(test, ast.Constant) and bool(test.value)


def _called(call: ast.Call) -> str:
    """The last name of what is called."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_caught(statement: ast.stmt, around: tuple) -> bool:
    """Returns whether an `except` or a `with` around a check lets the program go on when it fails."""
    path = (*around, statement)
    for outer, inner in itertools.pairwise(path):
        if isinstance(outer, ast.Try) and inner in outer.body:
            return not all(map(_ends, outer.handlers))
        if isinstance(outer, (ast.With, ast.AsyncWith)):
            calls = [one.context_expr for one in outer.items if isinstance(one.context_expr, ast.Call)]
            if any(_called(one) in _SWALLOWS for one in calls):
                return True
    return False


def _ends(part: ast.AST) -> bool:
    """Returns whether there is a check in a part of the text that makes the program fail."""
    return any(_check(one) and not _succeeds(one) for one in ast.walk(part) if isinstance(one, ast.stmt))


def _succeeds(statement: ast.stmt) -> bool:
    """Returns whether a statement ends the program with exit status 0."""
    call = statement.value if isinstance(statement, ast.Expr) else getattr(statement, "exc", None)
    if isinstance(call, ast.Name):
        return call.id == "SystemExit"
    if not isinstance(call, ast.Call) or _called(call) not in ("exit", "quit", "_exit", "SystemExit"):
        return False
    return all(isinstance(one, ast.Constant) and not one.value for one in call.args)


def _targets(node: ast.AST) -> frozenset:
    """The names that a statement or expression gives a value, as they are written: `err`, `self.errors`."""
    if isinstance(node, ast.Assign):
        places = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.NamedExpr, ast.AsyncFor)):
        places = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _called(node.value) in _CHANGES:
        places = [node.value.func.value] if isinstance(node.value.func, ast.Attribute) else []
    else:
        places = []
    inner = [one.target for part in _own(node) for one in ast.walk(part) if isinstance(one, ast.NamedExpr)]
    return frozenset(name for place in [*places, *inner] for name in _written(place))


def _written(place: ast.AST):
    if isinstance(place, (ast.Tuple, ast.List)):
        for part in place.elts:
            yield from _written(part)
    elif isinstance(place, (ast.Subscript, ast.Starred)):
        yield from _written(place.value)
    elif isinstance(place, (ast.Name, ast.Attribute)):
        yield ast.unparse(place)


def _own(node: ast.AST) -> list[ast.AST]:
    """The expressions of a statement, without the statements inside of it."""
    return [one for one in ast.iter_child_nodes(node) if isinstance(one, (ast.expr, ast.withitem))]


def _mentions(node: ast.AST, names: set) -> bool:
    """Returns whether an expression depends on the elements of what has one of these names."""
    if isinstance(node, ast.Attribute) and node.attr in _METADATA:
        return False
    if (
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) in names
    ):
        return True
    if isinstance(node, ast.Call) and _called(node) in ("len", "type", "id", "isinstance"):
        return False
    return any(_mentions(one, names) for one in ast.iter_child_nodes(node))


@functools.cache
def _scopes(file: str) -> dict[tuple[str, int], Scope]:
    """The scopes of a file by name and first line, which is that of the first decorator."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    scopes = {("<module>", 0): Scope(tuple(_statements(tree, ())))}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            is_checked = not any(map(_expects_failure, node.decorator_list))
            scopes[node.name, first] = Scope(tuple(_statements(node, ())) if is_checked else ())
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    lines = collections.Counter(node.lineno for node in lambdas)
    scopes |= {
        ("<lambda>", node.lineno): Scope(((_of_lambda(node.body), ()),))
        for node in lambdas if lines[node.lineno] == 1
    }  # fmt: skip
    return scopes


def _of_lambda(body: ast.expr) -> ast.stmt:
    """Returns a statement that does what a lambda does: it calls a check, or hands back a value."""
    call = ast.copy_location(ast.Expr(body), body)
    return call if _check(call) else ast.copy_location(ast.Return(body), body)


def _expects_failure(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(function).rpartition(".")[2] in _EXPECT_FAILURE


def _statements(node: ast.AST, around: tuple):
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt):
            yield one, around
            if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from _statements(one, (*around, one))
        elif isinstance(one, (ast.excepthandler, ast.match_case)):
            yield from _statements(one, around)
