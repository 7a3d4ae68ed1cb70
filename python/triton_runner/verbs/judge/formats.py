"""Tasks in the forms that benchmarks of kernels have, read in the process of the reference.

- `kernelbench` (robust-kbench's are alike): a class Model, get_inputs() and get_init_inputs(); an answer
  defines ModelNew.
- `tritonbench`: functions, a line of '#', and tests that end in `result_gold = ...`; an answer defines the
  same functions.
- `backendbench`: a text of "Operator: aten.relu.default" and "cnt: 1, ((T([4, 8], f32),), {})"; an answer
  defines relu_kernel_impl().
- `plain`: reference(...) and inputs(); an answer defines the function of the name `function = "..."`, by
  default `reference`.
"""

from __future__ import annotations

import ast
import math
import os
import re
import types

import torch

from triton_runner.verbs.judge import script

_SEPARATOR = re.compile(r"^#{40,}\s*$", re.MULTILINE)
_KINDS = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i64": "int64", "i32": "int32",
    "i16": "int16", "i8": "int8", "u8": "uint8", "b8": "bool", "c64": "complex64", "c128": "complex128",
}  # fmt: skip
_SMALLEST = 16  # what a constant of a task is not made smaller than


class NoTask(Exception):
    """A file that is no task."""


def format_of(path: str, text: str) -> str:
    """The form of a task."""
    if path.endswith(".txt") and re.search(r"^Operator:", text, re.MULTILINE):
        return "backendbench"
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NoTask(f"{path}:{error.lineno}: {error.msg}") from error
    names = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    if _SEPARATOR.search(text):
        return "tritonbench"
    if {"Model", "get_inputs"} <= names:
        return "kernelbench"
    if {"reference", "inputs"} <= names:
        return "plain"
    raise NoTask(
        f"{path} is not a task: it has neither Model and get_inputs (KernelBench), nor reference and inputs, "
        "nor tests below a line of '#' (TritonBench), nor lines of 'Operator:' (BackendBench)"
    )


class _Module:
    """A task's module, whose largest constants may be made smaller."""

    def __init__(self, path: str, text: str):
        self.path, self.changed = path, {}
        self._tree = ast.parse(text, path)

    def load(self) -> types.ModuleType:
        tree = ast.parse(ast.unparse(self._tree)) if self.changed else self._tree
        module = types.ModuleType("task")
        module.__file__ = self.path
        exec(compile(tree, self.path, "exec"), module.__dict__)
        return module

    def shrink(self) -> bool:
        """Halves the largest constant. False: none is large."""
        largest = None
        for node in self._tree.body:
            is_number = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            if not is_number or type(node.value.value) is not int or node.value.value <= _SMALLEST:
                continue
            if largest is None or node.value.value > largest.value.value:
                largest = node
        if largest is None:
            return False
        name, before = ast.unparse(largest.targets[0]), largest.value.value
        first = self.changed.get(name, (before, before))[0]
        largest.value.value = before // 2
        self.changed[name] = first, before // 2
        return True


def _bytes_of(value) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        value = [*value.values()]
    return sum(map(_bytes_of, value)) if isinstance(value, (list, tuple)) else 0


def _fitting(module: _Module, inputs_of, most: int):
    """The module as large as `most` bytes of inputs allow."""
    while True:
        loaded = module.load()
        try:
            with torch.device("meta"):
                size = _bytes_of(inputs_of(loaded)())
        except Exception:  # what cannot be made without its contents is made
            size = _bytes_of(inputs_of(loaded)())
        if size <= most or not module.shrink():
            return loaded


class Task:
    """A task: what an answer's process is told (setup), inputs by seed, and what the reference gives.

    rule: (rtol, atol) of the task's own comparison, or None.
    """

    kind = "function"
    rule: tuple | None = None
    name = ""
    is_script = False
    is_moved = False  # what runs such tasks moves inputs and modules to the GPU

    def __init__(self):
        self.scaled: dict = {}  # constants that were made smaller: (was, is)

    def setup(self) -> dict:
        return {"kind": self.kind, "name": self.name, "others": [], "given": [(), {}]}

    def prepare(self, seed: int) -> None:
        """Makes what both sides make before the first call."""

    def inputs(self) -> tuple[tuple, dict]:
        raise NotImplementedError

    def call(self, given: tuple, named: dict, exact: bool):
        """Returns what the reference gives; exact: in f64."""
        raise NotImplementedError

    def state(self, exact: bool) -> dict:
        """Returns what the reference keeps from call to call beside its weights."""
        return {}

    def equal_weights(self) -> dict:
        """Returns the weights that hold one number everywhere: by name, (elements, number)."""
        return {}


class KernelBench(Task):
    kind, name, rule, is_moved = "module", "ModelNew", (1e-2, 1e-2), True

    def __init__(self, path: str, text: str, most: int):
        source = _Module(path, text)
        self._module = _fitting(source, lambda module: module.get_inputs, most)
        self.scaled = source.changed
        self._models: dict = {}

    def _init(self) -> tuple[list, dict]:
        given = getattr(self._module, "get_init_inputs", list)()
        if isinstance(given, dict):
            return [], given
        if len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
            return list(given[0]), given[1]
        return list(given), {}

    def setup(self) -> dict:
        return {**super().setup(), "given": self._init()}

    def prepare(self, seed: int) -> None:
        for exact in (False, True):
            torch.manual_seed(seed)
            given, named = self._init()
            torch.manual_seed(seed)
            model = self._module.Model(*given, **named)
            model = model.cuda() if isinstance(model, torch.nn.Module) else model
            self._models[exact] = model.double() if exact else model

    def state(self, exact):
        model = self._models[exact]
        return dict(model.named_buffers()) if isinstance(model, torch.nn.Module) else {}

    def equal_weights(self):
        model = self._models[False]
        named = model.named_parameters() if isinstance(model, torch.nn.Module) else ()
        found = {name: one.detach().reshape(-1) for name, one in named if one.numel() > 1}
        return {name: (len(one), one[0].item()) for name, one in found.items() if (one == one[0]).all()}

    def inputs(self) -> tuple[tuple, dict]:
        given = self._module.get_inputs()
        return ((), given) if isinstance(given, dict) else (tuple(given), {})

    def call(self, given, named, exact):
        return self._models[exact](*given, **named)


class Plain(Task):
    def __init__(self, path: str, text: str, most: int):
        source = _Module(path, text)
        self._module = _fitting(source, lambda module: module.inputs, most)
        self.scaled = source.changed
        self.name = getattr(self._module, "function", "reference")
        rule = getattr(self._module, "tolerance", None)
        self.rule = None if rule is None else (rule, rule) if isinstance(rule, (int, float)) else tuple(rule)

    def inputs(self) -> tuple[tuple, dict]:
        given = self._module.inputs()
        if isinstance(given, dict):
            return (), given
        return (tuple(given), {}) if isinstance(given, (list, tuple)) else ((given,), {})

    def call(self, given, named, exact):
        return self._module.reference(*given, **named)


class BackendBench(Task):
    rule, is_moved = (1e-2, 1e-2), True

    def __init__(self, path: str, text: str, most: int):
        found = re.findall(r"^Operator:\s*([\w.]+)", text, re.MULTILINE)
        if len(set(found)) != 1:
            raise NoTask(f"{path}: a task is one operator, and it has {len(set(found))}")
        short = found[0].removeprefix("aten.")
        base, _, overload = short.partition(".")
        self._operator = getattr(getattr(torch.ops.aten, base), overload or "default")
        self.name = f"{base}_kernel_impl"
        self._lines = re.findall(r"^cnt:\s*\d+,\s*(.+)$", text, re.MULTILINE)
        self._others = [f"{base}__{overload}_kernel_impl", f"{short.replace('.', '_')}_kernel_impl"]
        fits = [line for line in self._lines if self._size(line) <= most]
        self.scaled = {} if fits else {"arguments": ("larger", "than the limit")}
        if not self._lines or not fits:
            raise NoTask(f"{path}: no line of arguments is within the limit of memory (--inputs)")
        self._lines = fits

    def setup(self) -> dict:
        return {**super().setup(), "others": self._others}

    def _size(self, line: str) -> int:
        return sum(
            math.prod(map(int, re.findall(r"\d+", one))) * 4 for one in re.findall(r"T\(\[(.*?)\]", line)
        )

    def inputs(self) -> tuple[tuple, dict]:
        given, named = _Arguments().value(ast.parse(self._lines[0], mode="eval").body)
        return tuple(given), named

    def call(self, given, named, exact):
        return self._operator(*given, **named)


class _Arguments:
    """Arguments as traces of BackendBench write them; nothing is evaluated."""

    def value(self, node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "T":
            shape, kind, *strides = [self.value(argument) for argument in node.args]
            return _tensor(shape, _KINDS[kind], strides[0] if strides else None)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.value(item) for item in node.elts]
            return items if isinstance(node, ast.List) else tuple(items)
        if isinstance(node, ast.Dict):
            return {self.value(k): self.value(v) for k, v in zip(node.keys, node.values, strict=True)}
        if isinstance(node, ast.Name):
            return {"inf": math.inf, "nan": math.nan}.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            return getattr(torch, node.attr)
        return ast.literal_eval(node)


def _tensor(shape, dtype: str, strides):
    kind = getattr(torch, dtype)
    if kind == torch.bool:
        made = torch.randint(0, 2, shape).bool()
    elif not kind.is_floating_point and not kind.is_complex:
        made = torch.randint(0, 8, shape).to(kind)
    else:
        made = torch.randn(shape).to(kind)
    if strides is not None and made.numel():
        size = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
        made = torch.empty(size, dtype=kind).as_strided(shape, strides).copy_(made)
    return made


class TritonBench(Task):
    kind, is_script = "script", True

    def __init__(self, path: str, text: str, most: int):
        parts = [part for part in _SEPARATOR.split(text) if part.strip()]
        if len(parts) < 2:
            raise NoTask(f"{path}: nothing stands below its line of '#'")
        super().__init__()
        self._script, self._path = parts[-1], path
        self._functions = "\n".join(parts[:-1])
        if "result_gold" not in self._script:
            raise NoTask(f"{path}: its tests end in no 'result_gold = ...'")
        self._code = None

    def setup(self) -> dict:
        return {**super().setup(), "script": self._script}

    def prepare(self, seed: int) -> None:
        self._module = types.ModuleType("task")
        self._module.__file__ = self._path
        # Triton reads the source of a kernel from its file.
        exec(compile(self._functions, self._path, "exec"), self._module.__dict__)
        self._code = script.code_of(self._script, self._path)

    def inputs(self) -> tuple[tuple, dict]:
        return (), {}

    def call(self, given, named, exact):
        return script.results(self._code, self._module)


def read(path: str, most: int, chosen: str | None = None) -> Task:
    """The task of a file. most: bytes of its inputs, beyond which its constants are halved."""
    with open(path) as file:
        text = file.read()
    kind = chosen or format_of(path, text)
    kinds = {
        "kernelbench": KernelBench, "plain": Plain, "backendbench": BackendBench, "tritonbench": TritonBench,
    }  # fmt: skip
    os.chdir(os.path.dirname(os.path.abspath(path)))
    return kinds[kind](os.path.abspath(path), text, most)
