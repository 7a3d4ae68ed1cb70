"""Finds, fetches and removes the Triton releases that this machine has beside the installed one, and the
builds that others publish ("fbtriton-3.7.4"), each in a folder of the cache.

A folder is what `pip install --target` makes of the release's wheel, without its dependencies: a worker
puts it first on sys.path of the user's own interpreter. $TRITON_RUNNER_VERSIONS, else
${XDG_CACHE_HOME:-~/.cache}/triton-runner/versions."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from triton_runner._base import commands, interrupts
from triton_runner._base.errors import fail
from triton_runner._base.paths import cache_folder, make_folder
from triton_runner._base.releases import (
    DISTRIBUTIONS,
    MODULES,
    distribution_of,
    installed_version,
    release_of,
)
from triton_runner._base.releases import RELEASES as ROWS
from triton_runner._worker.child import end_with_parent

# Those that the package index has, oldest first; those of other distributions as they are named here.
RELEASES = tuple(patch for row in ROWS.values() for patch in row.patches)
PYTHONS = (13, 12, 11, 10)  # 3.x in which a release may run, the first to try in front
OTHERS = tuple(f"{name}-{patch}" for name, row in DISTRIBUTIONS.items() for patch in row.patches)


def key(version: str) -> tuple[int, ...]:
    """By which releases sort: (3, 10, 0) of "3.10.0", (3, 7, 4, 1) of "fbtriton-3.7.4", just after 3.7.4."""
    row = distribution_of(version)
    numbers = _patch(version).split("+")[0]
    return tuple(int(part) for part in re.findall(r"\d+", numbers)) + ((1,) if row else ())


def _patch(version: str) -> str:
    """Returns the version as the package index has it: "3.7.4" of "fbtriton-3.7.4"."""
    row = distribution_of(version)
    return version.removeprefix(f"{row.name}-") if row else version


def newest_patches() -> list[str]:
    """The newest patch of each minor release."""
    return [row.patches[-1] for row in ROWS.values()]


def says(version: str, imported: str) -> bool:
    """Returns whether the Triton of a version calls itself so: "3.7.4+fb" that of "fbtriton-3.7.4"."""
    row, patch = distribution_of(version), _patch(version)
    if row is None or not row.suffix:
        imported = imported.partition("+")[0]
    return f"{patch}.".startswith(f"{imported.removesuffix(row.suffix if row else '')}.")


def expand(text: str) -> list[str]:
    """The releases of "3.4.0", "3.0.0,3.9.0", "3.1.0..3.6.0" (the newest patch of each minor, and both
    ends), "all" (the newest patch of each), "fbtriton-3.7.4", "fbtriton" (its newest patch)."""
    folders = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        if part.strip() == "all":
            folders += newest_patches()
        elif dots:
            first, last = known(first), known(last)
            if key(first) > key(last):
                raise fail(f"the releases {part.strip()} run backwards", f"as in {last}..{first}")
            inside = [v for v in newest_patches() if key(first) <= key(v) <= key(last)]
            folders += sorted({first, *inside, last}, key=key)
        else:
            folders.append(known(first))
    return list(dict.fromkeys(folders))


def known(version: str) -> str:
    """The version as it is named here: "fbtriton-3.7.4" of "fbtriton==3.7.4", and of "fbtriton", whose newest
    patch that is. An error for one that no package index has."""
    name, _, patch = version.partition("==")
    of_index = {row.on_index: row for row in [*DISTRIBUTIONS.values(), *ROWS.values()]}
    if row := of_index.get(name) or DISTRIBUTIONS.get(name):
        patch = patch or row.patches[-1]
        version = f"{row.name}-{patch}" if row.name else patch
    if version not in RELEASES and version not in OTHERS and version != installed():
        raise fail(
            f"there is no Triton release {version!r}", f"releases: {', '.join(RELEASES)}",
            f"builds of others: {', '.join(OTHERS)}",
        )  # fmt: skip
    return version


def installed() -> str | None:
    """The version of the Triton that this interpreter imports, without importing it."""
    return installed_version()


def folder() -> Path:
    """Returns where the releases lie."""
    return cache_folder("versions", "TRITON_RUNNER_VERSIONS")


def tag() -> str:
    """Returns how folders say for which Python they are."""
    return f"cp{sys.version_info[0]}{sys.version_info[1]}"


def _place(version: str) -> Path:
    return folder() / f"{version}-{tag()}"


def _about(place: Path) -> dict:
    with contextlib.suppress(OSError, ValueError):
        return json.loads((place / "triton_runner.json").read_text())
    return {}


def _interpreter(place: Path) -> str | None:
    """Who runs a release: this interpreter if the wheel is for it, else the one that was found when it was
    fetched; None if that is gone."""
    for wheel in place.glob("*triton-*.dist-info/WHEEL"):
        if f"Tag: {tag()}-" in wheel.read_text():
            return sys.executable
    python = _about(place).get("python", sys.executable)
    return python if shutil.which(python) else None


def _is_there(place: Path) -> bool:
    return any((place / name / "__init__.py").exists() for name in MODULES)


def find(version: str) -> tuple[str, str] | None:
    """(folder, interpreter) of a release; ("", this one) of the installed, None of one that is not there."""
    if version == installed():
        return "", sys.executable
    place = _place(version)
    if _is_there(place) and (python := _interpreter(place)):
        return str(place), python
    return None


def listed() -> list[dict]:
    """The releases that are there for this version of Python, and the installed one: version, folder, bytes,
    python or None."""
    rows = []
    if (own := installed()) is not None:
        rows.append({"version": own, "folder": "", "bytes": None, "python": sys.executable})
    for place in folder().glob(f"*-{tag()}"):
        if _is_there(place):
            version = place.name.rpartition("-")[0]
            size = sum(f.lstat().st_size for f in place.resolve().rglob("*") if not f.is_symlink())
            python = _interpreter(place)
            rows.append({"version": version, "folder": str(place), "bytes": size, "python": python})
    return sorted(rows, key=lambda row: (key(row["version"]), row["folder"]))


def ensure(version: str) -> tuple[str, str]:
    """find(), which fetches the release first where it is not there."""
    version = known(version)
    return find(version) or add(version)


def processes(place: str) -> list[tuple[int, str]]:
    """The processes that have loaded files of a release's folder: their number and command line."""
    users, inside = [], f" {os.path.realpath(place)}/"
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):  # another user's, or gone since
            if inside in maps.read_text(errors="replace"):
                words = (maps.parent / "cmdline").read_text(errors="replace").split("\0")
                users.append((int(maps.parent.name), " ".join(words).strip()))
    return sorted(users)


def remove(version: str) -> bool:
    """Deletes a release's folder; False if it is not there."""
    return _remove(_place(version))


def _remove(place: Path) -> bool:
    if not place.exists():
        return False
    if place.is_symlink():
        place.unlink()
    else:
        shutil.rmtree(place)
    return True


def add(version: str) -> tuple[str, str]:
    """Fetches a release into its folder: whole, or not at all. pip's progress goes to stderr on a
    terminal."""
    version = known(version)
    place = _place(version)
    return fetch(
        place, f"Triton {version}", lambda: find(version), lambda scratch: _install(version, scratch)
    )


def fetch(place: Path, title: str, find_it, install) -> tuple[str, str]:
    """Fetches what find_it() does not find into a folder. install(scratch): puts it into a folder, and
    returns the interpreter that runs it."""
    make_folder(place.parent)
    name = place.name.rpartition("-")[0]
    with (place.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be at it
        if found := find_it():
            return found
        print(f"triton-runner: fetching {title} into {place}", file=sys.stderr, flush=True)
        for left in place.parent.glob(f".{name}-*"):  # by a process that was killed: this one has the lock
            shutil.rmtree(left, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=place.parent))
        try:
            with interrupts.begun(str(scratch)):
                python = install(scratch)
                (scratch / "triton_runner.json").write_text(json.dumps({"python": python}))
                scratch.chmod(0o755)
                _remove(place)  # one whose interpreter is gone
                scratch.rename(place)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    size = sum(f.stat().st_size for f in place.rglob("*") if f.is_file())
    print(f"triton-runner: {title} takes {size / 2**20:.0f} MiB", file=sys.stderr, flush=True)
    return str(place), python


def _install(version: str, target: Path) -> str:
    """Installs the wheel into `target`; the interpreter that runs it."""
    row = release_of(version)
    needs = [f"{row.on_index}=={_patch(version)}", *row.undeclared.split()]
    reason = pip(target, "--no-deps", *needs)
    if reason is None:
        return sys.executable
    if is_unanswered(reason):
        raise fail(
            f"Triton {version} could not be fetched: the package index did not answer",
            f"releases that are there already need no network: `{commands.shell('versions')}` lists them",
        )
    if "No matching distribution" in reason or "no wheels" in reason:
        for minor in PYTHONS:
            python = shutil.which(f"python3.{minor}") or _python_by_uv(minor)
            options = ["--no-deps", "--python-version", f"3.{minor}", "--only-binary=:all:"]
            if python and pip(target, *options, *needs) is None:
                return python
        raise fail(
            f"Triton {version} has no wheel for Python {sys.version_info[0]}.{sys.version_info[1]}, and no "
            "interpreter that it has one for was found",
            *(["or the package index was not reached: pip saw no release at all"] * ("none)" in reason)),
            f"install one of Python 3.{PYTHONS[-1]} to 3.{PYTHONS[0]}, or uv "
            "(https://docs.astral.sh/uv), which fetches it",
        )
    raise fail(
        f"Triton {version} could not be fetched: {reason.strip().splitlines()[-1]}",
        *reason.splitlines()[-6:-1],
    )


def _installer() -> list[str]:
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return [sys.executable, "-m", "pip", "install"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise fail("neither pip nor uv is there to fetch a release", f"python -m ensurepip, of {sys.executable}")


def is_unanswered(reason: str) -> bool:
    """Returns whether pip failed because no package index answered."""
    words = "Connection(Error|broken)|ConnectTimeout|Max retries|ProxyError|connection broken"
    return re.search(words, reason) is not None


def pip(target: Path, *words: str) -> str | None:
    """Runs pip, to install into a folder. words: options and packages. Returns what it said if it failed."""
    installer = _installer()
    command = [*installer, "--target", str(target), *words]
    if installer[0] == sys.executable:
        command += ["--no-compile", "--disable-pip-version-check", "--progress-bar"]
        command += ["on" if sys.stderr.isatty() else "off"]
    out = None if sys.stderr.isatty() else subprocess.PIPE
    # pip unpacks into the folder that it installs to, which goes as a whole where pip is ended.
    with tempfile.TemporaryFile("w+") as errors, tempfile.TemporaryDirectory(dir=target) as unpacked:
        done = subprocess.run(
            command, stdout=out and subprocess.DEVNULL, stderr=errors, preexec_fn=end_with_parent,
            env={**os.environ, "TMPDIR": unpacked},
        )  # fmt: skip
        errors.seek(0)
        return errors.read() if done.returncode else None


def _python_by_uv(minor: int) -> str | None:
    uv = shutil.which("uv")
    if uv is None:
        return None
    subprocess.run([uv, "python", "install", f"3.{minor}"], check=False)
    done = subprocess.run([uv, "python", "find", f"3.{minor}"], capture_output=True, text=True)
    return done.stdout.strip() or None
