"""Which programs and threads of a launch a session is about, and which of them get no turn."""

from __future__ import annotations

from triton_runner._base.errors import fail
from triton_runner._core import probe
from triton_runner._dump.axes import program_of

_WARP = 32


class Focus:
    """A part of Session."""

    threads: range | None = None  # of a block: those that are shown, and that stop
    _task = -1  # the partition, or the first of those threads

    def focus_on(self, program=None, warp=None, lane=None, partition=None) -> None:
        """Stops in a program alone ("3,0"; -1 is any), in a warp, a thread of it, or a partition. Registers
        are then shown of these alone. What is left out is all."""
        self.focus = [-1, -1, -1] if program is None else [*program_of(program)]
        if lane is not None and warp is None:
            warp = 0 if self.threads is None else self.threads.start // _WARP
        if lane is not None and not 0 <= lane < _WARP:
            raise fail(f"lane {lane}: a warp has lanes 0 to {_WARP - 1}")
        self.threads, self._task = None, -1 if partition is None else partition
        if warp is not None:
            first = warp * _WARP + (lane or 0)
            self.threads = range(first, first + (_WARP if lane is None else 1))
            self._task = first
        self._debugger.focus(self.focus, self._task)

    def focused(self) -> dict:
        """What focus_on() was given."""
        out: dict = {"program": ",".join(map(str, self.focus))} if self.focus != [-1, -1, -1] else {}
        if self.threads is not None:
            out["warp"] = self.threads.start // _WARP
            out |= {"lane": self.threads.start % _WARP} if len(self.threads) == 1 else {}
        elif self._task >= 0:
            out["partition"] = self._task
        return out

    def freeze(self, numbers: list[int] | int | None, block: int = 0, on: bool = True) -> list[int]:
        """Warps of a block of the cluster, or partitions, get no turn until they are thawed (on=False;
        without numbers: all of the block). Returns those that changed.

        The others run on. Where none of them can, what is frozen is thawed, and the launch stops.
        """
        here = self._standing()
        kind = probe.EditKind.FREEZE if on else probe.EditKind.THAW
        numbers = [numbers] if isinstance(numbers, int) else numbers
        changed = []
        for n in range(64) if numbers is None else numbers:
            what = self._place_of_warp(block, n) if here.threads else n
            if what is not None and self._debugger.edit(kind, what, b""):
                self._edits.append((here.moment, kind, what, b""))
                changed.append(n)
        if numbers and len(changed) < len(numbers):
            name, missing = "warp" if here.threads else "partition", [n for n in numbers if n not in changed]
            raise fail(f"there is no {name} {missing[0]} that could be frozen here", "info paths lists them")
        return changed

    def _place_of_warp(self, block: int, warp: int) -> int | None:
        """The number of its first thread in the cluster."""
        size = self._debugger.block_threads
        return block * size + warp * _WARP if 0 <= warp * _WARP < size else None
