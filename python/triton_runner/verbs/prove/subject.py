"""A kernel of which something is proved: its TTIR, its arguments as terms, what is assumed of them."""

from __future__ import annotations

import dataclasses

from triton_runner._base.errors import fail
from triton_runner._core import ir
from triton_runner.verbs.prove.assumptions import MEMORY, Assumption, Given, Names, Tensor, of_grid
from triton_runner.verbs.prove.model import programs
from triton_runner.verbs.prove.terms import Poly, both, equal, ge, le, poly, remainder, symbol
from triton_runner.verbs.prove.values import OTHER, Value


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
    assumptions: list = dataclasses.field(default_factory=list)
    declared: dict = dataclasses.field(default_factory=dict)

    @property
    def names(self) -> Names:
        return Names({**self.constants, **self.integers}, self.tensors, self.grid)

    def assume(self, given: tuple, grid: str | None) -> None:
        """Takes --given and --grid."""
        if grid:
            self.set_grid(of_grid(grid, self.names), f"--grid {grid!r}", grid)
        told = Given(given, self.names)
        self.assumptions += told.facts
        self.declared |= told.declared

    def set_grid(self, grid: list[Poly], place: str, text: str) -> None:
        self.grid = grid
        conds = [equal(programs(i), extent) for i, extent in enumerate(grid)]
        self.assumptions.append(Assumption(f"the grid is ({text})", place, both(*conds)))

    def facts(self) -> list:
        """All that is assumed, as conditions."""
        facts = [one.cond for one in self.assumptions]
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
        if self.grid is None:
            found.append(("the grid is any", "no --grid was given"))
        return [Assumption(text, place, both()) for text, place in found]


def of_text(text: str, name: str, target: str, metadata: dict, constants: dict) -> Subject:
    """The subject of a TTIR. Pointers have a size of which nothing is known yet."""
    module = ir.parse(text)
    function = module.function(name) or (module.kernels or [None])[0]
    if function is None:
        raise fail(f"the TTIR of {name} has no kernel")
    numbers = {key: value for key, value in constants.items() if isinstance(value, int)}
    subject = Subject(name, target, text, metadata, module, function, {}, {}, {}, numbers)
    attributes = function.attr("arg_attrs")
    attributes = [one.entries for one in attributes.elements] if attributes else []
    for number, argument in enumerate(function.regions[0].blocks[0].args):
        hints = attributes[number] if number < len(attributes) else {}
        _add(subject, argument, hints)
    return subject


def _add(subject: Subject, argument, hints: dict) -> None:
    name, type_ = argument.name.removeprefix("%"), argument.type
    if type_.kind == "pointer":
        element = str(type_.element)
        is_plain = type_.element.kind in ("integer", "float")
        bits = 8 if element == "i1" else (type_.element.width if is_plain else 64)
        subject.tensors[name] = Tensor(name, element, max(bits // 8, 1))
        subject.arguments[name] = Value("ptr", poly(0), (), 64, name)
    elif type_.kind == "integer" and type_.width == 1:
        number = symbol(name, 0, 1)
        subject.integers[name] = number
        subject.arguments[name] = Value("bool", equal(number, 1), (), 1)
    elif type_.kind == "integer":
        half = 1 << (type_.width - 1)
        number = subject.integers[name] = symbol(name, -half, half - 1)
        subject.arguments[name] = Value("int", number, (), type_.width)
        divisor = hints.get("tt.divisibility")
        if divisor is not None and divisor.value > 1:
            cond = equal(remainder(number, divisor.value), 0)
            text = f"{name} is a multiple of {divisor.value}"
            subject.assumptions.append(Assumption(text, "its signature", cond))
    elif type_.kind == "tensordesc":
        subject.arguments[name] = Value("desc", note=f"the descriptor {name}, which the host made")
    else:
        subject.arguments[name] = OTHER
