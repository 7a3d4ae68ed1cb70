"""Proves the properties of a kernel, one after the other: each is proved, or what is left to refute.

Nothing is proved of a kernel with an op that the model does not follow, or in which a loop might not end:
what comes after it might not be as the model has it.
"""

from __future__ import annotations

import dataclasses
import itertools

from triton_runner.verbs.prove import cover
from triton_runner.verbs.prove.advice import Advice
from triton_runner.verbs.prove.facts import Access, Place, program, programs
from triton_runner.verbs.prove.limit import now
from triton_runner.verbs.prove.model import Reader
from triton_runner.verbs.prove.results import NOTHING, PROVED, UNKNOWN, Reason, reason_at
from triton_runner.verbs.prove.solver import Solver
from triton_runner.verbs.prove.terms import (
    FALSE,
    Atom,
    Cond,
    Poly,
    Substitution,
    atoms_of,
    both,
    equal,
    ge,
    lt,
    negated,
    poly,
    symbol,
)
from triton_runner.verbs.prove.values import Data


@dataclasses.dataclass
class Goal:
    """Something that was not proved. conds: what holds where it does not."""

    conds: tuple
    reason: Reason


@dataclasses.dataclass
class Finding:
    """Counts for one property the questions that were asked, and keeps those that were not proved and may be
    refuted, and those that cannot be."""

    property: str
    count: int = 0
    goals: list = dataclasses.field(default_factory=list)
    unknown: list = dataclasses.field(default_factory=list)
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        if self.goals or self.unknown:
            return UNKNOWN
        return PROVED if self.count else NOTHING


class Checker:
    """reader: has read the kernel. tensors: by name. strange: {a size that may not be what it is in a launch
    that refutes: Strange}. advice: proposes what to say of data; None: nothing is proposed. grid:
    its extents, where they are known."""

    def __init__(
        self, reader: Reader, solver: Solver, tensors: dict, budget: float, grid_stays: str = "", strange=(),
        advice: Advice | None = None, grid=(),
    ):  # fmt: skip
        self._reader, self._solver, self._tensors = reader, solver, tensors
        self._budget, self._grid_stays, self._strange = budget, grid_stays, dict(strange)
        self._settled: dict = {}
        self._grid = grid
        self._advice = advice
        self._counted: Finding | None = None
        sizes = [tensor.numel for tensor in tensors.values()]
        self._is_free = bool(atoms_of(*sizes, *reader.numbers(), *grid))

    def findings(self, names) -> list[Finding]:
        found = []
        for name in names:
            started = now()
            self._deadline = self._solver.deadline = started + self._budget
            finding = getattr(self, f"_{name}")()
            finding.seconds = round(now() - started, 3)
            found.append(finding)
        return found

    # ---- what all of them need

    def _proves(
        self, finding: Finding, goal: Cond, given, what: str, place: Place, base: str = "", made_of=(),
        wanted: Cond | None = None,
    ) -> bool:  # fmt: skip
        """made_of: terms that the goal was made of, which may be gone from it. wanted: a condition that
        bounds of data are to decide, of which the goal is a part."""
        left = self._deadline - now()
        if left <= 0:
            late = f"{what}: not looked at within {self._budget:g} s: give it more (--timeout)"
            finding.unknown.append(reason_at(late, place))
            return False
        late, answer = self._solver.late, self._solver.proves(goal, given, min(left, self._solver.seconds))
        if answer is True:
            return True
        if answer is None and self._solver.late > late:
            what = f"{what} (Z3 did not answer within {min(left, self._solver.seconds):.2g} s: --timeout)"
        if advice := self._open((goal, *given, *made_of), base, (wanted or goal, given)):
            finding.unknown.append(reason_at(f"{what}; {advice}", place))
        else:
            finding.goals.append(Goal((*given, negated(goal)), reason_at(what, place)))
        return False

    def _open(self, terms, base: str = "", question: tuple | None = None) -> str:
        """Why a launch that goes wrong would say nothing, and what to do: its numbers may not be those of any
        launch of the program. "": it would. question: (goal, what is given), which bounds of data may
        decide."""
        if base and self._tensors[base].is_guessed and self._is_free:
            return f"nothing says how large {base} is for other sizes: --given '{base}.numel == ...'"
        own = atoms_of(*terms)
        for i, extent in enumerate(self._grid):  # how many programs there are is decided by sizes
            own |= atoms_of(extent) if {program(i).atom, programs(i).atom} & own else set()
        if strange := own & self._strange.keys():
            return f"it depends on {self._strange[min(strange)].words}"
        data = [note for note in _notes(*terms) if self._is_data(note)]
        if data:
            if self._advice is not None and question is not None and question[0] is not FALSE:
                names = dict.fromkeys(note.argument for note in data)
                if words := self._advice.declaration(*question, names):
                    first = next(one for one in data if words.startswith(f"{one.argument} "))
                    text = f"it depends on what is {first}, and is proved with --given '{words}'"
                    against = self._advice.against(words)
                    return text + f", which its launch goes against: {against}" * bool(against)
            name = data[0].argument or "NAME"
            return f"it depends on what is {data[0]}: --given '{name} in 0..V'"
        return ""

    def _is_data(self, note: str) -> bool:
        """Whether a value is one of the program's data, of which nothing is declared: an array of zeros, with
        which a counter-example would run, says nothing about it."""
        return isinstance(note, Data) and note.argument not in self._reader.declared

    def _sound(self, finding: Finding) -> bool:
        """Whether the model has all that the kernel does; else the property is unknown."""
        ends = self._ends_of_loops()
        declared = {self._tensors[name].memory: name for name in self._reader.declared}
        for access in self._reader.accesses:
            name = declared.get(self._tensors[access.base].memory) if access.base else None
            if access.kind != "loads" and name is not None:
                why = f"--given says what {name} holds, and the kernel writes to it"
                finding.unknown.append(reason_at(why, access.place))
        for problem in self._reader.problems:
            finding.unknown.append(reason_at(problem.why, problem.place))
        if ends.goals or ends.unknown:
            first = ends.goals[0].reason if ends.goals else ends.unknown[0]
            text = f"a counted loop is not proved to end, or its counter overflows: {first.text}"
            finding.unknown.append(reason_at(text, first))
        return not finding.unknown

    def _without_wraps(self, term, given) -> tuple:
        """(the term without the wraps that are proved not to happen, those that are left)."""
        key = (term, tuple(given))
        if key in self._settled:
            return self._settled[key]
        left: list = []
        for _ in range(8):
            wraps = sorted(atom for atom in atoms_of(term) if atom.kind == "wrap" and atom not in left)
            inner = [
                atom
                for atom in wraps
                if not any(one.kind == "wrap" and one not in left for one in atoms_of(atom.args[0]))
            ]
            if not inner:
                break
            by = {}
            for atom in inner:
                half = 1 << (atom.args[1] - 1)
                fits = both(ge(atom.args[0], -half), lt(atom.args[0], half))
                if self._solver.proves(fits, (*given, *_used(term, atom)), self._solver.seconds / 2) is True:
                    by[atom] = atom.args[0]
                else:
                    left.append(atom)
            if by:
                change = Substitution(by)
                term = change.cond(term) if isinstance(term, Cond) else change.poly(term)
        self._settled[key] = term, left
        return term, left

    def _placed(self, access: Access) -> tuple:
        """(offset, mask) of an access, with as few wraps as possible."""
        mask, _ = self._without_wraps(access.mask, access.given)
        offset, _ = self._without_wraps(access.offset, (*access.given, mask))
        return offset, mask

    def _tensor(self, finding: Finding, access: Access):
        """The tensor of an access; None, and why, where it is not known."""
        if access.base is None:
            finding.unknown.append(
                reason_at(f"the address of {access.op} is not followed: {access.note}", access.place)
            )
            return None
        tensor = self._tensors[access.base]
        if not tensor.is_known:
            text = (
                f"nothing says how large {tensor.name} is: --given '{tensor.name}.numel == ...', "
                f"or give a program that launches the kernel"
            )
            if all(one.text != text for one in finding.unknown):
                finding.unknown.append(reason_at(text, access.place))
            return None
        return tensor

    # ---- properties

    def _bounds(self) -> Finding:
        finding = Finding("bounds")
        self._sound(finding)
        for access in self._reader.accesses:
            finding.count += 1
            tensor = self._tensor(finding, access)
            if tensor is None:
                continue
            offset, mask = self._placed(access)
            given = (*access.given, mask)
            sides = (ge(offset, 0), "before"), (lt(offset, tensor.numel), "after")
            inside = both(*(goal for goal, _ in sides))
            for goal, side in sides:
                what = f"{access.op} may reach {side} {tensor.name}"
                if not self._proves(finding, goal, given, what, access.place, access.base, wanted=inside):
                    break
        return finding

    def _overflow(self) -> Finding:
        finding = Finding("overflow")
        self._sound(finding)
        for access in self._reader.accesses:
            finding.count += 1
            if access.base is None:
                finding.unknown.append(
                    reason_at(f"the address of {access.op} is not followed: {access.note}", access.place)
                )
                continue
            mask, left = self._without_wraps(access.mask, access.given)
            for atom in left:
                self._wraps(finding, mask, atom, access.given, f"the mask of {access.op}", access.place)
            given = (*access.given, mask)
            offset, left = self._without_wraps(access.offset, given)
            for atom in left:
                self._wraps(finding, offset, atom, given, f"the address of {access.op}", access.place)
        for branch in self._reader.branches:
            for atom in self._without_wraps(branch.cond, branch.path)[1]:
                self._wraps(
                    finding, branch.cond, atom, branch.path, "the condition of a branch", branch.place
                )
        for loop in self._reader.loops:
            finding.count += 1
            for term in (loop.lower, loop.upper, loop.step):
                if term is None:
                    continue
                for atom in self._without_wraps(term, loop.path)[1]:
                    self._wraps(finding, term, atom, loop.path, "a bound of the loop", loop.place)
        return finding

    def _wraps(self, finding: Finding, term, atom: Atom, given, what: str, place: Place) -> None:
        half = 1 << (atom.args[1] - 1)
        fits = both(ge(atom.args[0], -half), lt(atom.args[0], half))
        self._proves(
            finding, fits, (*given, *_used(term, atom)), f"{what} may overflow {atom.args[1]} bits", place
        )

    def _ends_of_loops(self) -> Finding:
        if self._counted is not None:
            return self._counted
        finding = self._counted = Finding("ends")
        for problem in self._reader.problems:
            if problem.goes_back:
                finding.unknown.append(reason_at(problem.why, problem.place))
        for loop in self._reader.loops:
            finding.count += 1
            if loop.lower is None:
                finding.unknown.append(
                    reason_at(f"the loop's bounds are not followed: {loop.note}", loop.place)
                )
                continue
            half = 1 << (loop.bits - 1)
            upper, _ = self._without_wraps(loop.upper, loop.path)
            step, _ = self._without_wraps(loop.step, loop.path)
            goal = ge(step, 1)
            if not self._proves(
                finding, goal, loop.path, "the step of the loop may be 0 or less", loop.place
            ):
                continue
            lower, _ = self._without_wraps(loop.lower, loop.path)
            runs = lt(lower, upper)
            last = lt(upper - 1 + step, half)
            what = "the counter of the loop may overflow in its last iteration"
            self._proves(finding, last, (*loop.path, runs), what, loop.place)
        return finding

    def _ends(self) -> Finding:
        counted, whiles = self._ends_of_loops(), self._reader.whiles
        late = [reason_at("nothing says that the while loop ends", place) for place in whiles]
        count, unknown = counted.count + len(whiles), [*counted.unknown, *late]
        return dataclasses.replace(counted, count=count, unknown=unknown)

    def _division(self) -> Finding:
        finding = Finding("division")
        self._sound(finding)
        for division in self._reader.divisions:
            divisor = division.divisor
            if divisor.kind == "int" and divisor.term.const:
                continue
            finding.count += 1
            if divisor.kind != "int":
                finding.unknown.append(
                    reason_at(f"the divisor is not followed: {divisor.note}", division.place)
                )
                continue
            term, _ = self._without_wraps(divisor.term, division.path)
            for goal in (ge(term, 1), negated(equal(term, 0))):
                if self._solver.proves(goal, division.path) is True:
                    break
            else:
                self._proves(finding, goal, division.path, "the divisor may be 0", division.place)
        return finding

    def _disjoint(self) -> Finding:
        finding = Finding("disjoint")
        self._sound(finding)
        writes = [one for one in self._reader.accesses if one.kind == "stores"]
        others = [one for one in self._reader.accesses if one.kind != "stores"]
        atomics = [one for one in others if one.kind == "atomics"]
        reads = [one for one in others if one.kind == "loads"]
        strangers = [one for one in self._reader.accesses if one.base is None]
        if strangers and (writes or atomics):
            for access in strangers:
                self._tensor(finding, access)
        done = set()
        for write, other in [
            *itertools.combinations_with_replacement(writes, 2),
            *itertools.product(writes, others),
            *itertools.product(atomics, reads),
        ]:
            if None in (write.base, other.base):
                continue
            finding.count += write is other or write.kind == "atomics"
            if self._tensors[write.base].memory != self._tensors[other.base].memory:
                continue
            if self._tensors[write.base].same != self._tensors[other.base].same:
                text = f"{write.base} and {other.base} share memory"
                finding.unknown.append(reason_at(text, write.place))
                continue
            key = (write.offset, write.mask, write.path, other.offset, other.mask, other.path)
            if key not in done:
                done.add(key)
                self._apart(finding, write, other)
        return finding

    def _apart(self, finding: Finding, write: Access, other: Access) -> None:
        """No two programs, one at each access, meet."""
        offset, mask = self._placed(write)
        offset_2, mask_2 = self._placed(other)
        both_ways = write is not other
        for dimension in range(3):
            if self._solver.proves(equal(programs(dimension), 1)) is True:
                continue
            same = {program(i).atom: program(i) for i in range(dimension)}
            copy = _copy([offset_2, mask_2, *other.given, *self._solver.facts], same)
            a, b = program(dimension), copy.poly(program(dimension))
            facts = [copy.cond(fact) for fact in self._solver.facts]
            given = [*write.given, mask, *map(copy.cond, (*other.given, mask_2)), *facts]
            given += [equal(offset, copy.poly(offset_2))]
            for order in (lt(a, b), lt(b, a))[: 1 + both_ways]:
                what = f"two programs may meet at an element of {write.base}: {write.op} and {other.op}"
                if write is not other and write.place != other.place:
                    what += f" at {other.place}"
                if not self._proves(finding, FALSE, (*given, order), what, write.place):
                    return

    def _covered(self) -> Finding:
        finding = Finding("covered")
        self._sound(finding)
        tensors = self._tensors
        read = {
            tensors[one.base].memory for one in self._reader.accesses if one.base and one.kind != "stores"
        }
        stores: dict = {}
        for access in self._reader.accesses:
            if access.kind == "stores" and access.base and tensors[access.base].memory not in read:
                stores.setdefault(access.base, []).append(access)
        for base, accesses in stores.items():
            finding.count += 1
            tensor = self._tensor(finding, accesses[0])
            if tensor is None:
                continue
            late = [one.after for one in accesses if one.after is not None]
            if late and (accesses := [one for one in accesses if one.after is None]) == []:
                finding.unknown.append(reason_at(f"{base} is written if the while loop ends", late[0]))
                continue
            placed = [(access, *self._placed(access)) for access in accesses]
            goal, given = cover.goal(tensor, placed, self._reader.assumes)
            terms = [one for _, offset, mask in placed for one in (offset, mask)]
            what = f"an element of {base} may not be written"
            if goal is None:
                what = f"no program was found that writes a given element of {base}"
                if advice := self._open(terms, base):
                    finding.unknown.append(reason_at(f"{what}; {advice}", accesses[0].place))
                else:
                    finding.goals.append(Goal((), reason_at(what, accesses[0].place)))
                continue
            small = self._small(goal, given)
            self._proves(finding, small, given, what, accesses[0].place, base, terms)
        if finding.goals and self._grid_stays and self._is_free:
            text = (
                f"its launch has the grid ({self._grid_stays}), and nothing says which it is for other sizes"
            )
            finding.unknown += [
                dataclasses.replace(one.reason, text=f"{one.reason.text}; {text}") for one in finding.goals
            ]
            finding.goals = []
        return finding

    def _small(self, goal: Cond, given) -> Cond:
        """The goal without the quotients that are proved to be 0."""
        tried: set = set()
        for _ in range(6):
            pairs = {atom.args for atom in sorted(atoms_of(goal)) if atom.kind in ("div", "mod")} - tried
            pairs = [
                pair
                for pair in pairs
                if not any(one.kind in ("div", "mod") and one.args not in tried for one in atoms_of(*pair))
            ]
            if not pairs:
                break
            by = {}
            for a, b in pairs:
                tried.add((a, b))
                if b.const is None and self._solver.proves(both(ge(a, 0), lt(a, b)), given, 0.7) is True:
                    by[Atom("div", a, b)], by[Atom("mod", a, b)] = poly(0), a
            goal = Substitution(by).cond(goal) if by else goal
        return goal


def _copy(terms, same: dict) -> Substitution:
    """Another program: its number, its elements, its iterations and what it loads have other names."""
    by = dict(same)
    for atom in atoms_of(*terms, *(program(i) for i in range(3))):
        name = atom.args[0] if atom.kind == "sym" else ""
        if atom not in by and name.startswith(("program[", "element[", "iteration#")):
            by[atom] = symbol(name + "'", atom.lo, atom.hi)
    return Substitution(by, lambda name: name + "'")


def _used(term, atom: Atom) -> list[Cond]:
    """A value matters only where its factor is not 0: iteration * wrap(32 * stride) from the second on."""
    if not isinstance(term, Poly):
        return []
    if term.atom is not None and term.atom.kind == "wrap" and term.atom is not atom:
        return _used(term.atom.args[0], atom)
    factors = [set(atoms) - {atom} for atoms in term.parts if atom in atoms]
    inner = any(
        atom in atoms_of(*(arg for arg in one.args if isinstance(arg, (Poly, Cond))))
        for one in term.atoms()
        if one is not atom
    )
    shared = set.intersection(*factors) if factors and not inner else set()
    return [negated(equal(poly(one), 0)) if one.lo < 0 else ge(poly(one), 1) for one in shared]


def _notes(*terms) -> list[str]:
    return list(
        dict.fromkeys(atom.note for atom in sorted(atoms_of(*terms)) if atom.kind == "app" and atom.note)
    )
