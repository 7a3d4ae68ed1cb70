"""Runs Triton's tutorials on the CPU from Python, TTIR, TTGIR, LLIR, PTX, cubin, AMDGCN and hsaco, and
compares what they give with references: eleven rows, in which each kernel and each level stands, or every
kernel from every level.

The kernels are those of examples/kernels, which a wheel holds too. The artifacts are what Triton itself wrote
into its cache when the Python kernel was compiled."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import pathlib
import shutil
import sys
import time
from collections.abc import Iterator

from triton_runner import _settings
from triton_runner._base import scratch
from triton_runner._base.errors import fail

KERNELS = ("vector_add", "softmax", "matmul", "dropout", "layer_norm", "attention", "grouped_gemm")
# Each way: where the kernel enters, the level that the engine executes, and the architecture Triton compiles
# for.
WAYS = (
    ("Python", "ttir", "cuda:90"),
    ("TTIR", "ttir", "cuda:90"),
    ("TTGIR", "ttgir", "cuda:80"),
    ("TTGIR", "ttgir", "cuda:90"),
    ("TTGIR", "ttgir", "hip:gfx942"),
    ("LLIR", "llir", "cuda:86"),
    ("PTX", "ptx", "cuda:80"),
    ("cubin", "cubin", "cuda:90"),
    ("AMDGCN", "amdgcn", "hip:gfx942"),
    ("hsaco", "hsaco", "hip:gfx942"),
)
# The rows of the short table: a kernel, and which of the ways.
SHORT = (
    ("vector_add", 0),
    ("softmax", 1),
    ("matmul", 3),
    ("matmul", 6),
    ("matmul", 7),
    ("matmul", 8),
    ("matmul", 9),
    ("dropout", 2),
    ("layer_norm", 4),
    ("attention", 5),
    ("grouped_gemm", 0),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One kernel at one level. entry: where it enters, as in "LLIR"; level: what is executed; difference:
    the largest from the reference; seconds: of the shortest of three warm runs; failed: why there is none."""

    kernel: str
    entry: str
    target: str
    engine: str
    is_right: bool
    difference: float | None = None
    seconds: float | None = None
    failed: str | None = None


def folder() -> pathlib.Path:
    """The kernels: beside this file in a wheel, and examples/kernels in a clone."""
    here = pathlib.Path(__file__).resolve()
    for place in (here.parent / "kernels", here.parents[4] / "examples" / "kernels"):
        if (place / "vector_add.py").is_file():
            return place
    raise fail("the kernels of the demo are not here", "install the package again: a wheel holds them")


def be_quiet() -> None:
    """Switches off what compiled kernels print, and a warning of Triton 3.9 about a default."""
    os.environ |= {"TRITON_RUNNER_PROD": "1", "TRITON_ALWAYS_COMPILE": "0"}
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")


def rows(is_all: bool = False) -> Iterator[Row]:
    """Runs the kernels, one row after the other."""
    chosen = [(name, WAYS[way]) for name, way in SHORT]
    if is_all:
        chosen = [(name, way) for name in KERNELS for way in WAYS]
    be_quiet()
    os.environ["TRITON_RUNNER_DEVICE"] = "cpu"  # for harness.py
    sys.path.insert(0, str(folder().parent))
    with scratch.folder("demo") as files:
        for name, (entry, level, target) in chosen:
            module = importlib.import_module(f"kernels.{name}")
            place = pathlib.Path(files) / name / target / level
            try:
                with _settings.using(device="cpu", target=target, level=level):
                    difference, is_right, seconds = _run(module, entry, level, place)
                yield Row(name, entry, target, _engine_of(level), is_right, difference, seconds)
            except (ValueError, RuntimeError) as error:
                yield Row(name, entry, target, _engine_of(level), False, failed=str(error))


def _engine_of(level: str) -> str:
    """The engine that executes a level."""
    return f"tile ({level})" if level in ("ttir", "ttgir") else f"simt ({level.replace('llir', 'ptx')})"


def _run(module, entry: str, level: str, files: pathlib.Path) -> tuple[float, bool, float]:
    """The largest difference, whether all are within their bounds, and the shortest of three warm runs."""
    harness = importlib.import_module("kernels.harness")
    # Each target and level has a cache folder of its own: the artifacts that are used next are found in it.
    os.environ["TRITON_CACHE_DIR"] = str(files / "cache")
    module.run(harness.Device())
    keywords = {}
    if entry != "Python":
        keywords = {f"{level}_dir": str(_artifacts(files / "cache", level, files / "ir"))}
        module.run(harness.Device(), **keywords)
    times = []
    for _ in range(3):
        with _launches_timed(type(_launched(module))) as seconds:
            checked = module.run(harness.Device(), **keywords)
        times.append(sum(seconds))
    differences = [(float(abs(got.double() - expected).max()), bound) for _, got, expected, bound in checked]
    return max(d for d, _ in differences), all(d <= bound for d, bound in differences), min(times)


def _artifacts(cache: pathlib.Path, level: str, folder: pathlib.Path) -> pathlib.Path:
    """Copies the files of one level out of a Triton cache into one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in cache.rglob(f"*.{level}"):
        shutil.copy(path, folder)
        shutil.copy(path.with_suffix(".json"), folder)
    return folder


def _launched(module):
    """One of the module's kernels: their class is where launches begin."""
    from triton.runtime.jit import KernelInterface

    return next(value for value in vars(module).values() if isinstance(value, KernelInterface))


@contextlib.contextmanager
def _launches_timed(kernel_class):
    """The seconds of each launch inside the block, from the call in Python to its return."""
    seconds = []
    own = kernel_class.__getitem__

    def timed(self, grid):
        launch = own(self, grid)

        def run(*args, **kwargs):
            begin = time.perf_counter()
            result = launch(*args, **kwargs)
            seconds.append(time.perf_counter() - begin)
            return result

        return run

    kernel_class.__getitem__ = timed
    try:
        yield seconds
    finally:
        del kernel_class.__getitem__
