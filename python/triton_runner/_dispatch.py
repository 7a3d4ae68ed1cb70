"""Launches that go straight to their launcher: what the core has to know of a kernel to tell its calls apart,
and of Triton to notice that it would choose other code.

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

from triton_runner import _artifacts, _core, _gpu, _keywords, _launch
from triton_runner._pipeline.versions import installed

# Ours, and those that Triton refuses or that kernel.run has itself.
_ENTRIES = frozenset([*_keywords.ENTRIES, "metadata_json"])
_RESERVED = (_keywords.OURS - _ENTRIES) | {_keywords.WINNER, "stream", "device_type", "grid", "warmup"}
# Values of globals that cannot change without becoming other objects.
_CONSTANT = (int, float, str, bool, type(None), constexpr, dtype)
# Knobs that are part of a launch's key, and the variables behind those that Triton reads at each launch.
_KNOBS = (
    ("runtime", ("debug", "add_stages_inspection_hook", "launch_enter_hook", "launch_exit_hook")),
    ("compilation", ("instrumentation_mode", "fpsan_homomorphic_casts")),
)
_VARIABLES = ("TRITON_DEBUG", "TRITON_INSTRUMENTATION_MODE", "TRITON_FPSAN_HOMOMORPHIC_CASTS")
_HOOKS = ("launch_enter_hook", "launch_exit_hook")


def of(function) -> _core.Dispatch | None:
    """The known launches of a kernel; None where each goes Triton's way: kernels with starred or keyword-only
    parameters."""
    given = function.signature.parameters.values()
    if any(p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for p in given):
        return None
    parameters = [
        (*_rule(param), *(() if p.default is p.empty else (p.default,)))
        for param, p in zip(function.params, given, strict=True)
    ]
    return _artifacts.dispatch(parameters, _RESERVED, _ENTRIES, _learn, "run")


def _rule(param) -> tuple:
    """(name, constexpr?, by value?, by alignment?, typed?, real?, old?): how Triton specialises it."""
    said = "" if param.is_constexpr else param.annotation_type
    is_real = installed().reals_unspecialised and (said == "u1" or said[:2] in ("fp", "bf"))
    by_align = not getattr(param, "do_not_specialize_on_alignment", False)
    return (
        param.name, param.is_constexpr, not param.do_not_specialize, by_align, bool(said), is_real,
        installed().old_keys,
    )  # fmt: skip


def _learn(function, kernel, named):
    """What a launch that gave this kernel rests on; None: such launches go through Python.

    It is (launcher, [(dict or class, names whose values stay)], [lists that stay empty], [(file, modified,
    bytes)]). named: (name, value) of what the launch passed, constexprs left out."""
    if "triton_runner._dump" in sys.modules:
        return None  # each launch is asked whether it is recorded
    if isinstance(kernel, _artifacts.ArtifactKernel):
        found = kernel.straight(function.params, named)
        if found is None:
            return None
        launcher, guards, files = found
        return launcher, [*guards, (sys.modules, ["triton_runner._dump"])], [], files
    if any(type(value) not in _CONSTANT for value, _ in function.used_global_vals.values()):
        return None
    found = _hooks()
    launcher = _launcher(function, kernel)
    if found is None or launcher is None:
        return None
    guards, lists = found
    caches = _caches(function, kernel)
    if caches is None:
        return None
    guards += caches
    own = ["device_caches", "cache", "binder", "debug", "pre_run_hooks"]
    guards += [
        (function.__dict__, own), (kernel.__dict__, [installed().run_field]),
        (sys.modules, ["triton_runner._dump"]),
        (driver.__dict__, [installed().driver_fields[1]]),
        (os.environ._data, [os.environ.encodekey(name) for name in _VARIABLES]),
    ]  # fmt: skip
    guards += [(values, [name]) for (name, _), (_, values) in function.used_global_vals.items()]
    return launcher, guards, [*lists, function.pre_run_hooks], []


def _hooks():
    """(guards, lists that stay empty) of what Triton calls around each launch; None: something is called."""
    if not hasattr(triton, "knobs"):  # before 3.4
        holder = triton.compiler.CompiledKernel
        if any(getattr(holder, name) is not None for name in _HOOKS):
            return None
        return [(holder, list(_HOOKS))], []
    hooks = [getattr(triton.knobs.runtime, name) for name in _HOOKS]
    if any(hook is not None and not hasattr(hook, "calls") for hook in hooks):
        return None
    if triton.knobs.runtime.__dict__.get("add_stages_inspection_hook") is not None:
        return None
    guards = [(getattr(triton.knobs, group).__dict__, list(names)) for group, names in _KNOBS]
    guards += [(hook.__dict__, ["calls"]) for hook in hooks if hook is not None]
    return guards, [hook.calls for hook in hooks if hook is not None]


def _caches(function, kernel):
    """Where Triton finds the kernel: [(dict, names)]; None where it does not."""
    device = driver.active.get_current_device()
    per_device = getattr(function, "device_caches", None)
    caches = function.cache if per_device is None else per_device
    compiled = caches[device] if per_device is None else caches[device][0]
    key = next((key for key, value in compiled.items() if value is kernel), None)
    return None if key is None else [(compiled, [key]), (caches, [device])]


def _launcher(function, kernel) -> _core.Launcher | None:
    """The launcher of a compiled kernel that takes the values of all parameters; None: something is around
    it."""
    own = getattr(kernel, installed().run_field, None)
    if type(own) is _core.Launcher:
        if installed().constexprs_passed:
            return own
        code = kernel.function
    else:
        code = _gpu.adopted(kernel)
    if code is None:
        return None
    types = dict(_launch.signature(kernel.src))
    slots = [(param.name, types.get(param.name, "constexpr")) for param in function.params]
    return _core.Launcher(code, slots, installed().loose_launches)
