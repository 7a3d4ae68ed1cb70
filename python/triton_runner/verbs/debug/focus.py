"""Focus says which programs and threads of a launch a session is about, and which of them get no turn."""

from __future__ import annotations

from triton_runner._base.errors import fail
from triton_runner._core import probe
from triton_runner._kernel.dumps.axes import program_of
from triton_runner.verbs.debug.results import Exited, Stopped
from triton_runner.verbs.debug.show import warp_word

_MOST, _BLOCKS = 64, 16  # warps of a block, or partitions of a program; blocks of a cluster


class Focus:
    """A part of Session."""

    level: str
    wave = 32  # threads of a warp, or of one of AMD's wavefronts; 64 at most
    threads: range | None = None  # of a block: those that are shown, and that stop
    _asked: tuple  # the arguments of focus_on()
    _task = -1  # the partition, or the first of those threads
    _alone: list[tuple]  # (first moment, last moment, frozen meanwhile) of the commands of threads alone
    _thaws: list[int]  # moments at which all was thawed, as nothing else could go on

    def focus_on(self, program=None, warp=None, lane=None, partition=None) -> None:
        """Stops in a program alone ("3,0"; -1 is any), in a warp, a thread of it, or a partition. Registers
        are then shown of these alone. What is left out is all."""
        self.focus = [-1, -1, -1] if program is None else [*program_of(program)]
        if lane is not None and warp is None:
            warp = 0 if self.threads is None else self.threads.start // self.wave
        lanes = self.wave if self.grids else 64
        if lane is not None and not 0 <= lane < lanes:
            raise fail(f"lane {lane}: a {warp_word(self.level)} has lanes 0 to {lanes - 1}")
        self._asked = program, warp, lane, partition
        self.threads, self._task = None, -1 if partition is None else partition
        if warp is not None:
            first = warp * self.wave + (lane or 0)
            self.threads = range(first, first + (self.wave if lane is None else 1))
            self._task = first
        self._debugger.focus(self.focus, self._task)

    def focused(self) -> dict:
        """The keywords that focus_on() was given."""
        out: dict = {"program": ",".join(map(str, self.focus))} if self.focus != [-1, -1, -1] else {}
        if self.threads is not None:
            _, out["warp"], lane, _ = self._asked
            out |= {} if lane is None else {"lane": lane}
        elif self._task >= 0:
            out["partition"] = self._task
        return out

    def freeze(self, numbers: list[int] | int | None, block: int = 0, on: bool = True) -> list[int]:
        """Warps of a block of the cluster, or partitions, get no turn until they are thawed (on=False;
        without numbers: all of the block). Returns those that changed.

        The others run on. Where none of them can, what is frozen is thawed, and the launch stops.
        """
        here = self._standing()
        numbers = [numbers] if isinstance(numbers, int) else numbers
        changed = [n for n in (range(_MOST) if numbers is None else numbers) if self._freeze(block, n, on)]
        if numbers and len(changed) < len(numbers):
            name = warp_word(here.level) if here.threads else "partition"
            missing = [n for n in numbers if n not in changed]
            raise fail(f"there is no {name} {missing[0]} that could be frozen here", "info paths lists them")
        return changed

    def alone(self, command, threads: tuple = (), task: int = 0) -> Stopped | Exited:
        """Runs a command that goes on, such as next(), while only these threads (block, first, count), or
        this partition, of the program take turns: the others are frozen until it stops."""
        begin = self._standing().moment
        held = self._freeze_others(threads, task)
        try:
            return command()
        finally:
            if isinstance(self.stopped, Stopped):
                self._alone.append((begin, self.stopped.moment, held))
                self._thaw(held)

    def _thaw(self, held: set[tuple[int, int]]) -> None:
        """Lets the threads go on that are still frozen."""
        for block, n in sorted(held & self._frozen()):
            self._freeze(block, n, False)

    def _end_alone(self) -> None:
        """It has gone back to a moment at which threads went on alone: from there all do."""
        if isinstance(self.stopped, Stopped):
            moment = self.stopped.moment
            self._alone = [run for run in self._alone if run[0] <= moment]
            for _, end, held in self._alone:
                if moment < end:
                    self._thaw(held)

    def _freeze_others(self, threads: tuple, task: int) -> set[tuple[int, int]]:
        """(block, warp), or (0, partition), of those that it froze."""
        block, first, count = threads or (0, task * self.wave, 1)
        own = {(block, n) for n in range(first // self.wave, (first + count - 1) // self.wave + 1)}
        left = {(b, n) for b in range(_BLOCKS if threads else 1) for n in range(_MOST)} - own - self._frozen()
        return {(b, n) for b, n in sorted(left) if self._freeze(b, n, True)}

    def _frozen(self) -> set[tuple[int, int]]:
        """(block, warp), or (0, partition), of those that have been frozen and not thawed since."""
        here, size = self._standing(), self._debugger.block_threads
        since = max((moment for moment in self._thaws if moment <= here.moment), default=-1)
        out: set = set()
        for moment, kind, what, _ in self._replays.edits:
            at = divmod(what, size) if here.threads else (0, what)
            at = (at[0], at[1] // self.wave) if here.threads else at
            if kind == probe.EditKind.FREEZE and moment >= since:
                out.add(at)
            elif kind == probe.EditKind.THAW:
                out.discard(at)
        return out

    def _freeze(self, block: int, number: int, on: bool) -> bool:
        """Returns whether there is such a warp or partition."""
        here, size = self._standing(), self._debugger.block_threads
        kind = probe.EditKind.FREEZE if on else probe.EditKind.THAW
        if here.threads and not 0 <= number * self.wave < size:
            return False
        what = block * size + number * self.wave if here.threads else number
        is_there = self._debugger.edit(kind, what, b"")
        if is_there:
            self._replays.edits.append((here.moment, kind, what, b""))
        return is_there
