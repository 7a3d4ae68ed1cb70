"""Registers of PTX and values of LLIR on a GPU: the kernel stores them itself.

The plan is the one by which the SIMT engine reads registers (registers.py). Here it becomes instructions in
the PTX (probe/register_stores.h), whose rest stays as it is, and one more parameter before those that the
launch fills by itself. On the CPU the SIMT engine runs the same text.
"""

from __future__ import annotations

import functools
import json

from triton_runner import _core
from triton_runner._artifact.compiled_kernel import Compiled, compiled_of
from triton_runner._artifact.reading import Artifact
from triton_runner._base.metadata import jsonable
from triton_runner._base.recent import Recent
from triton_runner._core import probe
from triton_runner._kernel.dumps import registers
from triton_runner._launch import native

_KEPT = 32
_made = Recent(_KEPT)  # launches in a loop ask for the same again


def instrumented(request, compiled: Compiled, grid: tuple, named: list):
    """(_core.probe.RegisterStores, what the dump changed in the program before the stores) of a request;
    (None, []) where it names values of the TTGIR, which are stored there. named: (name, value) of the
    launch's arguments. Errors: names that are unknown, values that are in no register."""
    code = registers.Code(compiled)
    key = (code.ptx, code.ttgir, code.size, request, grid, hidden := compiled.hidden(named))
    return _made.get(key) or _made.put(key, _instrumented(request, code, grid, hidden))


def _instrumented(request, code, grid: tuple, hidden: int):
    level, names = registers.chosen(request, code)
    if level == "ttgir":
        return None, []
    plan, text, changes = registers.plan_of_threads(level, names, code)
    stores = probe.insert_register_stores(
        text or code.ptx, code.filename, code.name, plan, grid=grid, programs=list(request.programs),
        every_iteration=request.every_iteration, hidden=hidden, max_bytes=request.max_bytes,
    )  # fmt: skip
    return stores, changes


def artifact(stores, compiled: Compiled, named: list) -> Artifact:
    """The PTX with the stores as what a launch takes, described as the kernel that it was made of."""
    return _artifact(stores.text, stores.parameter, compiled.kernel, compiled.hidden(named))


@functools.lru_cache(maxsize=_KEPT)
def _artifact(text: str, parameter: int, kernel, hidden: int) -> Artifact:
    compiled = compiled_of(kernel)
    above = compiled.description()
    metadata = json.dumps(compiled.metadata(), default=jsonable)
    below = _core.artifact.describe(text, "ptx", kernel.name, metadata, f"{kernel.name}.ptx")
    params = [dict(p) for p in above["params"]]
    params.insert(parameter, dict(below["params"][parameter]))
    description = native.inherit(below, {**above, "params": params})
    return Artifact("ptx", text, "", {**description, "hidden_pointers": hidden})
