"""triton.compile on the CPU: of an IR file, where Triton's stages cannot start at the level where they are to
stop, so that it is loaded as an artifact; and for the target "cpu", which stands for the target of the
settings.
"""

from __future__ import annotations

import functools
import os
import sys


def _make_compile(own):
    @functools.wraps(own)
    def compile(src, target=None, options=None, **more):
        from triton.backends.compiler import GPUTarget

        from triton_runner import _driver, _load
        from triton_runner._pipeline import cpu_backend

        if isinstance(target, GPUTarget) and target.backend == "cpu":
            kernel = own(src, target=cpu_backend.stopped_target(), options=options, **more)
            return cpu_backend.mark_compiled(kernel)
        if not isinstance(src, (str, os.PathLike)) or isinstance(target, GPUTarget):
            return own(src, target=target, options=options, **more)
        if _driver.resolved_device() != "cpu":
            return own(src, target=target, options=options, **more)
        _, level = _driver.cpu_target()
        entry = os.path.splitext(os.fspath(src))[1][1:]
        order = ("ttir", "ttgir", "llir", "ptx")
        below = entry in order and order.index(entry) > order.index(level)
        return _load.load(src, level=entry if below else level)

    compile.runner_own = own
    return compile


def install() -> None:
    """Puts a compile() that takes IR files in Triton's place; once. Asks no device before it is called."""
    modules = [sys.modules[name] for name in ("triton.compiler.compiler", "triton.compiler", "triton")]
    own = modules[0].compile
    if hasattr(own, "runner_own"):
        return
    ours = _make_compile(own)
    for module in modules:
        if getattr(module, "compile", None) is own:
            module.compile = ours
