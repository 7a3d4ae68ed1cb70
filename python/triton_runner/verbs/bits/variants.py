"""Lists the configurations of a launch that a program asks for: an autotuner's, other options, other orders
of its programs, fp fusion on and off, other targets and releases of Triton."""

from __future__ import annotations

import dataclasses
import itertools

from triton_runner import _settings
from triton_runner._artifact.relaunch import of_call
from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.compiling.of_release import of_release
from triton_runner._launch.launchers import observing
from triton_runner._pipeline import versions
from triton_runner._programs.intercept import InterceptedLaunch, refused
from triton_runner.verbs.bits.compare import Variant

_WARPS = (1, 2, 4, 8)


@dataclasses.dataclass(frozen=True)
class Axes:
    """The axes of variation. configs: dicts of options and constexprs; none: an autotuner's configurations,
    else numbers of warps; orders: how many other orders of programs; fusion: on and off alone."""

    configs: tuple = ()
    orders: int = 0
    fusion: bool = False
    targets: tuple = ()
    releases: tuple = ()

    @property
    def is_default(self) -> bool:
        return self == Axes()


def of(launch: InterceptedLaunch, axes: Axes) -> list[Variant]:
    """All of them. What does not come to a launch has its state."""
    compiled = [_compiled(launch, *chosen) for chosen in _options(launch, axes)]
    _share_arguments(launch, compiled)
    first = next((one for one in compiled if one.launch is not None), None)
    result = list(compiled)
    if first is not None and axes.is_default:
        result += _fused(launch, first) + _ordered([first], 1)
    elif axes.fusion:
        result = [off for one in compiled for off in (one, *_fused(launch, one))]
    result += _ordered([one for one in result if one.launch is not None], axes.orders)
    hidden = _common(compiled) if launch.is_tuned else frozenset()
    for one in result:
        one.hidden = hidden
    return result


def _common(compiled: list[Variant]) -> frozenset:
    """The options that all configurations have with one value, where there are several."""
    first, *others = (one.options for one in compiled)
    return frozenset(
        name for name, value in first.items() if others and all(of.get(name) == value for of in others)
    )


def _options(launch: InterceptedLaunch, axes: Axes) -> list[tuple]:
    """(options, hook, target, release) of what is compiled."""
    pairs = launch.variants({})
    if axes.configs:
        pairs = [({**own, **more}, hook) for own, hook in pairs for more in axes.configs]
    elif not launch.is_tuned and axes.is_default:
        counts = dict.fromkeys((launch.option("num_warps") or 4, *_WARPS))
        pairs = [({"num_warps": count}, None) for count in counts]
    return [
        (*pair, *more)
        for pair in pairs
        for more in itertools.product(axes.targets or ("",), axes.releases or ("",))
    ]


def _compiled(launch: InterceptedLaunch, options: dict, hook, target: str, release: str) -> Variant:
    named = {**options, **({"target": target} if target else {}), **({"triton": release} if release else {})}
    calls: list[tuple] = []
    try:
        with (
            _settings.using(target=target or None),
            observing(lambda call, go: calls.append((call, of_call(call)))),
        ):
            launch.go((options, hook))
        if not calls:
            return Variant(named, state="not run", text="it launches nothing")
        call, relaunch = calls[-1]
        if release and release != versions.installed():
            relaunch = of_release(call, relaunch, release)
    except DiagnosticError as error:
        return Variant(named, state="compiler error", text=error.message)
    except Exception as error:  # whatever a compiler raises
        state, text = refused(error)
        return Variant(named, state=state, text=text)
    return Variant(named, relaunch, hook=hook)


def _share_arguments(launch: InterceptedLaunch, compiled: list[Variant]) -> None:
    """One copy of what the arguments held, where no hook of a configuration changes it."""
    if any(hook is not None for _, hook in launch.configs):
        return
    ready = [one for one in compiled if one.launch is not None]
    for one in ready[1:]:
        mine, first = one.launch.arguments.named, ready[0].launch.arguments
        if [(name, id(value)) for name, value in mine] == [(name, id(value)) for name, value in first.named]:
            one.launch = dataclasses.replace(one.launch, arguments=first)


def _fused(launch: InterceptedLaunch, one: Variant) -> list[Variant]:
    """The same with fp fusion off, or on where it is off."""
    if one.launch is None:
        return []
    on = one.launch.metadata.get("enable_fp_fusion", True) is not False
    options = {**one.options, "enable_fp_fusion": not on}
    target, release = options.pop("target", ""), options.pop("triton", "")
    return [_compiled(launch, options, one.hook, target, release)]


def _ordered(variants: list[Variant], orders: int) -> list[Variant]:
    return [
        Variant({**one.options, "order": seed}, one.launch, {"order": seed})
        for one in variants
        for seed in range(1, orders + 1)
    ]
