"""Implements triton_runner.jit: triton.jit with artifacts as entries, and the device, target and level to run
at as keywords."""

from __future__ import annotations

import functools
import os
import sys
import time
from pathlib import Path

import triton
from triton.runtime.cache import get_cache_manager
from triton.runtime.jit import JITFunction as TritonJITFunction

from triton_runner import _core, _settings
from triton_runner._artifact.binding import own_options
from triton_runner._artifact.entries import run_entry
from triton_runner._base.errors import fail, number_as_grid
from triton_runner._jit import dispatch
from triton_runner._memory import arrays
from triton_runner._settings import devices, keywords, messages


class _Compile:
    """JITFunction.compile, which Triton assigns, wrapped: always compiling is the default, and the place is
    said."""

    def __get__(self, function, owner=None):
        if function is None:
            return self
        own = function.__dict__["_triton_compile"]

        def compile(*args, **kwargs):
            started = time.time_ns()
            with messages.always_compile_by_default():
                kernel = own(*args, **kwargs)
            is_silent = _settings.prod() and not _settings.prod_test()
            folder = None if is_silent else getattr(get_cache_manager(kernel.hash), "cache_dir", None)
            if folder:
                # A cache hit leaves the metadata file as it was.
                written = max((f.stat().st_mtime_ns for f in Path(folder).glob("*.json")), default=started)
                messages.kernel_saved(folder, cache_hit=written < started)
            return kernel

        return compile

    def __set__(self, function, value):
        function.__dict__["_triton_compile"] = value


_TRITONS_OWN = frozenset(("device", "stream", "device_type"))


class JITFunction(_core.Launchable, TritonJITFunction):
    """A kernel as triton.jit makes it, which also takes triton_runner's keywords at launch."""

    compile = _Compile()

    def __init__(self, fn, **options):
        self._options = options
        super().__init__(fn, **options)

    def _make_known(self):
        return dispatch.of(self)

    def _subscript(self, grid):
        """self[grid] where Triton is asked at each launch."""
        return TritonJITFunction.__getitem__(self, grid)

    def run(self, *args, grid, warmup, **kwargs):
        """Compiles (or loads) and, unless warmup, launches. Returns a compiled kernel, as Triton does."""
        if keywords.WINNER in kwargs and keywords.WINNER not in self.arg_names:
            from triton_runner._jit.winners import expand  # few programs keep winners

            kwargs = expand(kwargs)
        if isinstance(grid, int):
            raise number_as_grid(self.__name__, grid)
        request = keywords.take(kwargs, self.arg_names)
        if request is None:
            entry = dump = None
            token = _settings.enter_strict()
        else:
            dump = request.dump
            token = _settings.enter(keywords.apply(request, strict_grid=True).settings())
        try:
            if request is not None:
                entry = self._entry(request, args, kwargs)
            entry = entry or keywords.replacement(self.__name__)
            if (
                dump is not None or "triton_runner._kernel.dumps" in sys.modules
            ):  # dl.dump and dumping() load it
                # Only for programs that dump: it loads NumPy.
                from triton_runner._kernel.dumps import launches

                if launches.wanted(self, dump):
                    return launches.launch(self, dump, entry, args, kwargs, grid, warmup)
            return self.launch(entry, args, kwargs, grid, warmup)
        finally:
            _settings.leave(token)

    def _entry(self, request, args, kwargs):
        """The artifact that a launch enters with: one that is given, or made under a plan of passes."""
        if request.passes is None:
            return request.entry
        # Few launches change the pipeline.
        from triton_runner._kernel.compiling import passes_launch

        return passes_launch.entry(self, request.passes, request.entry, args, kwargs)

    def launch(self, entry, args, kwargs, grid, warmup):
        """run() of what is executed, under the settings in force, whatever is recorded meanwhile."""
        args, kwargs = arrays.wrap_all(self, args, kwargs)
        if entry is not None:
            return run_entry(self, entry, args, kwargs, grid, warmup)
        devices.resolved_device()  # a device that is not there is said before Triton looks for one
        if not _TRITONS_OWN.isdisjoint(kwargs):
            args, kwargs = self._keep_from_triton(args, kwargs)
        try:
            return TritonJITFunction.run(self, *args, grid=grid, warmup=warmup, **kwargs)
        except TypeError as error:
            if str(error).startswith(("failed to specialize argument", "Unsupported type")):
                named = [*zip(self.arg_names, args, strict=False), *kwargs.items()]
                raise arrays.not_taken(self.__name__, named, str(error)) from None
            if "dynamic_func()" not in str(error):
                raise
            raise fail(
                f"kernel '{self.__name__}': {str(error).replace('dynamic_func() ', '')}",
                f"its parameters: {', '.join(self.arg_names)}",
            ) from None

    def warmup(self, *args, grid=(1,), **kwargs):
        """Compiles without launching; takes dtypes in place of tensors."""
        request = keywords.take(kwargs, self.arg_names)
        if request is not None and (request.entry is not None or request.passes is not None):
            with keywords.apply(request):
                return run_entry(self, self._entry(request, args, kwargs), args, kwargs, grid, True)
        with keywords.apply(request):
            return super().warmup(*args, grid=grid, **kwargs)

    @functools.cached_property
    def without_dumps(self) -> JITFunction:
        """The kernel whose dl.dump statements leave nothing; it shares no compiled code with this one."""
        quiet = _without_dumps(type(self))(self.fn, **self._options)
        quiet.hash = f"{self.cache_key}-without-dumps"  # compiled kernels are found by it
        quiet.used_global_vals = self.used_global_vals
        return quiet

    def _keep_from_triton(self, args, kwargs):
        """Triton refuses keywords of these names even for parameters of the kernel: they go by position."""
        if not any(name in kwargs and name in self.arg_names for name in _TRITONS_OWN):
            return args, kwargs
        params = {name: kwargs.pop(name) for name in self.arg_names if name in kwargs}
        bound = self.signature.bind(*args, **params)
        bound.apply_defaults()
        return bound.args, kwargs

    def __repr__(self):
        return f"triton_runner.JITFunction({self.fn.__module__}:{self.fn.__qualname__})"


@functools.cache
def _without_dumps(base):
    class Quiet(base):
        def launch(self, *launch):
            from triton_runner._kernel.dumps import statements  # such a kernel has loaded it

            with statements.keeping(False):
                return super().launch(*launch)

    Quiet.__name__, Quiet.__qualname__ = base.__name__, base.__qualname__
    return Quiet


def _innermost(function):
    while function is not None and not isinstance(function, TritonJITFunction):
        function = getattr(function, "fn", None)
    return function


def _take_keywords_first(cls) -> None:
    """Autotuner and Heuristics pass all keywords on: ours are taken out before they see them, for our
    kernels only."""
    for name in ("run", "warmup"):
        own = cls.__dict__.get(name)
        if own is None or hasattr(own, "triton_runner"):
            continue

        def method(self, *args, _own=own, **kwargs):
            inner = _innermost(self)
            if not isinstance(inner, JITFunction):
                return _own(self, *args, **kwargs)
            request = keywords.take(kwargs, inner.arg_names)
            if request is None:
                return _own(self, *args, **kwargs)
            kwargs.update(request.keywords())
            with keywords.apply(request):
                return _own(self, *args, **kwargs)

        functools.update_wrapper(method, own)
        method.triton_runner = True
        setattr(cls, name, method)


@functools.cache
def _prepare_wrappers() -> None:
    from triton.runtime.autotuner import Autotuner, Heuristics

    _take_keywords_first(Autotuner)
    _take_keywords_first(Heuristics)


def _interpreting() -> bool:
    knobs = getattr(triton, "knobs", None)
    return knobs.runtime.interpret if knobs else os.environ.get("TRITON_INTERPRET", "0") == "1"


def jit(fn=None, **options):
    """Makes a kernel. It replaces triton.jit and takes every option of triton.jit.

    The argument is a function, or a kernel of triton.jit or gluon.jit. A launch takes the keywords below in
    addition; if a parameter of the kernel has the same name, the keyword sets that parameter.

    - `ttir_dir=`, `ttgir_dir=`, `llir_dir=`, `ptx_dir=`, `cubin_dir=`, `amdgcn_dir=`, `hsaco_dir=`: the
      launch starts from an artifact of that level. The folder contains <kernel>.<level>, or it is a Triton
      cache directory.
    - `ttir_src=`, `ttgir_src=`, `llir_src=`, `ptx_src=`, `amdgcn_src=`: the same, with the artifact's path or
      its text.
    - `metadata_json=`: the artifact's metadata, if it is not beside the artifact: a file, a JSON text, a
      dict, or a compiled kernel's `.metadata`.
    - `device=`, `target=`, `level=`, `check=`, `oob=`, `mma=`, `numerics=`, `fmad=`, `shared=`,
      `shuffle=`, `timing=`: settings, as for `using()`.
    - `start_pass=`, `skip_pass=`, `ir_after={pass: file}`: compiles from a pass onward, skips passes, or
      replaces the output of a pass; passes are named as for `passes()`.
    - `dump_value=`, `dump_tensor=`, `dump_grid=`: what to record; values are named as for `dumping()`.

    Raises DiagnosticError for bad input, and KernelTrap for a fault of the kernel.
    """

    def decorate(function):
        if _interpreting():
            return _original("jit")(function, **options)
        _prepare_wrappers()
        if "jit" in _originals:
            from triton_runner._jit import inductor  # few programs replace triton.jit

            inductor.install(lambda kernel: isinstance(kernel, JITFunction))
        if isinstance(function, TritonJITFunction):
            return _made_from(function, options)
        return JITFunction(function, **options)

    return decorate if fn is None else decorate(fn)


@functools.cache
def _gluon_class():
    from triton.experimental.gluon._runtime import GluonJITFunction

    return type("GluonJITFunction", (JITFunction, GluonJITFunction), {"__doc__": JITFunction.__doc__})


def _made_from(kernel, options: dict):
    """A kernel of triton.jit or gluon.jit as one of ours, with its options unless others are given."""
    if isinstance(kernel, JITFunction):
        return kernel
    is_gluon = getattr(kernel, "is_gluon", lambda: False)()
    return (_gluon_class() if is_gluon else JITFunction)(kernel.fn, **{**own_options(kernel), **options})


_originals: dict = {}  # {name: (module, Triton's own function)} of what is replaced


def configure_jit_backend() -> None:
    """Replaces triton.jit and gluon.jit by those of triton_runner from here on, for programs that cannot be
    edited. Kernels that torch.compile generates are launched by it too."""
    _replace("jit", jit)
    try:
        from triton.experimental import gluon  # Triton has it from 3.4 on
    except ImportError:
        return
    _replace("gluon.jit", _gluon_jit, gluon)


def _gluon_jit(fn=None, **options):
    """gluon.jit while configure_jit_backend() is in force."""
    _, own = _originals["gluon.jit"]

    def decorate(function):
        return jit(own(function, **options))

    return decorate if fn is None else decorate(fn)


def restore_jit_backend() -> None:
    """Undoes configure_jit_backend()."""
    from triton_runner._jit import inductor  # as in jit()

    _restore("jit")
    _restore("gluon.jit")
    inductor.restore()


def autotune(*args, autotune_cubin_dir=None, **kwargs):
    """triton.autotune for kernels that take triton_runner's keywords too.

    - `autotune_cubin_dir`: a folder in which the compiled kernel of each winning configuration is saved.
      Later launches, also in other processes, load it from there without compiling or timing anything.
    """
    _prepare_wrappers()
    own = _original("autotune")(*args, **kwargs)
    if autotune_cubin_dir is None:
        return own

    def decorate(function):
        inner = _innermost(function)
        if not isinstance(inner, JITFunction):
            raise fail("autotune_cubin_dir= needs a kernel of triton_runner.jit")
        from triton_runner._jit.winners import Tuned  # few programs keep winners

        return Tuned(own(function), inner, autotune_cubin_dir)

    return decorate


def configure_autotune_backend() -> None:
    """Replaces triton.autotune by triton_runner.autotune from here on."""
    _replace("autotune", autotune)


def restore_autotune_backend() -> None:
    """Undoes configure_autotune_backend()."""
    _restore("autotune")


def _original(name: str):
    """Triton's own function, replaced or not."""
    return _originals[name][1] if name in _originals else getattr(triton, name)


def _replace(name: str, ours, module=triton) -> None:
    attribute = name.rpartition(".")[2]
    if name not in _originals:
        _originals[name] = module, getattr(module, attribute)
        setattr(module, attribute, ours)


def _restore(name: str) -> None:
    if name in _originals:
        module, own = _originals.pop(name)
        setattr(module, name.rpartition(".")[2], own)
