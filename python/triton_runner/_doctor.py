"""What triton-runner doctor and cache report."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import time
from pathlib import Path

from triton_runner import _settings


def _version(*names: str) -> str:
    for name in names:
        try:
            return f"{importlib.metadata.version(name)} ({name})"
        except importlib.metadata.PackageNotFoundError:
            continue
    return "not installed"


def facts() -> dict:
    """Versions, devices and settings; "problems" is a dict of what should be looked at."""
    problems = {}
    wheels = [
        name
        for name in ("triton", "pytorch-triton", "pytorch-triton-rocm")
        if _version(name) != "not installed"
    ]
    if len(wheels) > 1:
        problems["triton"] = f"several wheels provide the package triton: {', '.join(wheels)}"
    try:
        from triton_runner import _core

        isa = _core.isa()
    except ImportError as error:
        isa, problems["core"] = "-", f"the extension does not load: {error}"
    device = "-"
    try:
        from triton_runner import _device

        device = _device.resolved_device()
    except Exception as error:
        problems["device"] = str(error)
    return {
        "triton-runner": _version("triton-runner"),
        "triton": _version(*wheels) if wheels else "not installed",
        "torch": _version("torch"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)),
        "isa": isa,
        "device": device,
        "settings": _settings.shown(),
        "cache": str(cache_folder()),
        "environment": {
            k: v for k, v in sorted(os.environ.items()) if k.startswith(("TRITON_", "MLIR_", "LLVM_"))
        },
        "problems": problems,
    }


def cache_folder() -> Path:
    """Where Triton keeps compiled kernels."""
    home = os.environ.get("TRITON_HOME") or os.path.expanduser("~")
    return Path(os.environ.get("TRITON_CACHE_DIR") or os.path.join(home, ".triton", "cache"))


def cache_entries() -> tuple[str, list]:
    """The folder, and one dict a cached kernel: kernel, target, levels, path, modified; newest first."""
    entries = []
    folder = cache_folder()
    for path in folder.glob("*/*.json"):
        if path.name.startswith("__grp__"):
            continue
        try:
            metadata = json.loads(path.read_text())
            modified = path.stat().st_mtime
        except (OSError, ValueError):
            continue
        target = metadata.get("target") if isinstance(metadata, dict) else None
        if not isinstance(target, dict):
            continue  # autotuning results and other files
        levels = [
            f.suffix[1:]
            for f in sorted(path.parent.glob(f"{path.stem}.*"))
            if f.suffix not in (".json", ".source")
        ]
        entries.append(
            {
                "kernel": path.stem,
                "target": f"{target['backend']}:{target['arch']}",
                "levels": levels,
                "path": str(path.parent),
                "modified": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(modified)),
                "_time": modified,
            }
        )
    entries.sort(key=lambda entry: -entry.pop("_time"))
    return str(folder), entries


def clear_cache() -> int:
    """Deletes every entry of the cache and returns how many there were."""
    folder = cache_folder()
    entries = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    for path in entries:
        shutil.rmtree(path, ignore_errors=True)
    return len(entries)
