"""The state at a stop: the values in sight, read as arrays, evaluated and changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from triton_runner._base.errors import fail
from triton_runner._core import probe
from triton_runner._kernel.dumps.records import numpy_type
from triton_runner._kernel.layout import layout
from triton_runner.verbs.debug import conditions, parts
from triton_runner.verbs.debug.machine import Machine
from triton_runner.verbs.debug.results import Value
from triton_runner.verbs.debug.variables import Python


class State(Machine, Python):
    """Reads and writes the values of a launch that stands. A value has a number, a variable of Python that
    registers hold its name.

    - `constants`: of Python, by name: constexprs of the kernel. `arguments`: of the launch.
    - `threads`: of a block, those that are shown; None: all.
    - `place`: where it stands; `variables`: where registers hold those of Python (variables.py), or None.
    """

    def __init__(
        self, debugger, places, constants=None, threads: range | None = None, place: int = 0, variables=None,
        arguments=None,
    ):  # fmt: skip
        self._debugger, self._places = debugger, places
        self._sites = None
        self.constants, self._threads = constants or {}, threads
        self._place, self._variables, self._arguments = place, variables, arguments or {}

    @property
    def sites(self) -> list:
        if self._sites is None:
            self._sites = self._debugger.values()
        return self._sites

    def site(self, number):
        """Returns what is known of a value."""
        if not isinstance(number, str):
            return self.sites[number]
        site = self.python_site(number)
        if site is None:
            raise self._missing(number, "none", None)
        return site

    def values(self) -> list[Value]:
        known = [site for name in self.python_names if (site := self.python_site(name)) is not None]
        return [Value(s.value, s.variable, s.type, [*s.shape], s.op, s.line) for s in [*known, *self.sites]]

    def variables(self) -> dict:
        """The nearest value of each Python variable, by its name."""
        names: dict = {name: name for name in self.python_names if self.python_site(name) is not None}
        for name in dict.fromkeys(site.variable for site in self.sites if site.variable):
            number = self._debugger.find(name)
            if number is not None:
                names[name] = number
        return names

    def names(self) -> list[str]:
        """Returns the names of what is in sight."""
        return [*self.variables(), *self.constants, *(site.value for site in self.sites)]

    def number(self, name: str):
        """The number of the nearest value with a name. Raises DiagnosticError where there is none."""
        if self.is_python(name):
            return name
        number = self._debugger.find(name)
        if number is None and not name.startswith("%"):
            number = next((i for i, site in enumerate(self.sites) if site.value == name), None)
        if number is None and name in self.constants:
            raise fail(f"{name} is a constexpr: the kernel was compiled with {self.constants[name]!r}")
        if number is None:
            names = [*self.python_names, *(other for other in self.names() if other not in self.constants)]
            why = [self._variables.why] if self._variables is not None and self._variables.why else []
            raise fail(
                f"no value {name!r} is in sight here",
                *why,
                *conditions.nearest(name, names),
                "those that are: " + ", ".join(self.variables() or [s.value for s in self.sites[:12]]),
            )
        return number

    def is_named(self, name: str) -> bool:
        """Whether a value in sight has that name."""
        if self.is_python(name) or self._debugger.find(name) is not None:
            return True
        return any(site.value == name for site in self.sites)

    def holders(self, what: str) -> list[dict]:
        """Who holds an element, "acc[3, 5]": register, lane, warp and block; byte and bank of shared
        memory."""
        part = parts.element(what)
        if not part.index:
            raise fail(f"{what!r} is not an element of a value", 'as in "acc[3, 5]"')
        number = self.number(part.name)
        site, level = self.site(number), self._places.level
        if not site.layout:
            raise fail(f"{part.name} has no layout at level {level}", "--level ttgir has layouts")
        level = "ttgir" if isinstance(number, str) else level
        text = self._places.texts.get(level, "")  # which the encodings of its names stand in
        held = layout(site.layout, [*site.shape], site.type, text)
        if held.memory == "registers":
            return held.holders(*part.index)
        return [{name: int(table[part.index]) for name, table in held.places.items()}]

    def read(self, number):
        """(array, mask or None) of a value; masked: threads that are elsewhere."""
        if isinstance(number, str):
            return self.read_python(number)
        held = self._debugger.read(number)
        if held is None:
            raise fail(f"{self.sites[number].value} has not been computed here")
        kind, shape, data, mask = held
        array = numpy.frombuffer(data, numpy_type(kind)).reshape(shape)
        there = None if mask is None else numpy.frombuffer(mask, numpy.int8) != 0
        if self._threads is not None and self._debugger.threads is not None:
            numbers = self._debugger.threads[1] + numpy.arange(len(array))
            shown = (numbers >= self._threads.start) & (numbers < self._threads.stop)
            there = shown if there is None else there & shown
        return array, there

    def array(self, name: str):
        """A value by its name; a scalar of one element as such."""
        array, _ = self.read(self.number(name))
        return array[()]

    def mask(self, number):
        """Returns where a value is there: the threads that are here, or the mask that it was loaded under;
        None: all."""
        _, mask = self.read(number)
        if isinstance(number, str):
            return mask
        loaded = self._debugger.mask_of(number)
        if mask is None and loaded is not None:
            mask = self.read(loaded)[0] != 0
        return mask

    def shown(self, expression: str):
        """(array, mask or None) of an expression; a value or a part of one has the value's mask."""
        part = parts.part_of(expression)
        if part is None or not self.is_named(part.name):
            return self.evaluate(expression), None
        try:
            array, mask = self.array(part.name), self.mask(self.number(part.name))
            mask = None if mask is None else numpy.broadcast_to(mask, array.shape)
            return part.of(array), part.of(mask)
        except IndexError as error:
            raise fail(f"{expression!r} cannot be evaluated: {error}") from None

    def evaluate(self, expression: str):
        """An expression of NumPy over the values."""
        code, names = conditions.identifiers(expression)
        try:
            return eval(
                code, {"__builtins__": {"__import__": __import__}}, _Names(self, names)
            )  # what the user of the terminal types
        except (SyntaxError, NameError) as error:
            raise fail(f"{expression!r} cannot be evaluated: {error}") from None
        except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            if hasattr(error, "diagnostics"):
                raise
            raise fail(f"{expression!r} cannot be evaluated: {error}") from None

    def holds(self, expression: str) -> bool:
        """Whether a condition holds; one of a value that is not in sight does not."""
        try:
            return bool(numpy.any(self.evaluate(expression)))
        except ValueError:
            return False

    def set(self, what: str, value) -> list[tuple[int, bytes]]:
        """Gives "acc", or elements of it ("acc[3, :]"), another value. Returns the numbers of what was
        changed, and what that holds."""
        part = parts.part(what)
        number = self.number(part.name)
        try:
            if isinstance(number, str):
                changes = self.set_python(number, part.index or ..., value)
            else:
                changed = self.read(number)[0].copy()
                changed[part.index or ...] = value
                changes = [(number, changed.tobytes())]
        except (ValueError, TypeError, IndexError) as error:
            if hasattr(error, "diagnostics"):
                raise
            raise fail(f"{what} cannot be given {value!r}: {error}") from None
        for changed_number, data in changes:
            if not self._debugger.edit(probe.EditKind.WRITE, changed_number, data):
                raise fail(
                    f"{part.name} cannot be changed: it is the same for all programs of the launch",
                    "an argument or a constant: change what is computed from it",
                )
        return changes


class _Names(Mapping):
    """The values by name, as an expression asks for them."""

    def __init__(self, state: State, names: dict):
        self._state, self._names = state, names

    def __getitem__(self, name: str):
        debugger = self._state._debugger
        if name in ("np", "numpy"):
            return numpy
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]
        try:
            return self._state.array(self._names.get(name, name))
        except ValueError:
            if name in self._state.constants:
                return self._state.constants[name]
            if (descriptor := self._state.descriptor(name)) is not None:
                return descriptor
            if name in ("program", "iteration", "task"):
                axes, loops = [*debugger.program], [*debugger.iterations]
                at = {"program": axes[0] if axes[1:] == [0, 0] else tuple(axes), "task": debugger.task}
                return at.get(name, loops[-1] if loops else None)
            raise

    def __iter__(self):
        return iter(self._state.names())

    def __len__(self):
        return len(self._state.names())


_FUNCTIONS = {
    "abs": abs, "max": numpy.max, "min": numpy.min, "sum": numpy.sum, "any": numpy.any, "all": numpy.all,
    "isnan": numpy.isnan, "isinf": numpy.isinf, "int": int, "float": float, "bool": bool, "len": len,
    "True": True, "False": False,
}  # fmt: skip
