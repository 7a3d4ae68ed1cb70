"""Lists the calls that are tried, in a fixed order, so that a smaller budget is the beginning of a larger
one. Families take turns; each varies one thing of the usual call, and the last ones vary all."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import random

from triton_runner.verbs.verify.shapes.domain import Domain, Size, Tensor, expression
from triton_runner.verbs.verify.shapes.layouts import layouts_of

FAMILIES = ("sizes", "layouts", "values", "dtypes", "huge")
VALUES = ("with NaN", "with infinities", "all positive", "all zero", "of wide range", "all equal")
MOST_ELEMENTS = 1 << 20  # of a tensor
_TURNS = ("sizes", "layouts", "sizes", "values", "layouts", "sizes", "dtypes", "layouts", "sizes")
_LONG = 70_001  # of a vector
_MULTIPLES = (2, 8, 32, 128)  # that are tried of a size whose values are refused
_HUGE = 1 << 31  # elements from which on 32 bits are too few


@dataclasses.dataclass(frozen=True)
class Case:
    """A call: sizes by name, and what is not as usual. layouts: by path of a tensor; dtypes: by group;
    repeated: it is made again with other elements in the same tensors; config: which of an autotuner's."""

    sizes: dict
    layouts: dict = dataclasses.field(default_factory=dict)
    dtypes: dict = dataclasses.field(default_factory=dict)
    values: str = ""
    repeated: bool = False
    huge: bool = False
    config: int = 0
    form: int = 0

    def dtype(self, argument: Tensor) -> str:
        return self.dtypes.get(argument.group, argument.dtypes[0])

    def __str__(self) -> str:
        words = [f"{name}={value}" for name, value in self.sizes.items()]
        words += [f"{path} {layout}" for path, layout in self.layouts.items()]
        words += self.dtypes.values()
        words += [self.values] * bool(self.values)
        words += ["called again"] * self.repeated + ["ghosts"] * self.huge
        words += [f"configuration {self.config}"] * bool(self.config) + [f"form {self.form}"] * bool(
            self.form
        )
        return ", ".join(words) or "as the program calls it"


@dataclasses.dataclass
class Multiple:
    """The number of which a size seems to have to be a multiple. refused: values that were; is_closed: others
    are not tried any more."""

    factor: int = 1
    refused: int = 0
    is_closed: bool = False


@dataclasses.dataclass
class Tried:
    """The findings of the calls so far, used as cases are drawn. written: paths of tensors that the function
    changed; unjudged: texts of cases of which nothing is known, as they were refused, say; multiples: by
    size, of what it seems to have to be a multiple."""

    written: set = dataclasses.field(default_factory=set)
    written_by_reference: set = dataclasses.field(default_factory=set)
    unjudged: set = dataclasses.field(default_factory=set)
    multiples: dict = dataclasses.field(default_factory=lambda: collections.defaultdict(Multiple))


def cases(domains: list[Domain], families, seed: int, tried: Tried, is_any_huge: bool = False):
    """All cases, without end where sizes vary. is_any_huge: sizes whose range nobody declares may be huge
    too."""
    known: set[str] = set()
    of_forms = [
        _of_form(domain, number, families, seed, tried, is_any_huge) for number, domain in enumerate(domains)
    ]
    while of_forms:
        for drawing in [*of_forms]:
            case = next(drawing, None)
            if case is None:
                of_forms.remove(drawing)
            elif (text := str(case)) not in known:
                known.add(text)
                yield case


def _of_form(domain: Domain, form: int, families, seed: int, tried: Tried, is_any_huge: bool):
    usual = Case(domain.usual, form=form)
    yield usual
    yield dataclasses.replace(usual, repeated=True)
    streams = {
        "sizes": _sizes(domain, usual, tried) if domain.sizes and not domain.frozen else iter(()),
        "layouts": _layouts(domain, usual, tried),
        "values": _values(domain, usual),
        "dtypes": _dtypes(domain, usual),
    }
    streams = {name: stream for name, stream in streams.items() if name in families}
    if "huge" in families and not domain.frozen:
        yield from _huge(domain, usual, is_any_huge)
    mixing = _mixed(domain, usual, families, random.Random(f"{seed} {form}"), tried)
    for number in itertools.count():
        name = _TURNS[number % len(_TURNS)]
        case = next(streams[name], None) if name in streams else None
        if case is None and name in streams:
            del streams[name]
        if case is not None:
            yield case
        elif not streams and (case := next(mixing, None)) is None:
            return
        elif not streams:
            yield case


# --- families


def _is_long(domain: Domain, name: str) -> bool:
    """Returns whether a size is of vectors alone, which may be long at little cost."""
    having = [
        one for one in domain.tensors().values() if any(name in expression(d).figures for d in one.dims)
    ]
    return bool(having) and all(len(one.dims) == 1 for one in having)


def _interesting(size: Size, is_long: bool):
    """The values of a size that programs are wrong for, the most telling first."""
    if size.only:
        yield from size.only
        return
    usual = size.usual
    first = [1, usual + 1, 0, usual - 1, 37, 2 * usual, 129, 3, 127, 1021, 2, 7, 33, 64, 257, 128, 17, 63]
    powers = [around for power in (4, 8, 9, 10, 11, 12) for around in (2**power - 1, 2**power, 2**power + 1)]
    more = [509, 5, 31, 65, 101, 1000, 2053, 4099, 10007, 65537]
    ends = [size.low, size.high] * size.declared
    seen = {usual}
    long = [_LONG] * is_long
    for value in [*ends[:1], *first[:4], *ends[1:], *long, *first[4:], *more, *powers]:
        if value not in seen and size.takes(value):
            seen.add(value)
            yield value


def _sizes(domain: Domain, usual: Case, tried: Tried):
    """One size after the other, and then several together. Of a size whose values are refused multiples are
    tried: it may have to be even, or so many groups."""
    moving = {name: _interesting(size, _is_long(domain, name)) for name, size in domain.sizes.items()}
    together = iter(([1], [0], [37, 53, 71, 19], [129, 65, 257, 33], [5, 3, 2, 7], [127, 255, 63, 31]))
    for number in itertools.count():
        for name in [*moving]:
            value = next(moving[name], None)
            if value is None:
                del moving[name]
                continue
            yield from _accepted(domain, usual, name, value, tried)
        if number % 2 and len(domain.sizes) > 1 and (values := next(together, None)):
            changed = dict(zip(domain.sizes, itertools.cycle(values)))
            changed = {name: domain.sizes[name].only[0] if domain.sizes[name].only
                       else value * tried.multiples[name].factor
                       for name, value in changed.items()}  # fmt: skip
            yield from _possible(domain, usual, changed)
        if not moving:
            return


def _accepted(domain: Domain, usual: Case, name: str, value: int, tried: Tried):
    """The case with a value of a size; where that is refused, those with multiples of the value, until one is
    not. A size of which two values were refused and a multiple was not gets multiples at once."""
    size, known = domain.sizes[name], tried.multiples[name]
    if known.refused > 1 and value % known.factor:
        value *= known.factor
    for factor in (1, *_MULTIPLES):
        if not size.takes(value * factor):
            return
        case = next(_possible(domain, usual, {name: value * factor}), None)
        if case is None:
            return
        yield case
        if str(case) not in tried.unjudged:
            known.factor = factor if factor > 1 else known.factor
            known.is_closed |= value > 1 and factor == 1 and bool(value % 2)  # an odd one is as good
            return
        if value < 2 or known.is_closed or size.only or size.declared:
            return
        known.refused += factor == 1
    known.is_closed = True  # it is refused for another reason


def _possible(domain: Domain, usual: Case, changed: dict):
    """The case with other sizes, if these are in the domain; tensors that would be too large get smaller
    in their other dimensions."""
    sizes = {**usual.sizes, **changed}
    while domain.fits(sizes) and domain.elements(sizes) > MOST_ELEMENTS:
        name = max((n for n in sizes if n not in changed), key=lambda n: sizes[n], default=None)
        if name is None or sizes[name] <= 1:
            return
        sizes[name] = max(sizes[name] // 2, 1)
    if domain.fits(sizes):
        yield dataclasses.replace(usual, sizes=sizes)


def _layouts(domain: Domain, usual: Case, tried: Tried):
    """Each layout of each tensor. The tensors take different ones in a call, so that strides of one that are
    used for another show. What nothing is known of then, as the function refuses one of them, is tried alone;
    in the end each is, so that a fault of one hides no other."""
    possible = _possible_layouts(domain, usual, tried)
    count = max(map(len, possible.values()), default=0)
    unknown = {(path, layout) for path, those in possible.items() for layout in those}
    for number in range(count):
        those = {path: its[(number + at) % len(its)] for at, (path, its) in enumerate(possible.items())}
        case = dataclasses.replace(usual, layouts=those)
        yield case
        if str(case) not in tried.unjudged:
            unknown -= those.items()
    alone = [(path, its[n]) for n in range(count) for path, its in possible.items() if n < len(its)]
    for path, layout in sorted(alone, key=lambda one: one not in unknown):
        yield dataclasses.replace(usual, layouts={path: layout})


def _possible_layouts(domain: Domain, case: Case, tried: Tried) -> dict[str, list[str]]:
    """The layouts of each tensor that may have another than the usual one."""
    found = {
        path: layouts_of(tensor, tensor.shape(case.sizes), tensor.inout or path in tried.written)
        for path, tensor in domain.tensors().items()
    }
    return {path: layouts for path, layouts in found.items() if layouts}


def _values(domain: Domain, usual: Case):
    drawn = [one for one in domain.tensors().values() if one.values.kept is None]
    floats = [one for one in drawn if not one.dtypes[0].startswith(("i", "u"))]
    for values in VALUES:
        special = values in VALUES[:2]
        if floats and not (special and any(one.values.is_finite for one in floats)):
            yield dataclasses.replace(usual, values=values)
    if floats and not domain.frozen:
        for size in domain.sizes.values():  # long sums show what is added in too few bits
            yield from _possible(
                domain, dataclasses.replace(usual, values="all positive"), {size.name: min(size.high, 4099)}
            )


def _dtypes(domain: Domain, usual: Case):
    groups: dict[str, tuple] = {}
    for tensor in domain.tensors().values():
        groups.setdefault(tensor.group, tensor.dtypes)
    for group, kinds in groups.items():
        for kind in kinds[1:]:
            case = dataclasses.replace(usual, dtypes={group: kind})
            yield case
            if not kind.startswith(("i", "u")):
                yield dataclasses.replace(case, values="all positive")


def _huge(domain: Domain, usual: Case, is_any: bool):
    """Sizes at which a tensor has more elements than 32 bits count: of one size after the other, and those of
    all that are declared at once. is_any: also of sizes whose range nobody declares."""
    small = {name: min(value, 64) for name, value in usual.sizes.items()}
    for name, size in domain.sizes.items():
        if not (size.declared or is_any):
            continue
        for tensor in domain.tensors().values():
            sizes = small if domain.fits({**small, name: usual.sizes[name]}) else usual.sizes
            sizes = {**sizes, name: _reaching(tensor, sizes, size)}
            if domain.fits(sizes) and _count(tensor, sizes) > _HUGE:
                yield dataclasses.replace(usual, sizes=sizes, huge=True)
                break
    declared = {name: size.high for name, size in domain.sizes.items() if size.declared}
    for others in (small, usual.sizes):
        sizes = {**others, **declared}
        if len(declared) > 1 and domain.fits(sizes) and domain.elements(sizes) > _HUGE:
            yield dataclasses.replace(usual, sizes=sizes, huge=True)
            return


def _reaching(tensor: Tensor, sizes: dict, size: Size) -> int:
    """The value of a size from which on a tensor has so many elements, and a few thousand more."""
    low, high = size.usual, size.high
    while low < high:
        middle = (low + high) // 2
        if _count(tensor, {**sizes, size.name: middle}) > _HUGE:
            high = middle
        else:
            low = middle + 1
    return min(low + 4096, size.high)


def _count(tensor: Tensor, sizes: dict) -> int:
    count = 1
    for extent in tensor.shape(sizes):
        count *= extent
    return count


def _mixed(domain: Domain, usual: Case, families, chance: random.Random, tried: Tried):
    """Sizes, layouts, types and values drawn together; it ends where nothing new comes."""
    fresh, known = 0, set()
    groups = {tensor.group: tensor.dtypes for tensor in domain.tensors().values()}
    while fresh < 50:
        case = dataclasses.replace(usual, config=chance.randrange(16))
        if "sizes" in families and domain.sizes and not domain.frozen:
            drawn = {name: _drawn(size, chance) for name, size in domain.sizes.items()}
            case = next(_possible(domain, case, drawn), None)
        if case is not None and "layouts" in families and chance.random() < 0.5:
            layouts = {
                path: chance.choice(layouts)
                for path, layouts in _possible_layouts(domain, case, tried).items()
                if chance.random() < 0.4
            }
            case = dataclasses.replace(case, layouts=layouts)
        if case is not None and "dtypes" in families and chance.random() < 0.3 and groups:
            group = chance.choice([*groups])
            kind = chance.choice(groups[group])
            case = dataclasses.replace(case, dtypes={group: kind} if kind != groups[group][0] else {})
        fresh += 1
        if case is not None and (text := str(case)) not in known:
            known.add(text)
            fresh = 0
            yield case


def _drawn(size: Size, chance: random.Random) -> int:
    if size.only:
        return chance.choice(size.only)
    high = min(size.high, max(2 * size.usual, 600))
    near = min(high, max(size.low, 1) * 2 ** chance.randrange(12) + chance.randrange(-1, 2))
    return chance.choice([max(near, size.low), chance.randint(size.low, max(high, size.low))])
