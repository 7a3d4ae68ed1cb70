"""Whether a kernel's TTGIR accesses only what its TTIR does, for every size: a compiler may leave out a load,
and must not add one (triton#11601).

Each access of the TTGIR is looked for in the TTIR: the same program, the same element of the tile, and an
iteration that is guessed, as a pipelined loop loads for later ones. That the access is reached there, under
its mask, and goes to the same place is what is proved. Values that are loaded from memory to which the kernel
does not write are the same at both levels where their addresses are.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy

from triton_runner import _core
from triton_runner._base.errors import with_source
from triton_runner._core import ir
from triton_runner._kernel.cases import reads
from triton_runner.verbs.prove.check import Checker, Finding, Goal
from triton_runner.verbs.prove.limit import now
from triton_runner.verbs.prove.model import Reader
from triton_runner.verbs.prove.results import reason_at
from triton_runner.verbs.prove.terms import (
    Substitution,
    atoms_of,
    both,
    either,
    equal,
    ge,
    negated,
    poly,
    quotient,
)
from triton_runner.verbs.prove.values import OTHER, Data, Value, unknown

PROPERTY = "refines"
_AHEAD = 8  # iterations that a pipeline is ahead, or has before its loop
_MOST_GUESSES = 400  # that are compared
_MOST_ASKED = 4  # that Z3 is asked about


class ReaderOfTtgir(Reader):
    """Reads TTGIR as Reader does TTIR. Shared memory is not followed: an op without a pointer or a descriptor
    accesses no argument."""

    def __init__(self, *words, **how):
        super().__init__(*words, **how)
        self._maps: dict = {}  # the descriptors that the kernel writes, by the pointer to where

    def _others(self, op, given) -> list:
        if op.regions or op.does("elementwise") or any(_points(value.type) for value in op.operands):
            return super()._others(op, given)
        return [unknown(value.type, self._why(op), op.name) for value in op.results]

    def _ttg_convert_layout(self, op, value):
        return value

    def _ttg_async_copy_global_to_local(self, op, pointer, *_):
        self._access(op, "loads", pointer, self._optional(op, "mask"), tuple(op.operands[0].type.shape))
        return [unknown(value.type, self._why(op)) for value in op.results]

    # ---- TMA

    def _ttng_tensormap_create(self, op, *_):
        """Its lists begin with the dimension whose elements are neighbours, and strides are bytes."""
        (base,) = op.group("global_address")
        pointer, size = self._env.get(base, OTHER), self._size(base) // 8
        extents, bytes_, steps = (
            [self._env.get(value, OTHER) for value in reversed(op.group(name))]
            for name in ("global_dim", "global_stride", "element_stride")
        )
        is_known = pointer.kind == "ptr" and all(one.kind == "int" for one in (*extents, *bytes_, *steps))
        result = Value("desc", note=self._why(op))
        if is_known and size and all(one.term.const == 1 for one in steps):
            strides = [quotient(one.term, size) for one in bytes_]
            if all(stride * size == one.term for stride, one in zip(strides, bytes_, strict=True)):
                parts = tuple(one.term for one in extents), (*strides, poly(1))
                result = dataclasses.replace(pointer, kind="desc", parts=parts)
        self._maps[op.operands[0]] = result

    def _ttng_reinterpret_tensor_descriptor(self, op, *_):
        return self._maps.get(op.operands[0], Value("desc", note=self._why(op)))

    def _ttng_tensormap_fenceproxy_acquire(self, op, *_):
        return None

    def _ttng_async_tma_copy_global_to_local(self, op, descriptor, *_):
        if op.group("offsets") or op.group("multicast"):
            return self._others(op, [descriptor])
        self._box(op, "loads", descriptor, op.group("coord"), self._optional(op, "pred"))
        return [unknown(value.type, self._why(op)) for value in op.results]

    def _ttng_async_tma_copy_local_to_global(self, op, descriptor, *_):
        self._box(op, "stores", descriptor, op.group("coord"))
        return [unknown(value.type, self._why(op)) for value in op.results]

    def _ttng_async_tma_reduce(self, op, descriptor, *_):
        self._box(op, "atomics", descriptor, op.group("coord"))
        return [unknown(value.type, self._why(op)) for value in op.results]


def _points(type_) -> bool:
    element = type_.element if type_.kind == "tensor" else type_
    return element.kind in ("pointer", "tensordesc")


def read(subject, solver, first: Reader) -> tuple[Reader, Reader]:
    """(the TTIR, the TTGIR) of a subject. first: has read the TTIR, and knows to which memory it writes."""
    writes = [one for one in first.accesses if one.kind != "loads"]
    kept: frozenset = frozenset()
    if not first.problems and all(one.base for one in writes):
        written = {subject.tensors[one.base].memory for one in writes}
        kept = frozenset(name for name, tensor in subject.tensors.items() if tensor.memory not in written)
    module = ir.parse(subject.ttgir[0])
    lower = module.function(subject.function.attr("sym_name").value) or module.kernels[0]
    words = subject.arguments, solver, subject.declared, subject.unsigned, kept
    readers = Reader(subject.module, subject.function, *words), ReaderOfTtgir(module, lower, *words)
    for reader in readers:
        reader.read()
    return readers


class Refining(Checker):
    """upper, lower: have read the TTIR and the TTGIR."""

    def __init__(self, upper: Reader, lower: Reader, solver, tensors: dict, budget: float):
        super().__init__(upper, solver, tensors, budget)
        self._lower = lower

    def _refines(self) -> Finding:
        finding = Finding(PROPERTY)
        self._sound(finding)
        below = Checker(self._lower, self._solver, self._tensors, self._budget)
        below._deadline = self._deadline
        below._sound(finding)
        for access in self._lower.accesses:
            finding.count += 1
            if access.base is None:
                text = f"at TTGIR the address of {access.op} is not followed: {access.note}"
                finding.unknown.append(reason_at(text, access.place))
            else:
                self._look(finding, access)
        return finding

    def _look(self, finding: Finding, access) -> None:
        verb = "reads" if access.kind == "loads" else "writes"
        what = f"{access.op} of TTGIR may access what no line of the kernel {verb} of {access.base}"
        if now() >= self._deadline:
            late = f"{what}: not looked at within {self._budget:g} s: give it more (--timeout)"
            finding.unknown.append(reason_at(late, access.place))
            return
        offset, mask = self._placed(access)
        given = [*access.given, mask, *(one.fact for one in self._reader.assumes)]
        goals = []
        for goal in self._there(access, offset):
            goals.append(goal)
            if self._solver.proves(goal, given, self._solver.seconds) is True:
                return
        if len(goals) > 1 and self._solver.proves(either(*goals), given) is True:
            return
        reason = reason_at(what, access.place)
        data = [one for one in atoms_of(*goals, *given) if one.kind == "app" and isinstance(one.note, Data)]
        if data:
            finding.unknown.append(reason_at(f"{what}; it depends on what is {data[0].note}", access.place))
        else:
            finding.goals.append(Goal((*given, *map(negated, goals)), reason))

    def _there(self, access, offset):
        """Conditions, each of which says that an access of the TTIR goes to the same element."""
        for other in sorted(self._candidates(access), key=lambda one: one.place != access.place):
            at, mask = self._placed(other)
            free = _iterations(at, mask, *other.path)
            asked = 0
            for change in itertools.islice(_guesses(free, _iterations(offset, *access.path)), _MOST_GUESSES):
                if (there := change.poly(at)) != offset and asked:
                    continue
                if asked == _MOST_ASKED:
                    break
                asked += 1
                conds = [change.cond(cond) for cond in (*other.path, mask)]
                conds += [ge(change.poly(poly(atom)), 0) for atom in free]
                yield both(*conds, equal(there, offset))

    def _candidates(self, access) -> list:
        kinds = ("loads", "atomics") if access.kind == "loads" else ("stores", "atomics")
        memory = self._tensors[access.base].same
        return [
            one
            for one in self._reader.accesses
            if one.base and self._tensors[one.base].same == memory and one.kind in kinds
            and one.shape == access.shape and (one.after is None or access.after is not None)
        ]  # fmt: skip


def _iterations(*terms) -> list:
    return sorted(
        atom for atom in atoms_of(*terms) if atom.kind == "sym" and atom.args[0].startswith("iteration#")
    )


def _guesses(free: list, own: list):
    """Iterations of the TTIR for those of the TTGIR: the same, later ones, and the first ones."""
    ahead = [poly(atom) + k for k in range(_AHEAD) for atom in own]
    options = [*ahead, *map(poly, range(_AHEAD))]
    depth = len(own)
    for choice in itertools.product(range(len(options)), repeat=len(free)):
        terms = [options[number] for number in choice]
        # The outer loops come first at both levels.
        if depth == len(free) and all(number < depth for number in choice) and list(choice) != sorted(choice):
            continue
        yield Substitution(dict(zip(free, terms, strict=True)))


def beyond(launch, programs: int, restore) -> tuple[str, str, int] | None:
    """(what the TTGIR of a launch accesses and its TTIR does not, file, line); None: nothing is seen. Which
    bytes are read is kept, and of those that are written what lies outside of an argument shows. restore():
    gives memory back what it held, so that both levels see the same."""
    sets = {}
    for level in ("ttir", "ttgir"):
        sets[level] = _core.ReadSet()
        restore()
        trap = launch.run("race", level, reads=sets[level], programs=programs)
        if trap is not None and level == "ttgir" and trap.kind.startswith("out of bounds"):
            text = f"its TTGIR leaves an argument, and its TTIR does not\n{with_source(trap)}"
            return text, trap.file, trap.line
        if trap is not None:
            return None
    for place, address, count in sets["ttgir"].beyond(sets["ttir"]):
        for name, value in launch.named:
            if not isinstance(value, numpy.ndarray):
                continue
            first = value.__array_interface__["data"][0]
            if first <= address < first + value.nbytes:
                far = (address - first) // value.itemsize
                text = reads.sentence("ttir", "ttgir", count, f"{name} + {far}", place)
                at = reads.PLACE.fullmatch(place)
                return text, at["file"] if at else "", int(at["line"]) if at else 0
    return None
