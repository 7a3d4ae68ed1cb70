"""Names and sums the counters of a launch by the core's table (counters.def), with the names of Nsight
Compute."""

from __future__ import annotations

import dataclasses

from triton_runner._core import probe
from triton_runner._kernel.cost.results import Instruction

# Types of matrices whose operations are floating-point ones.
FLOATS = ("f16", "tf32", "f8", "f4", "f32", "f64")


@dataclasses.dataclass(frozen=True)
class Counter:
    """A row of counters.def."""

    name: str
    metric: str
    unit: str
    count: str
    where: str
    deterministic: bool
    compared: str

    def of(self, every: list[Instruction]) -> int:
        """Its sum over instructions."""
        chosen = [one for one in every if not self.where or _is_one(one, self.where)]
        return sum(_count(one, self.count) for one in chosen)


COUNTERS = {row[0]: Counter(*row) for row in probe.COUNTERS}


def _is_one(one: Instruction, where: str) -> bool:
    """Returns whether an instruction is what the words of `where` say."""
    names = {one.pipe, one.space, one.access, *one.opcode.split(".")}
    return any(names.issuperset(words.split()) for words in where.split("|"))


def _count(one: Instruction, count: str) -> int:
    if count == "shared_conflicts":
        return one.counts.get("shared_wavefronts", 0) - one.counts.get("shared_least", 0)
    return one.counts.get(count, 0)


def of(every: list[Instruction]) -> dict[str, int]:
    """All counters of a launch."""
    return {name: counter.of(every) for name, counter in COUNTERS.items()}
