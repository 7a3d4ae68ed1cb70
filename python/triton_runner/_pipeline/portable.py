"""Writes a kernel as JSON: its source, that of the JIT functions it calls, and the globals that they use.

No pickle and no import of the program that defined it: a worker makes the kernel again (rebuild.py) without
running the program. What cannot travel is named."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import types

from triton_runner._base.errors import fail

# Modules whose functions a release has itself: named, not captured.
_KNOWN_PACKAGES = ("triton", "triton_runner")
_JIT_OPTIONS = ("noinline", "debug", "do_not_specialize", "do_not_specialize_on_alignment")


def constant(value, what: str = "a constant"):
    """A compile-time constant as JSON."""
    taken = _constant(value)
    if taken is None and value is not None:
        raise fail(
            f"{what} is {value!r} ({type(value).__name__}), which does not travel to a worker",
            "numbers, text, None, dtypes and tuples of them do",
        )
    return taken


def _constant(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value.value if hasattr(value, "value") else value
    if isinstance(value, (tuple, list)):
        items = [_constant(item) for item in value]
        return (
            None if any(t is None is not v for t, v in zip(items, value, strict=True)) else {"tuple": items}
        )
    if isinstance(value, dict) and value.keys() == {"attribute"}:  # tl.float16 of a command line
        return value
    kind = type(value)
    if kind.__module__.startswith("triton.language"):
        if kind.__name__ == "dtype":
            return {"dtype": str(value)}
        if kind.__name__ == "constexpr":
            inner = _constant(value.value)
            return None if inner is None is not value.value else {"constexpr": inner}
    return None


class _Capture:
    def __init__(self):
        self.functions: list[dict] = []
        self.order: list[int] = []  # callees first
        self._index: dict[int, int] = {}
        self._kept: list = []  # as ids name them

    def take(self, function) -> int:
        """The index of a JIT function (or of a plain one), with all it uses after it."""
        if id(function) in self._index:
            return self._index[id(function)]
        index = self._index[id(function)] = len(self.functions)
        self._kept.append(function)
        own = function if isinstance(function, types.FunctionType) else function.fn
        entry: dict = {"kind": _kind(function), "name": own.__name__, "qualname": own.__qualname__}
        self.functions.append(entry)
        entry["module"] = own.__module__
        entry["file"] = own.__code__.co_filename
        entry["source"], entry["line"] = _source(own)
        entry["options"] = {name: _plain(getattr(function, name, None)) for name in _JIT_OPTIONS}
        entry["options"] = {name: v for name, v in entry["options"].items() if v is not None}
        entry["names"] = self._names(own, entry)
        self.order.append(index)
        return index

    def _names(self, own, entry) -> dict:
        closure = inspect.getclosurevars(own).nonlocals if own.__closure__ else {}
        scope = {**own.__globals__, **closure}
        tree = ast.parse(textwrap.dedent(entry["source"]))
        local = {*own.__code__.co_varnames, *own.__code__.co_cellvars}
        (function,) = tree.body
        heads = [function.args, *filter(None, [function.returns])]  # a parameter may have a global's name
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - local
        used |= {node.id for head in heads for node in ast.walk(head) if isinstance(node, ast.Name)}
        attributes = {
            (node.value.id, node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }
        taken = {}
        for name in sorted(used & scope.keys()):
            taken[name] = self._reference(scope[name], name, entry)
            if isinstance(scope[name], types.ModuleType) and scope[name].__name__ == "__main__":
                parts = ", ".join(f"{n}.{a}" for n, a in sorted(attributes) if n == name)
                raise fail(f"kernel '{entry['name']}' uses {parts} of the running program: name it directly")
        return taken

    def _reference(self, value, name: str, entry: dict):
        if isinstance(value, types.ModuleType):
            return {"module": value.__name__}
        taken = _constant(value)
        if taken is not None or value is None:
            return taken
        module = getattr(value, "__module__", None) or ""
        path = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or ""
        if module.split(".")[0] in _KNOWN_PACKAGES and _found(module, path) is value:
            return {"attribute": [module, path]}
        if _kind(value):
            return {"function": self.take(value)}
        if module != "__main__" and _found(module, path) is value:
            return {"attribute": [module, path]}
        raise fail(
            f"kernel '{entry['name']}' uses {name}: a {type(value).__name__} does not travel to a worker",
            "put it into a module that can be imported, or compile with the release that is installed",
        )


def _found(module: str, path: str):
    loaded = sys.modules.get(module)
    for part in path.split(".") if path else ():
        loaded = getattr(loaded, part, None)
    return loaded


def _kind(value) -> str:
    """How a function is made again; "" for anything else."""
    if isinstance(value, types.FunctionType):
        return "plain" if value.__name__ != "<lambda>" else ""
    if not isinstance(getattr(value, "fn", None), types.FunctionType):
        return ""
    if type(value).__name__ == "ConstexprFunction":
        return "constexpr_function"
    from triton.runtime.jit import JITFunction

    if isinstance(value, JITFunction):
        return "gluon" if getattr(value, "is_gluon", lambda: False)() else "jit"
    return ""


def _plain(value):
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else value


def _source(own) -> tuple[str, int]:
    """The function from its `def` on, indented as in its file, and the line where that stands."""
    try:
        lines, first = inspect.getsourcelines(own)
    except OSError:
        raise fail(
            f"the source of '{own.__qualname__}' is not available ({own.__code__.co_filename})",
            "define the kernel in a file",
        ) from None
    skipped = next(i for i, line in enumerate(lines) if re.match(r"\s*(async\s+)?def\s", line))
    return "".join(lines[skipped:]), max(first, 1) + skipped


def kernel(function) -> dict:
    """Returns what rebuild.function() makes the kernel from; function: a JIT function, without autotuners
    around it."""
    capture = _Capture()
    entry = capture.take(function)
    return {"functions": capture.functions, "order": capture.order, "entry": entry}
