"""The keywords that a launch takes beyond Triton's: where a kernel enters, and what it runs on."""

from __future__ import annotations

import dataclasses
import os

from triton_runner import _settings
from triton_runner._errors import fail

ENTRIES = {
    f"{level}_{form}": (level, form)
    for level in ("ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco")
    for form in ("dir", "src")
    if (level, form) not in (("cubin", "src"), ("hsaco", "src"))
}
SETTINGS = ("device", "target", "level", "check", "oob", "mma", "shared", "shuffle")
DUMPS = ("dump_value", "dump_tensor", "dump_grid", "debug_value", "debug_tensor")
OURS = frozenset([*ENTRIES, *SETTINGS, *DUMPS, "metadata_json"])


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
class Request:
    """What a launch's own keywords ask for: where it enters, what it runs on, what it dumps (a
    _dump.keywords.Ask)."""

    entry: Entry | None
    settings: dict
    dump: object = None


def take(kwargs: dict, kernel_params) -> Request | None:
    """Takes our keywords out of kwargs; a parameter of the kernel keeps its name. None if there are none."""
    if OURS.isdisjoint(kwargs):
        return None
    own = [name for name in kwargs if name in OURS and name not in kernel_params]
    if not own:
        return None
    taken = {name: kwargs.pop(name) for name in own}
    taken = {name: value for name, value in taken.items() if value is not None}
    dumped = {name: taken.pop(name) for name in DUMPS if name in taken}
    given = [name for name in taken if name in ENTRIES]
    if len(given) > 1:
        raise fail(
            f"{' and '.join(given)} are both given: a kernel enters at exactly one level", "keep one of them"
        )
    metadata = taken.pop("metadata_json", None)
    if metadata is not None and not given:
        raise fail(
            "metadata_json= describes an artifact, and none is given", f"give one of {', '.join(ENTRIES)}"
        )
    entry = None
    if given:
        level, form = ENTRIES[given[0]]
        value = taken.pop(given[0])
        value = os.fspath(value) if isinstance(value, os.PathLike) else value
        if not isinstance(value, str) or not value:
            wanted = "a folder" if form == "dir" else "a path or the text itself"
            raise fail(f"{given[0]}={value!r}: expected {wanted}")
        entry = Entry(level, form, value, None if metadata is None else os.fspath(metadata))
    return Request(entry, taken, _dumps(dumped))


def _dumps(dumped: dict):
    if not dumped:
        return None
    from triton_runner._dump import keywords

    return keywords.parse(dumped)


def apply(request: Request | None, **more):
    """The context manager under which the launch runs."""
    return _settings.using(**more, **(request.settings if request else {}))
