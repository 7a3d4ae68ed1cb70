"""Settings says what a launch runs on and how: from the environment, from using(), from a launch's keywords,
in rising precedence.

The environment is read once, at the first use.

It is described in doc/reference/settings.md."""

from __future__ import annotations

import contextvars
import dataclasses
import functools
import itertools
import os
import re

from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, MLIR

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
    "view": 2048,
}
DEFAULT_TARGET = "cuda:90"
MLIR_CHECKS = ("nanload", "hints")  # need types and promises that lower levels do not have
# These ask which instruction computes floats, which AMD's machine code does not tell.
NUMBER_CHECKS = ("nan", "inf", "zerodiv")


@dataclasses.dataclass(frozen=True)
class Row:
    """The facts of a setting: its keywords, option, variable and checks are made of it.

    - `says`: a sentence, for the option and the list of variables.
    - `words`: what it may be; or `form`, an expression, and `advice` where it is not met; or `lowest`, of a
      number. `parts`: it is a list with commas, each part of that form.
    - `keyword`, `option`, `variable`: whether launches, the command line, the environment have it. `code`: it
      changes what is computed. `inner`: no user sets it.
    - `core`: (the option of the core, its value from the setting's; None leaves it).
    """

    says: str = ""
    words: tuple = ()
    form: str = ""
    advice: str = ""
    lowest: int | None = None
    parts: bool = False
    keyword: bool = False
    option: bool = False
    variable: bool = True
    code: bool = False
    inner: bool = False
    core: tuple = ()

    def check(self, name: str, value) -> None:
        """Raises DiagnosticError where it cannot be that."""
        if self.lowest is not None and (not isinstance(value, (int, float)) or value < self.lowest):
            raise fail(f"{name} is {value!r}, and should be a number of at least {self.lowest}")
        for part in value.split(",") if self.parts else [value]:
            if self.words and part not in self.words:
                *first, last = (f'"{word}"' for word in self.words)
                words = f"{name} is {', '.join(first)} or {last}"
                raise fail(f"unknown {name} {part!r}", self.advice or words)
            if self.form and not re.fullmatch(self.form, str(part)):
                raise fail(f"unknown {name} {part!r}", self.advice)


def _row(default, says: str = "", **row):
    return dataclasses.field(default=default, metadata={"row": Row(says, **row)})


def _inner(default, core: str = ""):
    given = (core, lambda value: value) if core else ()
    return _row(default, variable=False, inner=True, core=given)


def _number(name: str, lowest: int):
    """The core's option of a number; below 0 it is left."""
    return (name, lambda value: value if lowest >= 0 or value >= 0 else None)


def looks(check: str, level: str) -> bool:
    """Returns whether a check looks at what is executed at a level."""
    if check == "hazard":
        return level in ("cubin", "amdgcn", "hsaco")
    if check in MLIR_CHECKS:
        return level in ("python", *MLIR)
    return not (check in NUMBER_CHECKS and level in ("amdgcn", "hsaco"))


def named_checks(text: str, level: str) -> str:
    """The checks of a text, where "all" stands for those that look at a level; "": the one that Python's
    kernels are executed at."""
    all_checks = [name for name in CHECKS if looks(name, level or "python")]
    names = (all_checks if name == "all" else [name] for name in text.split(","))
    return ",".join(dict.fromkeys(itertools.chain.from_iterable(names)))


def check_bits(check: str) -> int:
    """The checks as the bits of _core.Check."""
    return sum(CHECKS[c] for c in set(check.split(",")) if c) | CHECKS["oob"] & 1


def _place(program: str) -> list[int] | None:
    return ([int(at) for at in str(program).split(",")] + [0, 0])[:3] if program else None


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a launch, a row a setting. using() says what each of them does."""

    device: str = _row(
        "auto", "What kernels run on.", words=DEVICES, advice=f"devices: {', '.join(DEVICES)}",
        keyword=True, option=True,
    )  # fmt: skip
    level: str = _row(
        "", "The level that the CPU executes: ttir, ttgir, llir, ptx, amdgcn, cubin or hsaco.",
        form="|".join(("", "python", *LEVELS)), advice=f"levels: python, {', '.join(LEVELS)}",
        keyword=True, option=True,
    )  # fmt: skip
    target: str = _row(
        "", 'The architecture to compile for: "cuda:90", "hip:gfx942".', form=r"|cuda:\d+|hip:gfx\w+",
        advice='a target is "cuda:90" or "hip:gfx942"', keyword=True, option=True,
    )  # fmt: skip
    check: str = _row(
        "",
        "What the CPU looks for: oob, nan, inf, nanload, uninit, race, zerodiv, hints, overflow, hazard, "
        "view, separated by commas; or all.",
        form="|".join(("", *CHECKS)), advice=f"checks: {', '.join(CHECKS)}; or all", parts=True,
        keyword=True, option=True, core=("checks", check_bits),
    )  # fmt: skip
    oob: str = _row(
        "trap", "Out of bounds: stop there (trap), or report each place once and go on.",
        words=("trap", "report"), keyword=True, option=True, core=("report_faults", "report".__eq__),
    )  # fmt: skip
    mma: str = _row(
        "exact", "Tensor-core sums of code: bit for bit as the hardware (exact), or in f32 (fast).",
        words=("exact", "fast"), keyword=True, option=True, code=True, core=("fast_mma", "fast".__eq__),
    )  # fmt: skip
    numerics: str = _row(
        "exact", "How TTGIR rounds: each op by itself (exact), or as the target does (hardware).",
        words=("exact", "hardware"), keyword=True, option=True, code=True,
        core=("hardware", "hardware".__eq__),
    )  # fmt: skip
    fmad: str = _row(
        "auto", "Whether PTX's products and sums are contracted as ptxas does; auto: as metadata say.",
        words=("auto", "on", "off"), keyword=True, option=True, code=True,
    )  # fmt: skip
    shuffle: int = _row(
        -1, "Run programs in a pseudo-random order from this seed.", lowest=-1, keyword=True, option=True,
        core=_number("shuffle", -1),
    )  # fmt: skip
    timing: str | int = _row(
        "",
        "When asynchronous copies land: eager (at once), late (when something waits), or the seed of "
        "pseudo-random places.",
        form=r"|eager|late|\d+", advice='timing is "eager", "late" or a seed', keyword=True, option=True,
        core=("timing", str),
    )  # fmt: skip
    threads: int = _row(0, "CPU threads; 0 for all cores.", lowest=0, option=True, core=_number("threads", 0))
    programs: int = _row(
        0, "Run only the first N programs of each launch.", lowest=0, option=True,
        core=_number("programs", 0),
    )  # fmt: skip
    timeout: float = _row(
        0.0, "Seconds after which a kernel is stopped; 0 for never.", lowest=0, option=True,
        core=_number("timeout", 0),
    )  # fmt: skip
    program: str = _row(
        "", "Run only this program of each launch: 7, or 7,2,0.", form=r"|\d+(,\d+){0,2}",
        advice='program is the place of one in the grid: "4" or "4,2,0"', core=("program", _place),
    )  # fmt: skip
    shared: int = _row(
        -1, "Dynamic shared memory in bytes.", lowest=-1, keyword=True, variable=False,
        core=("shared", lambda value: value),
    )  # fmt: skip
    perturb: int = _row(
        -1, "Move rounded results by a part of their error, from this seed.", lowest=-1, code=True,
        core=_number("perturb", -1),
    )  # fmt: skip
    dump: bool = _row(True, "0 leaves dump statements out.")
    strict_grid: bool = _inner(False)
    exact_tails: bool = _inner(False, "exact_tails")  # at PTX TMA stores end with the tensor, not a chunk
    follows_undefined: bool = _inner(False, "follows_undefined")  # uninit: what is stored may be undefined
    replace: tuple = _inner(())  # (kernel's name, path or text of what is launched in its place)
    reads: object = _inner(None, "reads")  # a _core.ReadSet of launches under check="race"
    substitute: object = _inner(None)  # a Substitution: what checks report gets a number, and it goes on
    recorder: object = _inner(None)  # a _core.probe.Recorder or RegisterObserver of launches
    debugger: object = _inner(None, "debugger")  # a _core.probe.Debugger of them

    def __post_init__(self):
        object.__setattr__(self, "check", named_checks(self.check, self.level))
        for name, row in ROWS.items():
            if not row.inner:
                row.check(name, getattr(self, name))

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
        for name, row in ROWS.items():
            if row.core and (value := row.core[1](getattr(self, name))) is not None:
                setattr(options, row.core[0], value)
        if self.substitute is not None:
            options.substitution = self.substitute.experiment
        options.recorder = self.recorder
        return options

    @property
    def checks(self) -> int:
        """The checks as the bits of _core.Check."""
        return check_bits(self.check)


ROWS: dict[str, Row] = {field.name: field.metadata["row"] for field in dataclasses.fields(Settings)}


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


def _from_environment() -> Settings:
    if isa := os.environ.get("TRITON_RUNNER_ISA", ""):
        from triton_runner import _core

        if why := _core.limit_isa(isa):
            raise fail(f"TRITON_RUNNER_ISA is {isa!r}, and {why}")
    fields = [field for field in dataclasses.fields(Settings) if ROWS[field.name].variable]
    return Settings(**{field.name: _of_environment(field.name, field.default) for field in fields})


scope: contextvars.ContextVar[Settings | None] = contextvars.ContextVar(
    "triton_runner_settings", default=None
)
_environment: Settings | None = None


def shown() -> dict:
    """The settings in force that a user can set."""
    settings = current()
    return {name: getattr(settings, name) for name, row in ROWS.items() if not row.inner}


def current() -> Settings:
    """The settings in force."""
    global _environment
    settings = scope.get()
    if settings is None:
        settings = _environment = _environment or _from_environment()
    return settings


def read_anew() -> None:
    """Has the environment read again: a forked process was given another one."""
    global _environment
    _environment = None


def is_recording() -> bool:
    """Returns whether launches are recorded now, by dumping(): within its block settings are others."""
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
        unknown = [name for name in settings if name not in ROWS]
        if unknown:
            public = ", ".join(sorted({*ROWS} - {"strict_grid", "recorder", "debugger", "reads"}))
            raise TypeError(f"using() has no setting {unknown[0]!r}; it has {public}")
        if settings.get("replace") is not None:
            settings["replace"] = tuple((name, os.fspath(text)) for name, text in settings["replace"].items())
        objects = ("recorder", "debugger", "replace", "substitute", "reads")
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
        """Returns the settings that are in force inside."""
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
