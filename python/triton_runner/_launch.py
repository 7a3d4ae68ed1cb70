"""Launching on the CPU as Triton launches on a GPU: the object that CompiledKernel.run is."""

from __future__ import annotations

from triton_runner import _core, _settings
from triton_runner._pipeline.versions import installed

_options: dict = {}


def cpu_options(settings: _settings.Settings) -> _core.Options:
    """The settings as the core takes them; one object for equal settings."""
    options = _options.get(settings)
    if options is None:
        options = _core.Options()
        options.threads = settings.threads
        options.checks = settings.checks
        options.fast_mma = settings.mma == "fast"
        options.timeout = settings.timeout
        options.shared = settings.shared
        if settings.shuffle >= 0:
            options.shuffle = settings.shuffle
        _options[settings] = options
    return options


def _signature(src):
    """(name, type) of what a launch passes: constexprs as "constexpr", folded constants too."""
    names = list(getattr(getattr(src, "fn", None), "arg_names", ()))
    constants = getattr(src, "constants", None) or {}
    result = []
    for key, kind in src.signature.items():
        name = key if isinstance(key, str) else (names[key] if key < len(names) else f"arg{key}")
        if not installed().constexprs_passed and (name in constants or key in constants):
            kind = "constexpr"
        result.append((name, kind))
    return result


class Launcher:
    """Called as Triton calls its launchers; waits for the kernel to finish."""

    def __init__(self, function: _core.Kernel, src):
        self.launch = _core.Launcher(function, _signature(src))

    def __call__(
        self,
        grid_x,
        grid_y,
        grid_z,
        stream,
        function,
        kernel_metadata,
        launch_metadata,
        enter_hook,
        exit_hook,
        *args,
    ):
        settings = _settings.current()
        # An empty grid is nothing to do for Triton; strict launches (triton_runner.jit) are told.
        if not settings.strict_grid and (grid_x == 0 or grid_y == 0 or grid_z == 0):
            return
        _call_hook(enter_hook, launch_metadata)
        self.launch((grid_x, grid_y, grid_z), args, cpu_options(settings))
        _call_hook(exit_hook, launch_metadata)


def _call_hook(hook, launch_metadata):
    if hook is None:
        return
    calls = getattr(hook, "calls", None)
    if calls is not None and not calls:
        return  # a chain of hooks without any
    hook(launch_metadata)
