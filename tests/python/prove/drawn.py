"""Has launches of a kernel that are drawn at random among those that an answer is about, and what is seen
in them that was proved not to be.

Sizes lie near blocks, near powers of two, and sometimes near 2**31 and 2**33, as ghosts. Integers in memory
are any, or any of those that --given allows.
"""

from __future__ import annotations

import dataclasses
import math
import random

import numpy
from triton_runner.verbs.prove import counter, run
from triton_runner.verbs.prove.facts import programs
from triton_runner.verbs.prove.results import PROVED
from triton_runner.verbs.prove.terms import FALSE, TRUE, Poly, Substitution, atoms_of, equal, poly

MOST = 1 << 33  # elements of a tensor
_FEW = 128  # programs that run of each launch, beside its last one and some in between
_WRITTEN = 1 << 16  # elements of outputs that are looked through
_FILLED = 1 << 20  # integers that are drawn; larger arrays hold 0
_CHECKS = {"bounds": None, "overflow": "overflow", "disjoint": "race", "division": "zerodiv"}
_KINDS = {kind: name for name, (_, kind) in counter.CHECKS.items()}
_SUPPOSING = ("disjoint", "covered")
_TRIES = 300
_MOST_DRAWS = 40  # for a launch


@dataclasses.dataclass
class Counts:
    """launches: that ran; late: those of them that were stopped by their time limit; large: those with a
    tensor of more than 2**30 elements; wrong: what was seen that was proved not to be."""

    launches: int = 0
    late: int = 0
    large: int = 0
    wrong: list = dataclasses.field(default_factory=list)


class Drawing:
    """The launches of one subject. proved: the properties that were proved of it."""

    def __init__(self, subject, proved, seed, seconds: float = 1.0):
        self.subject, self.proved, self._seconds = subject, set(proved), seconds
        self._tries = _TRIES
        self._random = random.Random(seed)
        self._solver, reader = run.read(subject, 5)
        self._refuter = counter.Refuter(subject, self._solver, 1, reader.accesses)
        self._facts = subject.facts()
        self._assumed = [one.fact for one in reader.assumes]
        sizes = [tensor.numel for tensor in subject.tensors.values()] + [*subject.integers.values()]
        extents = [extent for pair in subject.declared.values() for extent in pair]
        places = [part for tensor in subject.tensors.values() for pair in tensor.places() for part in pair]
        of_facts = [atom for atom in atoms_of(*self._facts) if atom.kind == "sym"]
        used = atoms_of(*sizes, *extents, *places, *(subject.grid or ()), *map(poly, of_facts))
        self._grid = [programs(i) for i in range(3)]
        self._names = sorted(atom for atom in used if atom.kind == "sym" and not _is_of_a_program(atom))
        self._free = [one for one in self._names if poly(one) not in self._grid or subject.grid is None]
        self._equal = [*self._equations()]

    def count(self, launches: int, seconds: float = math.inf, least: int = 0) -> Counts:
        """So many launches; the least number is enough after so many seconds, or draws. Where few sizes give
        a launch, these are taken again, with other integers in memory."""
        counts, began, ran = Counts(), run.now(), []
        for draw in range(_MOST_DRAWS * launches):
            is_late = run.now() - began > seconds or draw >= 4 * launches
            if counts.launches >= (least if is_late else launches):
                break
            model = self._random.choice(ran) if is_late and ran else self._drawn()
            made = model and self._refuter.made(model)
            if made and self._look(made[0], model, counts):
                ran.append(model)
        return counts

    def small(self) -> tuple | None:
        """(arguments, grid) of one launch without large tensors, as a counter-example has them."""
        for _ in range(20):
            made = (model := self._drawn()) and self._refuter.made(model)
            if made and sum(value.size for _, value in made[0].named if hasattr(value, "size")) < 1 << 22:
                return made[0].shown, made[0].grid
        return None

    # ---- numbers

    def _equations(self):
        """(a size, what it is equal to) of what is assumed beside the programs."""
        parts = [part for fact in self._facts for part in (fact.args if fact.op == "and" else (fact,))]
        for part in parts:
            for atoms, n in part.args[0].parts.items() if part.op == "eq0" else ():
                if len(atoms) == 1 and atoms[0] in self._free and abs(n) == 1:
                    rest = part.args[0] - Poly({atoms: n})
                    yield atoms[0], -rest if n == 1 else rest
                    break

    def _drawn(self) -> dict | None:
        """A number for each size, under which all holds that is assumed."""
        for _ in range(self._tries):
            model = self._guess()
            if model is not None and self._holds(model):
                self._tries = _TRIES
                return model
        self._tries = max(self._tries // 4, 1)  # few numbers hold: they are not guessed
        return self._solved()

    def _guess(self) -> dict | None:
        large = self._random.random() < 0.3 and self._free and self._random.choice(self._free)
        model = {}
        for atom in self._free:
            number = self._number(atom is large)
            model[atom] = min(max(number, atom.lo), atom.hi)
        if self.subject.grid is not None:
            change = counter._change(model)
            for extent, atom in zip(self.subject.grid, self._grid, strict=False):
                number = change.poly(poly(extent)).const
                if number is None or not atom.atom.lo <= number <= atom.atom.hi:
                    return None
                model[atom.atom] = number
            for atom in self._grid[len(self.subject.grid) :]:
                model[atom.atom] = 1
        for atom, term in self._equal:
            if (number := counter._change(model).poly(term).const) is not None:
                model[atom] = number
        return model

    def _number(self, is_large: bool) -> int:
        random_ = self._random
        if is_large:
            return (1 << random_.randint(12, 33)) + random_.randint(-2, 2)
        near = random_.choice([1, 2, 4, 16, 32, 64, 128, 256, 512, 1024, 2000])
        return random_.choice([near, near, near - 1, near + 1, random_.randint(0, near), 0, 1, 3, 37])

    def _holds(self, model: dict) -> bool:
        change = Substitution({atom: poly(number) for atom, number in model.items()})
        if any(change.cond(fact) is FALSE for fact in self._assumed):
            return False
        return all(change.cond(fact) is TRUE for fact in self._facts)

    def _solved(self) -> dict | None:
        """The same by Z3, one size after the other, where few numbers hold."""
        names = list(self._names)
        self._random.shuffle(names)
        conds, model = list(self._assumed), self._solver.model(*self._assumed, seconds=1)
        for atom in names[:6]:
            trial = self._solver.model(*conds, equal(poly(atom), self._number(False)), seconds=0.2)
            if trial is not None:
                model = trial
                conds.append(equal(poly(atom), model.get(atom, 0)))
        return model

    # ---- launches

    def _look(self, launch, model: dict, counts: Counts) -> bool:
        """Runs a launch, unless its memory is too large."""
        sizes = [value.size for _, value in launch.named if hasattr(value, "size")]
        if sum(sizes) > 2 * MOST:
            return False
        self._fill(launch, model)
        checks = ",".join(sorted({_CHECKS[one] for one in self.proved & set(_CHECKS)} - {None}))
        whole = math.prod(launch.grid)
        runs = [{"programs": min(whole, _FEW)}]
        if whole > _FEW:
            others = {whole - 1, *(self._random.randrange(whole) for _ in range(3))}
            runs += [{"program": _place(number, launch.grid)} for number in sorted(others)]
        counts.launches += 1
        counts.large += max(sizes, default=0) > 1 << 30
        is_late = False
        for settings in runs:
            trap = launch.run(checks or None, timeout=self._seconds / len(runs), **settings)
            kind = trap and next((name for start, name in _KINDS.items() if trap.kind.startswith(start)), "")
            is_late |= trap is not None and trap.kind == "timeout"
            if kind in self.proved or (trap is not None and not kind and trap.kind != "timeout"):
                counts.wrong.append(f"{launch.shown}, grid {launch.grid}, {settings}: {trap}")
        counts.late += is_late
        if "covered" in self.proved and sum(sizes) < _WRITTEN and whole <= _FEW and not is_late:
            example = self._refuter.uncovered(model)
            if example is not None:
                counts.wrong.append(f"{launch.shown}, grid {launch.grid}: {example.report}")
        return True

    def _fill(self, launch, model: dict) -> None:
        """Integers in memory: any of those that are declared, else small ones and any."""
        change = counter._change(model)
        drawn = numpy.random.default_rng(self._random.randrange(1 << 32))
        for name, value in launch.named:
            if getattr(value, "dtype", None) is None or value.dtype.kind not in "iu" or value.ndim != 1:
                continue
            if value.size > _FILLED or name in launch.written:
                continue
            if name in self.subject.declared:
                lo, hi = (counter._number(change, one, 0) for one in self.subject.declared[name])
                hi = max(hi, lo + 1)
            elif any(tensor.memory == self.subject.tensors[name].memory and other in self.subject.declared
                     for other, tensor in self.subject.tensors.items()):  # fmt: skip
                continue
            else:
                info = numpy.iinfo(value.dtype)
                lo, hi = self._random.choice([(0, 2), (0, 100), (info.min, info.max)])
            value[:] = drawn.integers(lo, hi, value.size, numpy.int64)


def _is_of_a_program(atom) -> bool:
    return atom.args[0].startswith(("program[", "element[", "iteration#"))


def _place(number: int, grid: tuple) -> str:
    x, rest = number % grid[0], number // grid[0]
    return f"{x},{rest % grid[1]},{rest // grid[1]}"


def drawings(subject, seconds: float, seed, each: float = 1.0) -> list[Drawing]:
    """Proves what can be proved of a subject: the launches that the answers are about, and those of the
    answers for which tensors that are alike have one shape. each: seconds of a launch."""
    answers = run.proof(subject, (*_CHECKS, "covered"), seconds).answers
    plain = [one.property for one in answers if one.verdict == PROVED and not one.assumptions]
    alike = [one.property for one in answers if one.verdict == PROVED and one.assumptions]
    # These suppose that accesses are inside of their arguments, so such launches are looked at alone.
    supposing = [] if "bounds" in plain else [one for one in plain if one in _SUPPOSING]
    plain = [one for one in plain if one not in supposing]
    if "bounds" in alike:
        alike += supposing
    elif "bounds" not in plain:
        alike = [one for one in alike if one not in _SUPPOSING]
    found = [Drawing(subject, plain, seed, each)] if plain else []
    if alike:
        found.append(Drawing(subject.where_alike(), alike, seed, each))
    return found
