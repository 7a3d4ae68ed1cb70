"""Case is one launch in a file: this opens it, and runs, judges and compares what is in it."""

from __future__ import annotations

import dataclasses
import json
import os
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy

from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base import scratch
from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, executed
from triton_runner._base.typed import as_json
from triton_runner._kernel.cases import archive, page, tensors
from triton_runner._kernel.lockstep import lockstep
from triton_runner._memory import registry
from triton_runner._memory.arguments import Arguments, View
from triton_runner._memory.difference import difference, tolerance
from triton_runner._memory.files import DTYPES, kind_of
from triton_runner._settings import devices
from triton_runner._worker import rebuild

SCHEMA = "triton-runner.case/1"
_DESCRIPTOR = ("shape", "strides", "block_shape", "padding", "round_f32_to_tf32")


class Case:
    """A case that open_case() has read: one launch. `about` is its description, and `subject` can run it. The
    engines run the IR and PTX in the file. Its Python code is not executed unless a method that needs it is
    called."""

    def __init__(self, path: str | os.PathLike):
        self.archive = archive.Archive(path)
        self.path = self.archive.path
        self.about = self.archive.json("case.json")
        if self.about.get("schema") != SCHEMA:
            raise self.archive.bad(
                f"its schema is {self.about.get('schema')!r}, and this release reads {SCHEMA}",
                "a newer triton-runner may have written it",
            )
        self.name, self.grid = self._text("kernel"), self._grid()
        self.target, self.level = self._text("target"), self._text("level")
        self.subject = self._subject()

    def _text(self, field: str) -> str:
        value = self.about.get(field)
        if not isinstance(value, str):
            raise self.archive.bad(f"its {field} is {value!r}, and should be a text")
        return value

    def _grid(self) -> tuple:
        grid = self.about.get("grid")
        whole = isinstance(grid, list) and len(grid) == 3 and all(type(axis) is int for axis in grid)
        if not whole or min(grid) < 1 or max(grid) >= 1 << 31:
            raise self.archive.bad(f"its grid is {grid!r}")
        return tuple(grid)

    def _subject(self) -> Relaunch:
        texts = {}
        for level in LEVELS:
            name = archive.artifact(self.name, level)
            if name in self.archive:
                texts[level] = self.archive.text(name) if LEVELS[level].is_text else self.archive.bytes(name)
        entry = self._text("entry")
        if entry not in texts:
            raise self.archive.bad(f"it enters at {entry!r}, and has no text of that level")
        metadata = self.archive.json(archive.artifact(self.name, "json"))
        shape = {name: _axes(self.about.get(name)) for name in ("block", "cluster")}
        held = self._arguments()
        return Relaunch(self.name, self.target, texts, lambda: metadata, entry, self.grid, held, **shape)

    def _arguments(self) -> Arguments:
        """The launch's arguments, in new memory."""
        stored = tensors.unpacked(self.archive.bytes("arguments.safetensors"))
        try:
            blocks = tensors.made(self.about["blocks"], stored, archive.limit())
            named = {one["name"]: _value(one, blocks) for one in self.about["arguments"]}
            behind = {one["name"]: one for one in self.about.get("pointed", ())}
            starts = [block.__array_interface__["data"][0] for block in blocks]
            tables = {one["name"]: one for one in self.about["arguments"]}
            for pointer in self.about.get("pointers", ()):
                name, element, to = pointer["argument"], pointer["element"], _view(behind[pointer["to"]])
                if element is None:
                    named[name] = starts[to.block] + to.offset
                else:
                    table = _view(tables[name]).of(blocks[_view(tables[name]).block])
                    table[numpy.unravel_index(int(element), table.shape)] = starts[to.block] + to.offset
            pointed = [(name, _value(one, blocks)) for name, one in behind.items()]
            held = Arguments([*named.items()], pointed)
            for number in {int(one["block"]) for one in behind.values()}:
                registry.register_memory(starts[number], blocks[number].nbytes, "memory of the case")
                weakref.finalize(held, registry.register_memory, starts[number], 0)
            return held
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise self.archive.bad(f"its arguments cannot be read: {error!r}") from None

    def run(self, level: str = "", **settings) -> Outcome:
        """Runs the text of a level, by default the level at which the launch ran, or the lowest level that
        the CPU runs if the launch ran on a GPU and there is none here. settings: as for using()."""
        if not level and self.level in ("cubin", "hsaco") and devices.gpu() is None:
            level = self.subject.levels[-1]
        level = level or self.level
        level = executed(level, self.subject.target)
        if level in ("cubin", "hsaco") and devices.resolved_device() != "cpu":
            return self.subject.run(device=devices.gpu())
        there = [*self.subject.levels, *[kind for kind in ("cubin", "hsaco") if kind in self.subject.texts]]
        if level not in there:
            raise fail(f"{self.path} has no level {level}", f"its levels here: {', '.join(there)}")
        return self.subject.run(level, **settings)

    def lockstep(self, levels=("ttir", "ttgir"), **options):
        """lockstep() of its texts at several levels, with its arguments."""
        return lockstep.of_launch(self.subject, tuple(levels), **options)

    def expects(self) -> bool:
        """Returns whether the case contains the expected results of the launch."""
        return bool(tensors.unpacked(self.archive.bytes("expected.safetensors")))

    def differences(self, run: Outcome) -> dict[str, str]:
        """{argument: how it differs} of a run's arguments that are not as the case expects."""
        expected = tensors.unpacked(self.archive.bytes("expected.safetensors"))
        differences = {}
        for name, array in run.arrays.items():
            expectation = expected.get(name)
            if expectation is None or expectation.shape != array.shape or expectation.dtype != array.dtype:
                continue
            differs = difference(expectation, array, tolerance(kind_of(expectation.dtype)))
            if differs:
                differences[name] = f"{differs} from what is expected"
        return differences

    def as_python(self, folder: Path) -> dict:
        """Returns the launch in the form that compare() takes: the kernel in its extracted files, arguments,
        grid, constants."""
        self.check_python("could be compiled again")
        constants = {name: rebuild.value(value) for name, value in self.about["constants"].items()}
        arguments = {**constants, **dict(self.subject.arguments.named)}
        return {
            "kernel": f"{folder / 'kernel.py'}:{self.about['python']}", "grid": self.grid,
            "args": [arguments[name] for name in self.about["parameters"]],
            "constexprs": {n: value for n, value in constants.items() if n not in self.about["parameters"]},
        }  # fmt: skip

    def material(self):
        """Returns what report() and source_map() show of it."""
        return self._shown(page.material)

    def findings(self) -> list:
        """Returns the findings on the launch, in the form that report() takes."""
        return self._shown(page.findings)

    def _shown(self, read):
        try:
            return read(self.archive.contents(), self.about)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self.archive.bad(f"its page cannot be made: {error!r}") from None

    def check_python(self, use: str) -> None:
        """Refuses a case of a kernel that Triton has not compiled, which has no Python for the use."""
        if "kernel.py" not in self.archive:
            raise self.archive.bad(f"it has no Python of its kernel, which {use}")

    def extracted(self) -> _Folder:
        """Returns a context manager that extracts the files into a temporary folder."""
        return _Folder(self)


def named(value, folder: Path, name: str):
    """Replaces a temporary folder by the case's name in a message, or in lists, dicts and results of them."""
    if isinstance(value, str):
        return value.replace(str(folder), name)
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return type(value)(**named(fields, folder, name))
    if isinstance(value, dict):
        return {key: named(item, folder, name) for key, item in value.items()}
    return [named(item, folder, name) for item in value] if isinstance(value, list) else value


class _Folder:
    def __init__(self, case: Case):
        self._case = case

    def __enter__(self) -> Path:
        self._folder = scratch.folder("case")
        return self._case.archive.extract(self._folder.path)

    def __exit__(self, *error):
        self._folder.close()


def open_case(path: str | os.PathLike) -> Case:
    """Opens a case (*.trcase): one launch, with its kernel at all levels and its arguments.

    The result has `run(level)`, `subject`, `about` (the description as a dict) and `archive` (its files).
    Raises DiagnosticError for a file that is not a case, or that is larger than allowed.
    """
    return Case(path)


def is_case(program) -> bool:
    """Returns whether a command's argument names a case."""
    return os.fspath(program).endswith(archive.SUFFIX)


# --- arguments


def argument(name: str, value, views: dict) -> dict:
    """An argument as JSON. Raises DiagnosticError if it is neither an array, a number nor None."""
    if name in views:
        fields = {"kind": "array", **as_json(views[name])}
        if hasattr(value, "block_shape"):
            given = {f: getattr(value, f) for f in _DESCRIPTOR if hasattr(value, f)}
            fields |= {"kind": "descriptor", "descriptor": json.loads(json.dumps(given, default=_listed))}
        return {"name": name, **fields}
    if value is None or isinstance(value, (bool, int, float)):
        if isinstance(value, float) and not numpy.isfinite(value):
            return {"name": name, "kind": "number", "hex": float(value).hex()}
        return {"name": name, "kind": "number", "value": value}
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        return {"name": name, "kind": "number", "value": value.item(), "dtype": str(value.dtype)}
    raise fail(f"argument '{name}' is a {type(value).__name__}, which a case cannot hold")


def _listed(value):
    return list(value) if not isinstance(value, str) else value


def _value(argument: dict, blocks: list):
    """An argument in the form that launches take."""
    kind = argument["kind"]
    if kind == "number":
        value = float.fromhex(argument["hex"]) if "hex" in argument else argument["value"]
        if value is not None and not isinstance(value, (bool, int, float)):
            raise ValueError(f"argument {argument['name']!r} is {value!r}")
        dtype = argument.get("dtype", "")
        numpy_types = {
            theirs: numpy.dtype(theirs) for theirs, _ in DTYPES.values() if theirs in numpy.sctypeDict
        }
        return numpy_types[dtype].type(value) if dtype in numpy_types else value
    view = _view(argument)
    array = view.passed(blocks[view.block])
    if kind == "descriptor":
        fields = {f: argument["descriptor"][f] for f in _DESCRIPTOR if f in argument["descriptor"]}
        return SimpleNamespace(base=array, **fields)
    return array


def _view(argument: dict) -> View:
    view = View(
        int(argument["block"]), int(argument["offset"]), argument["dtype"],
        tuple(map(int, argument["shape"])), tuple(map(int, argument["strides"])),
    )  # fmt: skip
    if view.block < 0 or view.offset < 0:
        raise ValueError(f"argument {argument['name']!r} lies outside of its memory")
    return view


def _axes(value):
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 3 or not all(type(axis) is int for axis in value):
        raise fail(f"the case has {value!r} where three numbers should be")
    return tuple(value)
