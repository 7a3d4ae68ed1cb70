"""Declares the subject, a kernel of which something is proved: its TTIR, its arguments as terms, what is
assumed of them."""

from __future__ import annotations

import dataclasses
import re

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._core import ir
from triton_runner._kernel.compiling.compile import compile
from triton_runner.verbs.prove.assumptions import MEMORY, Assumption, Given, Names, Tensor, of_grid
from triton_runner.verbs.prove.facts import programs
from triton_runner.verbs.prove.terms import (
    TRUE,
    Poly,
    Substitution,
    atoms_of,
    both,
    choice,
    equal,
    ge,
    le,
    lt,
    poly,
    remainder,
    symbol,
)
from triton_runner.verbs.prove.values import OTHER, Value

_LARGEST_TILE = 1 << 12


@dataclasses.dataclass(frozen=True)
class Strange:
    """A size that may not be what a launch has that refutes. words: for people; names: what --given has to
    say something of."""

    words: str
    names: tuple


@dataclasses.dataclass
class Subject:
    """arguments: Values by parameter of the TTIR; tensors and integers: those among them; constants: what the
    kernel was compiled with, for the words of assumptions; grid: its extents, None: any."""

    name: str
    target: str
    text: str
    metadata: dict
    module: object
    function: object
    arguments: dict
    tensors: dict
    integers: dict
    constants: dict
    grid: list | None = None
    grid_stays: str = ""  # the grid of a launch, which the program makes of no size
    assumptions: list = dataclasses.field(default_factory=list)
    declared: dict = dataclasses.field(default_factory=dict)
    unsigned: frozenset = frozenset()
    alike: list = dataclasses.field(
        default_factory=list
    )  # what is assumed where nothing is proved without it
    ties: list = dataclasses.field(default_factory=list)  # what is assumed of launches that refute
    ttgir: tuple | None = None  # (text, metadata) of what the compiler makes of the text
    buffers: object = None  # the answer about shared memory of one that was launched
    strange: dict = dataclasses.field(default_factory=dict)  # {a size on which no launch refutes: Strange}
    described: set = dataclasses.field(default_factory=set)  # the parameters that are descriptors of hosts
    integers_held: object = None  # by the tensors of its launch: held.Integers
    level: str = "ttir"  # of the text: Gluon's kernels begin as TTGIR
    _bounds: list = dataclasses.field(default_factory=list)

    @property
    def names(self) -> Names:
        return Names({**self.constants, **self.integers}, self.tensors, self.grid)

    def sizes(self) -> dict[str, Poly]:
        """The words of --given for sizes: {words: the term}, each term once."""
        words = {name: term for name, term in self.integers.items() if name.isidentifier()}
        words |= {name: poly(number) for name, number in self.constants.items() if number > 1}
        for name, tensor in self.tensors.items():
            for i, extent in enumerate(tensor.shape or ()):
                words[f"{name}.shape[{i}]"] = extent
            words[f"{name}.numel"] = tensor.numel
        first = {term: word for word, term in reversed(words.items())}
        return {word: term for word, term in words.items() if first[term] == word}

    def divisors(self) -> dict[str, int]:
        """The constants that sizes may be divided by: those of tiles."""
        return {name: number for name, number in self.constants.items() if 1 < number <= _LARGEST_TILE}

    def assume(self, given: tuple, grid: str | None) -> None:
        """Takes --given and --grid."""
        if grid is not None:
            self.set_grid(of_grid(grid, self.names), f"--grid {grid!r}", grid)
        told = Given(given, self.names)
        forgotten = {*told.forgotten}
        kept = [one for one in self.assumptions if one.kind != "shape" or not forgotten & {*one.names}]
        self.assumptions = kept + told.facts
        self.declared |= told.declared
        equations = " ".join(one.text for one in told.facts if "==" in one.text)
        self._forget_same({*forgotten, *re.findall(r"(\w+)\.(?:shape|numel)\b(?!\[)", equations)})
        said = {word for fact in told.facts for word in re.findall(r"[\w.]+(?:\[\d\])?", fact.text)}
        said |= {word.partition(".")[0] for word in said}
        self.strange = {atom: one for atom, one in self.strange.items() if not said >= {*one.names}}

    def _forget_same(self, names: set) -> None:
        """Somebody says what shapes these tensors have, which may be others than in the launch."""

        def stays(one) -> bool:
            return one.kind != "same" or not names & {*one.names}

        self.alike, self.ties = [*filter(stays, self.alike)], [*filter(stays, self.ties)]

    def set_grid(self, grid: list[Poly], place: str, text: str) -> None:
        self.grid, self.grid_stays = grid, ""
        conds = [equal(programs(i), extent) for i, extent in enumerate(grid)]
        self.assumptions.append(Assumption(f"the grid is ({text})", place, both(*conds)))

    def simplify(self) -> None:
        """Puts equal sizes in each other's place, so that a stride times M and times x.shape[0] are one
        product. Of two sizes that are equal the parameter stays; one that is made of others goes."""
        for _ in range(200):
            found = next(filter(None, map(_solved, self._conds())), None)
            if found is None:
                break
            atom, term = found
            self._bounds += [ge(term, atom.lo), le(term, atom.hi)]
            self._put(atom, term)

    def _put(self, atom, term: Poly) -> None:
        change = Substitution({atom: term})
        self._bounds = [change.cond(cond) for cond in self._bounds]
        self.assumptions = [dataclasses.replace(one, cond=change.cond(one.cond)) for one in self.assumptions]
        self.alike = [dataclasses.replace(one, cond=change.cond(one.cond)) for one in self.alike]
        self.ties = [dataclasses.replace(one, cond=change.cond(one.cond)) for one in self.ties]
        self.integers = {name: change.poly(one) for name, one in self.integers.items()}
        self.declared = {name: tuple(map(change.poly, pair)) for name, pair in self.declared.items()}
        for tensor in self.tensors.values():
            tensor.substitute(change)
        for name, value in self.arguments.items():
            if value.kind in ("int", "bool"):
                term = (change.poly if value.kind == "int" else change.cond)(value.term)
                self.arguments[name] = dataclasses.replace(value, term=term)
            elif value.parts:
                parts = tuple(tuple(map(change.poly, part)) for part in value.parts)
                self.arguments[name] = dataclasses.replace(value, parts=parts)

    def _conds(self) -> list:
        conds = [one.cond for one in self.assumptions]
        return [part for cond in conds for part in (cond.args if cond.op == "and" else (cond,))]

    def where_alike(self) -> Subject | None:
        """The same kernel with what is assumed of tensors that are alike; None: there are none."""
        held = [one for one in self.alike if one.cond is not TRUE]
        if not held:
            return None
        other = dataclasses.replace(
            self,
            arguments=dict(self.arguments),
            tensors={name: dataclasses.replace(tensor) for name, tensor in self.tensors.items()},
            integers=dict(self.integers), declared=dict(self.declared),
            assumptions=[*self.assumptions, *held],
            alike=[], ties=list(self.ties), _bounds=list(self._bounds),
        )  # fmt: skip
        for one in held:
            for atom, term in filter(
                None, map(_counted, one.cond.args if one.cond.op == "and" else [one.cond])
            ):
                a, b = atom.args
                other._bounds += [
                    ge(a, b * term),
                    lt(a, b * term + b),
                ]  # the quotient goes, and what it is stays
                other._put(atom, term)
        other.simplify()
        return other

    def facts(self) -> list:
        """All that is assumed, as conditions."""
        facts = [one.cond for one in self.assumptions] + self._bounds
        for tensor in self.tensors.values():
            facts += [le(tensor.numel * tensor.bytes, MEMORY), ge(tensor.numel, 0)]
            if tensor.shape is not None:
                facts += [ge(extent, 1) for extent in tensor.shape]
            facts += [ge(stride, 0) for stride in tensor.strides or ()]
        return facts

    def general(self) -> list[Assumption]:
        """The assumptions that are made of every kernel, as far as they concern this one."""
        found = []
        known = [tensor for tensor in self.tensors.values() if tensor.is_known]
        if any(tensor.shape for tensor in known):
            found.append(("no dimension of a tensor is empty", "the model of tensors"))
        memories = {tensor.memory for tensor in self.tensors.values()}
        if len(memories) > 1:
            found.append(("tensors do not overlap", "the model of tensors"))
        if self.constants:
            words = ", ".join(f"{name} = {value}" for name, value in self.constants.items())
            found.append((f"it is compiled with {words}", "its constants"))
        sizes = [*self.integers.values(), *(tensor.numel for tensor in self.tensors.values())]
        if not atoms_of(*sizes, *(self.grid or ())):
            text = "no size is left open: this is about one launch, and a program or kernel.py:NAME says more"
            found.append((text, "what is given"))
        if self.grid is None:
            found.append(("the grid is any", "no --grid was given"))
        if self.grid is None or any(extent.const is None for extent in self.grid):
            found.append(("the grid is not empty", "the model of launches"))
        return [Assumption(text, place, both()) for text, place in found]


def compiled_down(*words, **how):
    """A kernel as far as TTGIR; as far as TTIR, where the compiler does not get there."""
    try:
        return compile(*words, to="ttgir", **how)
    except DiagnosticError:  # the TTIR is there, or says why not
        return compile(*words, to="ttir", **how)


def _solved(cond) -> tuple | None:
    """(an atom, what it is equal to) of an equation that a size can be taken from."""
    if cond.op != "eq0":
        return None
    part = cond.args[0]
    own = [(atoms[0], n) for atoms, n in part.parts.items() if len(atoms) == 1 and abs(n) == 1]
    own = [(atom, n) for atom, n in own if atom.kind == "sym" and not atom.args[0].startswith("grid[")]
    # A size of a tensor goes before a parameter does.
    for atom, n in sorted(own, key=lambda pair: "." not in pair[0].args[0]):
        rest = part - Poly({(atom,): n})
        if atom not in atoms_of(rest) and not any(
            one.args[0] == "grid[0]" for one in rest.atoms() if one.kind == "sym"
        ):
            return atom, -rest if n == 1 else rest
    return None


def _counted(cond) -> tuple | None:
    """(a quotient, the size that it is equal to)."""
    if cond.op != "eq0":
        return None
    parts = cond.args[0].parts
    for atoms, n in parts.items():
        if len(atoms) == 1 and abs(n) == 1 and atoms[0].kind == "div":
            rest = cond.args[0] - Poly({atoms: n})
            if all(len(one) == 1 and one[0].kind == "sym" for one in rest.parts):
                return atoms[0], -rest if n == 1 else rest
    return None


def of_texts(texts: dict, name: str, target: str, metadata: dict, constants: dict, types=()) -> Subject:
    """The subject of the TTIR, or of the TTGIR where there is no TTIR. Pointers have a size of which nothing
    is known yet. types: of its parameters by name, or in order, as TTIR does not tell integers without a sign
    from those with one."""
    level = next((one for one in ("ttir", "ttgir") if one in texts), None)
    if level is None:
        raise fail(f"{name} has neither TTIR nor TTGIR", "prove reads these")
    text = texts[level]
    module = ir.parse(text)
    function = module.function(name) or (module.kernels or [None])[0]
    if function is None:
        raise fail(f"the {level.upper()} of {name} has no kernel")
    numbers = {key: value for key, value in constants.items() if isinstance(value, int)}
    subject = Subject(name, target, text, metadata, module, function, {}, {}, {}, numbers, level=level)
    if level == "ttir" and "ttgir" in texts:
        subject.ttgir = texts["ttgir"], metadata
    if not isinstance(types, dict):
        arguments = function.regions[0].blocks[0].args
        types = dict(zip((one.name.removeprefix("%") for one in arguments), types, strict=False))
    subject.unsigned = frozenset(key for key, word in types.items() if str(word).lstrip("*").startswith("u"))
    attributes = function.attr("arg_attrs")
    attributes = [one.entries for one in attributes.elements] if attributes else []
    for number, argument in enumerate(function.regions[0].blocks[0].args):
        hints = attributes[number] if number < len(attributes) else {}
        _add(subject, argument, hints)
    for argument in function.regions[0].blocks[0].args:
        _describe(subject, argument.name.removeprefix("%"), argument.type)
    return subject


def _describe(subject: Subject, name: str, type_) -> None:
    """A descriptor that the host makes: of a whole tensor, whose shape and strides are parameters. A target
    without TMA gets a pointer, and some of its parameters twice."""
    fields: dict = {"shape": {}, "stride": {}}
    twice = []
    for key, number in subject.integers.items():
        if match := re.fullmatch(rf"{re.escape(name)}\.(shape|stride)\.(\d+)(_\d+)?", key):
            first = fields[match[1]].setdefault(int(match[2]), number)
            twice += [equal(number, first)] * (first is not number)
    shape, strides = ([own[i] for i in sorted(own)] for own in fields.values())
    if not shape or len(shape) != len(strides):
        return
    if type_.kind == "tensordesc":
        element = (type_.element if type_.element.kind == "tensor" else type_).element
        if element.kind not in ("integer", "float"):
            return
        subject.tensors[name] = Tensor(name, str(element), max(element.width // 8, 1))
        bits = 64 - (subject.tensors[name].bytes.bit_length() - 1)
        parts = tuple(shape), tuple(strides)
        subject.arguments[name] = Value("desc", poly(0), (), bits, name, parts=parts)
    subject.tensors[name].set_shape(shape)
    subject.tensors[name].set_strides(strides)
    apart = [ge(a, b * extent) for a, b, extent in zip(strides, strides[1:], shape[1:], strict=False)]
    place = "the model of descriptors"
    text = f"{name} describes a tensor with a last stride of 1"
    subject.assumptions.append(Assumption(text, place, both(equal(strides[-1], 1), *twice)))
    text = f"{name} describes all of a tensor, whose elements do not overlap"
    subject.assumptions.append(Assumption(text, place, both(*apart), "apart", (name,)))
    aligned = [equal(remainder(one * subject.tensors[name].bytes, 16), 0) for one in strides[:-1]]
    text = f"the strides of {name} are multiples of 16 bytes, as TMA wants them"
    subject.ties.append(Assumption(text, place, both(*aligned)))
    subject.described.add(name)


def _add(subject: Subject, argument, hints: dict) -> None:
    name, type_ = argument.name.removeprefix("%"), argument.type
    if type_.kind == "pointer":
        element = str(type_.element)
        is_plain = type_.element.kind in ("integer", "float")
        bits = 8 if element == "i1" else (type_.element.width if is_plain else 64)
        subject.tensors[name] = Tensor(name, element, max(bits // 8, 1))
        place = 64 - (
            subject.tensors[name].bytes.bit_length() - 1
        )  # addresses wrap in bytes, offsets in elements
        subject.arguments[name] = Value("ptr", poly(0), (), place, name)
    elif type_.kind == "integer" and type_.width == 1:
        number = symbol(name, 0, 1)
        subject.integers[name] = number
        subject.arguments[name] = Value("bool", equal(number, 1), (), 1)
    elif type_.kind == "integer":
        half = 1 << (type_.width - 1)
        is_unsigned = name in subject.unsigned
        number = symbol(name, 0, 2 * half - 1) if is_unsigned else symbol(name, -half, half - 1)
        subject.integers[name] = number
        held = choice(lt(number, half), number, number - 2 * half) if is_unsigned else number
        subject.arguments[name] = Value("int", held, (), type_.width)
        divisor = hints.get("tt.divisibility")
        if divisor is not None and divisor.value > 1:
            cond = equal(remainder(number, divisor.value), 0)
            text = f"{name} is a multiple of {divisor.value}"
            subject.assumptions.append(Assumption(text, "its signature", cond))
    elif type_.kind == "tensordesc":
        subject.arguments[name] = Value("desc", note=f"the descriptor {name}, which the host made")
    else:
        subject.arguments[name] = OTHER
