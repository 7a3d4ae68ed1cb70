"""Lists this interpreter's ways to run a problem, each a row: the driver from C++, Triton's own, ours at
every level, CuPy, torch."""

from __future__ import annotations

import os
from collections.abc import Callable

from triton_runner import _core
from triton_runner._artifact import loading
from triton_runner._base.levels import LEVELS, MLIR, ON_CPU, levels_of
from triton_runner._base.metadata import as_path_or_text
from triton_runner._jit import jit
from triton_runner._launch import gpu_driver
from triton_runner._settings import devices
from triton_runner.bench import kernels, native, problems
from triton_runner.bench.rounds import Row, WrongResult
from triton_runner.bench.timing import timer


class Skipped(Exception):
    """Why a way cannot run here."""


class Bench:
    """Rows of one problem on the device in use. `asked`: what problems.make() takes; `kind`: of timer()."""

    def __init__(self, asked: dict, kind: str, launches: int, folder: str):
        self.runs_on = devices.resolved_device()
        self.on_gpu = self.runs_on != "cpu"
        self.device = "cuda" if self.on_gpu else "cpu"  # as torch calls AMD's devices too
        self.problem = problems.make(kernels, asked, self.device)
        self.checked = self.problem  # what a check launches, where the problem itself leaves nothing to see
        if asked["problem"] == "launch" and asked["count"]:
            self.checked = problems.make(kernels, {**asked, "witness": True}, self.device)
        self.timer = timer(kind, self.on_gpu, launches)
        self.launches, self.folder = launches, folder
        self.request = {"do": "ways", "problem": asked, "timer": kind, "launches": launches}

    @property
    def stream(self) -> int:
        return gpu_driver.current_stream() if self.on_gpu else 0

    def synchronize(self) -> None:
        if self.on_gpu:
            import torch

            torch.cuda.synchronize()

    def row(self, name: str, way: Callable, note: str = "") -> Row:
        """A row of a way: way(problem) gives (a call, what it launches), or raises Skipped."""
        try:
            call, launches = way(self.problem)
        except Skipped as reason:
            return Row(name, skipped=str(reason))

        def check() -> None:
            checked = call if self.checked is self.problem else way(self.checked)[0]
            self.checked.clear()
            checked()
            self.synchronize()
            if fault := self.checked.fault():
                raise WrongResult(fault)

        return Row(name, launches + note, lambda: self.timer(call), check)

    def torch(self) -> Row:
        return Row("torch", self.problem.torch_says, lambda: self.timer(self.problem.torch))

    def raw(self) -> Row:
        """The driver's own call, or the engine's, from C++: what no way from Python can be under."""

        def way(problem):
            burst, launches = self._raw(problem)
            return (lambda: burst(1)), launches

        row = self.row("driver, from C++" if self.on_gpu else "engine, from C++", way)
        if row.is_timed:
            burst, _ = self._raw(self.problem)

            def sample() -> float:
                self.synchronize()
                seconds = burst(self.launches)
                self.synchronize()
                return seconds

            row.sample = sample
        return row

    def _raw(self, problem):
        compiled = problem.kernel[problem.grid](*problem.args, **problem.keywords)
        grid = (*problem.grid, 1, 1)[:3]
        words = [a.data_ptr() if hasattr(a, "data_ptr") else a for a in problem.args]
        if not self.on_gpu:
            kernel = compiled.function
            memory = [(a.data_ptr(), a.nbytes) for a in problem.args if hasattr(a, "data_ptr")]
            return (
                lambda count: _core.bench.engine_burst(kernel, words, memory, grid, count)
            ), native.describe(compiled)
        if self.runs_on != "cuda":
            raise Skipped("only CUDA's driver is called directly")
        image, metadata = compiled.asm["cubin"], compiled.metadata
        described = _core.artifact.describe(image, "cubin", compiled.name, "", "")
        words += [0] * (len(described["params"]) - len(words))  # Triton's own pointers
        raw = _core.bench.RawLaunch(
            image, compiled.name, words, grid, metadata.num_warps * 32, metadata.shared
        )
        stream = self.stream
        return (lambda count: raw.burst(count, stream)), f"{native.describe(compiled)} by cuLaunchKernelEx"

    def triton_rows(self) -> list[Row]:
        note = "" if self.on_gpu else ", on this package's engine"
        return [
            self.row("triton.jit", native.jit, note),
            self.row("CompiledKernel.run", lambda p: native.compiled_run(p, self.stream), note),
        ]

    def ours(self) -> Row:
        return self.row("triton_runner.jit", self._jit)

    @staticmethod
    def _jit(problem):
        return native.jit(problem, jit.jit(problem.kernel.fn))

    def saved(self, problem) -> tuple[str, object]:
        """(a folder with the problem's kernel at each level, the kernel), compiled by our jit."""
        compiled = jit.jit(problem.kernel.fn)[problem.grid](*problem.args, **problem.keywords)
        folder = os.path.join(self.folder, compiled.name)
        if not os.path.isdir(folder):
            os.makedirs(folder)
            for level in levels_of(self._target(compiled)):
                _core.artifact.write(f"{folder}/{compiled.name}.{level}", compiled.asm[level])
            metadata = as_path_or_text(compiled.metadata, "metadata")
            _core.artifact.write(f"{folder}/{compiled.name}.json", metadata)
        return folder, compiled

    @staticmethod
    def _target(compiled) -> str:
        target = compiled.metadata.target
        return f"{target.backend}:{target.arch}"

    def levels(self) -> list[str]:
        return list(levels_of(gpu_driver.current_target() if self.on_gpu else "cuda"))

    def entered(self, level: str) -> Row:
        """Our jit with the kernel entering at a level: ttir_dir=, ..., cubin_dir=."""

        def way(problem):
            self._check_level(level)
            folder, _ = self.saved(problem)
            kernel = jit.jit(problem.kernel.fn)
            grid, args, meta = problem.grid, problem.args, problem.keywords
            keywords = {**meta, f"{level}_dir": folder}
            compiled = kernel[grid](*args, **keywords)
            return (lambda: kernel[grid](*args, **keywords)), self._entered_label(compiled)

        return self.row(f"triton_runner.jit, {level}_dir=", way)

    def loaded(self, level: str) -> Row:
        """load() of an artifact, launched without its Python function."""

        def way(problem):
            self._check_level(level)
            folder, compiled = self.saved(problem)
            kernel = loading.load(f"{folder}/{compiled.name}.{level}", device=self.runs_on)
            grid, args = problem.grid, problem.args
            if level not in MLIR or len(args) != len(kernel.params):
                args = tuple(a for a in args if not (isinstance(a, int) and a == 1))  # compiled in
            kernel[grid](*args)
            return (lambda: kernel[grid](*args)), self._entered_label(kernel)

        return self.row(f"triton_runner.load(.{level})", way)

    def _check_level(self, level: str) -> None:
        if not self.on_gpu and (level not in ON_CPU or LEVELS[level].when_named):
            raise Skipped("a binary is timed on a GPU only")

    def _entered_label(self, kernel) -> str:
        entry = kernel.artifact.level
        run_as = "" if kernel.level == entry else f", run as {kernel.level}"
        return f"{kernel.name}.{entry}{run_as}, {kernel.target}"

    def cupy(self) -> Row:
        """CuPy's launch of the same cubin."""

        def way(problem):
            if not self.on_gpu:
                raise Skipped("CuPy needs a GPU")
            if self.runs_on != "cuda":
                raise Skipped("a cubin is launched")
            try:
                import cupy
            except ImportError:
                raise Skipped("CuPy is not installed") from None
            folder, compiled = self.saved(problem)
            function = cupy.RawModule(path=f"{folder}/{compiled.name}.cubin").get_function(compiled.name)
            described = _core.artifact.describe(compiled.asm["cubin"], "cubin", compiled.name, "", "")
            args = [cupy.from_dlpack(a) if hasattr(a, "data_ptr") else cupy.int32(a) for a in problem.args]
            args += [cupy.uint64(0)] * (len(described["params"]) - len(args))
            grid, block = (*problem.grid, 1, 1)[:3], (compiled.metadata.num_warps * 32, 1, 1)
            shared, arguments = compiled.metadata.shared, tuple(args)
            cupy.cuda.ExternalStream(self.stream).use()

            def call():
                function(grid, block, arguments, shared_mem=shared)

            call()
            return call, f"{native.describe(compiled)} by CuPy {cupy.__version__}"

        return self.row("CuPy RawKernel", way)
