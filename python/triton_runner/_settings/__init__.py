"""What a launch runs on and how: from the environment, from using(), from a launch's keywords, in rising
precedence.

The environment is read once, at the first use.
"""

from __future__ import annotations

import contextvars
import dataclasses
import functools
import os
import re

from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS

DEVICES = ("auto", "cpu", "cuda", "hip")
# Bits of _core.Check. Bounds are looked at in every launch; who asks for "oob" by name also hears of what TMA
# stores past the launch's memory.
CHECKS = {
    "oob": 1 | 256,
    "nan": 2,
    "uninit": 4,
    "race": 8,
    "inf": 16,
    "nanload": 32,
    "zerodiv": 64,
    "hints": 128,
    "hazard": 512,
    "overflow": 1024,
}
DEFAULT_TARGET = "cuda:90"
_WORDS = {
    "oob": ("trap", "report"),
    "mma": ("exact", "fast"),
    "numerics": ("exact", "hardware"),
    "fmad": ("auto", "on", "off"),
}
_LOWEST = {"threads": 0, "programs": 0, "timeout": 0, "shared": -1, "shuffle": -1, "perturb": -1}
# Those that no user sets, and those that no variable of the environment does.
_INNER = ("strict_grid", "exact_tails", "replace", "recorder", "debugger", "substitute")
_NO_VARIABLES = (*_INNER, "shared")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a launch runs on and how. device: one of DEVICES. target: what the CPU compiles for ("cuda:90"),
    "" for the default. level: what the CPU executes, "" for the default. The rest is how the CPU executes;
    using() says what each of them does."""

    device: str = "auto"
    target: str = ""
    level: str = ""
    check: str = ""
    oob: str = "trap"
    mma: str = "exact"
    numerics: str = "exact"
    fmad: str = "auto"
    threads: int = 0
    programs: int = 0
    program: str = ""  # "4,2,0": this program alone
    timeout: float = 0.0
    shared: int = -1
    shuffle: int = -1
    perturb: int = -1
    timing: str | int = ""
    strict_grid: bool = False
    exact_tails: bool = False  # at PTX TMA stores end with the tensor, not with a chunk of 16 bytes
    dump: bool = True
    replace: tuple = ()  # (kernel's name, path or text of what is launched in its place)
    substitute: object = None  # a Substitution: what checks report gets a number, and the launch goes on
    recorder: object = None  # a _core.probe.Recorder or RegisterObserver of launches
    debugger: object = None  # a _core.probe.Debugger of them

    def __post_init__(self):
        if self.device not in DEVICES:
            raise fail(f"unknown device {self.device!r}", f"devices: {', '.join(DEVICES)}")
        if self.target and not re.fullmatch(r"cuda:\d+|hip:gfx\w+", self.target):
            raise fail(f"unknown target {self.target!r}", 'a target is "cuda:90" or "hip:gfx942"')
        if self.level and self.level not in ("python", *LEVELS):
            raise fail(f"unknown level {self.level!r}", f"levels: python, {', '.join(LEVELS)}")
        unknown = [c for c in self.check.split(",") if c and c not in CHECKS]
        if unknown:
            raise fail(f"unknown check {unknown[0]!r}", f"checks: {', '.join(CHECKS)}")
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                *first, last = (f'"{word}"' for word in words)
                raise fail(
                    f"unknown {name} {getattr(self, name)!r}", f"{name} is {', '.join(first)} or {last}"
                )
        if not re.fullmatch(r"|eager|late|\d+", str(self.timing)):
            raise fail(f"unknown timing {self.timing!r}", 'timing is "eager", "late" or a seed')
        if not re.fullmatch(r"|\d+(,\d+){0,2}", self.program):
            raise fail(
                f"unknown program {self.program!r}", 'program is the place of one in the grid: "4" or "4,2,0"'
            )
        for name, low in _LOWEST.items():
            if not isinstance(getattr(self, name), (int, float)) or getattr(self, name) < low:
                raise fail(f"{name} is {getattr(self, name)!r}, and should be a number of at least {low}")

    def __hash__(self):
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in dataclasses.fields(self)))

    @functools.cached_property
    def strict(self) -> Settings:
        """The same, under which an empty grid is an error."""
        return self if self.strict_grid else dataclasses.replace(self, strict_grid=True)

    @functools.cached_property
    def core_options(self):
        """The settings as the core takes them."""
        from triton_runner import _core

        options = _core.Options()
        for name in ("threads", "programs", "checks", "timeout", "shared", "exact_tails", "debugger"):
            setattr(options, name, getattr(self, name))
        for name in ("shuffle", "perturb"):
            if getattr(self, name) >= 0:
                setattr(options, name, getattr(self, name))
        if self.program:
            options.program = ([int(at) for at in self.program.split(",")] + [0, 0])[:3]
        options.report_faults = self.oob == "report"
        options.fast_mma = self.mma == "fast"
        options.hardware = self.numerics == "hardware"
        if self.substitute is not None:
            options.substitution = self.substitute.experiment
        options.timing = str(self.timing)
        if isinstance(self.recorder, _core.probe.RegisterObserver):
            options.registers = self.recorder
        else:
            options.recorder = self.recorder
        return options

    @property
    def checks(self) -> int:
        """The checks as the bits of _core.Check."""
        return sum(CHECKS[c] for c in set(self.check.split(",")) if c) | CHECKS["oob"] & 1


_FIELDS = {field.name for field in dataclasses.fields(Settings)}


def _of_environment(name: str, default):
    """The value of a variable, of the default's type."""
    variable = f"TRITON_RUNNER_{name.upper()}"
    if not (text := os.environ.get(variable, "")):
        return default
    if isinstance(default, bool):
        return text != "0"
    try:
        return type(default)(text)
    except ValueError:
        raise fail(f"{variable} is {text!r}, and should be a number") from None


def _limit_isa(isa: str) -> None:
    from triton_runner import _core

    if isa not in ("avx512", "avx2", "portable"):
        raise fail(f"TRITON_RUNNER_ISA is {isa!r}", "it is avx512, avx2 or portable")
    if not _core.limit_isa(isa):
        raise fail(f"TRITON_RUNNER_ISA is {isa}, and this machine has only {_core.isa()}")


def _from_environment() -> Settings:
    if isa := os.environ.get("TRITON_RUNNER_ISA", ""):
        _limit_isa(isa)
    fields = [field for field in dataclasses.fields(Settings) if field.name not in _NO_VARIABLES]
    return Settings(**{field.name: _of_environment(field.name, field.default) for field in fields})


scope: contextvars.ContextVar[Settings | None] = contextvars.ContextVar(
    "triton_runner_settings", default=None
)
_environment: Settings | None = None


def shown() -> dict:
    """The settings in force that a user can set."""
    settings = current()
    return {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings) if f.name not in _INNER}


def current() -> Settings:
    """The settings in force."""
    global _environment
    settings = scope.get()
    if settings is None:
        settings = _environment = _environment or _from_environment()
    return settings


def is_recording() -> bool:
    """Whether launches are recorded now, by dumping(): within its block settings are others."""
    settings = current()
    return settings.recorder is not None or settings.debugger is not None


@functools.lru_cache(maxsize=1024)
def _replaced(settings: Settings, changes: tuple) -> Settings:
    return dataclasses.replace(settings, **dict(changes))


def enter_strict():
    """Makes an empty grid an error until leave(token): using(strict_grid=True), at less cost."""
    return scope.set(current().strict)


def enter(settings: Settings):
    """Puts other settings in force, until leave(token)."""
    return scope.set(settings)


def limited(settings: Settings) -> Settings:
    """Settings that were in force earlier, when a CUDA graph was captured; where only the first programs run
    now, with the limits of now."""
    now = current()
    if not now.programs:
        return settings
    return _replaced(settings, (("programs", now.programs), ("timeout", now.timeout)))


def leave(token) -> None:
    scope.reset(token)


class using:
    """Launches inside the block use these settings: `device=`, `target=`, `level=`, `check=`, `oob=`, `mma=`,
    `numerics=`, `fmad=`, `threads=`, `programs=`, `program=`, `timeout=`, `shared=`, `shuffle=`, `timing=`,
    `perturb=`, `substitute=`, `dump=`. Plain `@triton.jit` kernels use them too. None leaves a setting as it
    is.

    `perturb=SEED`: at TTIR and TTGIR, moves rounded results by a pseudo-random part of their rounding error.

    `substitute=Substitution(number)`: replaces the values that a check reports by the number; the launch
    continues.

    `replace={"kernel": artifact}`: kernels with these names, of `jit` or under `configure_jit_backend()`, run
    an artifact (a path, or the text itself), as with `ttir_src=` and the similar keywords.
    """

    def __init__(self, **settings):
        unknown = [name for name in settings if name not in _FIELDS]
        if unknown:
            public = ", ".join(sorted(_FIELDS - {"strict_grid", "recorder", "debugger"}))
            raise TypeError(f"using() has no setting {unknown[0]!r}; it has {public}")
        if settings.get("replace") is not None:
            settings["replace"] = tuple((name, os.fspath(text)) for name, text in settings["replace"].items())
        objects = ("recorder", "debugger", "replace", "substitute")
        odd = [
            name
            for name, value in settings.items()
            if name not in objects and not isinstance(value, (str, int, float, type(None)))
        ]
        if odd:
            raise fail(f"{odd[0]}={settings[odd[0]]!r}: expected a text or a number")
        substitute = settings.get("substitute")
        if substitute is not None and not hasattr(substitute, "experiment"):
            raise fail(f"substitute={substitute!r}: expected a triton_runner.Substitution")
        self._changes = tuple((name, value) for name, value in settings.items() if value is not None)

    def settings(self) -> Settings:
        """Those that are in force inside."""
        # A recorder is of one block: a cache would keep it, and what it recorded.
        own = {"recorder", "debugger", "substitute"} & {name for name, _ in self._changes}
        replaced = _replaced.__wrapped__ if own else _replaced
        return replaced(current(), self._changes)

    def __enter__(self):
        self._token = scope.set(self.settings())
        return self

    def __exit__(self, *error):
        scope.reset(self._token)
        return False


def quick() -> bool:
    """TRITON_RUNNER_QUICK=1: what a program measures is shortened (_settings/quick_mode.py)."""
    return os.environ.get("TRITON_RUNNER_QUICK", "0") not in ("", "0")


def prod() -> bool:
    """TRITON_RUNNER_PROD=1: no messages on stdout."""
    return prod_test() or os.environ.get("TRITON_RUNNER_PROD", "0") not in ("", "0")


def prod_test() -> bool:
    """TRITON_RUNNER_PROD_TEST=1: as in production, but it says which kernels are compiled."""
    return os.environ.get("TRITON_RUNNER_PROD_TEST", "0") not in ("", "0")
