"""Keeps what autotuning found in a folder: autotune(..., autotune_cubin_dir=folder) saves the kernel of the
configuration that won, and later launches load it without compiling or timing anything.

The folder holds index.json and a folder for each winner: <kernel>.<level> and <kernel>.json, as a launch of
an artifact takes them, and winner.json with the values that the configuration gave. A winner is for one key
of Autotuner, for arguments that Triton specialises alike, and for one target.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import functools
import hashlib
import inspect
import json
import os
from pathlib import Path

import triton
from triton.runtime.jit import KernelInterface

from triton_runner import _core
from triton_runner._artifact import compiled_kernel
from triton_runner._base.errors import fail
from triton_runner._base.levels import binary_level
from triton_runner._base.metadata import as_path_or_text
from triton_runner._base.paths import read_json
from triton_runner._launch import gpu_driver
from triton_runner._settings import devices
from triton_runner._settings.keywords import WINNER

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class Tuned(KernelInterface):
    """An Autotuner whose winners are in a folder. Everything else is the Autotuner's own."""

    def __init__(self, tuner, kernel, folder):
        self.fn, self.kernel, self.folder = tuner, kernel, Path(os.fspath(folder)).absolute()
        self._index = _read_json(self.folder / "index.json") or {}

    def __getattr__(self, name):
        return getattr(self.__dict__["fn"], name)

    def run(self, *args, grid, warmup, **kwargs):
        """Launches the winner for these arguments; the first such launch finds it out, unless it is saved."""
        key = self._key(args, kwargs)
        winner = self._index.get(key)
        if winner is None:
            kernel = self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)
            if kernel is not None and not warmup:
                self._index = self._save(key, kernel, self.fn.best_config)
            return kernel
        entry = {f"{winner['level']}_dir": str(self.folder / winner["folder"])}
        arguments = {**kwargs, **winner["kwargs"], **entry}
        if warmup:
            return self.fn.fn.run(*args, grid=grid, warmup=True, **arguments)
        return self.fn.fn[grid](*args, **arguments)

    def _key(self, args, kwargs) -> str:
        """A text that is equal for calls that one winner is for."""
        function = self.kernel
        params = {name: value for name, value in kwargs.items() if name in function.arg_names}
        others = {name: value for name, value in kwargs.items() if name not in params}
        values = dict.fromkeys(function.arg_names)  # what the configuration gives is not known yet
        values |= {p.name: p.default for p in function.params if p.has_default}
        values |= {**dict(zip(function.arg_names, args, strict=False)), **params}
        # 3.0 and 3.1 keep where the keys are.
        keys = getattr(self.fn, "keys", None) or [self.fn.arg_names[i] for i in self.fn.key_idx]
        tuned = [str(values[name]) for name in keys]
        options = sorted(map(str, others.items()))
        return json.dumps([function.__name__, _target(), *_specialised(function, values), tuned, options])

    def _save(self, key: str, kernel, config) -> dict:
        compiled = compiled_kernel.compiled_of(kernel)
        level = binary_level(compiled.target) if devices.resolved_device() != "cpu" else compiled.level
        name = hashlib.sha256(key.encode()).hexdigest()[:16]
        winner = {
            "kwargs": config.kwargs, "level": level, "kernel": kernel.name, "triton": triton.__version__,
            **{option: getattr(config, option, None) for option in _OPTIONS},
        }  # fmt: skip
        folder = self.folder / f"{self.kernel.__name__}-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        metadata = json.loads(as_path_or_text(kernel, WINNER))
        for file, content in (
            (f"{kernel.name}.{level}", compiled.asm[level]),
            (f"{kernel.name}.json", json.dumps(metadata)),
            ("winner.json", json.dumps(winner)),
        ):
            _core.artifact.write(str(folder / file), content)
        with _locked(self.folder):
            index = _read_json(self.folder / "index.json") or {}
            index[key] = {"folder": folder.name, "level": level, "kwargs": config.kwargs}
            _core.artifact.write(str(self.folder / "index.json"), json.dumps(index, indent=1))
        return index


def _target() -> str:
    if devices.resolved_device() != "cpu":
        return gpu_driver.current_target()
    target, level = devices.cpu_target()
    return f"{target} {level}"


def _specialised(function, values: dict) -> tuple:
    """Returns what Triton makes of the arguments."""
    driver = triton.runtime.driver.active
    if not hasattr(function, "device_caches"):  # before 3.3
        if function.binder is None:
            backend = triton.compiler.make_backend(driver.get_current_target())
            parameters = inspect.signature(function.create_binder).parameters  # none in 3.0 and 3.1
            function.create_binder(*[backend][: len(parameters)])
        _, specialization, constants, _, _ = function.binder(**values)
        return "".join(specialization), str(constants)
    _, specialization, _ = function.device_caches[driver.get_current_device()][-1](**values)
    return (str(specialization),)


def _read_json(path: Path):
    """Returns what the file holds, or None where there is no file."""
    again = f"{WINNER}: delete it, and the winner is determined again"
    return read_json(path, again) if path.exists() else None


@contextlib.contextmanager
def _locked(folder: Path):
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def expand(kwargs: dict) -> dict:
    """The keywords of a launch with autotune_cubin_dir=, a winner's folder: where it enters, and the values
    that its configuration gave. Folders that the original wrote say these in `kernel_signature`."""
    kwargs = dict(kwargs)
    entry, winner = _winner(os.fspath(kwargs.pop(WINNER)))
    return {**kwargs, **winner, **entry}


@functools.lru_cache(maxsize=256)
def _winner(folder: str) -> tuple[dict, dict]:
    winner = _read_json(Path(folder) / "winner.json")
    if winner is not None:
        return {f"{winner['level']}_dir": folder}, winner["kwargs"]
    for path in sorted(Path(folder).glob("*.json")):
        signature_text = (_read_json(path) or {}).get("kernel_signature")
        if signature_text is not None:
            arguments = {
                name: value for name, _, value, is_keyword in ast.literal_eval(signature_text) if is_keyword
            }
            return {"cubin_dir": folder}, arguments
    raise fail(
        f"{WINNER}={folder!r} holds no winner.json, and no metadata with kernel_signature",
        "autotune(..., autotune_cubin_dir=) makes such folders",
    )
