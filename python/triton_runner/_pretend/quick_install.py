"""Makes programs that measure end soon where they run on the CPU: --quick (TRITON_RUNNER_QUICK=1).

A launch that triton.testing or the autotuner measures runs once or twice, with the first programs of the grid
only; perf_report measures at the smallest size; a device has as many multiprocessors as the target's; large
random tensors repeat a block of numbers. Launches elsewhere, and so whatever a program checks, run whole.
Each kind is said once on stderr."""

from __future__ import annotations

import copy
import functools
import importlib.util
import math
import os

from triton_runner import testing
from triton_runner._settings import devices, quick_mode


def _do_bench(own):
    @functools.wraps(own)
    def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, *rest, **options):
        if devices.resolved_device() != "cpu":
            return own(fn, warmup, rep, grad_to_none, quantiles, *rest, **options)
        return testing.do_bench(fn, warmup, rep, grad_to_none, quantiles, options.get("return_mode", "mean"))

    return do_bench


def _do_bench_cudagraph(own):
    @functools.wraps(own)
    def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
        if devices.resolved_device() != "cpu":
            return own(fn, rep, grad_to_none, quantiles, return_mode)
        import torch

        from triton_runner._launch import graphs  # with torch

        if torch.cuda.CUDAGraph is not graphs.CUDAGraph:  # no --pretend-cuda: nothing captures on the CPU
            return testing.do_bench(fn, 0, rep, grad_to_none, quantiles, return_mode)
        quick_mode.shortened(fn)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            fn()
        return testing.do_bench(graph.replay, 0, rep, grad_to_none, quantiles, return_mode)

    return do_bench_cudagraph


def _size(x) -> float:
    """Returns the size of a value of perf_report's x axis: a number, or a tuple of them."""
    values = x if isinstance(x, (list, tuple)) else [x]
    return math.prod(v for v in values if isinstance(v, (int, float)))


def _perf_report(own):
    def smallest(benchmark):
        if devices.resolved_device() != "cpu" or len(benchmark.x_vals) < 2:
            return benchmark
        quick_mode.say("perf_report measures at the smallest size only")
        benchmark = copy.copy(benchmark)
        benchmark.x_vals = [min(benchmark.x_vals, key=_size)]
        return benchmark

    @functools.wraps(own)
    def perf_report(benchmarks):
        if isinstance(benchmarks, (list, tuple)):
            return own([smallest(benchmark) for benchmark in benchmarks])
        return own(smallest(benchmarks))

    return perf_report


@functools.cache
def install() -> None:
    """Shortens what is measured from here on, for the rest of the process."""
    import triton.testing

    for name, shortened in (
        ("do_bench", _do_bench),
        ("do_bench_cudagraph", _do_bench_cudagraph),
        ("perf_report", _perf_report),
    ):
        setattr(triton.testing, name, shortened(getattr(triton.testing, name)))
    if importlib.util.find_spec("torch") is not None:
        from triton_runner._pretend import quick_random  # with torch

        quick_random.install()
    plugins = [name for name in os.environ.get("PYTEST_PLUGINS", "").split(",") if name]
    if "triton_runner._pretend.quick_pytest" not in plugins:
        os.environ["PYTEST_PLUGINS"] = ",".join([*plugins, "triton_runner._pretend.quick_pytest"])
