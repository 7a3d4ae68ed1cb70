"""Reads Triton's cache of compiled kernels: what is in it, and why two kernels of one name are two."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

from triton_runner._base import commands
from triton_runner._base.errors import fail

_ENTRY = re.compile(r"[A-Za-z0-9_-]{40,}")  # a hash, in the letters of this or that release
_PLACE = re.compile(r'loc\("([^"\n]+)":\d+:\d+')
# Fields of the metadata that say nothing about why: they follow from the others.
_FOLLOWS = ("hash", "name", "shared", "tmem_size", "global_scratch_size", "profile_scratch_size")


def folder() -> Path:
    """Returns where Triton keeps compiled kernels."""
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~")
    return Path(os.environ.get("TRITON_CACHE_DIR") or os.path.join(home, ".triton", "cache"))


def _metadata(path: Path) -> dict | None:
    """The metadata of a kernel; None of autotuning results and other files."""
    try:
        metadata = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    target = metadata.get("target") if isinstance(metadata, dict) else None
    if not isinstance(target, dict) or not {"backend", "arch"} <= target.keys():
        return None
    target.pop("places", None)  # a hash of what _files() tells
    return metadata


def entries() -> tuple[str, list]:
    """The folder, and one dict a cached kernel: kernel, target, levels, path, modified; newest first."""
    cached = []
    for path in folder().glob("*/*.json"):
        if path.name.startswith("__grp__") or (metadata := _metadata(path)) is None:
            continue
        target = metadata["target"]
        levels = [
            f.suffix[1:]
            for f in sorted(path.parent.glob(f"{path.stem}.*"))
            if f.suffix not in (".json", ".source")
        ]
        try:
            modified = path.stat().st_mtime
        except OSError:  # gone since
            continue
        cached.append(
            {
                "kernel": path.stem,
                "target": f"{target['backend']}:{target['arch']}",
                "levels": levels,
                "path": str(path.parent),
                "modified": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(modified)),
                "_time": modified,
            }
        )
    cached.sort(key=lambda entry: -entry.pop("_time"))
    return str(folder()), cached


def explain(name: str) -> dict:
    """An entry by the beginning of its hash or folder: its metadata and files, and for every other entry of
    its kernel what is different (`others`, the most alike first)."""
    cached = entries()[1]
    chosen = []
    for entry in cached:
        metadata = _metadata(Path(entry["path"]) / f"{entry['kernel']}.json") or {}
        hashes = (os.path.basename(entry["path"]), str(metadata.get("hash", "")))
        if any(entry_hash.startswith(name) for entry_hash in hashes):
            chosen.append((entry, metadata))
    if len(chosen) != 1:
        what = f"{len(chosen)} kernels begin with" if chosen else "no kernel has"
        advice = f"`{commands.shell('cache', 'ls')}` lists their folders and kernels"
        raise fail(f"{what} {name!r} in {folder()}", advice)
    entry, metadata = chosen[0]
    files = {f.name: f.stat().st_size for f in sorted(Path(entry["path"]).iterdir()) if f.is_file()}
    others = []
    for other in cached:
        if other["kernel"] == entry["kernel"] and other["path"] != entry["path"]:
            theirs = _metadata(Path(other["path"]) / f"{other['kernel']}.json") or {}
            others.append({"path": other["path"], "differs": _differences(entry, metadata, other, theirs)})
    others.sort(key=lambda entry: len(entry["differs"]))
    return {**entry, "metadata": metadata, "files": files, "others": others}


def _differences(entry: dict, mine: dict, other: dict, theirs: dict) -> dict:
    """Returns the differences between two entries of a kernel: {field: (here, there)}."""
    differences = {
        name: (mine.get(name), theirs.get(name))
        for name in sorted({*mine, *theirs} - {*_FOLLOWS})
        if mine.get(name) != theirs.get(name)
    }
    texts = [_text(item) for item in (entry, other)]
    if texts[0] != texts[1]:
        differences["source"] = ("its TTIR", "another: the kernel, its constants, types or what it calls")
    elif (files := [_files(item) for item in (entry, other)]) and files[0] != files[1]:
        differences["file"] = tuple(", ".join(names) for names in files)
    if not differences:
        differences["key"] = ("the same kernel and options", "another environment, Triton or backend")
    return differences


def _text(entry: dict) -> str | None:
    """The first level that is there, without locations, which say nothing of what is computed."""
    for level in ("source", "ttir"):
        path = Path(entry["path"]) / f"{entry['kernel']}.{level}"
        if path.exists():
            lines = path.read_text(errors="replace").splitlines()
            return "\n".join(line.partition(" loc(")[0] for line in lines if not line.startswith("#loc"))
    return None


def _files(entry: dict) -> list[str]:
    """The files that the locations of its first level name."""
    path = Path(entry["path"]) / f"{entry['kernel']}.source"
    return sorted(set(_PLACE.findall(path.read_text(errors="replace")))) if path.exists() else []


def clear() -> tuple[int, int]:
    """Deletes every entry of the cache: how many went, and how many could not be deleted. Other folders stay,
    as the variable may name a folder that is not a cache."""
    there = folder().iterdir() if folder().is_dir() else ()
    folders = [path for path in there if path.is_dir() and _ENTRY.fullmatch(path.name)]
    for path in folders:
        shutil.rmtree(path, ignore_errors=True)
    left = sum(path.exists() for path in folders)
    return len(folders) - left, left
