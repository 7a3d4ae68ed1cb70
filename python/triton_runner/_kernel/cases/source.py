"""Writes a captured kernel as a self-contained Python module: the kernel, the functions that it calls, the
constants that it uses, and their imports. Names with different meanings in different modules get a number."""

from __future__ import annotations

import ast
import textwrap

_HEAD = '"""The kernel {name}, with all that it uses, as the program had it."""\n'


def module_of(captured: dict) -> tuple[str, str]:
    """The text of the module and the kernel's name in it. captured: the result of portable.kernel()."""
    writer = _Writer(captured)
    for index in captured["order"]:
        writer.add(index)
    return writer.text(), writer.names[captured["entry"]]


class _Writer:
    def __init__(self, captured: dict):
        self._taken, self._entry = captured["functions"], captured["entry"]
        self._imports: dict[str, str] = {"triton": "import triton"}
        # Maps each name of the module to what it means.
        self._scope: dict[str, str] = {"triton": repr({"module": "triton"})}
        self._constants: dict[str, str] = {}
        self._functions: list[str] = []
        self.names: dict[int, str] = {}
        for index, function in enumerate(self._taken):  # functions may call each other
            self.names[index] = self._free(function["name"], f"function {index}")

    def _free(self, name: str, meaning: str) -> str:
        """The name of something in the module: its own, unless that has another meaning there."""
        free, number = name, 2
        while self._scope.setdefault(free, meaning) != meaning:
            free, number = f"{name}_{number}", number + 1
        return free

    def add(self, index: int) -> None:
        one, renamed = self._taken[index], {}
        for name, reference in one["names"].items():
            there = self._name(name, reference)
            if there != name:
                renamed[name] = there
        if self.names[index] != one["name"]:
            renamed[one["name"]] = self.names[index]
        source = _renamed(textwrap.dedent(one["source"]), renamed)
        self._functions.append(self._decorator(one) + source.rstrip() + "\n")

    def _name(self, name: str, reference) -> str:
        """The name in the module of a global that a function uses."""
        if isinstance(reference, dict) and "function" in reference:
            return self.names[reference["function"]]
        there = self._free(name, repr(reference))
        if isinstance(reference, dict) and {"module", "attribute"} & {*reference}:
            self._imports[there] = _import(reference, there)
        else:
            text = _constant(reference)
            self._constants[there] = f"{there} = {text}"
            if "tl." in text:
                self._imports.setdefault("tl", "import triton.language as tl")
        return there

    def _decorator(self, function: dict) -> str:
        if function["kind"] == "plain":
            return ""
        if function["kind"] == "constexpr_function":
            return "@triton.constexpr_function\n"
        if function["kind"] == "gluon":
            self._imports["gluon"] = "from triton.experimental import gluon"
        decorator = "@gluon.jit" if function["kind"] == "gluon" else "@triton.jit"
        options = ", ".join(f"{name}={value!r}" for name, value in function["options"].items() if value)
        return f"{decorator}({options})\n" if options else f"{decorator}\n"

    def text(self) -> str:
        head = [_HEAD.format(name=self.names[self._entry]), *sorted(self._imports.values())]
        constants = ["\n".join(["", *self._constants.values()])] if self._constants else []
        return "\n".join(
            [*head, *constants, *(f"\n\n{function}".rstrip("\n") for function in self._functions), ""]
        )


def _import(reference: dict, name: str) -> str:
    """The import statement that gives a module, or a part of one, a name."""
    if "module" in reference:
        module = reference["module"]
        return f"import {module}" if module == name else f"import {module} as {name}"
    module, path = reference["attribute"]
    first, _, rest = path.partition(".")
    line = f"from {module} import {first}" + ("" if first == name else f" as {name}")
    return f"{line}\n{name} = {name}.{rest}" if rest else line


def _constant(reference) -> str:
    """A constant as Python source. reference: in the form of portable.py."""
    if not isinstance(reference, dict):
        return repr(reference) if reference == reference else "float('nan')"
    (kind, content), *_ = reference.items()
    if kind == "dtype":
        return f"tl.dtype({content!r})"
    if kind == "constexpr":
        return f"tl.constexpr({_constant(content)})"
    items = "".join(f"{_constant(item)}, " for item in content)
    return f"({items.rstrip()})"


def _renamed(source: str, names: dict[str, str]) -> str:
    """The source with some names replaced."""
    if not names:
        return source
    tree, places = ast.parse(source), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            places.append((node.lineno, node.col_offset, node.id))
        if isinstance(node, ast.FunctionDef) and node.name in names:
            places.append((node.lineno, node.col_offset + len("def "), node.name))
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    for line, column, name in sorted(places, reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + names[name].encode() + text[column + len(name.encode()) :]
    return b"".join(lines).decode()
