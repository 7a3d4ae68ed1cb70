"""Lists the known releases of Triton, the builds of it that others publish, and how they differ where this
package touches them: rows of the core's releases.def, whose columns are attributes here. Which releases this
machine has is asked of _pipeline/versions.py."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
import sys
from pathlib import Path

from triton_runner import _core
from triton_runner._base import renamed
from triton_runner._base.errors import fail

RELEASES = {row.version: row for row in _core.ir.releases()}  # (3, 4): its row; oldest first
DISTRIBUTIONS = {row.name: row for row in _core.ir.distributions()}  # "fbtriton": its row
Release = _core.ir.ReleaseInfo
# The names by which programs import Triton, its own first.
MODULES = tuple(dict.fromkeys(["triton", *(row.module for row in DISTRIBUTIONS.values())]))


def distribution_of(version: str) -> Release | None:
    """The row of "fbtriton-3.7.4", "fbtriton" or "3.7.4+fb"; None where it is of Triton itself."""
    for name, row in DISTRIBUTIONS.items():
        if version == name or version.startswith(f"{name}-") or (row.suffix and version.endswith(row.suffix)):
            return row
    return None


def parse_version(text: str) -> tuple[int, int]:
    """(3, 4) of "3.4.0+git123" and of "fbtriton-3.4.0"."""
    row = distribution_of(text)
    text = text.removeprefix(f"{row.name}-") if row else text
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def release_of(version: str) -> Release:
    """The row for a version; an unknown newer one is treated as the newest known."""
    if row := distribution_of(version):
        return row
    key = parse_version(version)
    return RELEASES.get(key) or RELEASES[max(RELEASES) if key > max(RELEASES) else min(RELEASES)]


def place(*names: str) -> Path | None:
    """Returns the folder of the package that is Triton in this process, loaded or not: the first on sys.path
    of those names, or of all that it may have."""
    if renamed.folder() is not None:
        return Path(renamed.folder())
    if loaded := sys.modules.get("triton"):
        return Path(loaded.__file__).parent if getattr(loaded, "__file__", None) else None
    for folder in sys.path:
        for name in names or MODULES:
            if (Path(folder or ".") / name / "__init__.py").is_file():
                return Path(folder or ".") / name
    specs = map(importlib.util.find_spec, names or MODULES)  # of a checkout that is installed editable
    return next((Path(spec.origin).parent for spec in specs if spec is not None and spec.origin), None)


def installed_version() -> str | None:
    """The version of the Triton that this interpreter imports, as it is called here ("3.9.0",
    "fbtriton-3.7.4"), without importing it."""
    folder = place()
    if folder is None:
        return None
    of_module = [row for row in DISTRIBUTIONS.values() if row.module == folder.name != "triton"]
    if of_module:
        return f"{of_module[0].name}-{importlib.metadata.version(of_module[0].on_index)}"
    if "triton" in sys.modules:
        version = getattr(sys.modules["triton"], "__version__", None)
    else:
        found = re.search(r"(?m)^__version__ = ['\"]([^'\"]+)", (folder / "__init__.py").read_text())
        version = found and found[1]
    row = distribution_of(version or "")
    return f"{row.name}-{version.removesuffix(row.suffix)}" if row else version


@functools.cache
def installed() -> Release:
    """The row for the Triton that is installed. Raises DiagnosticError for one older than all rows."""
    if not is_known() and (reason := unusable()):
        raise fail(*reason)
    return release_of(installed_version() or "0.0")


def is_known() -> bool:
    """Returns whether the Triton that is installed has a row."""
    version = installed_version() or "0.0"
    return distribution_of(version) is not None or parse_version(version) in RELEASES


def unusable(why: str = "") -> tuple[str, str] | None:
    """Why the installed Triton cannot be used, and what to do: there is none, or it is older than all rows;
    or, where something failed (why), it is newer. None where it should do."""
    first, last = (".".join(map(str, pick(RELEASES))) for pick in (min, max))
    advice = f"pip install triton=={last}.0; any release from {first} to {last} does"
    version = installed_version()
    if version is None:
        return "this needs Triton, which is not installed", advice
    if distribution_of(version):
        return None
    if parse_version(version) < min(RELEASES):
        return f"Triton {version} is installed, which is too old: {first} is the oldest that works", advice
    if why and parse_version(version) > max(RELEASES):
        return f"Triton {version} is installed, which is newer than what is known here: {why}", advice
    return None


def missing(error: ImportError | AttributeError) -> tuple[str, str] | None:
    """Returns what to say of an error that a Triton or torch that is not here, or an unknown one, gives."""
    package = (getattr(error, "name", None) or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if package == "torch":
        return "this needs PyTorch, which is not installed", "pip install torch"
    if package == "triton" or place() is not None:
        return unusable(f"{type(error).__name__}: {error}")
    return None
