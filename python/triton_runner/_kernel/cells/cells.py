"""Lists the cells of a comparison: every release with every target and every configuration, each with the key
of all that decides its result."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
from pathlib import Path

from triton_runner import _core
from triton_runner._base import expression
from triton_runner._base.errors import fail
from triton_runner._base.levels import ON_CPU, executed, levels_of
from triton_runner._kernel.cells import arguments, kernels, store
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._pipeline import abilities
from triton_runner._settings import environment
from triton_runner._worker.spelling import listed, option

_FORMAT = 3  # of what a stored result holds: a new number makes all stored ones unknown
_LARGEST = 4096  # cells of a comparison


@dataclasses.dataclass
class Cell:
    """`config`: options and constexprs by name. `work`: what measure() takes, None where `gap` says why the
    release cannot."""

    release: str
    target: str
    config: dict
    gap: str | None = None
    work: dict | None = None
    key: str = ""

    @property
    def name(self) -> str:
        """The cell's name in messages."""
        return " ".join([self.release, self.target, *([text] if (text := config_text(self.config)) else [])])


def config_text(config: dict) -> str:
    return " ".join(f"{name}={value}" for name, value in config.items())


def parse_configs(text: str, value) -> list[dict]:
    """The configurations of "num_warps=4,8;num_stages=1..4": all combinations. value(text): a constant."""
    axes = []
    for part in text.split(";"):
        if not part.strip():
            continue
        name, equals, values = part.partition("=")
        if not equals or not name.strip().isidentifier() or not values.strip():
            raise fail(
                f"the configuration {part.strip()!r} is not of the form NAME=VALUES",
                'as in "num_warps=4,8;num_stages=1..4"',
            )
        found = []
        for word in values.split(","):
            first, dots, last = word.strip().partition("..")
            if dots and first.isdigit() and last.isdigit():
                found += range(int(first), int(last) + 1)
            else:
                found.append(value(word.strip()))
        if not found:
            raise fail(f"the configuration {part.strip()!r} has no values", 'as in "num_warps=4,8"')
        axes.append([(name.strip(), value) for value in found])
    return [dict(pairs) for pairs in itertools.product(*axes)]


@dataclasses.dataclass
class ComparedKernel:
    """The subject of a comparison: a kernel as compile() takes it, its signature, constants, and a launch."""

    kernel: object
    signature: object
    constexprs: dict
    args: list | None
    grid: object
    timeout: float | None
    store: store.Store
    counts: bool = False  # each launch's machine code is counted too
    chip: str = ""  # on which its time is estimated

    def __post_init__(self):
        self.function = None  # a Kernel, where it is one of Python
        if not isinstance(self.kernel, (str, os.PathLike)):
            self.function = kernels.of_function(compiler.innermost(self.kernel))
        else:
            path, colon, name = os.fspath(self.kernel).rpartition(":")
            if colon and path.endswith(".py"):
                self.function = kernels.of_file(path, name, self.store)
        if self.function is None and (self.args is not None or self.constexprs):
            raise fail("arguments and constexprs are for kernels in Python", "give kernel.py:name")
        if (self.counts or self.chip) and self.args is None:
            what = "what a launch executes is counted" if self.counts else "the time of a launch is estimated"
            raise fail(f"{what} in a launch", f"give its arguments: {listed('args', 'grid')}")
        if self.args is not None and self.signature:
            raise fail("the arguments already say the types", f"leave {option('signature')} out")
        if self.args is not None and self.grid is None:
            raise fail("arguments need a grid, the programs of the launch", 'as in: 4, or "cdiv(n, BLOCK)"')
        self.values = {}
        if self.args is not None:
            names = self.function.arguments
            if len(self.args) != len(names):
                raise fail(
                    f"kernel '{self.function.name}' takes {len(names)} arguments, "
                    f"and {len(self.args)} were given",
                    f"its parameters: {', '.join(names)}",
                )
            self.values = {n: arguments.encoded(n, v) for n, v in zip(names, self.args, strict=True)}

    @property
    def name(self) -> str:
        return self.function.name if self.function else os.path.basename(os.fspath(self.kernel))

    def cell(self, release: str, target: str, config: dict, gpu: str = "") -> Cell:
        """gpu: the target and name of this machine's GPU, where launches are timed."""
        last = "hsaco" if target.startswith("hip:") else "cubin"
        if abilities.gap(release, target, last):  # the linker may be all that it lacks
            last = "amdgcn" if last == "hsaco" else last
        if reason := abilities.gap(release, target, last):
            return Cell(release, target, config, gap=reason[0])
        parameters = {name for name, _ in self.function.parameters} if self.function else set()
        constants = {**self.constexprs, **{n: v for n, v in config.items() if n in parameters}}
        level = self._level(config, target)
        options = {n: v for n, v in config.items() if n not in parameters and n != "level"}
        signature, launch = self.signature, None
        if self.args is not None:
            kinds = {name: arguments.kind(value) for name, value in self.values.items()}
            signature = {name: kind for name, kind in kinds.items() if kind is not None}
            constants |= dict.fromkeys(name for name, kind in kinds.items() if kind is None)
            passed = [v for n, v in self.values.items() if kinds[n] and not kinds[n].endswith(":1")]
            launch = {"arguments": passed, "grid": self._grid({**constants, **options}), "level": level}
            launch |= {"counts": True} if self.counts else {}
            launch |= {"chip": {"name": self.chip, "by": _estimator_digest()}} if self.chip else {}
        if self.function is None:
            request = compiler.request_of(self.kernel, None, None, target, None, last, options, None)
        else:
            request = compiler.request_of(
                self.function.captured, signature, constants or None, target, None, last, options, None
            )
            request = compiler.portable_request({**request, "label": f"kernel '{self.function.name}'"})
        timed = bool(gpu) and gpu.startswith(target + " ")
        work = {
            "release": release, "request": request, "launch": launch, "timeout": self.timeout, "gpu": timed,
        }  # fmt: skip
        return Cell(release, target, config, work=work, key=self._key(work, gpu if timed else ""))

    def _level(self, config: dict, target: str) -> str:
        """The level that the CPU executes: the configuration's, else PTX, for AMD's targets AMDGCN."""
        if "level" not in config:
            return executed("llir", target)
        if self.args is None:
            raise fail("a level is of a launch", f"give its arguments: {listed('args', 'grid')}")
        there = [level for level in levels_of(target) if level in ON_CPU]
        if config["level"] not in there:
            raise fail(
                f"level={config['level']}: the CPU does not execute that for {target}",
                f"levels: {', '.join(there)}",
            )
        return config["level"]

    def _grid(self, constants: dict) -> list[int]:
        """The grid of a configuration: numbers, a function of the constants as Triton takes it, or a text of
        expressions over parameters."""
        grid = self.grid
        if callable(grid):
            grid = grid(constants)
        elif isinstance(grid, str):
            numbers = {
                n: v["value"] if isinstance(v, dict) and "value" in v else v for n, v in self.values.items()
            }
            numbers = {n: v for n, v in {**constants, **numbers}.items() if isinstance(v, (int, float))}
            grid = expression.grid(grid, numbers)
        grid = [int(extent) for extent in (grid if isinstance(grid, (tuple, list)) else [grid])]
        if not 1 <= len(grid) <= 3 or min(grid) < 1:
            raise fail(f"the grid is {tuple(grid)}", "one to three numbers of at least 1")
        return grid

    def _key(self, work: dict, gpu: str) -> str:
        launch = work["launch"] and {
            **work["launch"],
            "arguments": [arguments.digest(value) for value in work["launch"]["arguments"]],
        }
        variables = environment.that_change_code(os.environ)
        return store.key_of([
            _FORMAT, work["release"], work["request"], launch, gpu, variables, _runner_digest(),
        ])  # fmt: skip


@functools.cache
def _runner_digest() -> str:
    """Returns a hash of what this package's own figures and results depend on: its core."""
    with open(_core.__file__, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


@functools.cache
def _estimator_digest() -> str:
    """Returns a hash of what an estimate depends on besides: the chips' parameters, and how they are used."""
    place = Path(__file__).parents[1] / "cost"
    return store.key_of([(place / f"{name}.py").read_text() for name in ("chips", "timing", "replay")])


def all_cells(subject: ComparedKernel, releases, targets, configs, gpu: str = "") -> list[Cell]:
    """The cells in order: by target, configuration, release."""
    if len(releases) * len(targets) * len(configs) > _LARGEST:
        raise fail(
            f"{len(releases)} releases x {len(targets)} targets x {len(configs)} configurations are more "
            f"than {_LARGEST} cells",
            "compare fewer at once: what is finished is kept, and costs nothing again",
        )
    return [
        subject.cell(release, target, config, gpu)
        for target in targets
        for config in configs
        for release in releases
    ]
