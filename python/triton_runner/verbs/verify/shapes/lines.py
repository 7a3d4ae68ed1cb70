"""Finds the access that makes a result differ from the reference's: in the smallest call that shows it, the
one that touches another element than it should.

If the call has a layout of its own, the same call with the usual layouts is right, and each access has to
touch the elements there that it touches here. Elsewhere the elements of the arguments are changed one by one:
the result may depend on those alone on which the reference's does.
"""

from __future__ import annotations

import dataclasses
import math

import numpy

from triton_runner._base.errors import DiagnosticError, KernelTrap
from triton_runner._kernel.dumps import accesses
from triton_runner._kernel.dumps.accesses import Access, Elements, Launched
from triton_runner.verbs.verify.shapes import compared
from triton_runner.verbs.verify.shapes.calling import REFUSALS, Calling, poisoned
from triton_runner.verbs.verify.shapes.cases import Case
from triton_runner.verbs.verify.shapes.launching import tuned
from triton_runner.verbs.verify.shapes.ran import Ran, argument, perform, same
from triton_runner.verbs.verify.shapes.results import Fault

_MOST_BYTES = 1 << 26  # of the records of a launch
_MOST_ELEMENTS = 64  # that are changed one by one


@dataclasses.dataclass(frozen=True)
class Line:
    """An access that a result comes from: a sentence on what it does, and its line."""

    text: str
    kernel: str
    file: str
    line: int

    def of(self, fault: Fault) -> Fault:
        """The fault at this line."""
        message = f"{fault.message}\n    {self.text}"
        return dataclasses.replace(fault, message=message, kernel=self.kernel, file=self.file, line=self.line)


def line_of(calling: Calling, case: Case) -> Line | None:
    """The access that makes the result of a case differ; None where the accesses do not show one."""
    try:
        seen = _Seen(calling, case)
        plain = _Seen(calling, dataclasses.replace(case, layouts={})) if case.layouts else None
        if plain is not None and (line := _other_element(plain, seen)) is not None:
            return line
        return _Dependence(calling, case, seen).line()
    except (KernelTrap, DiagnosticError, *REFUSALS):  # a call that is not the same again
        return None


class _Seen:
    """A call of the function with its accesses, and the elements of what it has."""

    def __init__(self, calling: Calling, case: Case):
        with accesses.recording(_MOST_BYTES) as self.launches, tuned(case.config), poisoned():
            self.ran = perform(calling.function, calling.made(case))
        tensors = {**compared.results(self.ran.returned), **self.ran.made.tensors}
        tensors = {name: tensor for name, tensor in tensors.items() if hasattr(tensor, "untyped_storage")}
        self.elements = {name: Elements(name, tensor) for name, tensor in tensors.items()}

    def holder(self, address: int) -> Elements | None:
        """The tensor whose storage holds an address: an argument before a result that shares its memory."""
        found = [one for one in self.elements.values() if one.holds(address)]
        return found[-1] if found else None


def _other_element(plain: _Seen, seen: _Seen) -> Line | None:
    """The first access that touches other elements than in the call with the usual layouts."""
    known = {key: access for _, key, access in _keyed(plain.launches)}
    for launch, key, access in _keyed(seen.launches):
        usual = known.get(key)
        if usual is None or usual.addresses.shape != access.addresses.shape:
            continue
        both = numpy.argwhere(usual.active & access.active)
        for at in map(tuple, both.tolist()):
            should = _same_element(plain, seen, int(usual.addresses[at]))
            address = int(access.addresses[at])
            holder = seen.holder(address)
            if should is None or holder is None or should[0] == address:
                continue
            touches = "reads" if access.reads else "writes"
            element = f", element {list(at)}" if at else ""
            text = f"{access.place}{element}, {touches} {holder.called(address)}; it should be {should[1]}"
            return Line(
                f"{text}, as in the call with the usual layouts", launch.kernel, access.file, access.line
            )
    return None


def _same_element(plain: _Seen, seen: _Seen, address: int) -> tuple[int, str] | None:
    """(address, name) in the one call of the element that an address is in the other."""
    holder = plain.holder(address)
    number = holder.number(address) if holder is not None else None
    there = seen.elements.get(holder.name) if number is not None else None
    if there is None or there.shape != holder.shape:
        return None
    return int(there.addresses[number]), holder.called(address)


def _keyed(launches: list[Launched]):
    """(launch, key, access) of all accesses in their order. Two calls have the same keys where the same line
    is executed by the same program in the same turn of a loop."""
    for number, launch in enumerate(launches):
        order = sorted(
            {(access.op.name, access.file, access.line, access.number) for access in launch.accesses}
        )
        counts: dict = {}
        nth = {}
        for name, file, line, op in order:
            nth[op] = counts[name, file, line] = counts.get((name, file, line), -1) + 1
        for access in launch.accesses:
            place = access.op.name, access.file, access.line, nth[access.number]
            yield launch, (number, launch.kernel, place, access.program, access.turn), access


class _Dependence:
    """Which elements of arguments the first element that differs depends on."""

    def __init__(self, calling: Calling, case: Case, seen: _Seen):
        self._calling, self._case, self._seen = calling, case, seen

    def line(self) -> Line | None:
        calling, case = self._calling, self._case
        self._want = perform(calling.reference, calling.made(case))
        different = calling.differ(case, self._want, self._seen.ran)
        if not different or different.element is None:
            return None
        self._theirs, self._ours, self._element = different.theirs, different.ours, different.element
        write = self._write()
        if write is None:
            return None
        launch, access = write
        mine = [one for one in launch.accesses if one.program == access.program and one.reads]
        read = self._read(mine) or self._read(
            [one for each in self._seen.launches for one in each.accesses if one.reads]
        )
        called = f"{self._theirs}, element {list(self._element)},"
        for path, number in [*read][:_MOST_ELEMENTS]:
            if self._depends(path, number) == (True, False):
                by = read[path, number]
                name = self._name(path, number)
                text = f"{called} depends on {name}, which {by.place} reads; the reference's does not"
                return Line(text, launch.kernel, by.file, by.line)
        text = f"{called} is written by {access.place}"
        for path, number in self._all():
            if self._depends(path, number) == (False, True):
                text += f"; it does not depend on {self._name(path, number)}, and the reference's does"
                by = next((one for (other, _), one in read.items() if other == path), access)
                return Line(text, launch.kernel, by.file, by.line)
        return Line(text, launch.kernel, access.file, access.line)

    def _name(self, path: str, number: int) -> str:
        elements = self._seen.elements[path]
        return elements.called(elements.addresses[number])

    def _write(self) -> tuple[Launched, Access] | None:
        """The last access that writes the element."""
        paths = {argument(path): path for path in self._seen.ran.made.tensors}
        elements = self._seen.elements.get(paths.get(self._ours, self._ours))
        if elements is None:
            return None
        has_index = len(self._element) == len(elements.shape) > 0  # one number may have no dimension
        number = int(numpy.ravel_multi_index(self._element, elements.shape)) if has_index else 0
        address = elements.addresses[number]
        found = [
            (launch, access) for launch in self._seen.launches for access in launch.accesses
            if access.writes and (access.addresses[access.active] == address).any()
        ]  # fmt: skip
        return found[-1] if found else None

    def _read(self, those: list[Access]) -> dict:
        """The elements of arguments that these accesses read, each with the last that does."""
        found = {}
        for access in those:
            for address in access.addresses[access.active].reshape(-1).tolist():
                holder = self._seen.holder(address)
                number = holder.number(address) if holder is not None else None
                if number is not None and self._is_float(holder.name):
                    found[holder.name, number] = access
        return found

    def _is_float(self, path: str) -> bool:
        tensor = self._seen.ran.made.tensors.get(path)
        return tensor is not None and tensor.dtype.is_floating_point

    def _all(self) -> list:
        """The elements of all arguments, if they are few."""
        paths = [path for path in self._seen.ran.made.tensors if self._is_float(path)]
        of = [(path, number) for path in paths for number in range(self._seen.elements[path].addresses.size)]
        return of if len(of) <= _MOST_ELEMENTS else []

    def _depends(self, path: str, number: int) -> tuple[bool, bool]:
        """Returns whether (the function's, the reference's) element is another one where that of an argument
        is."""
        moved = [False, False]
        for change in (lambda old: 2 * abs(old) + 3, lambda old: -2 * abs(old) - 5):
            calls = (
                (self._calling.function, self._seen.ran, self._ours),
                (self._calling.reference, self._want, self._theirs),
            )
            for which, (function, before, result) in enumerate(calls):
                moved[which] |= self._moves(function, before, result, path, number, change)
        return moved[0], moved[1]

    def _moves(self, function, before: Ran, result: str, path: str, number: int, change) -> bool:
        made = self._calling.made(self._case)
        index = self._seen.elements[path].index(number)
        tensor = made.tensors[path].detach()
        tensor[index] = change(float(tensor[index]))
        with tuned(self._case.config), poisoned():
            after = perform(function, made).everything
        at = self._element
        old, new = before.everything[result], after.get(result)
        if new is None or new.shape != old.shape:
            return True
        at = at if math.prod(old.shape) > 1 else (0,) * old.ndim
        return not same(numpy.array(old[at]), numpy.array(new[at]))
