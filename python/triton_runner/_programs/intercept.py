"""Interceptor sees the launches that a program asks for, of an autotuner or of a kernel, and may launch each
with other options before the program goes on."""

from __future__ import annotations

import contextlib
import functools
import itertools

from triton_runner import _settings
from triton_runner._launch.launchers import Selection
from triton_runner._pipeline import stages
from triton_runner._programs.programs import Program


class InterceptedLaunch:
    """A launch that the program asks for. configs: (options, hook) of the autotuner's configurations; one
    without options where there is no autotuner. key: equal for launches of one kernel with arguments of the
    same types and shapes and the same numbers."""

    def __init__(self, own, function, args, keywords):
        self._own, self._function, self._args, self._keywords = own, function, args, keywords
        tuned = getattr(function, "configs", None)
        self.is_tuned = bool(tuned)
        self.configs = [(config.all_kwargs(), config.pre_hook) for config in tuned or ()] or [({}, None)]
        self.function = _innermost(function)
        self.name = self.function.__name__
        named = [(name, _kind(value)) for name, value in keywords.items() if name != "grid"]
        self.key = (self.name, *map(_kind, args), *named)

    @property
    def args(self) -> tuple:
        return self._args

    @property
    def keywords(self) -> dict:
        return self._keywords

    def replace(self, change, keywords: dict) -> None:
        """The launch has change(value) in the place of each value, and other keywords."""
        self._args = tuple(change(value) for value in self._args)
        self._keywords = {**{name: change(value) for name, value in self._keywords.items()}, **keywords}

    def go(self, chosen: tuple | None):
        """Launches with the options of a configuration, after its hook; None: as the program asks."""
        if chosen is None:
            return self._own(self._function, *self._args, **self._keywords)
        options, hook = chosen
        keywords = {**self._keywords, **options}
        if hook is not None:
            hook({**dict(zip(self._function.arg_names, self._args, strict=False)), **keywords})
        run = self._function.fn.run if self.is_tuned else functools.partial(self._own, self._function)
        return run(*self._args, **keywords)

    def option(self, name: str):
        """Returns what the program gives for an option or parameter; None: nothing."""
        names = self.function.arg_names
        return self._keywords.get(name, dict(zip(names, self._args, strict=False)).get(name))

    def variants(self, grid: dict) -> list[tuple]:
        """(options, hook) of each configuration with each combination of the values of `grid`."""
        combinations = list(itertools.product(*grid.values())) or [()]
        return [
            ({**config, **dict(zip(grid, values, strict=True))}, hook)
            for (config, hook), values in itertools.product(self.configs, combinations)
        ]


class Interceptor:
    """Runs a program and sees each launch first: seen(launch) returns the (options, hook) with which the
    program goes on; None: its own. Launches inside of seen() are not seen. Of a Selection of the launches,
    each kernel, autotuning key and grid once, chosen(launch) returns the same."""

    def __init__(self, names=(), most: int | None = None):
        self._inside = False
        self.selection = Selection(names, most)

    def of_program(self, program: str, arguments=(), is_module: bool = False, pretend_cuda: bool = False):
        """Runs the program on one thread: result(its status)."""
        with _settings.using(threads=1):
            return self.result(self.run(program, arguments, is_module, pretend_cuda))

    def run(self, program: str, arguments=(), is_module: bool = False, pretend_cuda: bool = False) -> int:
        """The exit status of the program."""
        with self.watching(), stages.apart():
            return Program(program, arguments, is_module, pretend_cuda).run()

    def seen(self, launch: InterceptedLaunch) -> tuple | None:
        return self.selection.look(launch.name, launch.key, lambda: self.chosen(launch))

    def chosen(self, launch: InterceptedLaunch) -> tuple | None:
        raise NotImplementedError

    def result(self, status: int):
        """Returns what was found. status: the program's."""
        raise NotImplementedError

    @contextlib.contextmanager
    def watching(self):
        """Launches of autotuners and of plain kernels inside of the block come here first."""
        # Cases are read where there is no Triton.
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        # The same.
        from triton_runner._jit.jit import JITFunction as OwnFunction

        places = [
            (kind, vars(kind)["run"]) for kind in (Autotuner, JITFunction, OwnFunction) if "run" in vars(kind)
        ]
        for kind, own in places:
            kind.run = self._watched(own)
        try:
            yield
        finally:
            for kind, own in places:
                kind.run = own

    def _watched(self, own):
        def run(function, *args, **keywords):
            if self._inside or keywords.get("warmup"):
                return own(function, *args, **keywords)
            self._inside = True
            try:
                launch = InterceptedLaunch(own, function, args, keywords)
                return launch.go(self.seen(launch))
            finally:
                self._inside = False

        return run


def words(options: dict) -> str:
    """The options of a configuration, for people."""
    return ", ".join(f"{option}={value}" for option, value in options.items()) or "the program's own"


def refused(error) -> tuple[str, str]:
    """(state, text) of a configuration that does not come to a launch."""
    if type(error).__name__ == "OutOfResources":
        return "out of shared memory" if "shared memory" in str(error) else "out of resources", str(error)
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).splitlines() if line.strip(" ^")] or [""]
    return "compiler error", f"{type(error).__name__}: {lines[-1].strip()}"


def _innermost(function):
    while hasattr(function, "fn") and hasattr(function.fn, "run"):
        function = function.fn
    return function


def _kind(value) -> tuple:
    if hasattr(value, "shape"):
        return tuple(value.shape), str(getattr(value, "dtype", ""))
    return (str(value),)
