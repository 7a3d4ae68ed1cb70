"""Runs Triton's tutorials on the CPU from Python, TTIR, TTGIR, LLIR, PTX, cubin, AMDGCN and hsaco, checks
them, and prints a table of eleven rows, in which each kernel and each level stands; --all: every kernel from
every level.

The artifacts are what Triton itself wrote into its cache when the Python kernel was compiled.
"""

import contextlib
import importlib
import os
import pathlib
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
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
# The rows without --all: a kernel, and which of the ways.
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
ONWARD = """
Go on from this folder:
  {bin}triton-runner run --device cpu examples/runner/v3.9.0/python/vector_add.py
  {bin}triton-runner ops                      # what runs, and the case that tests it
  {bin}triton-runner doctor                   # this machine, Triton, torch, GPUs
  make demo ARGS=--all                            # the other rows
README.md has more; `. .venv/bin/activate` puts triton-runner on the PATH."""
HEADING = ("kernel", "level", "compiled for", "engine", "max difference", "milliseconds")


@contextlib.contextmanager
def launches_timed(kernel_class):
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


def artifacts(cache: pathlib.Path, level: str, folder: pathlib.Path) -> pathlib.Path:
    """Copies the files of one level out of a Triton cache into one folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in cache.rglob(f"*.{level}"):
        shutil.copy(path, folder)
        shutil.copy(path.with_suffix(".json"), folder)
    return folder


def main() -> int:
    if "--all" in sys.argv[1:]:
        rows = [(name, way) for name in KERNELS for way in WAYS]
    else:
        rows = [(name, WAYS[way]) for name, way in SHORT]
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="triton-runner-demo-"))
    os.environ |= {"TRITON_RUNNER_PROD": "1", "TRITON_RUNNER_DEVICE": "cpu", "TRITON_ALWAYS_COMPILE": "0"}
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns where this is left open
    sys.path.insert(0, str(ROOT / "examples"))
    import triton
    import triton_runner

    cores = len(os.sched_getaffinity(0))
    versions = f"Triton {triton.__version__}, Triton Runner {triton_runner.__version__}"
    print(f"{versions}, {cores} CPU cores, no GPU used")
    row_format = "{:14} {:7} {:13} {:12} {:>15} {:>13}"
    print(row_format.format(*HEADING))
    failed = 0
    for name, (entry, level, target) in rows:
        module = importlib.import_module(f"kernels.{name}")
        try:
            with triton_runner.using(target=target, level=level):
                difference, right, seconds = run(module, entry, level, scratch / name / target / level)
            cells = [f"{difference:.3g}" + ("" if right else " WRONG"), f"{seconds * 1e3:.3g}"]
        except (ValueError, RuntimeError) as error:
            cells, right = [f"failed: {error}"], False
        failed += not right
        print(
            row_format.format(name, entry, target, engine_of(level), *cells, *[""] * (2 - len(cells))),
            flush=True,
        )
    shutil.rmtree(scratch, ignore_errors=True)
    print("every result matches its reference" if not failed else f"{failed} do not match their reference")
    if not failed:
        print(ONWARD.format(bin=".venv/bin/"))
    return 1 if failed else 0


def engine_of(level: str) -> str:
    """The engine that executes a level."""
    return f"tile ({level})" if level in ("ttir", "ttgir") else f"simt ({level.replace('llir', 'ptx')})"


def run(module, entry: str, level: str, scratch: pathlib.Path) -> tuple[float, bool, float]:
    """The largest difference, whether all are within their bounds, and the shortest of three warm runs."""
    from kernels import harness

    # Each target and level has a cache folder of its own: the artifacts that are used next are found in it.
    os.environ["TRITON_CACHE_DIR"] = str(scratch / "cache")
    module.run(harness.Device())
    keywords = {}
    if entry != "Python":
        keywords = {f"{level}_dir": str(artifacts(scratch / "cache", level, scratch / "ir"))}
        module.run(harness.Device(), **keywords)
    times = []
    for _ in range(3):
        with launches_timed(type(launched(module))) as seconds:
            checked = module.run(harness.Device(), **keywords)
        times.append(sum(seconds))
    differences = [(float(abs(got.double() - expected).max()), bound) for _, got, expected, bound in checked]
    return max(d for d, _ in differences), all(d <= bound for d, bound in differences), min(times)


def launched(module):
    """One of the module's kernels: their class is where launches begin."""
    from triton.runtime.jit import KernelInterface

    return next(value for value in vars(module).values() if isinstance(value, KernelInterface))


if __name__ == "__main__":
    sys.exit(main())
