"""Finds out which launches a program compares the results of: what is computed from what a launch wrote is
followed through torch, up to where the program reads a value of it and checks that.

A function mode of torch sees each call with tensors: what it gives depends on the launches that its tensors
depend on. Where it gives a number, a truth value or an array, the program's text says what becomes of that
(source_checks.py). A check that depends on it by a name counts once the program has come to it, so that the
lines of the function that reads are followed up to there."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import weakref

import numpy

from triton_runner._base.ci_files import shown_path
from triton_runner._base.errors import is_of_library
from triton_runner._memory import torch_modes, uninit
from triton_runner._memory.arguments import is_descriptor
from triton_runner._memory.arrays import ArrayArgument
from triton_runner._pretend import running
from triton_runner.verbs.verify import agreements, idle_checks, overlap, partial, source_checks

_COMPARE = {"equal", "allclose"}  # they say whether all elements are equal
# These functions hand elements of a tensor to Python, by name.
_READS = _COMPARE | {
    "item", "tolist", "numpy", "is_nonzero", "__bool__", "__float__", "__int__", "__index__", "__complex__",
    "__contains__", "__array__",
}  # fmt: skip
_KINDS = {"isnan", "isinf", "isfinite", "isposinf", "isneginf"}
_COMPREHENSIONS = {"<listcomp>", "<genexpr>", "<setcomp>", "<dictcomp>"}
_DEEP = 3  # how far into lists of tensors is looked


class Comparisons:
    """compared(numbers, by): the program came to a check that depends on what the launches with these numbers
    wrote. by: the check and its place. differed(numbers, by): a comparison gave False, and nothing comes of
    it. beside(name, args, numbers, options): a function of torch was called with what launches wrote.

    If all that is known of an element is whether it is a NaN or an infinity, its number n stands as ~n: a
    check of that alone compares nothing. seen_whole: (number, argument) of which each element was compared;
    read_later: those that a later launch takes."""

    def __init__(self, compared, differed, beside=lambda name, args, numbers, options: None):
        self._tell_compared, self._tell_differed, self._beside = compared, differed, beside
        self.agreements = agreements.Agreements()
        self.partial = partial.Partial()
        self.seen_whole: set[tuple[int, str]] = set()
        self.read_later: set[tuple[int, str]] = set()
        self._outputs: dict[tuple[int, str], tuple] = {}  # the elements of what each launch wrote last
        # (whether it is alive, outputs) by the address of what says of each of their elements whether it is
        # equal to another.
        self._each: dict[int, tuple] = {}
        self._memory: dict[
            int, tuple
        ] = {}  # (whether it is alive, numbers) by the address of a storage or array
        self._copies: dict[int, tuple] = {}  # (whether it is alive, elements that it is a copy of) by address
        self._lines = _Lines(self._reached)
        self._log: list = []  # the numbers of each launch
        # Launches that gradients depend on, by the id of the tensor with the gradient: (the tensor, numbers).
        self._gradients: dict[int, tuple] = {}

    def wrote(self, number: int, written: dict, taken, reduced=()) -> None:
        """A launch has written these arguments, by name. taken: all of its arguments; reduced: the names of
        those in which each number comes of a reduction."""
        values = {name: _array(value) for name, value in written.items()}
        taken = [_array(value) for value in taken]
        numbers = {number} | self._numbers(taken)
        self._outputs_of(number, values, taken)
        self.partial.wrote(number, values, reduced, taken, _place)
        self._mark([*values.values()], numbers)
        self._log.append(numbers)
        if arrays := [value for value in values.values() if isinstance(value, numpy.ndarray)]:
            self._by_names(arrays, frozenset(numbers))

    def _outputs_of(self, number: int, values: dict, taken: list) -> None:
        """Notes what a launch wrote, and what it takes of earlier ones."""
        places = [found for value in taken if (found := idle_checks.elements(value)) is not None]
        for (other, name), found in [*self._outputs.items()]:
            if other != number and any(idle_checks.overlap(found, place) for place in places):
                self.read_later.add((other, name))
        copied = {max(n, ~n) for value in taken for n in self._numbers(value)} - {number}
        known = {other for other, _ in self.read_later}
        self.read_later |= {one for one in self._outputs if one[0] in copied - known}
        now = {(number, name): idle_checks.elements(value) for name, value in values.items()}
        now = {one: found for one, found in now.items() if found is not None}
        old = {
            one: found for one, found in self._outputs.items()
            if not any(idle_checks.overlap(found, mine) for mine in now.values())
        }  # fmt: skip
        self._outputs = {**old, **now}

    @contextlib.contextmanager
    def watching(self):
        """Tensors are followed inside of the block."""
        with contextlib.ExitStack() as held:
            held.callback(self._lines.end)
            if importlib.util.find_spec("torch") is not None:
                mode = _mode(self)
                held.enter_context(mode)
                held.enter_context(torch_modes.hidden_from_compile(mode))
                held.enter_context(torch_modes.in_threads(mode))
            yield

    # --- memory

    def _mark(self, value, numbers, depth: int = _DEEP) -> None:
        if isinstance(value, (list, tuple)) and depth:
            for one in value:
                self._mark(one, numbers, depth - 1)
        elif (place := _place(value)) is not None:
            address, alive = place
            known = self._memory.get(address)
            before = known[1] if known is not None and known[0]() else set()
            self._memory[address] = alive, before | set(numbers)

    def _numbers(self, value, depth: int = _DEEP) -> set:
        if isinstance(value, (list, tuple, dict)):
            parts = value.values() if isinstance(value, dict) else value
            return set().union(*(self._numbers(one, depth - 1) for one in parts)) if depth else set()
        place = _place(value)
        known = self._memory.get(place[0]) if place is not None else None
        if known is None:
            return set()
        if not known[0]():
            del self._memory[place[0]]
            return set()
        return known[1]

    # --- what becomes of it

    def call(self, function, args, kwargs):
        """A function of torch is called."""
        before = len(self._log)
        name = getattr(function, "__name__", "")
        leaves = idle_checks.leaves(args[:1]) if name == "backward" else []
        result = function(*args, **kwargs)
        numbers = self._compared_by(name, args, kwargs, result) if self._log else set()
        if not numbers:
            self.partial.of_reference(name, args)
        if not self._log:
            return result
        numbers = numbers.union(*self._log[before:])  # launches within it, which autograd makes
        if name == "backward":
            self._has_gradients(leaves, numbers)
        elif name == "__get__" and self._gradients and args and _is_gradient(args[0], result):
            self._mark(result, self._gradients_of(args[0]))
        elif numbers:
            mine = args if self._numbers(args[:1]) else (*args[1::-1], *args[2:])  # the launches' first
            self._beside(name, mine, self.agreements.launches(max(n, ~n) for n in numbers), kwargs)
            if idle_checks.fills(name, args):
                self._fill(args[0], self._numbers(args[1:]) | self._numbers(kwargs))
            elif not idle_checks.takes_anything(name, args, kwargs, result):
                self._all_hold(name, args, result)
                self._called(name, args, numbers, result)
                self._copy(name, args, result)
            frame = _own(sys._getframe(1))
            self.partial.called(name, args, result, numbers, self._origin, getattr(frame, "f_code", None))
        return result

    def _has_gradients(self, leaves: list, numbers: set) -> None:
        for leaf in leaves:
            tensor, known = self._gradients.get(id(leaf), (lambda: None, set()))
            known = known if tensor() is leaf else set()
            self._gradients[id(leaf)] = weakref.ref(leaf), known | numbers

    def _gradients_of(self, tensor) -> set:
        """The launches that a gradient depends on; of a tensor that is computed, all that any does."""
        if not tensor.is_leaf:
            return set().union(*(numbers for _, numbers in self._gradients.values()))
        leaf, numbers = self._gradients.get(id(tensor), (lambda: None, set()))
        return numbers if leaf() is tensor else set()

    def _compared_by(self, name: str, args, kwargs, result) -> set:
        """The numbers that what a function gives depends on. Where it sets tensors against each other, those
        are the launches that one of them alone depends on: what is computed from an output, as a reference
        from an input that the kernel has overwritten, is equal to it whatever the kernel wrote."""
        if idle_checks.takes_shape(name):
            args = args[1:]
        pair = idle_checks.pairs(name, args, kwargs)
        if not pair:
            return self._numbers(args) | self._numbers(kwargs)
        one, other = map(self._numbers, pair)
        if not (one and other):
            if idle_checks.sees_each(name, result):
                self._sees_each(name, pair, result)
            return one | other
        if self._origin(pair[0]) != self._origin(pair[1]):
            with torch_modes.without_modes(), uninit.paused():
                if idle_checks.computes(name, pair):
                    return one | other
        mine, theirs = one - other, other - one
        if mine and theirs and min(mine | theirs) >= 0:
            return {self.agreements.between(mine, theirs)}
        return mine | theirs

    def _sees_each(self, name: str, pair, result) -> None:
        """Notes which outputs are compared whole with what depends on no launch."""
        places = [self._origin(value) for value in pair if self._numbers(value)]
        outputs = {
            one for one, found in self._outputs.items()
            if any(place is not None and idle_checks.holds(place, found) for place in places)
        }  # fmt: skip
        if result is True:
            self.seen_whole |= outputs
        elif outputs and (place := _place(result)) is not None:
            self._each[place[0]] = place[1], outputs

    def _all_hold(self, name: str, args, result) -> None:
        """Follows what says of each element whether it is equal, up to where the program reads that all
        are."""
        place = _place(args[0]) if args else None
        alive, outputs = self._each.get(place[0], (None, None)) if place is not None else (None, None)
        if alive is None or not alive():
            return
        if name == "all" and (there := _place(result)) is not None and result.numel() == 1:
            self._each[there[0]] = there[1], outputs
        elif name in ("__bool__", "item") and result is True:
            self.seen_whole |= outputs

    def _origin(self, value) -> tuple | None:
        """The elements of a tensor, or those that it was copied from."""
        found = idle_checks.elements(value)
        alive, of = self._copies.get(found[0], (None, None)) if found is not None else (None, None)
        is_copy = alive is not None and alive() and found is not None and of[1] == found[1]
        return of if is_copy else found

    def _copy(self, name: str, args, result) -> None:
        if idle_checks.copies(name, args, result) and (place := _place(result)) is not None:
            self._copies[place[0]] = place[1], self._origin(args[0])

    def _fill(self, tensor, numbers) -> None:
        """All elements of a tensor are given values that depend on these launches alone."""
        if (place := _place(tensor)) is not None:
            self._memory[place[0]] = place[1], set(numbers)
            self._copies.pop(place[0], None)

    def _called(self, name: str, args, numbers: set, result) -> None:
        """A function of torch gave a result that depends on launches."""
        if name in _READS:
            numbers = {max(n, ~n) for n in numbers} if name in _COMPARE else {n for n in numbers if n >= 0}
            self._read(name, result, frozenset(numbers))
        elif name in _KINDS:
            self._mark(result, {min(n, ~n) for n in numbers})
        elif result is None and args:
            self._mark(args[0], numbers)  # x[...] = y
        else:
            self._mark(result, numbers)

    def _read(self, name: str, result, numbers: frozenset) -> None:
        frame = _own(sys._getframe(2))
        if not numbers or frame is None:
            return
        if name not in _COMPARE:
            self._use(frame, numbers)
        elif result is True:
            self._use(frame, numbers)
            self._compared(numbers, name, frame)
        else:  # a check that this passes does not say what the result should be
            self._differed(numbers, _shown(name, frame))

    def _compared(self, numbers, check: str, frame) -> None:
        self.partial.checked(self.agreements.launches(numbers), frame.f_code)
        for launches, by in self.agreements.checked(numbers, _shown(check, frame)):
            self._tell_compared(launches, by)

    def _differed(self, numbers, by: str) -> None:
        self._tell_differed(self.agreements.launches(numbers), by)

    def _use(self, frame, numbers: frozenset) -> None:
        """A value that depends on launches is in the expression that a frame, or its caller, is at."""
        while (frame := _own(frame)) is not None:
            use = source_checks.use_at(frame)
            if not self._goes_up(frame, use, numbers):
                return
            frame = frame.f_back

    def _goes_up(self, frame, use: source_checks.Use, numbers: frozenset) -> bool:
        """Returns whether what a frame does with a value is to hand it to its caller."""
        if use.check:
            self._compared(numbers, use.check, frame)
        elif use.names:
            self._lines.follow(frame, use.names, numbers)
        else:
            return use.is_returned or frame.f_code.co_name == "<lambda>"
        return False

    def _reached(self, frame, use: source_checks.Use, numbers: frozenset) -> None:
        """A frame came to a statement that depends on launches."""
        if self._goes_up(frame, use, numbers):
            self._use(frame.f_back, numbers)

    def _by_names(self, arrays: list, numbers: frozenset) -> None:
        """Arrays of NumPy are followed by the names that functions have for them."""
        spans = [_span(array) for array in arrays]
        frame = sys._getframe(1)
        while (frame := _own(frame)) is not None:
            names = frozenset(
                name for name, value in frame.f_locals.items()
                if isinstance(value, numpy.ndarray)
                and any(overlap.shared(_span(value), span) for span in spans)
            )  # fmt: skip
            if names:
                self._lines.follow(frame, names, numbers)
            frame = frame.f_back


def _array(value):
    """The tensor or array that a launch passes, or whatever else it passes."""
    value = value.base if is_descriptor(value) else value
    return value.base if isinstance(value, ArrayArgument) else value


def _is_gradient(tensor, value) -> bool:
    """Returns whether a value is the gradient of a tensor. To ask a tensor that is not a leaf for one
    warns."""
    return (tensor.is_leaf or tensor.retains_grad) and tensor.grad is value


def _span(array: numpy.ndarray) -> tuple[int, int]:
    address = array.__array_interface__["data"][0]
    return address, address + array.nbytes


def _place(value) -> tuple | None:
    """(address, whether it is alive) of the memory of a tensor or array; None for anything else."""
    if isinstance(value, numpy.ndarray):
        while isinstance(value.base, numpy.ndarray):
            value = value.base
        array = weakref.ref(value)
        return value.__array_interface__["data"][0], lambda: array() is not None
    if not hasattr(value, "untyped_storage") or not value.numel():
        return None
    from torch.multiprocessing.reductions import StorageWeakRef

    try:
        storage = value.untyped_storage()
        address = storage.data_ptr()
    except (RuntimeError, NotImplementedError, TypeError):  # of a tensor that has no memory
        return None
    if not address:
        return None
    reference = StorageWeakRef(storage)
    return address, lambda: not reference.expired()


def _own(frame):
    """The innermost frame of the program, from one on. Comprehensions belong to who makes them."""
    while frame is not None and frame.f_code.co_filename != running.__file__:
        code = frame.f_code
        if code.co_name not in _COMPREHENSIONS and not is_of_library(code.co_filename):
            return frame
        frame = frame.f_back
    return None


def _shown(check: str, frame) -> str:
    return f"{check} at {shown_path(frame.f_code.co_filename)}:{frame.f_lineno}"


class _Lines:
    """The lines that frames come to, up to checks that depend on names. reached(frame, use, numbers): a frame
    came to one, or hands back a value that depends on them."""

    def __init__(self, reached):
        self._reached = reached
        self._frames: dict = {}  # by frame: (its use, numbers) by statement

    def follow(self, frame, names: frozenset, numbers: frozenset) -> None:
        """Follows a frame as long as it may come to a check that depends on names."""
        scope = source_checks.scope_of(frame.f_code)
        found = scope.depending(names) if scope is not None else []
        if not found or (sys.gettrace() is not None and sys.gettrace() is not _unseen):
            return  # a debugger has the lines
        known = self._frames.setdefault(frame, {})
        place = source_checks.place_of(frame)
        for statement, use in found:
            if statement.lineno == place[0] and source_checks.begin_of(statement) > place:
                self._reached(frame, use, numbers)  # in the same line: no event says when it comes there
                continue
            before = known[statement][1] if statement in known else frozenset()
            known[statement] = use, before | numbers
        frame.f_trace, frame.f_trace_lines = self._line, True
        sys.settrace(_unseen)

    def _line(self, frame, event, argument):
        known = self._frames.get(frame)
        if known is None:
            return None
        if event == "return":
            self._leave(frame)
            return None
        if event == "line":
            scope = source_checks.scope_of(frame.f_code)
            for statement in [one for one in known if source_checks.is_at(one, frame.f_lineno)]:
                use, numbers = known.pop(statement)
                self._reached(frame, use, numbers)
            if not any(_is_ahead(scope, one, frame.f_lineno) for one in known):
                self._leave(frame)
                return None
        return self._line

    def _leave(self, frame) -> None:
        self._frames.pop(frame, None)
        frame.f_trace = None
        if not self._frames and sys.gettrace() is _unseen:
            sys.settrace(None)

    def end(self) -> None:
        for frame in [*self._frames]:
            self._leave(frame)


def _is_ahead(scope, statement, line: int) -> bool:
    """Returns whether a frame at a line may still come to a statement."""
    return line <= statement.end_lineno or any(
        loop.lineno <= line <= loop.end_lineno for loop in scope.loops(statement)
    )


def _unseen(frame, event, argument):
    """Python follows the lines of frames only while there is a function that is asked about new ones."""
    return None


def _mode(comparisons: Comparisons):
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return comparisons.call(function, args, kwargs or {})

    return Mode()
