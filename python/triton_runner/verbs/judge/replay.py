"""The broker: does the steps of a call again, from the task's inputs, in a process that the answer cannot
reach. Operators are torch's own, launches run the text of their kernel in our engine, under checks. What the
steps give is the only result that a verdict looks at.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re

import numpy
import torch

from triton_runner import _settings
from triton_runner._artifact.executable import executable
from triton_runner._artifact.reading import compile_options, describe
from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError, KernelTrap
from triton_runner._base.typed import as_json
from triton_runner._kernel.cases.judge import Judging
from triton_runner._memory import registry, tracking, uninit, uninit_torch
from triton_runner._memory.arguments import Arguments, is_descriptor
from triton_runner._pipeline import stages
from triton_runner.verbs.judge import estimates, facts, wire, worth
from triton_runner.verbs.judge.record import SPACES
from triton_runner.verbs.judge.reference import is_move

CHECKS = ("oob", "uninit", "race", "zerodiv", "overflow")
_MOST_HASHED = 1 << 20  # bytes of an argument with integers
_MOST_CHECKED = 40  # launches of a kernel that differ; those beyond are run under checks in one order only
_MOST_LOOKED_AT = 2000
_UNDEFINED = "uninitialized value"  # a kind of trap
# Operators whose results have sizes that depend on values.
_SIZES = re.compile(r"aten::(nonzero|masked_select|_?unique\w*|repeat_interleave|index|argwhere|bincount)$")
_TF32 = re.compile(r", inputPrecision = tf32\b")
_REFUSED = re.compile(r"from_file|set_data|_pin_memory|record_stream|_cuda|_mkldnn_to")


class Refused(Exception):
    """A step that the broker does not take: it is not judged."""


@dataclasses.dataclass
class Way:
    """How the steps are done. fill: a byte that memory without contents is filled with; spoil: launches leave
    something else in their results (1 and 2: what), those of the numbers `of` or all; checked: launches run
    under checks; perturb: a seed; strict: numbers that Python read are the same; other_past: earlier calls
    that had the same inputs get those of the first call; left: (a storage, the flag of each of its bytes)
    of what earlier calls left there: what the last call does with it is looked at."""

    fill: int | None = None
    spoil: int = 0
    of: frozenset | None = None
    checked: bool = False
    times: estimates.Summed | None = None  # gets the time of each launch
    perturb: int | None = None
    strict: bool = False
    other_past: bool = False
    left: list | None = None


@dataclasses.dataclass
class ReplayedCall:
    """A call that is to be done again: its steps, and the inputs that the task has for it. before: the
    numbers of the tensors of the call before it, which get those inputs."""

    call: dict
    parts: list
    given: dict
    given_parts: list
    seed: int
    before: list = dataclasses.field(default_factory=list)
    overwrites: bool = False  # what earlier calls have returned holds something else by then

    def has_inputs_of(self, other: ReplayedCall) -> bool:
        return self.given == other.given and self.given_parts == other.given_parts


class _Onward(dict):
    """The text of a kernel as it was sent, and those that Triton makes of it when somebody asks."""

    def __init__(self, it: dict, artifact):
        super().__init__({it["level"]: it["text"]})
        self._it, self._artifact = it, artifact

    def __missing__(self, level: str):
        it = self._it
        options = compile_options(self._artifact)
        made = stages.compile_onward(it["text"], it["level"], level, it["target"], options, it["name"])
        self.update({name: text for name, text in made.asm.items() if name not in self})
        it["metadata"].update({k: v for k, v in made.metadata.items() if k not in it["metadata"]})
        return made.asm[level]


class Kernels:
    """The kernels that an answer's process has sent, ready to run."""

    def __init__(self, sent: list):
        self._sent, self._made = sent, {}

    def in_f32(self) -> Kernels | None:
        """Returns the same with products that keep f32 operands; None: no product rounds them to tf32, or one
        does by its kind."""
        texts = [_TF32.sub("", it["text"]) for it in self._sent]
        those = [one["tf32"] for one in self.facts]
        changed = [text != it["text"] for text, it in zip(texts, self._sent, strict=True)]
        if not any(those) or any(one and not did for one, did in zip(those, changed, strict=True)):
            return None
        return Kernels([{**it, "text": text} for text, it in zip(texts, self._sent, strict=True)])

    def __getitem__(self, number: int):
        if number not in self._made:
            it = self._sent[number]
            metadata = json.dumps(it["metadata"])
            artifact = describe(it["level"], it["text"], "", it["name"], metadata)
            self._made[number] = it, artifact
        return self._made[number]

    @functools.cached_property
    def facts(self) -> list[dict]:
        """Returns what the text of each kernel says. Raises Refused."""
        return [self._facts_of(it) for it in self._sent]

    def _facts_of(self, it: dict) -> dict:
        try:
            return facts.facts_of(it["text"])
        except (DiagnosticError, KeyError, TypeError, AttributeError) as error:
            why = getattr(error, "message", "") or str(error)
            raise Refused(f"the text of a kernel cannot be read: {why}"[:300]) from error

    def launch(self, number: int, grid: tuple, named: list) -> Relaunch:
        """The launch as an object that runs more than once."""
        it, artifact = self[number]
        texts = _Onward(it, artifact)
        launch = Relaunch(
            it["name"], it["target"], texts, lambda: it["metadata"], it["level"], grid, Arguments(named)
        )
        launch._known[it["level"]] = artifact
        return launch


class Replay:
    """The steps of one call, done in one way."""

    def __init__(self, asked: ReplayedCall, kernels: Kernels, way: Way, values: dict, seen: dict):
        self._call, self._parts, self._kernels, self._way = asked.call, asked.parts, kernels, way
        self._asked, self._values = asked, values  # of all calls so far
        self.inputs: list = []
        self.seen = seen  # launches that were checked: by what makes them different
        self.findings, self.kinds, self.items, self.trap = [], [], [], None
        self.unchecked: set[str] = set()
        self.torch = worth.Torch()
        self._launches = 0
        self.depends, self.line = "", 0  # what depends on what earlier calls left, and its line
        self._read: dict = {}  # numbers that Python read, by what they were then
        self._written: set = set()

    def run(self) -> Replay:
        """Does all steps."""

        def tensor(text, parts):
            made, at = wire.made(text, parts), len(self.inputs)
            before = self._asked.before
            self.inputs.append(
                wire.refilled(self._values.get(before[at]), made) if at < len(before) else made
            )
            return self.inputs[-1]

        wire.unpacked(self._asked.given, self._asked.given_parts, tensor)
        if len(self._call["inputs"]) != len(self.inputs):
            raise Refused(f"it was given {len(self.inputs)} tensors and tells of {len(self._call['inputs'])}")
        self._values |= dict(zip(self._call["inputs"], self.inputs, strict=True))
        torch.manual_seed(self._asked.seed)
        left = self._way.left
        with torch.no_grad(), _settings.using(device="cpu", threads=1):
            with contextlib.nullcontext() if left is None else tracking.following(left):
                self._steps()
                if left is not None and not self.depends and not self.trap:
                    count = sum(_undefined(one) for one in tensors_in(self.result()))
                    self.depends = f"{count} elements of its result follow from it" if count else ""
        return self

    def _steps(self) -> None:
        for number, step in enumerate(self._call["steps"]):
            try:
                getattr(self, f"_{step[0]}")(*step[1:])
            except Refused:
                raise
            except KernelTrap as trap:
                self.trap = trap
                return
            except (AttributeError, KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
                raise Refused(f"step {number} ({step[0]} {step[1]}): {error}"[:300]) from error

    def result(self, text=None):
        """Returns what the call gives, with the tensors that the steps have made."""
        ((kind, of),) = (self._call["result"] if text is None else text).items()
        if kind == "tensor":
            return self._values[of]
        if kind == "list":
            return [self.result(item) for item in of]
        return {k: self.result(v) for k, v in of} if kind == "dict" else self._number(of)

    def _number(self, number):
        """A number of a result, which is one that was read, or in proportion to the last that was."""
        if isinstance(number, (int, float)) and number in self._read:
            return self._read[number]
        if isinstance(number, float) and self._read:
            seen, now = [*self._read.items()][-1]
            return number * (now / seen) if seen else number
        return number

    # --- steps

    def _seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def _bytes(self, number: int, text: dict) -> None:
        self._values[number] = wire.made(text, self._parts)
        self._values["first", number] = wire.made(text, self._parts)

    def is_as_at_first(self, number: int) -> bool:
        """Whether memory that no step has made holds what it held when it was first seen."""
        first = self._values.get(("first", number))
        return first is not None and torch.equal(first, self._values[number])

    def _view(self, number, of, dtype, shape, strides, offset) -> None:
        empty = torch.empty(0, dtype=wire.dtype_of(dtype))
        storage = self._values[of].untyped_storage()
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if 0 not in shape and (last + 1) * empty.element_size() > storage.nbytes():  # torch would enlarge it
            raise ValueError("it reaches beyond its memory")
        self._values[number] = empty.set_(storage, offset, shape, strides)

    def _value(self, value):
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, of),) = value.items()
        if kind == "t":
            return self._values[of]
        if kind == "dtype":
            return wire.dtype_of(of)
        if kind == "device":
            return torch.device("cpu")
        if kind == "torch":
            return getattr(torch, of)
        if kind == "complex":
            return complex(*of)
        raise Refused(f"an operator is given a value of the class {of}")

    def _operator(self, name: str, overload: str):
        space, _, short = name.partition("::")
        if space not in SPACES or _REFUSED.search(short) or not re.fullmatch(r"\w+", short):
            raise Refused(f"the operator {name} is not one of torch's own that can be done again")
        return getattr(getattr(getattr(torch.ops, space), short), overload or "default")

    def _op(self, name, overload, words, named, results) -> None:
        function = self._operator(name, overload)
        named = {key: value for key, value in named.items() if key != "pin_memory"}
        named = {key: self._value(value) for key, value in named.items()}
        words = [self._value(value) for value in words]
        if _SIZES.match(name):
            self._look_at(words, f"which elements {name.partition('::')[2]} gives follows from it")
        out = function(*words, **named)
        made = out if isinstance(out, (list, tuple)) else [out]
        if self._way.fill is not None and wire.EMPTY.match(name):  # torch's memory holds anything
            for tensor in made:
                wire.fill(tensor, self._way.fill)
        tensors = [one for one in made if isinstance(one, torch.Tensor)]
        if self._way.checked:
            short = name.partition("::")[2].rstrip("_")
            self.torch.computed(short, [*tensors_in([words, [*named.values()]])], tensors, is_move(name))
        if _SIZES.match(name):
            self.items += [size for one in tensors for size in one.shape]
        for number, tensor in zip(results, made, strict=True):
            if number is not None and number not in self._values:
                self._values[number] = tensor

    def _item(self, name, overload, words, seen) -> None:
        words = [*map(self._value, words)]
        self._look_at(words, "a number that Python reads follows from it")
        out = self._operator(name, overload)(*words)
        same = out == seen or (out != out and seen != seen)
        if isinstance(out, (bool, int, float)):
            self.items.append(out)
            self._read[seen] = out
        if not same and self._way.strict:
            raise Refused(f"it read the number {seen!r} where its steps give {out!r}")

    def _look_at(self, values, told: str) -> None:
        """Notes it where one of the tensors holds what follows from what earlier calls left."""
        if self._way.left is not None and any(map(_undefined, tensors_in(values))):
            self.depends = self.depends or told

    def _argument(self, value):
        if not isinstance(value, dict):
            return value
        ((kind, of),) = value.items()
        if kind == "t":
            value = self._values[of]
            return value if value.dim() else value.view(1)
        if kind == "as":
            import triton.language as tl
            from triton.runtime.jit import TensorWrapper

            named = {str(one): one for one in vars(tl).values() if isinstance(one, tl.dtype)}
            return TensorWrapper(self._argument(of[0]), named[of[1]])
        if kind == "descriptor":
            from triton.tools.tensor_descriptor import TensorDescriptor

            base, shape, strides, block, padding = of
            return TensorDescriptor(self._argument(base), shape, strides, block, padding)
        raise Refused(f"a launch is given a value of the class {of}")

    def _launch(self, number, grid, named) -> None:
        if 0 in grid:
            return
        named = [(name, self._argument(value)) for name, value in named]
        if self._kernels.facts[number]["pointers"]:
            raise Refused("a kernel makes pointers of numbers: whose memory they mean is not followed")
        launch = self._kernels.launch(number, tuple(grid), named)
        if self._way.times is not None:
            self._way.times.add(launch)
        if self._way.checked:
            self._check(launch, number)
        way, count = self._way, self._launches
        self._launches += 1
        blocks = launch.arguments.taken() if way.spoil or way.checked else None
        settings = {} if way.perturb is None else {"perturb": way.perturb}
        if way.left is not None:
            settings |= {"check": "uninit", "follows_undefined": True}
            for _, value in named:
                value = getattr(value, "base", value)
                if isinstance(value, torch.Tensor):
                    uninit.add_left(registry.storage_of(value))
        try:
            with _settings.using(**settings):
                executable(launch.artifact(launch.entry)).launch(launch.grid, named)
        except KernelTrap as trap:
            if way.left is None:
                raise
            if trap.kind == _UNDEFINED:
                self.depends = f"what kernel '{launch.name}' does in line {trap.line} follows from it"
                self.line = trap.line
            raise
        if blocks is not None:
            self._after(launch, blocks, count)

    def _check(self, launch: Relaunch, number: int) -> None:
        views = launch.arguments.views.items()
        shapes = tuple((name, view.block, view.offset, view.shape, view.strides) for name, view in views)
        numbers = [value for _, value in launch.arguments.named if isinstance(value, (bool, int))]
        held = launch.arguments.live()
        whole = [view.of(held[view.block]) for _, view in views]
        at = [hash(one.tobytes()) for one in whole if one.dtype.kind in "iu" and one.nbytes <= _MOST_HASHED]
        key = (number, launch.grid, shapes, tuple(numbers), tuple(at))  # what decides where it writes
        if key in self.seen:
            return
        count = sum(one[0] == number for one in self.seen)
        if count >= _MOST_LOOKED_AT:
            self.unchecked.add(launch.name)
            return
        judging = Judging(launch, CHECKS, levels=(launch.entry,))
        try:
            judging.each_level()
            judging.all_checks(with_orders=count < _MOST_CHECKED)
        except DiagnosticError as error:
            raise Refused(f"kernel {launch.name}: {error.sentence}") from error
        self.seen[key] = judged = judging.judged(0.0)
        self.findings += [as_json(finding) for finding in judged.findings]
        if any(finding.severity == "fault" for finding in judged.findings):
            return  # which leaves other experiments undone
        for other in judged.not_run:
            raise Refused(f"kernel {launch.name} cannot be run: {other.why}"[:300])

    def _after(self, launch: Relaunch, before: list, number: int) -> None:
        """Looks at what a launch has written, and spoils it. number: of the launch."""
        now = launch.arguments.live()
        is_spoiled = self._way.spoil and (self._way.of is None or number in self._way.of)
        changed = {i for i, (a, b) in enumerate(zip(before, now, strict=True)) if not numpy.array_equal(a, b)}
        views, found = launch.arguments.views, set()
        inputs = [view.of(before[view.block]) for view in views.values()]
        numbers = [value for _, value in launch.arguments.named if isinstance(value, (int, float))]
        for view in views.values():
            if view.block not in changed:
                continue
            array, held = view.of(now[view.block]), view.of(before[view.block])
            where = _bits(array) != _bits(held)
            if is_spoiled:
                other = array.copy()
                _spoil(other, self._way.spoil)
                array[where] = other[where]
            elif self._way.checked and where.any() and "computed" not in found:
                found.add(worth.kind(array, held, where, inputs, numbers))
        if self._way.checked:
            kind = next((one for one in ("computed", "scaled", "set", "copied") if one in found), "nothing")
            self.kinds.append(kind)
            for name, value in launch.arguments.named:
                view = views.get(name)
                if view is not None and view.block in changed:
                    self.torch.launched(value.base if is_descriptor(value) else value, kind)


def _bits(array: numpy.ndarray) -> numpy.ndarray:
    return numpy.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _undefined(tensor) -> int:
    """Returns how many elements of a tensor count as never written."""
    view = uninit_torch.view_of(tensor)
    return 0 if view is None else int(view.undefined.sum())


def tensors_in(value):
    """The tensors in a value."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in([*value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def _spoil(array: numpy.ndarray, way: int) -> None:
    """Puts something else, of about the same size, where a launch wrote."""
    if array.dtype.kind in "iub":
        other = numpy.roll(array.reshape(-1), 1 + array.size // 3).reshape(array.shape)
        if array.dtype.kind == "b":
            other = ~other
        array[...] = other ^ 1 if numpy.array_equal(other, array) else other
        return
    numbers = array.astype(numpy.float64)
    with numpy.errstate(all="ignore"):
        numbers = numpy.nan_to_num(numbers, nan=1.0, posinf=1.0, neginf=-1.0)
        size = float(numpy.abs(numbers).max(initial=0.0)) or 1.0
        other = numpy.roll(numbers.reshape(-1), 1 + array.size // 3).reshape(array.shape)
        other = 1.5 * other + 0.37 * size if way == 1 else -other - 0.61 * size
        array[...] = numpy.asarray(other).astype(array.dtype)
