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
from triton_runner._memory.arguments import Arguments, is_descriptor
from triton_runner._pipeline import stages
from triton_runner.verbs.judge import estimates, facts, sandbox, wire, worth
from triton_runner.verbs.judge.record import SPACES
from triton_runner.verbs.judge.reference import is_move

CHECKS = ("oob", "uninit", "race", "zerodiv", "overflow")
_MOST_HASHED = 1 << 20  # bytes of an argument with integers
_MOST_CHECKED = 40  # launches of a kernel that differ; those beyond are run under checks in one order only
_MOST_LOOKED_AT = 2000
_FEW = 8  # elements that a launch may change by what values are
_MOST_CHANGED = 4  # arguments of a launch
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
    that had the same inputs get those of the first call; changed: what each launch of the last call changes,
    by argument: with other_past it is learnt, else launches are asked whether they write to it."""

    fill: int | None = None
    spoil: int = 0
    of: frozenset | None = None
    checked: bool = False
    times: estimates.Summed | None = None  # gets the time of each launch
    perturb: int | None = None
    strict: bool = False
    other_past: bool = False
    changed: dict | None = None


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
        self.idle: list[int] = []  # launches that write nothing where they did with another past
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
        with torch.no_grad(), _settings.using(device="cpu", threads=1):
            for number, step in enumerate(self._call["steps"]):
                try:
                    getattr(self, f"_{step[0]}")(*step[1:])
                except Refused:
                    raise
                except KernelTrap as trap:
                    self.trap = trap
                    return self
                except (AttributeError, KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
                    raise Refused(f"step {number} ({step[0]} {step[1]}): {error}"[:300]) from error
        return self

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
        out = function(*words, **named)
        made = out if isinstance(out, (list, tuple)) else [out]
        if self._way.fill is not None and wire.EMPTY.match(name):  # torch's memory holds anything
            for tensor in made:
                wire.fill(tensor, self._way.fill)
        tensors = [one for one in made if isinstance(one, torch.Tensor)]
        if self._way.checked:
            short = name.partition("::")[2].rstrip("_")
            self.torch.computed(short, [*_tensors([words, [*named.values()]])], tensors, is_move(name))
        if _SIZES.match(name):
            self.items += [size for one in tensors for size in one.shape]
        for number, tensor in zip(results, made, strict=True):
            if number is not None and number not in self._values:
                self._values[number] = tensor

    def _item(self, name, overload, words, seen) -> None:
        out = self._operator(name, overload)(*map(self._value, words))
        same = out == seen or (out != out and seen != seen)
        if isinstance(out, (bool, int, float)):
            self.items.append(out)
            self._read[seen] = out
        if not same and self._way.strict:
            raise Refused(f"it read the number {seen!r} where its steps give {out!r}")

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
        held = self._spoiled(launch, way.changed.get(count, {})) if way.changed and not way.other_past else []
        blocks = launch.arguments.taken() if way.spoil or way.checked or way.other_past else None
        with _settings.using(**({} if self._way.perturb is None else {"perturb": self._way.perturb})):
            executable(launch.artifact(launch.entry)).launch(launch.grid, named)
        if held and all(numpy.array_equal(_bits(array)[where], bits) for array, where, bits in held):
            self.idle.append(count)
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
            if count < _MOST_CHECKED:
                judging.other_orders()
            judging.all_checks()
        except DiagnosticError as error:
            raise Refused(f"kernel {launch.name}: {error.sentence}") from error
        self.seen[key] = judged = judging.judged(0.0)
        self.findings += [as_json(finding) for finding in judged.findings]
        for other in judged.not_run:
            raise Refused(f"kernel {launch.name} cannot be run: {other.why}"[:300])

    def _spoiled(self, launch: Relaunch, changed: dict) -> list[tuple]:
        """Spoils what the launch has changed with another past: (an array, where it is spoiled, its bits)."""
        found, live = [], launch.arguments.live()
        for name, where in changed.items():
            view = launch.arguments.views[name]
            array = view.of(live[view.block])
            other = array.copy()
            _spoil(other, 1)
            array[where] = other[where]
            found.append((array, where, _bits(array)[where]))
        return found

    def _after(self, launch: Relaunch, before: list, number: int) -> None:
        """Looks at what a launch has written, and spoils it. number: of the launch."""
        now = launch.arguments.live()
        is_spoiled = self._way.spoil and (self._way.of is None or number in self._way.of)
        changed = {i for i, (a, b) in enumerate(zip(before, now, strict=True)) if not numpy.array_equal(a, b)}
        views, found = launch.arguments.views, set()
        inputs = [view.of(before[view.block]) for view in views.values()]
        numbers = [value for _, value in launch.arguments.named if isinstance(value, (int, float))]
        for name, view in views.items():
            if view.block not in changed:
                continue
            array, held = view.of(now[view.block]), view.of(before[view.block])
            where = _bits(array) != _bits(held)
            if is_spoiled:
                other = array.copy()
                _spoil(other, self._way.spoil)
                array[where] = other[where]
            elif self._way.changed is not None and where.sum() >= _FEW:
                self._way.changed.setdefault(number, {})[name] = where
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


def _overwrite(tensor) -> None:
    """Puts another number into all elements of a tensor."""
    with contextlib.suppress(RuntimeError), torch.no_grad():  # elements that share memory cannot be
        is_number = tensor.is_floating_point() or tensor.is_complex()
        tensor.detach().fill_(float("nan") if is_number else 1)


def _numbers_of(result: dict | None) -> list[int]:
    """The numbers of the tensors in a result as a message has it."""
    if result is None:
        return []
    ((kind, of),) = result.items()
    if kind == "tensor":
        return [of]
    items = of if kind == "list" else [one for _, one in of] if kind == "dict" else []
    return [number for item in items for number in _numbers_of(item)]


def _tensors(value):
    """The tensors in a value."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from _tensors([*value.values()])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


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


# --- the process


def main(read: int, write: int, scratch: str, seconds: float, memory: int) -> None:
    """Does the steps of calls until its judge has heard enough."""
    sandbox.enter(scratch, seconds, memory)
    broker = Broker()
    while True:
        request, parts = wire.receive(read)
        if request["say"] == "end":
            return
        try:
            if request["say"] == "time":
                wire.send(write, broker.time(request["chip"]))
                continue
            wire.send(write, *broker.answered(request, parts))
        except Refused as error:
            wire.send(write, {"say": "refused", "why": str(error)})
        except (MemoryError, RecursionError) as error:
            wire.send(write, {"say": "refused", "why": f"{type(error).__name__}: {error}"})


class Broker:
    """All calls of an answer, each done in several ways; a way goes on from where its last call ended."""

    def __init__(self):
        self._calls: list[ReplayedCall] = []
        self._kernels: Kernels | None = None  # of the last call
        self._values: dict = {}  # by way: (calls that were done, tensors by number)
        self._seen: dict = {}

    def _replay(self, name: str, way: Way, kernels: Kernels) -> Replay:
        done, values = self._values.get(name, (0, {}))
        # Launches of the last call alone are spoiled, timed and compared.
        is_plain = way.spoil or way.times is not None
        before = dataclasses.replace(Way(fill=0xFF) if is_plain else way, changed=None)
        for asked in self._calls[done:]:
            is_last = asked is self._calls[-1]
            if is_last and asked.overwrites:
                self._overwrite(values)
            elif way.other_past and asked.has_inputs_of(self._calls[-1]):
                first = self._calls[0]
                asked = dataclasses.replace(asked, given=first.given, given_parts=first.given_parts)
            one = Replay(asked, kernels, way if is_last else before, values, self._seen).run()
        if not way.spoil:
            self._values[name] = len(self._calls), values
        return one

    def _overwrite(self, values: dict) -> None:
        """Overwrites what earlier calls have returned, which is their caller's, but for memory that was there
        before any step."""
        kept = {worth.address(values[key[1]]) for key in values if isinstance(key, tuple)}
        for asked in self._calls[:-1]:
            for number in _numbers_of(asked.call["result"]):
                if number in values and worth.address(values[number]) not in kept:
                    _overwrite(values[number])

    def time(self, chip: str) -> dict:
        """Returns the estimated time of the launches of the last call."""
        summed = estimates.Summed(chip)
        self._replay("time", Way(fill=0xFF, times=summed), self._kernels)
        return {"say": "time", "time": as_json(summed.time())}

    def answered(self, request: dict, parts: list) -> tuple:
        """Does a call in all ways that are asked for."""
        call, count = request["call"], request["given_parts"]
        asked = ReplayedCall(call, parts[count:], request["given"], parts[:count], request["seed"])
        if request["is_again"]:
            self._calls.pop()
        if request["refill"] and self._calls:
            asked.before = self._calls[-1].call["inputs"]
        asked.overwrites = request["repeats"]
        self._calls.append(asked)
        if not request["looks"]:
            return {"say": "noted"}, []
        kernels, replays = Kernels(call["kernels"]), {}
        self._kernels = kernels
        has_empty = any(_makes_empty(step) for one in self._calls for step in one.call["steps"])
        out: list = []
        text: dict = {"say": "replayed"}
        if not request["is_again"]:
            way = Way(checked=request["checked"], fill=0xFF, strict=True)
            replays["plain"] = first = self._replay("plain", way, kernels)
            text["facts"] = kernels.facts
            text |= {"findings": first.findings, "kinds": first.kinds, "items": first.items}
            text["unchecked"] = sorted(first.unchecked)
            if (trap := first.trap) is not None:
                told = {"message": str(trap), "line": trap.line, "kernel": trap.kernel, "advice": trap.advice}
                return {**text, "trap": told}, out
            if has_empty:
                replays["other fill"] = self._replay("other fill", Way(fill=0x3C), kernels)
            if (exact := kernels.in_f32()) is not None:
                replays["f32"] = self._replay("f32", Way(fill=0xFF), exact)
            text["inputs"] = [wire.packed(tensor, out) for tensor in first.inputs]
            if call.get("state"):
                kept = {name: one["tensor"] for name, one in call["state"]["dict"]}
                kept = {name: n for name, n in kept.items() if not first.is_as_at_first(n)}
                text["state"] = wire.packed(
                    {name: first.result({"tensor": n}) for name, n in kept.items()}, out
                )
            results = [*_tensors(first.result())] if call["result"] is not None else []
            text["torch"] = first.torch.share(results)
            text["moved"] = first.torch.has_moved(results, first.inputs)
            # One that changes nothing may write once more what an earlier one computed, as tuning does.
            computing = frozenset(i for i, kind in enumerate(first.kinds) if kind in ("computed", "nothing"))
            is_mixed = "computed" in first.kinds and len(computing) < len(first.kinds)
        for number in (1, 2) if request["spoiled"] else ():
            # A launch that computes the same numbers again over the old ones changes nothing to spoil.
            ways = {f"spoiled {number}": Way(spoil=number, other_past=request["repeats"])}
            if is_mixed:
                ways[f"without {number}"] = dataclasses.replace(ways[f"spoiled {number}"], of=computing)
            for name, way in ways.items():
                try:
                    replays[name] = self._replay(name, way, kernels)
                except Refused:
                    replays[name] = None
        if request["repeats"]:
            changed: dict = {}
            replays["other past"], text["left"] = None, []
            try:
                way = Way(fill=0xFF, other_past=True, changed=changed)
                replays["other past"] = self._replay("other past", way, kernels)
                # One argument at a time: from the others a kernel may know that it has done its work before.
                for number in range(min(_MOST_CHANGED, max(map(len, changed.values()), default=0))):
                    one = {n: dict([*args.items()][number : number + 1]) for n, args in changed.items()}
                    text["left"] += self._replay(f"left {number}", Way(fill=0xFF, changed=one), kernels).idle
            except Refused:  # steps that fit the values of their inputs alone
                pass
        for seed in request["perturb"]:
            replays[f"perturb {seed}"] = self._replay(f"perturb {seed}", Way(perturb=seed), kernels)
        for name, one in replays.items():
            is_there = one is not None and one.trap is None and call["result"] is not None
            text[name] = wire.packed(one.result(), out) if is_there else None
        return text, out


def _makes_empty(step: list) -> bool:
    return step[0] == "op" and bool(wire.EMPTY.match(step[1]))
