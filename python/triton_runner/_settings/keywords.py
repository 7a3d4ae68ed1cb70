"""Takes the keywords that a launch has beyond Triton's: where a kernel enters, and what it runs on."""

from __future__ import annotations

import dataclasses
import operator
import os

from triton_runner import _settings
from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, level_of_name, level_of_text
from triton_runner._base.metadata import as_path_or_text

ENTRIES = {
    f"{level.name}_{form}": (level.name, form)
    for level in LEVELS.values()
    for form in ("dir", "src")
    if form == "dir" or level.is_text
}
SETTINGS = tuple(name for name, row in _settings.ROWS.items() if row.keyword)
DUMPS = ("dump_value", "dump_tensor", "dump_grid", "debug_value", "debug_tensor")
PASSES = ("start_pass", "skip_pass", "ir_after")
OURS = frozenset([*ENTRIES, *SETTINGS, *DUMPS, *PASSES, "metadata_json"])
WINNER = "autotune_cubin_dir"  # of a configuration: stands for an entry and values


@dataclasses.dataclass(frozen=True)
class Entry:
    """An artifact in place of the Python source: its level, and a folder, a path or a text."""

    level: str
    form: str
    value: str
    metadata_json: str | None = None

    @property
    def keyword(self) -> str:
        return f"{self.level}_{self.form}"


@dataclasses.dataclass(frozen=True)
class DumpKeywords:
    """The request of dump_value=, dump_tensor= and dump_grid=: selectors of values, the tensor to fill, the
    program to record."""

    values: tuple = ()
    tensor: object = None
    grid: tuple | None = None

    @property
    def programs(self) -> list:
        """As recorders take them: one program where a tensor is to be filled or one is named, else all."""
        if self.grid is None and self.tensor is None:
            return []
        return [self.grid or (0, 0, 0)]

    def keywords(self) -> dict:
        """The keywords that say the same."""
        keywords = {
            "dump_value": list(self.values) or None,
            "dump_tensor": self.tensor,
            "dump_grid": self.grid,
        }
        return {name: value for name, value in keywords.items() if value is not None}


@dataclasses.dataclass(frozen=True)
class Keywords:
    """The request of a launch's own keywords: where it enters, what it runs on, what it dumps, which passes
    compile it (start_pass=, skip_pass=, ir_after=)."""

    entry: Entry | None
    settings: dict
    dump: DumpKeywords | None = None
    passes: dict | None = None

    def keywords(self) -> dict:
        """The keywords that say the same, but for the settings."""
        keywords = {**(self.passes or {}), **(self.dump.keywords() if self.dump else {})}
        if self.entry is not None:
            keywords[self.entry.keyword] = self.entry.value
            if self.entry.metadata_json is not None:
                keywords["metadata_json"] = self.entry.metadata_json
        return keywords


def take(kwargs: dict, kernel_params) -> Keywords | None:
    """Takes our keywords out of kwargs; a parameter of the kernel keeps its name. None if there are none."""
    if OURS.isdisjoint(kwargs):
        return None
    own = [name for name in kwargs if name in OURS and name not in kernel_params]
    if not own:
        return None
    taken = {name: kwargs.pop(name) for name in own}
    taken = {name: value for name, value in taken.items() if value is not None}
    dumped = {name: taken.pop(name) for name in DUMPS if name in taken}
    passes = {name: taken.pop(name) for name in PASSES if name in taken}
    names = [name for name in taken if name in ENTRIES]
    if len(names) > 1:
        raise fail(
            f"{' and '.join(names)} are both given: a kernel enters at exactly one level", "keep one of them"
        )
    metadata = taken.pop("metadata_json", None)
    if metadata is not None and not names:
        raise fail(
            "metadata_json= describes an artifact, and none is given", f"give one of {', '.join(ENTRIES)}"
        )
    entry = None
    if names:
        level, form = ENTRIES[names[0]]
        value = taken.pop(names[0])
        value = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not isinstance(value, str) or not value:
            wanted = "a folder" if form == "dir" else "a path or the text itself"
            raise fail(f"{names[0]}={value!r}: expected {wanted}")
        entry = Entry(level, form, value, as_path_or_text(metadata, "metadata_json"))
    return Keywords(entry, taken, _dumps(dumped), passes or None)


def replacement(name: str) -> Entry | None:
    """Returns what using(replace=) launches in place of the kernel of this name."""
    for kernel, path in _settings.current().replace:
        if kernel == name:
            level = level_of_name(path) if os.path.isfile(path) else level_of_text(path)
            if f"{level}_src" in ENTRIES:
                return Entry(level, "src", path)
            if f"{level}_dir" in ENTRIES and os.path.basename(path) == f"{name}.{level}":
                return Entry(level, "dir", os.path.dirname(path) or ".")
            raise fail(
                f"replace= for kernel '{name}': '{path}' is not a usable artifact",
                f"expected an artifact as for {', '.join(ENTRIES)}, or a binary of the kernel's name, as in "
                f"{name}.cubin",
            )
    return None


def _dumps(taken: dict) -> DumpKeywords | None:
    """Returns what the dump keywords of a launch ask for; None if there are none."""
    if not taken:
        return None
    for ours, theirs in (("dump_value", "debug_value"), ("dump_tensor", "debug_tensor")):
        if theirs in taken:
            if ours in taken:
                raise fail(f"{ours}= and {theirs}= are both given: they are one keyword", "keep one of them")
            taken[ours] = taken.pop(theirs)
    values = taken.pop("dump_value", ())
    values = tuple(values) if isinstance(values, (list, tuple)) else (values,)
    odd = [value for value in values if not isinstance(value, str) or not value]
    if odd:
        raise fail(f'dump_value={odd[0]!r}: expected the name of a value, such as "%13", or a list of them')
    keywords = DumpKeywords(values, taken.pop("dump_tensor", None), _grid(taken.pop("dump_grid", None)))
    if keywords.grid is not None and not keywords.values:
        raise fail(
            "dump_grid= says in which program dump_value= is recorded, and no value is named",
            'as in dump_value="%13", dump_grid=(0, 1); a dl.dump statement names its program itself',
        )
    return keywords


def _grid(grid) -> tuple | None:
    if grid is None:
        return None
    axes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    whole = all(hasattr(axis, "__index__") and not isinstance(axis, bool) and axis >= 0 for axis in axes)
    if not 1 <= len(axes) <= 3 or not whole:
        raise fail(
            f"dump_grid={grid!r}: expected a program, as a number or a tuple of one to three",
            "as in dump_grid=(0, 1): 0 along x, 1 along y",
        )
    return (*map(operator.index, axes), 0, 0)[:3]


def apply(request: Keywords | None, **more):
    """The context manager under which the launch runs."""
    return _settings.using(**more, **(request.settings if request else {}))
