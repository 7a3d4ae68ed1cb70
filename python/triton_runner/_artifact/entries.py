"""Launches a Python kernel that enters as an artifact: the artifact that a keyword names, kept while its file
is unchanged, takes the values by the parameters of the Python kernel."""

from __future__ import annotations

import os

from triton_runner import _core, _settings
from triton_runner._artifact.binding import bind
from triton_runner._artifact.executable import executable
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.reading import SOURCE, Artifact, describe, is_text_itself, read_kernel, stamp
from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, level_of_text
from triton_runner._base.recent import Recent
from triton_runner._pipeline.stages import option_names
from triton_runner._settings.keywords import Entry

_opened = Recent(512)  # of a program that opens ever new artifacts


def open_entry(entry: Entry, name: str) -> Artifact:
    """The artifact that a launch's keyword names; the same one again while its file is unchanged."""
    key = (entry, name)
    if entry.form == "src" and is_text_itself(entry.value):
        entry_cached = _opened.get(key)
        if entry_cached is None:
            artifact = describe(entry.level, entry.value, "", name, entry.metadata_json)
            entry_cached = _opened.put(key, (None, artifact))
        return entry_cached[1]
    entry_cached = _opened.get(key)
    if entry_cached is not None and entry_cached[0] == stamp(entry_cached[1].path):
        return entry_cached[1]
    if entry.form == "dir":
        path = _core.artifact.find(entry.value, name, entry.level)
    else:
        path = entry.value
    source = read_kernel(path, not LEVELS[entry.level].is_text, entry.keyword)
    level = entry.level if os.path.splitext(path)[1] != SOURCE else level_of_text(source)
    artifact = describe(level, source, path, name, entry.metadata_json)
    return _opened.put(key, (stamp(path), artifact))[1]


def run_entry(function, entry: Entry, args, kwargs, grid, warmup: bool) -> ArtifactKernel:
    """A launch of a Python kernel that enters as an artifact: Python gives the parameters' names and the
    grid's meta."""
    artifact = open_entry(entry, function.__name__)
    options = {name: value for name, value in kwargs.items() if name not in function.arg_names}
    _check_options(options)
    kernel = executable(
        artifact, **{k: v for k, v in options.items() if k in ("num_warps", "num_ctas", "num_stages")}
    )
    kernel.stands_for(function.params)
    if warmup:
        return kernel
    bound = bind(function, args, kwargs)
    if callable(grid):
        grid = grid(bound)
    constexprs = {param.name for param in function.params if param.is_constexpr}
    kernel.launch(
        tuple(grid) if isinstance(grid, list) else grid,
        [(name, value) for name, value in bound.items() if name not in constexprs],
    )
    return kernel


def _check_options(options: dict) -> None:
    for name in options:
        if name not in option_names(_settings.current().target or _settings.DEFAULT_TARGET):
            raise fail(f"keyword argument {name!r} is neither a parameter of the kernel nor an option")
