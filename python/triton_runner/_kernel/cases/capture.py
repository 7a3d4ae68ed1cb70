"""Implements triton_runner.capture(): it writes cases of the launches that a program makes, while it runs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import numpy

from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, warn
from triton_runner._base.paths import make_folder
from triton_runner._kernel.cases import bundle, judge
from triton_runner._kernel.cases.results import Judged
from triton_runner._launch.launchers import Call, axes_of, observing
from triton_runner._memory.contents import Arrays, Pair

_WORDS = ("trap", "nan", "wrong")


@dataclasses.dataclass
class Seen:
    """A launch that has run, as `when=` of capture() is asked about it.

    - `name`, `grid`: the kernel and the programs; `number`: its number among the launches seen, from 0.
    - `before`, `after`: mappings of what its arrays held, by name, as NumPy arrays.
    - `trap`: the KernelTrap that stopped it, or None.
    """

    name: str
    grid: tuple
    number: int
    before: Mapping
    after: Mapping
    trap: KernelTrap | None
    _pairs: dict[str, Pair] = dataclasses.field(default_factory=dict, repr=False)

    def nan(self) -> bool:
        """Returns whether it left a NaN where none was."""
        return any(
            sum(_nans(y) - _nans(x) for _, x, y in pair.differing()) > 0
            for pair in self._pairs.values()
            if pair.dtype.kind in "fV"
        )


def _nans(array: numpy.ndarray) -> int:
    return int(numpy.isnan(array.astype("float32")).sum())


class capture:
    """Context manager: writes the launches inside the block as cases into `folder`, in
    files `<kernel>-<number>.trcase`.

    It captures kernels of `triton.jit`, of `torch.compile` (on the CPU) and of artifacts. `cases` lists the
    files that were written.

    - `when`: which launches to write. Either a function of a finished launch, which has name, grid, number,
      before, after, trap and nan(), or "trap" (the launch stopped), "nan" (it produced a new NaN) or "wrong"
      (verify() finds a fault). By default the first launch of each kernel is written, and every launch that
      stops.
    - `kernel`: writes only launches of the kernel with this name.
    - `most`: the largest number of cases to write.
    - `max_bytes`: the most bytes of arguments that a case stores. Larger arguments are replaced by random
      numbers of the same mean and deviation when the case is run.
    - `passes`: adds the IR after each pass, for which the kernel is compiled again.
    - `report`: adds the page that shows the case, report.html.
    - `verify`: adds the verdict of verify().
    """

    def __init__(
        self, folder, when=None, *, kernel: str = "", most: int = 16, max_bytes: int = bundle.MAX_BYTES,
        passes: bool = False, report: bool = False, verify: bool = False,
    ):  # fmt: skip
        if isinstance(when, str) and when not in _WORDS:
            raise fail(f"capture(when={when!r})", f"words: {', '.join(_WORDS)}; or a function of a launch")
        self.folder, self.cases = Path(folder), []
        self._when, self._kernel, self._most = when, kernel, most
        self._options = {"max_bytes": max_bytes, "passes": passes, "report": report}
        self._verify = verify
        self._number, self._known = 0, set()
        self.warns = True  # of a case that does not do what its launch did

    def __enter__(self) -> capture:
        make_folder(self.folder)
        self._observing = observing(self._see)
        self._observing.__enter__()
        return self

    def __exit__(self, *error):
        return self._observing.__exit__(*error)

    def _see(self, call: Call, go) -> None:
        number, self._number = self._number, self._number + 1
        if (self._kernel and call.name != self._kernel) or len(self.cases) >= self._most:
            return go()
        try:
            launch = of_call(call)
        except DiagnosticError as error:  # the program goes on: it is looked at, and not run for us
            warn(f"launch {number} of '{call.name}' is not captured: {error.message}")
            return go()
        verdict = judge.judge(launch) if self._verify or self._when == "wrong" else None
        trap = None
        with launch.arguments.watched():
            try:
                go()
            except KernelTrap as error:
                trap = error
        before, after = launch.arguments.first, launch.arguments.now()
        pairs = {name: before.pair(name, after) for name in before.views}
        seen = Seen(call.name, axes_of(call.grid), number, Arrays(before), Arrays(after), trap, pairs)
        if self._wanted(seen, verdict):
            self._write(call, launch, trap, verdict)
        if trap is not None:
            raise trap
        return None

    def _wanted(self, seen: Seen, verdict: Judged | None) -> bool:
        if self._when is None:
            first = seen.name not in self._known
            self._known.add(seen.name)
            return first or seen.trap is not None
        if self._when == "trap":
            return seen.trap is not None
        if self._when == "nan":
            return seen.nan()
        if self._when == "wrong":
            return verdict.verdict == "wrong"
        return bool(self._when(seen))

    def _write(self, call: Call, launch: Relaunch, trap, verdict) -> None:
        path = self.folder / f"{_plain(call.name)}-{len(self.cases)}.trcase"
        try:
            odd = bundle.write(path, call, launch, trap=trap, verdict=verdict, **self._options)
            self.cases.append(str(path))
            if odd and self.warns:
                warn(f"{path}: {odd}")
        except DiagnosticError as error:
            warn(f"{path} is not written: {error.message}")


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)[:100]
