"""ArtifactKernel is a kernel that entered as an artifact, ready to run on what executes it
(executable.py)."""

from __future__ import annotations

import contextlib
import copy
import hashlib
from types import SimpleNamespace

from triton_runner import _core, _settings
from triton_runner._artifact.binding import name_values
from triton_runner._artifact.reading import Artifact, compile_options, file_stamps
from triton_runner._base.lazy import LazyAsm, Onward
from triton_runner._base.levels import binary_level, levels_below
from triton_runner._base.releases import installed
from triton_runner._launch import gpu_driver, launchers
from triton_runner._launch.native import Executor
from triton_runner._pipeline.stages import compile_onward


def _learn(kernel, _, named):
    """As that of _jit/dispatch.py, of launches of a kernel from load()."""
    named = kernel.name_values([value for _, value in named], {})
    straight = kernel.straight([SimpleNamespace(name=name, is_constexpr=False) for name, _ in named], named)
    # It was loaded once and for all, and nothing is called around it.
    return straight and (straight[0], straight[1], [], [], None, [])


def known_launches(parameters, reserved, entries, learn, method: str, within=None) -> _core.Dispatch:
    """The known launches of a kernel; parameters: None for any number of values."""
    return _core.Dispatch(
        parameters,
        reserved,
        entries,
        _settings.current,
        _settings.scope,
        _settings.__dict__,
        learn,
        within,
        method,
    )


class ArtifactKernel(_core.Launchable):
    """A kernel that entered as an artifact, ready to run: what a launch and load() return.

    As Triton's CompiledKernel: name, asm (levels after the entry compile when asked for), metadata, n_regs,
    n_spills, and kernel[grid](*args). params: names and types as the artifact spells them.
    """

    def __init__(self, artifact: Artifact, kernel: _core.Kernel, asm: dict, target: str, device: str):
        self.name = artifact.name
        self.artifact = artifact
        self.function = kernel
        self.level = kernel.level
        self.target = target
        self.device = device
        self.params = kernel.params
        self.python_params = None  # (name, is constexpr) of the Python kernel that it stands for
        self.asm = LazyAsm(asm, levels_below(target, artifact.level) if target else (), self._complete)
        self.hash = hashlib.sha256(artifact.content).hexdigest()
        self._onward = Onward(self._compile)
        self.settings: dict = {}  # of its own launches, as using() takes them
        self._known = known_launches(None, frozenset(), frozenset(), _learn, "launched")

    def _complete(self, to: str):
        return self._onward.to(self.artifact.source, to)

    def _compile(self, text, to: str):
        it = self.artifact
        return compile_onward(text, it.stage, to, self.target, compile_options(it), it.label)

    @property
    def metadata(self):
        """Triton's metadata of the kernel, as far as its file or the artifact tells."""
        fields = {
            k: v
            for k, v in self.artifact.description.items()
            if k not in ("metadata", "warnings", "missing", "params")
        }
        return SimpleNamespace(**{**fields, **(self.artifact.description.get("metadata") or {})})

    def _resources(self):
        level = binary_level(self.target)
        return _core.artifact.describe(self.asm[level], level, self.name, "", f"<{level}>")

    @property
    def n_regs(self) -> int:
        return self._resources()["n_regs"] or 0

    @property
    def n_spills(self) -> int:
        return self._resources()["n_spills"] or 0

    def with_settings(self, **settings) -> ArtifactKernel:
        """The same kernel, whose launches have these settings of using()."""
        other = copy.copy(self)
        other._known = None
        other.settings = {**self.settings, **settings}
        with _settings.using(**other.settings):  # says what is wrong with them
            return other

    def launch(self, grid, named, stream=None) -> None:
        """Launches with (name, value) pairs, on a GPU on the stream (the current one); waits for it on the
        CPU."""
        with _settings.using(**self.settings) if self.settings else contextlib.nullcontext():
            run = lambda: self._launch(grid, named, stream)  # noqa: E731
            if not launchers.observers:
                return run()
            name, args = self.function.name, (grid, named, stream)
            return launchers.through(launchers.Call(self, name, grid, self.launch, args, lambda: named), run)

    def _launch(self, grid, named, stream) -> None:
        settings = _settings.current()
        if self.device == "cpu":
            self.function.launch(grid, named, settings.core_options)
        else:
            options = _core.Options()
            options.device = "cuda"  # as torch calls AMD's devices too
            options.shared = settings.shared
            options.checks = settings.checks
            options.stream = gpu_driver.current_stream(self.function.device) if stream is None else stream
            self.function.launch(grid, named, options)

    def _subscript(self, grid):
        """kernel[grid](*args): the parameters of the artifact in order, or those of the Python kernel that it
        stands for; grid is a tuple."""

        def runner(*args, stream=None, **kwargs):
            self.launch(grid, self.name_values(args, kwargs), stream)
            return self

        return runner

    def launched(self, *args, grid, warmup=False, stream=None, **kwargs) -> ArtifactKernel:
        """kernel[grid](*args) of a launch that was not seen before."""
        self.launch(grid, self.name_values(args, kwargs), stream)
        return self

    def straight(self, params, named):
        """(launcher, guards, files) for launches with values as these (name, value) pairs, of a function with
        these parameters; None where the next such launch might be another, False where this one was
        recorded."""
        if _settings.is_recording():
            return False
        if any(isinstance(value, tuple) for _, value in named):
            return None
        code_and_names = self._code(named)
        if code_and_names is None:
            return None
        code, kept = code_and_names
        constants = {param.name for param in params if param.is_constexpr}
        slots = [
            (param.name, "value" if param.name in kept and param.name not in constants else "constexpr")
            for param in params
        ]
        guards = [(self.__dict__, ["function"])]
        # load() takes as many arguments as the kernel has, and no Triton.
        loose = self.python_params is not None and installed().loose_launches
        return _core.Launcher(code, slots, loose), guards, file_stamps(self.artifact)

    def _code(self, named):
        """(the loaded code that takes such values, names of those that it takes)."""
        if isinstance(self.function, Executor):
            return self.function.code_for(named)
        return self.function, _core.settled(self.function, named)

    def stands_for(self, params) -> None:
        """Arguments are from here on those of a Python kernel with these parameters."""
        self.python_params, self._known = [(param.name, param.is_constexpr) for param in params], None

    packed_metadata = None  # what Triton's own launchers ask for, and run() does not

    def launch_metadata(self, grid, stream, *args):
        """Returns what run() hands to hooks: the kernel's name, function and stream."""
        return {"name": self.name, "function": self.function, "stream": stream}

    def run(self, x, y, z, stream, function, metadata, launch_metadata, enter_hook, exit_hook, *args) -> None:
        """As Triton's CompiledKernel.run: launches over the grid (x, y, z), between the hooks. The function
        and the metadata are the kernel's own, whatever is given; a grid without programs is nothing to do."""
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if 0 not in (x, y, z):
            self.launch((x, y, z), self.name_values(args, {}), stream)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def name_values(self, args, kwargs) -> list:
        return name_values(self, isinstance(self.function, Executor), args, kwargs)

    def __repr__(self):
        return f"<kernel {self.name} ({self.level}, {self.target or 'any target'}) on {self.device}>"
