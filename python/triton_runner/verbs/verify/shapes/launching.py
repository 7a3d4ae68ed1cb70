"""Sees the launches of a call while they run: each has the checks at the level of its entry, and one of each
compiled kernel is judged as `verify` does. Configurations of autotuners are chosen by the case."""

from __future__ import annotations

import contextlib
import re

from triton_runner import _settings
from triton_runner._artifact.relaunch import of_call
from triton_runner._base.errors import DiagnosticError, KernelTrap
from triton_runner._base.typed import as_json
from triton_runner._kernel.cases import judge
from triton_runner._kernel.cases.results import Judged
from triton_runner._launch.launchers import Call, axes_of, observing
from triton_runner._memory import registry
from triton_runner.verbs.verify.shapes.results import Fault

CHECKS = ("oob", "uninit", "race", "overflow")
_SECONDS = 60.0  # of a launch, after which it is not judged
UNJUDGED = ("timeout", "interrupted", "unsupported", "out of memory")  # traps that say nothing of a kernel
# A loop that carries 16-bit floats, a reduction that adds them, a product or an atomic of them, and a value
# that is rounded to 16 bits to go on in 32.
_NARROW_SUMS = re.compile(
    r"iter_args\(.*-> \(?[^\n]*\bb?f16|-> \([^\n]*[x ]b?f16|arith\.addf [^:\n]*: b?f16\b"
    r"|tt\.dot [^\n]*-> tensor<[\dx]*xb?f16|atomic_rmw fadd[^\n]*b?f16"
    r"|(%\w+) = arith\.truncf [^\n]*b?f16[^\n]*\n[^\n]*arith\.extf \1\b"
)
_TF32 = re.compile(r"inputPrecision = tf32")


class Launching:
    """Watches the launches of one function. full: how many compiled kernels are judged at every level, in
    other orders; the others run under the checks alone."""

    def __init__(self, checks=CHECKS, full: int = 8, say=lambda text: None):
        self.checks, self._full, self._say = tuple(checks), full, say
        self._judged: set = set()
        self._kernels: list = []  # kept, so that an id is of one kernel
        self.narrow = self.tf32 = False  # of the kernels so far: sums in 16 bits, products in tf32
        self._texts: set = set()

    @contextlib.contextmanager
    def watching(self, case, skip: bool = False):
        """Gives a Watch of what is launched inside. skip: launches do nothing."""
        watch = Watch(self, skip, huge=case.huge)
        with tuned(case.config), observing(watch.see), _settings.using(threads=1, timeout=_SECONDS):
            yield watch

    def look_at(self, call: Call) -> None:
        """Notes what the kernel's text says of its arithmetic."""
        if id(call.kernel) in self._texts:
            return
        self._texts.add(id(call.kernel))
        self._kernels.append(call.kernel)
        text = (getattr(call.kernel, "asm", None) or {}).get("ttir") or ""
        text = text if isinstance(text, str) else ""
        self.narrow = self.narrow or bool(_NARROW_SUMS.search(text))
        self.tf32 = self.tf32 or bool(_TF32.search(text))

    def judgement(self, call: Call) -> Judged | None:
        """The whole verdict on a launch, if its kernel is to have one."""
        several = max(axes_of(call.grid)) > 1
        key = id(call.kernel), several
        if key in self._judged or len(self._judged) >= self._full:
            return None
        self._judged.add(key)
        with registry.settled():
            return judge.judge(of_call(call), self.checks, say=self._say)

    def checked(self, call: Call, trap: KernelTrap) -> Judged:
        """The verdict of the checks on a launch that one of them stopped. What was never written is defined
        where no lower level reads it, so that all levels run; else that of the entry."""
        launch = of_call(call)
        levels = launch.levels if trap.kind.startswith("uninit") else launch.levels[:1]
        with registry.settled():
            return judge.Judging(launch, self.checks, say=self._say, levels=levels).checked()


class Watch:
    """The launches of one call. faults: what is wrong with them."""

    def __init__(self, launching: Launching, skip: bool, huge: bool):
        self._launching, self._skip, self._huge = launching, skip, huge
        self.launches: list[str] = []
        self.faults: list[Fault] = []
        self.unjudged = ""

    def see(self, call: Call, go) -> None:
        grid = axes_of(call.grid)
        self.launches.append(f"{call.name} {grid}")
        self._launching.look_at(call)
        if self._skip or 0 in grid:
            return
        if self._huge:
            self._ends(call, grid, go)
        else:
            self._checked(call, go)

    def _checked(self, call: Call, go) -> None:
        before = None  # what the arguments held, which is put back after a trap
        try:
            judged = self._launching.judgement(call)
            if judged is None:
                before = of_call(call).arguments
        except DiagnosticError as error:  # it runs all the same
            self.unjudged = error.message
            return go()
        if judged is not None:
            self._take(call, judged)
            if self.faults:
                return _plainly(go)
        try:
            checking = _settings.using(check=",".join(self._launching.checks))
            with before.watched() if before else contextlib.nullcontext(), registry.settled(), checking:
                return go()
        except KernelTrap as trap:
            if trap.kind in UNJUDGED:
                raise
            if before is not None:
                before.put_back()
                self._take(call, self._launching.checked(call, trap))
            return _plainly(go)

    def _take(self, call: Call, judged: Judged) -> None:
        """The faults of a verdict, of each kind the first."""
        kinds = {fault.kind for fault in self.faults}
        for finding in judged.findings:
            if finding.is_fault and finding.check not in kinds:
                kinds.add(finding.check)
                message = finding.text.splitlines()[0]
                place = finding.file, finding.line
                self.faults.append(Fault(finding.check, message, call.name, *place, as_json(finding)))

    def _ends(self, call: Call, grid: tuple, go) -> None:
        """Runs the last program alone: the launch has too many for all."""
        last = ",".join(str(extent - 1) for extent in grid)
        try:
            with registry.settled(), _settings.using(check="oob,overflow", program=last):
                go()
        except KernelTrap as trap:
            if trap.kind in UNJUDGED:
                raise
            kind = "overflow" if "overflow" in trap.kind else "oob"
            self.faults.append(Fault(kind, str(trap).splitlines()[0], call.name, trap.file, trap.line))


def _plainly(go) -> None:
    with registry.settled():
        go()


@contextlib.contextmanager
def tuned(config: int):
    """Autotuners take one of their configurations by its number, and measure nothing."""
    try:
        from triton.runtime.autotuner import Autotuner
    except ImportError:
        yield
        return
    own = Autotuner.run

    def run(tuner, *args, **keywords):
        configs = tuner.configs
        tuner.configs = [configs[config % len(configs)]] if configs else configs
        try:
            return own(tuner, *args, **keywords)
        finally:
            tuner.configs = configs

    Autotuner.run = run
    try:
        yield
    finally:
        Autotuner.run = own
