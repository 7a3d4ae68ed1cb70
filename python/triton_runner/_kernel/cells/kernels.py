"""Kernel is a kernel of a Python file as it travels. It is kept in the store, so that a second comparison
need not import the file, and PyTorch with it, to see that nothing has changed."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import site
import sys

from triton_runner._base.errors import fail
from triton_runner._kernel.cells.store import Store, key_of
from triton_runner._pipeline import portable, versions
from triton_runner._worker import job


@dataclasses.dataclass(frozen=True)
class Kernel:
    """`parameters`: (name, is a constexpr) in order; `captured`: what portable.kernel() made of it."""

    name: str
    parameters: list
    captured: dict

    @property
    def arguments(self) -> list[str]:
        """The parameters that are not constexprs."""
        return [name for name, is_constexpr in self.parameters if not is_constexpr]


def of_function(function) -> Kernel:
    parameters = [[p.name, bool(p.is_constexpr)] for p in function.params]
    return Kernel(function.__name__, parameters, portable.kernel(function))


def of_file(path: str, name: str, store: Store) -> Kernel:
    """The kernel of file and name: from the store, if no file that it comes from has changed."""
    path = os.path.abspath(path)
    key = key_of(["kernel", path, name, _digest(path), versions.installed(), sys.version, _packages()])
    entry = store.get(key, "kernels")
    if entry and all(_digest(file) == digest for file, digest in entry["files"].items()):
        return Kernel(**entry["kernel"])
    before = set(sys.modules)
    try:
        function = job.innermost(job.load_function({"file": path, "name": name}))
    except job.Refused as error:
        raise fail(error.message, *error.notes) from None
    kernel = of_function(function)
    files = {function["file"] for function in kernel.captured["functions"]} | {path}
    for module in set(sys.modules) - before:
        file = getattr(sys.modules[module], "__file__", None)
        if file and not file.startswith((sys.prefix, sys.base_prefix, *_sites())):
            files.add(file)
    digests = {file: _digest(file) for file in files}
    store.put(key, {"kernel": dataclasses.asdict(kernel), "files": digests}, "kernels")
    return kernel


def _digest(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def _sites() -> list[str]:
    return [*site.getsitepackages(), site.getusersitepackages()]


def _packages() -> list:
    """Changes whenever a package is installed or removed: what a file imports may then be another one."""
    return [os.stat(place).st_mtime_ns for place in _sites() if os.path.isdir(place)]
