"""Tells the core what the launch fast path has to know of a kernel: the properties by which its calls are
distinguished, and the guards that notice when Triton would choose other code.

Triton reads its knobs, its hooks and the globals that a kernel uses at each launch. Here their values are
stored with the cached launch, and a lookup in a dict checks that they have not changed."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys

import triton
from triton.backends.compiler import BaseBackend
from triton.language import constexpr, dtype
from triton.runtime import driver

from triton_runner import _core, _settings
from triton_runner._artifact.kernel import ArtifactKernel, known_launches
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.releases import installed
from triton_runner._launch import gpu_driver, launchers
from triton_runner._pipeline.targets import original
from triton_runner._settings import devices, keywords

# Ours, and those that Triton refuses or that kernel.run has itself.
_ENTRIES = frozenset([*keywords.ENTRIES, "metadata_json"])
_RESERVED = (keywords.OURS - _ENTRIES) | {keywords.WINNER, "stream", "device_type", "grid", "warmup"}
# Values of globals that cannot change without becoming other objects.
_CONSTANT = (int, float, str, bool, type(None), constexpr, dtype)
# Knobs that are part of a launch's key, and the environment variables of those that each launch reads.
_KNOBS = (
    ("runtime", ("debug", "add_stages_inspection_hook", "launch_enter_hook", "launch_exit_hook")),
    ("compilation", ("instrumentation_mode", "fpsan_homomorphic_casts")),
)
_VARIABLES = ("TRITON_DEBUG", "TRITON_INSTRUMENTATION_MODE", "TRITON_FPSAN_HOMOMORPHIC_CASTS")
# How a backend makes keys, in any of the releases.
_SPECIALISE = ("get_tensor_specialization", "get_int_specialization", "get_arg_specialization")
_SPECIALISE += ("get_attrs_descriptor", "compute_spec_key")
_HOOKS = ("launch_enter_hook", "launch_exit_hook")


def of(function) -> _core.Dispatch | None:
    """Returns the cache of a kernel's launches; None for kernels with starred or keyword-only parameters,
    which are always launched by Triton."""
    given = function.signature.parameters.values()
    if any(p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for p in given):
        return None
    with contextlib.suppress(DiagnosticError):  # for a device that does not exist; the launch reports it
        if devices.resolved_device() != "cpu":
            gpu_driver.driver().expect_launches()
    parameters = [
        (*_rule(param), *(() if p.default is p.empty else (p.default,)))
        for param, p in zip(function.params, given, strict=True)
    ]
    return known_launches(parameters, _RESERVED, _ENTRIES, _learn, "run", _within)


def _rule(param) -> tuple:
    """(name, constexpr?, by value?, by alignment?, typed?, real?, old?): how Triton specialises the
    parameter."""
    annotation = "" if param.is_constexpr else param.annotation_type
    is_real = installed().reals_unspecialised and (annotation == "u1" or annotation[:2] in ("fp", "bf"))
    by_align = not getattr(param, "do_not_specialize_on_alignment", False)
    return (
        param.name, param.is_constexpr, not param.do_not_specialize, by_align, bool(annotation), is_real,
        installed().old_keys,
    )  # fmt: skip


def _learn(function, kernel, named):
    """Returns the guards under which later launches may reuse this kernel. None: never cache it; False: do
    not cache this launch.

    The guards are (launcher, [(dict or class, names whose values must not change)], [lists that must stay
    empty], [(file, modified, bytes)], relay, [lists of hooks], the result of _within()). relay(grid, x, y, z,
    *values) launches if there is no launcher or if hooks are set; it returns False if it did not launch.
    named: the (name, value) pairs of the launch's arguments, without constexprs.
    """
    if _settings.is_recording():
        return False
    if "triton_runner._kernel.dumps" in sys.modules:
        from triton_runner._kernel.dumps import statements  # programs that do not dump do without it

        if statements.uses_statements(function):
            return None
    if isinstance(kernel, ArtifactKernel):
        straight = kernel.straight(function.params, named)
        if not straight:
            return straight
        launcher, guards, files = straight
        return launcher, guards, [], files, None, [], _within()
    if any(type(value) not in _CONSTANT for value, _ in function.used_global_vals.values()):
        return None
    if _specialises_otherwise():
        return None
    if hasattr(triton, "knobs") and triton.knobs.runtime.__dict__.get("add_stages_inspection_hook"):
        return None
    guards, hooks, is_hooked = _hooks()
    launcher = None if is_hooked else _launcher(function, kernel)
    caches = _caches(function, kernel)
    if caches is None:
        return None
    guards += caches
    own = ["device_caches", "cache", "binder", "debug", "pre_run_hooks"]
    guards += [
        (function.__dict__, own), (kernel.__dict__, [installed().run_field]),
        (driver.__dict__, [installed().active_driver]),
        (os.environ._data, [os.environ.encodekey(name) for name in _VARIABLES]),
    ]  # fmt: skip
    guards += [(values, [name]) for (name, _), (_, values) in function.used_global_vals.items()]
    guards += _within_guards()
    relay = _relay(function, kernel, hooks, is_hooked)
    return launcher, guards, [function.pre_run_hooks], [], relay, hooks, _within()


def _specialises_otherwise() -> bool:
    """Returns whether a plug-in's backend computes its keys differently."""
    backend, target = _backend()
    if target in ("cuda", "hip"):
        return False
    return any(getattr(backend, name, None) is not getattr(BaseBackend, name, None) for name in _SPECIALISE)


def _backend() -> tuple:
    """Returns (Triton's backend for the current target, its name: "cuda", "hip" or that of a plug-in)."""
    target = driver.active.get_current_target()
    backends = (backend.compiler for backend in triton.backends.backends.values())
    return next((b for b in backends if b.supports_target(target)), None), target.backend


def _asks_for_storages() -> bool:
    return bool(installed().storage_question) and driver.active.get_current_target().backend == "hip"


def _within():
    """Returns Triton's function that tests whether a tensor's storage is within 2 GiB, if the result is part
    of Triton's keys: AMD's backend then compiles 32-bit offsets for buffer instructions."""
    if not _asks_for_storages():
        return None
    backend, _ = _backend()
    if hasattr(triton, "knobs"):
        is_on = triton.knobs.amd.use_buffer_ops
    else:  # 3.2 always asks
        is_on = getattr(backend, "use_buffer_ops", lambda: True)()
    if not is_on:
        return None
    holder, name = installed().storage_question.split(".")
    # Not of the module by its name, of which up to 3.4 there are two.
    return getattr(original(backend).__init__.__globals__[holder], name)


def _within_guards() -> list:
    """The guards under which _within() returns the same."""
    if not _asks_for_storages():
        return []
    guards = [(os.environ._data, [os.environ.encodekey("AMDGCN_USE_BUFFER_OPS")])]
    if hasattr(triton, "knobs"):
        guards.append((triton.knobs.amd.__dict__, ["use_buffer_ops"]))
    return guards


def _hooks():
    """Returns (guards, lists of hooks, whether a hook is set that is not in a list) for what Triton calls
    around each launch."""
    if not hasattr(triton, "knobs"):  # before 3.4
        holder = triton.compiler.CompiledKernel
        return [(holder, list(_HOOKS))], [], any(getattr(holder, name) is not None for name in _HOOKS)
    hooks = [getattr(triton.knobs.runtime, name) for name in _HOOKS]
    chains = [hook for hook in hooks if hasattr(hook, "calls")]
    guards = [(getattr(triton.knobs, group).__dict__, list(names)) for group, names in _KNOBS]
    guards += [(hook.__dict__, ["calls"]) for hook in chains]
    is_hooked = any(hook is not None and hook not in chains for hook in hooks)
    return guards, [hook.calls for hook in chains], is_hooked


def _relay(function, kernel, hooks: list, is_hooked: bool):
    """Returns a function that launches with Triton's own launcher, with hooks and with scratch memory of the
    program's allocator. It only skips Triton's lookup of the kernel."""
    active = driver.active
    device = active.get_current_device()
    run = getattr(kernel, installed().run_field)
    holder = triton.knobs.runtime if hasattr(triton, "knobs") else triton.compiler.CompiledKernel
    passed = [
        i
        for i, param in enumerate(function.params)
        if installed().constexprs_passed or not param.is_constexpr
    ]

    def relay(grid, x, y, z, *values):
        if active.get_current_device() != device:
            return False
        values = [values[i] for i in passed]
        stream = active.get_current_stream(device)
        token = _settings.enter_strict()
        info = enter = leave = None
        try:
            if is_hooked or any(hooks):
                info = kernel.launch_metadata(grid, stream, *values)
                enter, leave = (getattr(holder, name) for name in _HOOKS)
            run(x, y, z, stream, kernel.function, kernel.packed_metadata, info, enter, leave, *values)
        finally:
            _settings.leave(token)
        return True

    return relay


def _caches(function, kernel):
    """Returns where Triton caches the kernel: [(dict, names)]; None if it does not."""
    device = driver.active.get_current_device()
    per_device = getattr(function, "device_caches", None)
    caches = function.cache if per_device is None else per_device
    compiled = caches[device] if per_device is None else caches[device][0]
    key = next((key for key, value in compiled.items() if value is kernel), None)
    return None if key is None else [(compiled, [key]), (caches, [device])]


def _launcher(function, kernel) -> _core.Launcher | None:
    """Returns the launcher of a compiled kernel, which takes the values of all parameters; None if the
    kernel's run method is wrapped."""
    own = getattr(kernel, installed().run_field, None)
    if type(own) is _core.Launcher:
        if installed().constexprs_passed:
            return own
        code = kernel.function
    else:
        code = gpu_driver.adopted(kernel)
    if code is None:
        return None
    types = dict(launchers.signature(kernel.src))
    slots = [(param.name, types.get(param.name, "constexpr")) for param in function.params]
    return _core.Launcher(code, slots, installed().loose_launches, as_triton=True)
