"""Puts ours in Triton's place when the package is imported: an inert driver, the backend "cpu", and a
compile() that takes IR files on the CPU. Nothing is opened, and little is imported, before one of them is
used."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys

from triton_runner import _settings, testing, tlx
from triton_runner._base import levels, releases
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.releases import installed
from triton_runner._jit import own_key, watch
from triton_runner._pipeline import cpu_backend, driver
from triton_runner._settings import devices


def register_with_triton() -> None:
    """Calls register() once Triton is loaded."""
    watch.when_imported(register)


def register() -> None:
    """Puts the lazy driver in Triton's place; opens nothing. A Triton that is too old or too new for that
    is left as it is: what needs it says so."""
    try:
        _register()
    except (ImportError, AttributeError, KeyError, DiagnosticError):
        if releases.is_known():
            raise


def _register() -> None:
    """A driver that is already in use stays the default's own."""
    from triton.runtime import driver as config

    _replace_compile()
    own_key.install()
    _name_tlx()
    cpu_backend.install(driver.LazyDriver)
    default_field, active_field = installed().default_driver, installed().active_driver
    before = getattr(config, default_field)
    if isinstance(before, driver.LazyDriver):
        return
    if before is None:
        own = functools.cache(sys.modules["triton.runtime.driver"]._create_driver)
    else:
        own = before
    lazy = driver.LazyDriver(own)
    active = getattr(config, active_field)
    setattr(config, default_field, lazy)
    if active is None or active is before:
        setattr(config, active_field, lazy)
    if not installed().benchmarker_from_driver:
        _route_benchmarks()
    if _settings.quick():
        # only where it is asked for: it needs triton.testing
        from triton_runner._pretend import quick_install

        quick_install.install()


def _name_tlx() -> None:
    """The name that TLX has in its fork, triton.language.extra.tlx, is our tlx."""
    import triton.language.extra as extra

    name = f"{extra.__name__}.tlx"
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        extra.tlx = sys.modules[name] = tlx


def _route_benchmarks() -> None:
    """3.0 and 3.1 import one benchmark function for every device: CUDA's. On the CPU it is ours."""
    import triton.runtime.autotuner as autotuner

    own = autotuner.do_bench

    def do_bench(fn, **options):
        if devices.resolved_device() != "cpu":
            return own(fn, **options)
        return testing.do_bench(fn, **options)

    autotuner.do_bench = do_bench


def _make_compile(own):
    @functools.wraps(own)
    def compile(src, target=None, options=None, **more):
        from triton.backends.compiler import GPUTarget

        if isinstance(target, GPUTarget) and target.backend == "cpu":
            target = cpu_backend.placed(cpu_backend.stopped_target(), src)
            return cpu_backend.mark_compiled(own(src, target=target, options=options, **more))
        is_text = isinstance(src, (str, os.PathLike))
        if target is None and not is_text and devices.resolved_device() == "cpu":
            target = cpu_backend.stopped_target()
        if not is_text or isinstance(target, GPUTarget):
            return own(src, target=cpu_backend.placed(target, src), options=options, **more)
        if devices.resolved_device() != "cpu":
            return own(src, target=target, options=options, **more)
        from triton_runner._artifact import loading  # with the core: not when the package is imported

        _, level = devices.cpu_target()
        entry = levels.level_of_name(src)
        below = entry in levels.ON_CPU and levels.is_above(level, entry)
        return loading.load(src, level=entry if below else level)

    compile.runner_own = own
    return compile


def _replace_compile() -> None:
    """triton.compile on the CPU: Triton's stages cannot start at the level where they are to stop, so that an
    IR file is loaded as an artifact; and the target "cpu" stands for that of the settings."""
    modules = [sys.modules[name] for name in ("triton.compiler.compiler", "triton.compiler", "triton")]
    own = modules[0].compile
    if hasattr(own, "runner_own"):
        return
    ours = _make_compile(own)
    for module in modules:
        if getattr(module, "compile", None) is own:
            module.compile = ours
