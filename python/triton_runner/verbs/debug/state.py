"""State gives the values that are there at a stop, read as arrays, evaluated and changed."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import numpy

from triton_runner._base.errors import fail
from triton_runner._base.levels import MLIR
from triton_runner._core import probe
from triton_runner._kernel.dumps.records import numpy_type
from triton_runner._kernel.layout import layout
from triton_runner.verbs.debug import conditions, names, parts
from triton_runner.verbs.debug.addresses import Addresses
from triton_runner.verbs.debug.machine import Machine
from triton_runner.verbs.debug.results import Value
from triton_runner.verbs.debug.variables import Python


class State(Machine, Python):
    """Reads and writes the values of a launch that stands. A value has a number, a variable of Python that
    registers hold its name.

    - `constants`: of Python, by name: constexprs of the kernel. `arguments`: the Arguments of the launch.
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
        self._place, self._variables, self._launch_arguments = place, variables, arguments
        self._arguments = dict(arguments.named) if arguments is not None else {}

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
        found: dict = {name: name for name in self.python_names if self.python_site(name) is not None}
        for name in dict.fromkeys(site.variable for site in self.sites if site.variable):
            number = self._debugger.find(name)
            if number is not None:
                found[name] = number
        return found

    def names(self) -> list[str]:
        """Returns the names of what has a value here."""
        return [*self.variables(), *self.constants, *(site.value for site in self.sites)]

    def arguments(self) -> dict[str, str]:
        """Returns what each argument of the kernel is, constexprs included."""
        rows = {}
        for name, value in self._arguments.items():
            if (held := self._addresses.view(name)) is not None:
                address, view = held
                rows[name] = f"{'x'.join(map(str, view.shape))} {view.type} at {address:#x}".lstrip()
            else:
                rows[name] = self.descriptor(name) or str(value)
        return rows | {name: f"{value!r}, constexpr" for name, value in self.constants.items()}

    @functools.cached_property
    def _addresses(self) -> Addresses:
        return Addresses(self._launch_arguments)

    def is_pointer(self, expression: str) -> bool:
        """Returns whether an expression is a value of pointers, or a part of one."""
        part = parts.part_of(expression)
        return part is not None and self._has_pointers(part.name)

    def _has_pointers(self, name: str) -> bool:
        return self.is_named(name) and bool(_pointee(self.site(self.number(name))))

    def gives_pointers(self, expression: str, array) -> bool:
        """Returns whether what an expression gives are addresses: it is made of pointers, and an argument
        begins before each of them."""
        if self.is_pointer(expression):
            return True
        if parts.part_of(expression) is not None or numpy.asarray(array).dtype != "int64":
            return False
        return any(map(self._has_pointers, conditions.names(expression))) and all(
            self.places_of(array).ravel()
        )

    def places_of(self, array):
        """Returns which element of which argument is at each address, as in addresses.py."""
        array = numpy.asarray(array)
        places = [self._addresses.place_of(address) for address in array.ravel().tolist()]
        return numpy.array(places, object).reshape(array.shape)

    def whatis(self, expression: str) -> str:
        """The type of a value, and what gives it: "8 float32, %x_9 = tt.load, line 21"."""
        name = expression.strip()
        if not self.is_named(name):
            if name in self.constants:
                return f"constexpr, {self.constants[name]!r}"
            array = numpy.asarray(self.evaluate(expression))
            return f"{'x'.join(map(str, array.shape))} {array.dtype}".strip()
        site = self.site(self.number(name))
        kind = str(numpy_type(site.type))
        if pointee := _pointee(site):
            kind = f"pointer{'s' * bool(site.shape)} to {pointee}"
        kind = f"{'x'.join(map(str, site.shape))} {kind}".strip()
        if name in self._arguments:
            return f"{kind}, argument: {self.arguments()[name]}"
        return (
            f"{kind}, {site.value}"
            + f" = {site.op}" * bool(site.op)
            + f", line {site.line}" * bool(site.line)
        )

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
            raise self._unknown(name)
        return number

    def _unknown(self, name: str) -> Exception:
        """Why no value has a name here: it has none yet, or the kernel has nothing of the name."""
        level, known = self._places.level, {}
        if level in MLIR:
            known = dict(names.assigned(self._places.texts[level], self._places.all[0].function))
            known |= {counted: [line] for _, line, counted in self._places.counted if counted not in known}
        if lines := known.get(name):
            where = f"line {lines[0]}" if len(lines) == 1 else f"lines {', '.join(map(str, lines))}"
            return fail(
                f"{name} has no value here: {where} of the source gives it one",
                "go on to a line after that, in the same loop or function",
            )
        why = [self._variables.why] if self._variables is not None and self._variables.why else []
        of_python = [*dict.fromkeys([*self.python_names, *known, *self.variables(), *self.constants])]
        of_ir = [site.value for site in self.sites]
        meant = of_python if not name.startswith("%") and of_python else of_ir
        if level in ("cubin", "amdgcn"):  # whose registers have names like those of variables
            meant = [*of_python, *of_ir]
        return fail(
            f"there is no value {name!r} here",
            *why,
            *conditions.nearest(name, meant)[:2],
            "there are: " + ", ".join(meant[:20]),
        )

    def is_named(self, name: str) -> bool:
        """Returns whether a value in sight has that name."""
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
        code, of_ir = conditions.identifiers(expression)
        try:
            return eval(
                code, {"__builtins__": {"__import__": __import__}}, _Names(self, of_ir)
            )  # what the user of the terminal types
        except (SyntaxError, NameError) as error:
            raise fail(f"{expression!r} cannot be evaluated: {error}") from None
        except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
            if hasattr(error, "diagnostics"):
                raise
            raise fail(f"{expression!r} cannot be evaluated: {error}") from None

    def holds(self, expression: str) -> bool:
        """Returns whether a condition holds; one of a value that is not in sight does not."""
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


def _pointee(site) -> str:
    """ "f32" of a value of pointers to them; "" of another one."""
    match = re.search(r"!tt\.ptr<(\w+)", site.type_text)
    return match[1] if match else ""


class _Names(Mapping):
    """The values by name, as an expression asks for them."""

    def __init__(self, state: State, names: dict):
        self._state, self._names = state, names

    def __getitem__(self, name: str):
        debugger = self._state._debugger
        if name in ("np", "numpy"):
            return numpy
        if name in names.FUNCTIONS:
            return names.FUNCTIONS[name]
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
