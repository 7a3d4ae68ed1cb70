"""Launches what torch.compile's Inductor launches, through kernels of this package: Inductor compiles and
tunes its kernels itself, and hands them to a launcher of its own, which asks nobody.

A kernel that Inductor has settled on is launched as kernel[grid](...) instead, so that dumping(), checks,
settings and entries at other levels work as for any kernel. It is described in doc/guide/torch-compile.md,
and tested by tests/python/pretend/test_torch_compile.py.
"""

from __future__ import annotations

import functools
import sys

_MODULE = "torch._inductor.runtime.triton_heuristics"
_own: list = []  # what was replaced


def install(is_ours) -> None:
    """Takes over the launches of kernels that is_ours(function) says are this package's. Inductor is loaded
    before it makes a kernel."""
    heuristics = sys.modules.get(_MODULE)
    autotuner = getattr(heuristics, "CachingAutotuner", None)  # its module makes kernels before it has it
    if autotuner is None or _own:
        return
    # Worker processes know Triton alone: what they compiled would be compiled again here.
    sys.modules["torch._inductor.config"].compile_threads = 1
    own = autotuner.run
    _own.append((autotuner, own))

    @functools.wraps(own)
    def run(self, *args, stream, benchmark_run=False, **kwargs):
        if benchmark_run or not is_ours(self.fn):
            return own(self, *args, stream=stream, benchmark_run=benchmark_run, **kwargs)
        if not self.launchers:
            self.precompile()
        if len(self.launchers) > 1:
            self.autotune_to_one_config(*args, **kwargs)
        config = self.launchers[0].config
        if self.inductor_meta.get("coordinate_descent_tuning") and not getattr(
            config, "found_by_coordesc", False
        ):
            return own(self, *args, stream=stream, **kwargs)  # which goes on tuning
        args, grid = self._interpret_args_grid(args, config)
        return self.fn[grid](*args, **kwargs, **config.kwargs, **_options(config, self.triton_meta))

    autotuner.run = run


def _options(config, meta: dict) -> dict:
    """Returns the options that Inductor compiles a configuration with."""
    options = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    if getattr(config, "maxnreg", None):
        options["maxnreg"] = config.maxnreg
    if meta.get("launch_cooperative_grid"):
        options["launch_cooperative_grid"] = True
    return options


def restore() -> None:
    """Undoes it."""
    while _own:
        autotuner, own = _own.pop()
        autotuner.run = own
