"""Launches of a kernel that go straight to its launcher: what the core has to know of a kernel to tell its
calls apart, and of Triton to notice that it would choose other code.

Triton asks at each launch for its knobs, its hooks and the globals that a kernel uses. Here what they were is
remembered with the launch, and a look into a dict tells whether it still is so.
"""

from __future__ import annotations

import inspect
import os
import sys

import triton
from triton.language import constexpr, dtype
from triton.runtime import driver

from triton_runner import _core, _keywords, _settings
from triton_runner._pipeline.versions import installed

# Ours, and those that Triton refuses or that kernel.run has itself.
_RESERVED = _keywords.OURS | {"stream", "device_type", "grid", "warmup"}
# Values of globals that cannot change without becoming other objects.
_CONSTANT = (int, float, str, bool, type(None), constexpr, dtype)
# Knobs that are part of a launch's key, and the variables behind those that Triton reads at each launch.
_KNOBS = (
    ("runtime", ("debug", "add_stages_inspection_hook", "launch_enter_hook", "launch_exit_hook")),
    ("compilation", ("instrumentation_mode", "fpsan_homomorphic_casts")),
)
_VARIABLES = ("TRITON_DEBUG", "TRITON_INSTRUMENTATION_MODE", "TRITON_FPSAN_HOMOMORPHIC_CASTS")


def of(function) -> _core.Dispatch | None:
    """The known launches of a kernel; None where each goes Triton's way: kernels with starred or keyword-only
    parameters, releases without knobs (before 3.4)."""
    if not hasattr(triton, "knobs"):
        return None
    given = function.signature.parameters.values()
    if any(p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for p in given):
        return None
    parameters = [
        (*_rule(param), *(() if p.default is p.empty else (p.default,)))
        for param, p in zip(function.params, given, strict=True)
    ]
    return _core.Dispatch(parameters, _RESERVED, _settings.current, _learn)


def _rule(param) -> tuple:
    """(name, constexpr?, by value?, by alignment?, typed?, real?), as Triton specialises the parameter."""
    said = "" if param.is_constexpr else param.annotation_type
    is_real = said == "u1" or said[:2] in ("fp", "bf")
    return (
        param.name, param.is_constexpr, not param.do_not_specialize,
        not param.do_not_specialize_on_alignment, bool(said), is_real,
    )  # fmt: skip


def _learn(function, kernel):
    """What a launch that gave this kernel rests on: (launcher, [(dict, key) whose value stays], [lists that
    are empty]); None: such launches go through Python."""
    if "triton_runner._dump" in sys.modules:
        return None  # each launch is asked whether it is recorded
    launcher = getattr(kernel, installed().run_field, None)
    if type(launcher) is not _core.Launcher:
        return None  # on a GPU, or with something around it
    hooks = [triton.knobs.runtime.launch_enter_hook, triton.knobs.runtime.launch_exit_hook]
    if any(hook is not None and not hasattr(hook, "calls") for hook in hooks):
        return None
    if triton.knobs.runtime.__dict__.get("add_stages_inspection_hook") is not None:
        return None
    if any(type(value) not in _CONSTANT for value, _ in function.used_global_vals.values()):
        return None
    device = driver.active.get_current_device()
    caches = function.device_caches
    compiled = caches[device][0]
    key = next((key for key, value in compiled.items() if value is kernel), None)
    if key is None:
        return None
    own = function.__dict__
    guards = [
        (compiled, key), (caches, device), (own, "device_caches"), (own, "debug"), (own, "pre_run_hooks"),
        (sys.modules, "triton_runner._dump"), (driver.__dict__, installed().driver_fields[1]),
    ]  # fmt: skip
    for group, names in _KNOBS:
        guards += [(getattr(triton.knobs, group).__dict__, name) for name in names]
    guards += [(os.environ._data, os.environ.encodekey(name)) for name in _VARIABLES]
    guards += [(values, name) for (name, _), (_, values) in function.used_global_vals.items()]
    guards += [(hook.__dict__, "calls") for hook in hooks if hook is not None]
    lists = [hook.calls for hook in hooks if hook is not None]
    return launcher, guards, [*lists, function.pre_run_hooks]
