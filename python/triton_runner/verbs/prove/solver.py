"""Gives facts and goals to Z3.

A proof asks whether the facts and the negation of a goal can hold together. Products of atoms are numbers of
their own there, so that the question is linear; what makes such products behave is added: for each inequality
P >= 0 that occurs and each factor s of a product, P >= 0 and s >= 0 give P * s >= 0. All that is added is
true of the integers, and the rest is left out, so that "cannot hold together" is a proof. A model, which may
exist for the linear question alone, is asked for with true products.
"""

from __future__ import annotations

import functools
import itertools
import math

from triton_runner._base.errors import fail
from triton_runner.verbs.prove.limit import interrupted, now, resources
from triton_runner.verbs.prove.terms import (
    INFINITY,
    TRUE,
    Atom,
    Cond,
    Poly,
    Substitution,
    atoms_of,
    ge,
    interval,
    lt,
    negated,
    poly,
)

_MOST_LEMMAS = 900
_MOST_FACTORS = 60  # of one factor, that are compared with each other
_LONGEST = 300  # characters of a condition that has no name
_ROUNDS = 4  # in which bounds are handed on


def z3():
    """The module, or what to install."""
    try:
        import z3 as module
    except ImportError:
        raise fail(
            "prove needs Z3, which is not installed",
            "pip install z3-solver",
        ) from None
    return module


class Solver:
    """facts: what holds everywhere. seconds: the most that one question may take; late: questions that Z3 did
    not answer in time."""

    def __init__(self, facts=(), seconds: float = 2.0):
        self.facts: list = []
        self.seconds, self.late = seconds, 0
        self.deadline = math.inf  # after which nothing is asked any more
        self._known: dict = {}
        self._bounds: tuple = (None, {})
        self.add(*facts)

    def add(self, *facts: Cond) -> None:
        for fact in facts:
            self.facts += fact.args if fact.op == "and" else () if fact is TRUE else (fact,)

    def bounds(self) -> dict:
        """The bounds of atoms that the facts name: {atom: (lo, hi)}."""
        if self._bounds[0] != len(self.facts):
            self._bounds = (len(self.facts), bounds_in(self.facts))
        return self._bounds[1]

    def proves(self, goal: Cond, given=(), seconds: float | None = None) -> bool | None:
        """True: the goal follows from the facts and from those given; False: Z3 found no proof; None: it did
        not answer in time."""
        if goal is TRUE:
            return True
        if goal.op == "and":
            answers = []
            for one in goal.args:
                answers.append(self.proves(one, given, seconds))
                if answers[-1] is not True:
                    return answers[-1]
            return True
        given = tuple(dict.fromkeys(one for one in given if one is not TRUE))
        key = (goal, frozenset(given), len(self.facts))
        if key not in self._known:
            answer = True if self.by_bounds(goal, given) else self._ask(goal, given, seconds)
            if answer is None:
                return None  # it may have more time later
            self._known[key] = answer
        return self._known[key]

    def _ask(self, goal: Cond, given: tuple, seconds: float | None) -> bool | None:
        left = self.deadline - now()
        if left <= 0:
            self.late += 1
            return None
        conds = [*given, negated(goal)]
        bounds = bounds_in(given, self.bounds())
        near, far = related(self.facts, conds, 1), related(self.facts, conds, 99)
        answer = None
        for facts in (near, far) if len(near) < len(far) else (far,):
            answer = contradict([*facts, *conds], bounds, min(seconds or self.seconds, left))
            if answer is True:
                return True
        self.late += answer is None
        return answer

    def by_bounds(self, goal: Cond, given=()) -> bool:
        """Whether the bounds of atoms alone prove it."""
        if goal.op == "and":
            return all(self.by_bounds(one, given) for one in goal.args)
        if goal.op == "ge0":
            known = bounds_in(given, self.bounds()) if given else self.bounds()
            return interval(goal.args[0], known)[0] >= 0
        return False

    def model(self, *conds: Cond, seconds: float | None = None) -> dict | None:
        """The value of each atom for which all hold, products and all; None: there are none, or none in
        time."""
        return Encoder([*self.facts, *conds], {}, exact=True).model(seconds or self.seconds)


_answers: dict = {}  # of contradict(): {a question: its answer}


def contradict(conds, bounds: dict, seconds: float) -> bool | None:
    """True: conditions cannot hold together; None: Z3 did not answer in time. Answers are kept: a kernel that
    is read again, beside its TTGIR or where tensors are alike, asks most of its questions again."""
    key = (*conds,), frozenset(bounds.items()), resources(seconds)
    if key not in _answers:
        answer = Encoder(conds, bounds).check(seconds)
        if answer is None:
            return None  # by the clock, maybe
        _answers[key] = answer
    return _answers[key]


def bounds_in(facts, known: dict | None = None) -> dict:
    """The bounds of atoms that linear inequalities give, handed on from one to the next."""
    result = dict(known or {})
    parts = [part for fact in facts for part in _inequalities(fact)]
    for _ in range(_ROUNDS):
        changed = False
        for part in parts:
            changed |= _bound(part, result)
        if not changed:
            break
    return result


def _inequalities(fact: Cond) -> list[Poly]:
    """Polynomials that are at least 0 where a condition holds."""
    if fact.op == "and":
        return [part for one in fact.args for part in _inequalities(one)]
    if fact.op == "eq0":
        return [fact.args[0], -fact.args[0]]
    return [fact.args[0]] if fact.op == "ge0" else []


def _bound(part: Poly, result: dict) -> bool:
    """Narrows the bounds of each atom x of c * x * m + rest >= 0, m being at least 1."""
    changed = False
    for atoms, n in part.parts.items():
        for i, atom in enumerate(atoms):
            if atom.kind not in ("sym", "app"):
                continue
            others = Poly({atoms[:i] + atoms[i + 1 :]: 1})
            least = interval(others, result)[0]
            if least < 1 or atom in others.atoms():
                continue
            rest = interval(part - Poly({atoms: n}), result)[1]
            if rest >= INFINITY:
                continue
            lo, hi = result.get(atom, (atom.lo, atom.hi))
            if n < 0 and rest >= 0 and rest // (-n * least) < hi:
                result[atom], changed = (lo, rest // (-n * least)), True
            elif n > 0 and rest < 0:  # x * m >= -rest / n
                most = interval(others, result)[1]
                if most < INFINITY and -(rest // (n * most)) > lo:
                    result[atom], changed = (-(rest // (n * most)), hi), True
            elif n > 0 and others.const == 1 and -(rest // n) > lo:
                result[atom], changed = (-(rest // n), hi), True
            elif n < 0 and others.const == 1 and rest // -n < hi:
                result[atom], changed = (lo, rest // -n), True
    return changed


def related(facts, conds, steps: int) -> list:
    """The facts that share atoms with conditions, or, in so many steps, with one that does."""
    names = [(fact, {atom for atom in atoms_of(fact) if atom.kind in ("sym", "app")}) for fact in facts]
    seen = {atom for atom in atoms_of(*conds) if atom.kind in ("sym", "app")}
    chosen: dict = {}
    for _ in range(steps):
        near = [(fact, own) for fact, own in names if fact not in chosen and (own & seen or not own)]
        if not near:
            break
        for fact, own in near:
            chosen[fact] = True
            seen = seen | own
    return list(chosen)


class Encoder:
    """Conditions that are to hold together, as Z3 takes them: a text of SMT-LIB, which it reads faster than
    Python makes terms. exact: products are products."""

    def __init__(self, conds, known: dict, exact: bool = False):
        self._exact, self._known = exact, known
        self._numbers: dict = {}  # names of monomials
        self._named: dict = {}  # names of long conditions
        self._lines: list = []
        self._sides: list = []
        self._seen: dict = {}  # inequalities that occur
        self._pairs: dict = {}
        for cond in conds:
            self._sides.append(self.cond(cond))

    def check(self, seconds: float) -> bool | None:
        """True: they cannot hold together."""
        lemmas = self._lemmas()
        answer, _ = self._asked(lemmas, seconds)
        return {"unsat": True, "sat": False}.get(answer)

    def model(self, seconds: float) -> dict | None:
        answer, model = self._asked([], seconds)
        if answer != "sat":
            return None
        values = {str(name): model[name] for name in model.decls()}
        names = {atoms[0]: name for atoms, name in self._numbers.items() if len(atoms) == 1}
        return {atom: values[name].as_long() if name in values else 0 for atom, name in names.items()}

    def _asked(self, lemmas: list, seconds: float) -> tuple:
        module = z3()
        text = "\n".join([*self._lines, *(f"(assert {one})" for one in (*self._sides, *lemmas))])
        context = module.Context()  # of its own, or what was asked before changes the answer
        solver = module.Solver(ctx=context)
        solver.set("rlimit", resources(seconds))
        try:
            solver.from_string(text)
            with interrupted(context, seconds):
                answer = str(solver.check())
            return answer, solver.model() if answer == "sat" else None
        except module.Z3Exception:  # as it has no memory left: it does not answer
            return "unknown", None

    # ---- words

    def cond(self, cond: Cond) -> str:
        if cond.op == "ge0":
            self._seen[cond.args[0]] = True
            return f"(>= {self.poly(cond.args[0])} 0)"
        if cond.op == "eq0":
            self._seen[cond.args[0]] = self._seen[-cond.args[0]] = True
            return f"(= {self.poly(cond.args[0])} 0)"
        if cond.op == "bool":
            return f"(not (= {self.monomial((cond.args[0],))} 0))"
        if cond.op in ("not", "and", "or"):
            if cond in self._named:
                return self._named[cond]
            text = f"({cond.op} {' '.join(map(self.cond, cond.args))})"
            return self._name(cond, text) if len(text) > _LONGEST else text
        return cond.op

    def _name(self, cond: Cond, text: str) -> str:
        """Gives a long condition a name, as it may be a part of many others."""
        name = self._named[cond] = f"b{len(self._named)}"
        self._lines.append(f"(declare-const {name} Bool)")
        self._sides.append(f"(= {name} {text})")
        return name

    def poly(self, value: Poly) -> str:
        parts = []
        for atoms, n in value.parts.items():
            number = str(n) if n >= 0 else f"(- {-n})"
            name = self.monomial(atoms) if atoms else ""
            parts.append(number if not atoms else name if n == 1 else f"(* {number} {name})")
        return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})" if parts else "0"

    def monomial(self, atoms: tuple) -> str:
        if atoms in self._numbers:
            return self._numbers[atoms]
        if len(atoms) > 1 and self._exact:
            name = self._numbers[atoms] = f"(* {' '.join(self.monomial((atom,)) for atom in atoms)})"
            return name
        name = self._numbers[atoms] = f"m{len(self._numbers)}"
        self._lines.append(f"(declare-const {name} Int)")
        if len(atoms) == 1:
            self._define(atoms[0], name)
        else:
            for atom in atoms:
                self.monomial((atom,))
            self._between(name, *interval(Poly({atoms: 1}), self._known))
        return name

    def _between(self, name: str, lo: int, hi: int) -> None:
        if lo > -INFINITY:
            self._sides.append(f"(>= {name} {_text(lo)})")
        if hi < INFINITY:
            self._sides.append(f"(<= {name} {_text(hi)})")

    def _define(self, atom: Atom, name: str) -> None:
        """Adds what an atom is."""
        kind = atom.kind
        if kind in ("sym", "app"):
            self._between(name, atom.lo, atom.hi)
        elif kind == "ite":
            cond, a, b = atom.args
            self._sides.append(f"(= {name} (ite {self.cond(cond)} {self.poly(a)} {self.poly(b)}))")
            for side in (a, b):
                self._seen[poly(atom) - side] = self._seen[side - atom] = True
        elif kind == "wrap":
            self._lines.append(f"(declare-const k{name} Int)")
            self._sides.append(f"(= {name} (- {self.poly(atom.args[0])} (* {1 << atom.args[1]} k{name})))")
            self._between(name, atom.lo, atom.hi)
        else:
            self._divide(*atom.args)

    def _divide(self, a: Poly, b: Poly) -> None:
        """Adds a == b * q + r, 0 <= r < b, where b is at least 1."""
        if (a, b) in self._pairs:
            return
        self._pairs[a, b] = True
        q, r = poly(Atom("div", a, b)), poly(Atom("mod", a, b))
        sign = f"(=> {self.cond(ge(a, 0))} (and {self.cond(ge(q, 0))} {self.cond(ge(a, q))}))"
        difference = a - b * q - r
        self._seen[difference] = self._seen[-difference] = True
        holds = [f"(= {self.poly(difference)} 0)", self.cond(ge(r, 0)), self.cond(lt(r, b)), sign]
        self._sides.append(f"(=> {self.cond(ge(b, 1))} (and {' '.join(holds)}))")

    # ---- what products need

    def _lemmas(self) -> list:
        lemmas, made = [], set()
        for turn in range(2):
            products = [atoms for atoms in self._numbers if len(atoms) > 1]
            known, longest = set(products), max(3, *map(len, products)) if products else 0
            if turn == 0:
                for part in (*_branches(self._seen), *_cofactors(self._seen)):
                    self._seen[part] = True
                lemmas += self._copies(products)
            before = len(made)
            parts = itertools.islice((*self._seen, *_differences(products)), 4 * _MOST_LEMMAS)
            inequalities = [part for part in parts if part.const is None]
            factors = _factors(products)
            for part in inequalities:
                own = dict.fromkeys(factor for atoms in part.parts for factor in factors.get(atoms, ()))
                for factor in own:
                    if (part, factor) in made or len(made) > _MOST_LEMMAS:
                        continue
                    times = part * Poly({factor: 1})
                    longer = [atoms for atoms in times.parts if len(atoms) > 1]
                    if max(map(len, longer)) > longest or (turn and not known.issuperset(longer)):
                        continue
                    made.add((part, factor))
                    lemmas += self._times(part, factor, times)
            if len(made) == before:
                break
        return lemmas

    def _copies(self, products) -> list:
        """A product and that of another program are equal if their factors are."""
        lemmas, first = [], {}
        for atoms in products:
            key = tuple(sorted(unprimed(atom) for atom in atoms))
            own = sorted(atoms, key=unprimed)
            if (other := first.setdefault(key, own)) is not own:
                pairs = [(self.monomial((x,)), self.monomial((y,))) for x, y in zip(other, own, strict=True)]
                same = " ".join(f"(= {x} {y})" for x, y in pairs if x != y)
                equal = f"(= {self.monomial(tuple(sorted(other)))} {self.monomial(atoms)})"
                lemmas.append(f"(=> (and true {same}) {equal})")
        return lemmas

    def _times(self, part: Poly, factor: tuple, times: Poly) -> list:
        """P >= 0 and s >= 0 give P * s >= 0; P <= -1 and s >= 0 give P * s <= -s."""
        s = Poly({factor: 1})
        p, n, number = self.poly(part), self.poly(times), self.poly(s)
        lo, hi = interval(part, self._known)
        sign = "" if interval(s, self._known)[0] >= 0 else f"(>= {number} 0)"
        lemmas = []
        if hi >= 0:
            lemmas.append((f"(>= {p} 0)" if lo < 0 else "", f"(>= {n} 0)"))
        if lo < 0:
            lemmas.append((f"(< {p} 0)" if hi >= 0 else "", f"(<= {n} (- {number}))"))
        return [f"(=> (and true {premise} {sign}) {end})" for premise, end in lemmas]


def _text(number: int) -> str:
    return str(number) if number >= 0 else f"(- {-number})"


def _branches(parts) -> list[Poly]:
    """The inequalities with each side of a choice in its place."""
    found = []
    for part in parts:
        for atom in part.atoms():
            if atom.kind == "ite":
                found += [Substitution({atom: side}).poly(part) for side in atom.args[1:]]
    return found


def _factors(products) -> dict:
    """{a part of a product: what it is multiplied by there}."""
    factors: dict = {}
    for atoms in products:
        for i in range(len(atoms)):
            one, others = (atoms[i],), atoms[:i] + atoms[i + 1 :]
            factors.setdefault(one, {})[others] = True
            factors.setdefault(others, {})[one] = True
    return factors


def _cofactors(parts) -> list[Poly]:
    """The factors of atoms, with both signs: x - y of s * x - s * y + z."""
    found: dict = {}
    for part in parts:
        by_atom: dict = {}
        for atoms, n in part.parts.items():
            for atom in set(atoms) if len(atoms) > 1 else ():
                left = list(atoms)
                left.remove(atom)
                by_atom.setdefault(atom, {})[tuple(left)] = n
            if len(atoms) == 1:
                by_atom.setdefault(atoms[0], {})[()] = n
        for cofactor in by_atom.values():
            if len(cofactor) > 1:
                found[Poly(cofactor)] = found[-Poly(cofactor)] = True
    return list(found)


@functools.cache
def unprimed(atom: Atom) -> Atom:
    """The atom of the first program for one of the other."""
    by = {
        one: poly(Atom("sym", one.args[0].rstrip("'"), lo=one.lo, hi=one.hi))
        for one in atoms_of(atom)
        if one.kind == "sym" and one.args[0].endswith("'")
    }
    return Substitution(by, lambda name: name.rstrip("'")).atom(atom).atom or atom


def _differences(products) -> list:
    """x - y - 1 and y - x - 1 of products with a factor in common and another one each."""
    by_factor: dict = {}
    for atoms in products:
        for i in range(len(atoms)):
            by_factor.setdefault(atoms[:i] + atoms[i + 1 :], {})[atoms[i]] = True
    pairs: dict = {}
    for others in by_factor.values():
        others = list(others)[:_MOST_FACTORS]
        for i, x in enumerate(others):
            for y in others[i + 1 :]:
                pairs[poly(x) - y - 1] = pairs[poly(y) - x - 1] = True
    return list(pairs)
