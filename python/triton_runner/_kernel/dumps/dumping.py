"""dumping(): the launches inside of a block are recorded, those of loaded artifacts too."""

from __future__ import annotations

import contextlib
import dataclasses
import sys

from triton_runner import _settings
from triton_runner._artifact.executable import executable
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._base.errors import fail
from triton_runner._base.levels import MLIR, ON_CPU
from triton_runner._kernel.dumps import requests
from triton_runner._kernel.dumps.records import Dump, Values
from triton_runner._kernel.dumps.requests import active
from triton_runner._launch import launchers
from triton_runner._settings import devices

LEVELS = tuple(level for level in ON_CPU if level != "hsaco")  # whose values can be recorded


class dumping:
    """Records values of the launches inside the block:

        with triton_runner.dumping(kernel, "acc", "%54", every_iteration=True) as d:
            kernel[grid](...)
        d["acc"][program, iteration]

    - `kernel`: a kernel, its name, or None for every kernel that is launched.
    - `selectors`: SSA names and registers (`"%54"`, `"%5#1"`, `"%arg7"`), ops (`"tt.dot"`), lines
      (`"kernel.py:42"`), Python variables (`"acc"`), or `"*"` for all values.
    - `every_iteration`: keeps every iteration of a value in a loop; otherwise only the last one is kept.
    - `programs`: a program or a list of programs, `(x, y, z)` or `x`, where -1 stands for any; None records
      all.
    - `level`: the level at which the selectors are looked up; by default the level that executes.
    - `max_bytes`: the most memory that the records of a launch may take (1 GiB).

    `d` is the Dump of the last launch, and `d.launches` has all of them. If no value matches a selector, the
    launch raises DiagnosticError.
    """

    def __init__(
        self, kernel=None, *selectors, every_iteration=False, programs=None, level=None, max_bytes=None
    ):
        if isinstance(kernel, str) and not selectors:
            kernel, selectors = None, (kernel,)
        if not selectors:
            raise fail(
                "dumping() was not told what to record", 'as in dumping(kernel, "acc"); "*" is everything'
            )
        if level is not None and level not in LEVELS:
            raise fail(f"values cannot be dumped at level {level!r}", f"levels: {', '.join(LEVELS)}")
        name = (
            kernel if isinstance(kernel, str) else getattr(kernel, "__name__", getattr(kernel, "name", None))
        )
        if kernel is not None and name is None:
            raise fail(f"dumping({kernel!r}): expected a kernel, its name, or None for all")
        self.kernel = name
        self.request = requests.request(
            selectors, None if isinstance(kernel, str) else kernel, every_iteration, programs, max_bytes,
            level=level or "",
        )  # fmt: skip
        self._launches: list[Dump] = []
        self._recorder = None

    def adapt(self, **changes) -> None:
        """Changes fields of the request of the launches to come."""
        self.request = dataclasses.replace(self.request, **changes)

    def wants(self, name: str) -> bool:
        """Whether launches of this kernel are recorded."""
        return self.kernel is None or self.kernel == name

    @property
    def launches(self) -> list[Dump]:
        """The Dump of each launch so far."""
        self._drain()
        return self._launches

    def add(self, dump: Dump) -> None:
        """A launch that was recorded elsewhere than on the tile engine."""
        self._drain()
        self._launches.append(dump)

    def _drain(self) -> None:
        if self._recorder is not None:
            self._launches += [self.request.dump(recording) for recording in self._recorder.take()]

    def __enter__(self):
        if "triton" in sys.modules:
            from triton_runner._kernel.dumps import plain  # with Triton, which artifacts do without

            plain.install()
        self._recorder = self.request.recorder(() if self.kernel is None else (self.kernel,))
        level = self.request.level  # the CPU executes the level whose values are asked for
        on_gpu = level and devices.resolved_device() != "cpu"
        self._contexts = contextlib.ExitStack()
        self._contexts.enter_context(
            _settings.using(recorder=self._recorder, level=None if on_gpu else level or None)
        )
        self._contexts.callback(active.reset, active.set(self))
        launchers.observe(self._observe)
        self._contexts.callback(launchers.forget, self._observe)
        return self

    def __exit__(self, *error):
        self._contexts.close()
        self._drain()
        return False

    def _observe(self, call: launchers.Call, go) -> None:
        """A launch of a loaded artifact (an ArtifactKernel)."""
        kernel = call.kernel
        if not isinstance(kernel, ArtifactKernel) or requests.for_launch(kernel.name) is not self:
            return go()

        def kernel_of(level: str) -> ArtifactKernel:
            shape = {name: getattr(kernel.function, name, None) for name in ("block", "cluster")}
            return executable(kernel.artifact, **shape)

        self.record(kernel, call.grid, call.named, go, kernel_of)

    def record(self, kernel: ArtifactKernel, grid, named: list, go, kernel_of) -> None:
        """Records a launch of an ArtifactKernel with (name, value) pairs. go() does it; kernel_of(level):
        the same kernel at a level, under the settings that ask for it."""
        if kernel.level in MLIR and kernel.device == "cpu":
            return go()  # the tile engine hands the values over
        from triton_runner._kernel.dumps import instrument, machine_values, registers  # few launches do

        with requests.suspended(), requests.kept_of_traps(self.request, self.add):
            if kernel.device != "cpu":
                recording, changes = instrument.run_kernel(self.request, kernel, grid, named)
            elif kernel.level == "cubin":
                recording, changes = machine_values.run_kernel(
                    self.request, kernel, grid, named, go, kernel_of
                )
            else:
                _, recording, changes = registers.run_kernel(self.request, kernel, go)
        self.add(self.request.dump(recording, changes))

    @property
    def last(self) -> Dump:
        """The Dump of the last launch."""
        launches = self.launches
        if not launches:
            of = f"of kernel '{self.kernel}' " if self.kernel else ""
            raise fail(
                f"no launch {of}was recorded in this dump",
                "launch it inside of the with block",
            )
        return launches[-1]

    def __getitem__(self, name: str) -> Values:
        return self.last[name]

    def __contains__(self, name: str) -> bool:
        return name in self.last

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.last, name)

    def __iter__(self):
        return iter(self.last)

    def __len__(self):
        return len(self.last)

    def __repr__(self):
        return repr(self.launches[-1]) if self.launches else "<dump without a launch>"
