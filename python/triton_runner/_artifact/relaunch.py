"""Relaunch is a launch that can be run again: a kernel's texts by level, a grid, and what its arguments held
at first.

run() does it at a level, on the CPU or a GPU, in another order, at another timing, under checks, and gives an
Outcome. Each run begins with the same contents, which are put back after it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import time
from collections.abc import Callable, Mapping

from triton_runner import _settings
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._artifact.executable import executable
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.reading import Artifact, compile_options, describe
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._base.levels import EXECUTED, LEVELS, MLIR, binary_level, executed, is_above, levels_of
from triton_runner._base.metadata import jsonable
from triton_runner._launch import gpu_driver
from triton_runner._launch.launchers import Call, axes_of, unseen
from triton_runner._launch.native import inherit
from triton_runner._memory import pointed as pointed_memory
from triton_runner._memory.arguments import Arguments
from triton_runner._memory.arrays import ArrayArgument
from triton_runner._memory.contents import Arrays, Contents, Pair
from triton_runner._pipeline import stages


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """One run: what it left in the memory of the arguments; the trap that stopped it, or None; its seconds;
    the kernel as it ran."""

    level: str
    how: str
    contents: Contents
    trap: KernelTrap | None
    seconds: float
    kernel: ArtifactKernel

    @functools.cached_property
    def arrays(self) -> Mapping:
        """The arguments by name. They are made when somebody asks for one, which is to be before the program
        goes on."""
        return Arrays(self.contents)

    def pairs(self, other: Outcome) -> dict[str, Pair]:
        """The arguments by name as this run and another of the launch left them."""
        return {name: self.contents.pair(name, other.contents) for name in self.contents.views}

    def differing(self, other: Outcome) -> list[str]:
        """The arguments in which bits differ."""
        return [name for name, pair in self.pairs(other).items() if not pair.is_same()]


@dataclasses.dataclass(eq=False)
class Relaunch:
    """A kernel, a grid and arguments.

    - `texts`: by level, which may be compiled when they are asked for; `entry`: the highest level.
    - `metadata_of()`: Triton's of the kernel, what its later stages write included.
    - `block`, `cluster`: of a PTX that does not say them.
    - `given`: levels whose texts somebody gave: a lower level is compiled from the nearest of them.
    """

    name: str
    target: str
    texts: Mapping
    metadata_of: Callable[[], dict]
    entry: str
    grid: tuple
    arguments: Arguments
    block: tuple | None = None
    cluster: tuple | None = None
    assembled: bool = False  # whether its machine code is one of the levels that run
    given: tuple = ()

    @property
    def levels(self) -> tuple[str, ...]:
        """Returns the levels that run, from its entry on: LLIR runs as the level that it becomes. Machine
        code is one of them where it is asked for, or where it is all that there is."""
        there = [level for level in levels_of(self.target) if level in EXECUTED]
        binary = binary_level(self.target)
        there += [binary] * (self.assembled or self.entry == binary)
        first = executed(self.entry, self.target)
        return tuple(level for level in there if level == first or is_above(first, level))

    @functools.cached_property
    def metadata(self) -> dict:
        return json.loads(json.dumps(self.metadata_of(), default=jsonable))

    @functools.cached_property
    def _known(self) -> dict:
        return {}

    def artifact(self, level: str) -> Artifact:
        """The kernel as it is at a level."""
        if level not in self._known:
            try:
                text = self.texts[level]
            except KeyError:
                raise fail(f"kernel '{self.name}' enters at {self.entry} and has no {level}") from None
            artifact = describe(level, text, "", self.name, json.dumps(self.metadata))
            if level not in MLIR and is_above(self.entry, level):  # which tells names and types
                above = self.artifact(self.entry).description
                artifact = dataclasses.replace(artifact, description=inherit(artifact.description, above))
            self._known[level] = artifact
        return self._known[level]

    def compile(self) -> None:
        """Compiles its levels, all in one: what goes to the lowest passes the others. What cannot be compiled
        is left to the run at its level."""
        with contextlib.suppress(DiagnosticError, KeyError):
            self.texts[self.levels[-1]]

    def kernel(self, level: str) -> ArtifactKernel:
        """Returns what runs a level on the device of the settings in force."""
        above = [other for other in self.given if other == level or is_above(other, level)]
        entry = max(above, key=[*LEVELS].index, default=level)
        shape = {} if entry in MLIR else {"block": self.block, "cluster": self.cluster}
        return executable(self.artifact(entry), **shape)

    def run(
        self, level: str = "", how: str = "", *, device: str = "cpu", order: int | None = None,
        timing: str | None = None, checks: str | None = None, record=None, **settings,
    ) -> Outcome:  # fmt: skip
        """A run on one thread, so that its programs run in the order of the grid. how: what it is called.

        - `order`: a seed, by which programs and atomics run in another order; `timing`, `checks` and
          `settings`: as `timing=`, `check=` and the rest of using().
        - `device`: "cpu", or this machine's GPU, for which a level is compiled, that of the entry by default.
        - `record(kernel, grid, named, go, kernel_of)`: launches the kernel by go() and records values;
          kernel_of(level) is the same kernel at a level.
        """
        if device != "cpu":
            return self._run_on_gpu(level or self.entry, device, how or "plain", record)
        changed = {"shuffle": order, "timing": timing, "check": checks, **settings}
        changed = {name: value for name, value in changed.items() if value is not None}
        how = how or called(order=order, timing=timing, checks=checks, **settings)
        fixed = {"device": "cpu", "level": level, "target": self.target, "threads": 1}
        with unseen(), _settings.using(**{**fixed, **changed}):
            kernel = self.kernel(level)
            trap, started = None, time.perf_counter()
            with self.arguments.kept() as now:
                try:
                    self._launch(kernel, self.arguments, record)
                except KernelTrap as error:
                    trap = error
                seconds = time.perf_counter() - started
                contents = now()
        return Outcome(level, how, contents, trap, seconds, kernel)

    def _run_on_gpu(self, level: str, device: str, how: str, record) -> Outcome:
        """With copies of the contents there, in memory of the driver's: torch may have none, or pretend."""
        with unseen(), _settings.using(device=device, level=""):  # a level is what the CPU executes
            kernel = self.kernel(level)
            there = self.arguments.copied(device, gpu_driver.driver().allocate)
            started = time.perf_counter()
            self._launch(kernel, there, record)
            gpu_driver.driver().synchronize(gpu_driver.current_stream())
            seconds = time.perf_counter() - started
        level = binary_level(gpu_driver.current_target())
        return Outcome(level, how, self.arguments.as_in(there), None, seconds, kernel)

    def _launch(self, kernel: ArtifactKernel, arguments: Arguments, record) -> None:
        def go():
            kernel.launch(self.grid, arguments.named)

        record(kernel, self.grid, arguments.named, go, self.kernel) if record else go()

    def recompiled(self, **options) -> Relaunch:
        """The same launch, its PTX compiled from its TTGIR with other options (enable_fp_fusion=False)."""
        metadata = {**self.metadata, **options}
        ttgir = self.texts["ttgir"]
        compiling = compile_options(self.artifact("ttgir"), **options)
        recompiled = stages.compile_onward(ttgir, "ttgir", "ptx", self.target, compiling, self.name)
        texts = {"ttgir": ttgir, "ptx": recompiled.asm["ptx"]}
        return dataclasses.replace(self, texts=texts, metadata_of=lambda: metadata, entry="ttgir")


def called(order=None, timing=None, checks=None, perturb=None, **settings) -> str:
    """Names a run by what makes it different from others."""
    words = {"check": checks, "shuffle": order, "timing": timing, "perturb": perturb}
    return ", ".join(f"{word} {value}" for word, value in words.items() if value) or "plain"


def pointed(call: Call) -> list[tuple]:
    """(name, tensor) of the tensors whose addresses a launch's kernel makes pointers of."""
    compiled = compiled_of(call.kernel)
    text = next((compiled.asm[level] for level in ("ttir", "ttgir") if compiled.has(level)), "")
    return pointed_memory.tensors(call.named) if "tt.int_to_ptr" in text else []


def of_call(call: Call, tensors: list | None = None) -> Relaunch:
    """A launch that is about to run. tensors: pointed(call), where somebody knows that."""
    compiled, entry = compiled_of(call.kernel), compiled_of(call.kernel).entry

    def metadata() -> dict:
        later = getattr(call.kernel, "_later_metadata", dict)
        return {**later(), **compiled.metadata()}

    if entry == "python":
        entry = "ttir" if compiled.has("ttir") else "ttgir"
    own = [(name, value.base if isinstance(value, ArrayArgument) else value) for name, value in call.named]
    return Relaunch(
        compiled.name, compiled.target, compiled.asm, metadata, entry, axes_of(call.grid),
        Arguments(own, pointed(call) if tensors is None else tensors), compiled.block, compiled.cluster,
    )  # fmt: skip
