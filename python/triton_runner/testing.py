"""Offers benchmarks and comparisons on the current device."""

from __future__ import annotations

import time

from triton_runner import _settings
from triton_runner._settings import devices, quick_mode


def _summary(times: list[float], quantiles, return_mode: str):
    if quantiles is not None:
        ordered = sorted(times)
        picked = []
        for q in quantiles:
            position = q * (len(ordered) - 1)
            low = int(position)
            high = min(low + 1, len(ordered) - 1)
            picked.append(ordered[low] + (ordered[high] - ordered[low]) * (position - low))
        return picked[0] if len(picked) == 1 else picked
    if return_mode == "all":
        return times
    import statistics

    return {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[return_mode](times)


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean", **_):
    """Measures the time of fn() in milliseconds, like triton.testing.do_bench: warmup and rep are
    milliseconds to spend, quantiles is a list of fractions, return_mode is one of min, max, mean, median,
    all. On the CPU it measures wall-clock time."""
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"return_mode {return_mode!r} is not one of min, max, mean, median, all")
    if devices.resolved_device() != "cpu":
        import triton

        return triton.testing.do_bench(
            fn,
            warmup=warmup,
            rep=rep,
            grad_to_none=grad_to_none,
            quantiles=quantiles,
            return_mode=return_mode,
        )

    if _settings.quick():
        return _summary(quick_mode.milliseconds(fn, grad_to_none), quantiles, return_mode)

    def timed() -> float:
        for tensor in grad_to_none or ():
            tensor.grad = None
        started = time.perf_counter()
        fn()
        return (time.perf_counter() - started) * 1e3

    fn()
    estimate = max(timed(), 1e-4)
    for _ in range(max(0, int(warmup / estimate) - 2)):
        fn()
    return _summary([timed() for _ in range(max(1, int(rep / estimate)))], quantiles, return_mode)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raises AssertionError unless x and y (tensors, arrays, numbers) agree within atol + rtol * abs(y), by
    default 1e-2 and 0. A NaN agrees with a NaN."""
    import numpy

    def array(value):
        value = value.detach().cpu() if hasattr(value, "detach") else value
        if hasattr(value, "float") and "bfloat16" in str(getattr(value, "dtype", "")):
            value = value.float()
        return numpy.asarray(value)

    x, y = array(x), array(y)
    if x.size > 1 or y.size > 1:
        numpy.testing.assert_allclose(
            x.astype(numpy.float64),
            y.astype(numpy.float64),
            atol=1e-2 if atol is None else atol,
            rtol=0.0 if rtol is None else rtol,
            equal_nan=True,
            err_msg=err_msg,
        )
    elif not numpy.allclose(
        x, y, atol=1e-2 if atol is None else atol, rtol=0.0 if rtol is None else rtol, equal_nan=True
    ):
        raise AssertionError(f"{err_msg} {x} is not close to {y} (atol={atol}, rtol={rtol})")


def dims(**declared):
    """Decorator: declares what a function takes, for `triton-runner verify --shapes`. `M=(0, 5000)` or
    `N=[64, 128]` is a size, `x="f16|f32[M, 2 * N] contiguous in 0..1"` a tensor argument, `y="inout"` says
    that the function is meant to write to it, `n="M * N"` is a number that follows. Arguments of which it
    says nothing are as in the calls that the program makes."""

    def mark(function):
        function.triton_runner_dims = declared
        return function

    return mark
