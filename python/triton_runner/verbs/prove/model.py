"""Reads a kernel's TTIR into what has to be proved: its accesses, divisions, loops, as terms over sizes, the
program's number, the element of a tile and the iterations of loops.

A value that the model does not follow is any value of its type, which only weakens what can be proved; an op
that might write memory in a way that the model does not know is a problem, with which nothing about memory is
proved.
"""

from __future__ import annotations

import dataclasses

from triton_runner._code.carried import end_of
from triton_runner.verbs.prove import values
from triton_runner.verbs.prove.facts import (
    Access,
    Assumed,
    Branch,
    Division,
    Loaded,
    Loop,
    Place,
    Problem,
    program,
    programs,
)
from triton_runner.verbs.prove.flow import ordered, relevant
from triton_runner.verbs.prove.limit import now
from triton_runner.verbs.prove.solver import Solver
from triton_runner.verbs.prove.terms import (
    FALSE,
    TRUE,
    Atom,
    Cond,
    Poly,
    atoms_of,
    both,
    choice,
    either,
    ge,
    larger,
    lt,
    negated,
    poly,
    quotient,
    symbol,
)
from triton_runner.verbs.prove.values import OTHER, Data, Value, axis, moved, unknown, within

_FOREIGN = ("tt.elementwise_inline_asm", "tt.extern_elementwise")  # may do anything with a pointer
_SHORT = 8  # turns of a loop, each of which is looked at by itself where it carries what is not followed
_QUICK = 0.25  # of the time for a question, for those that only make terms simpler


class _Late(Exception):
    """Ends the reading of a kernel at a place, as its time is over."""


class Reader:
    """arguments: Values by name; declared: (lo, hi) of the integers that an argument's memory holds, as
    polynomials, by name; unsigned: the arguments whose memory holds integers without a sign; kept: those to
    whose memory the kernel does not write: what is loaded from one place there is one number. read() fills
    accesses, loads, divisions, loops, branches, whiles, problems and assumes."""

    def __init__(
        self, module, function, arguments: dict, solver: Solver, declared: dict, unsigned=(), kept=()
    ):
        self._module, self._function = module, function
        self._arguments, self._solver, self.declared = arguments, solver, declared
        self._unsigned, self._kept = unsigned, kept
        self.accesses: list[Access] = []
        self.loads: list[Loaded] = []
        self.divisions: list[Division] = []
        self.loops: list[Loop] = []
        self.branches: list[Branch] = []
        self.whiles: list[Place] = []
        self.problems: list[Problem] = []
        self.assumes: list[Assumed] = []
        self._path: list[Cond] = []
        self._dry = 0
        self._shape: tuple = ()
        self._computing = values.Computing(self._fits, self._holds)
        self._env: dict = {}
        self._bases = [axis(i) for i in range(8)] + [program(i) for i in range(3)]  # made before any loop
        self._wanted = relevant(module)

    def read(self) -> None:
        names = [argument.name.removeprefix("%") for argument in self._function.regions[0].blocks[0].args]
        for dimension in range(3):
            self._solver.add(lt(program(dimension), programs(dimension)))
        try:
            self._call(self._function, [self._arguments[name] for name in names])
        except _Late as late:
            why = "the kernel is not read within its time: give it more (--timeout)"
            self.problems.append(Problem(why, late.args[0], goes_back=True))

    def numbers(self) -> list:
        """The terms of the parameters that are integers."""
        return [value.term for value in self._arguments.values() if value.kind == "int"]

    # ---- what is proved on the way

    def _given(self) -> tuple:
        return (*self._path, *within(self._shape))

    def _fits(self, term: Poly, bits: int) -> bool:
        half = 1 << (bits - 1)
        fits = both(ge(term, -half), lt(term, half))
        return self._solver.by_bounds(fits, self._given()) if bits > 32 else self._holds(fits)

    def _holds(self, cond: Cond) -> bool:
        if cond is TRUE or cond is FALSE:
            return cond is TRUE
        given = self._given()
        if self._dry:
            return self._solver.by_bounds(cond, given)
        return self._solver.proves(cond, given, _QUICK * self._solver.seconds) is True

    # ---- blocks

    def _call(self, function, arguments: list[Value]) -> list[Value]:
        """The results of a function: its blocks in order, each under the condition of its edges."""
        blocks = function.regions[0].blocks
        order = ordered(blocks)
        if order is None:
            self._problem("control flow that goes back", function, goes_back=True)
            return []
        entered = {blocks[0]: [(TRUE, arguments)]}
        returned: list = []
        before = list(self._path)
        for block in order:
            edges = entered.get(block, [])
            if not edges:
                continue
            reached = either(*(cond for cond, _ in edges))
            self._path = [*before, *([reached] if reached is not TRUE else [])]
            for number, argument in enumerate(block.args):
                value = edges[-1][1][number]
                for cond, given in reversed(edges[:-1]):
                    chosen = Value("bool", cond)
                    value = values.selected(chosen, given[number], value, argument.type, self._why(function))
                self._env[argument] = value
            last = self._ops(block)
            after = both(reached, *self._path[len(before) + (reached is not TRUE) :])
            if last.name in ("tt.return", "tt.reduce.return"):
                returned.append((after, [self._env[value] for value in last.operands]))
                continue
            for cond, target, given in self._edges(last):
                entered.setdefault(target, []).append((both(after, cond), given))
        self._path = before
        if not returned:
            return []
        results = returned[-1][1]
        for cond, given in reversed(returned[:-1]):
            results = [
                a if a is b else values.selected(Value("bool", cond), a, b, one.type, self._why(function))
                for a, b, one in zip(given, results, last.operands, strict=True)
            ]
        return results

    def _edges(self, last) -> list:
        given = [self._env[value] for value in last.operands]
        if last.name == "cf.br":
            return [(TRUE, last.successors[0], given)]
        if last.name == "cf.cond_br":
            cond, count = given[0], len(last.group("true_args"))
            term = cond.term if cond.kind == "bool" else unknown(last.operands[0].type, self._why(last)).term
            self._branch(last, term)
            yes, no = last.successors
            return [(term, yes, given[1 : 1 + count]), (negated(term), no, given[1 + count :])]
        self._problem(f"{last.name} is not followed", last)
        return []

    def _ops(self, block):
        """Does the ops of a block; returns the one that ends it, None where nothing does."""
        for op in block.ops:
            if op.does("ends"):
                return op
            if now() > self._solver.deadline:
                raise _Late(_place(op))
            self._op(op)
        return None

    def _region(self, op, side: int, path=()) -> list[Value]:
        """The values at the end of a region of one block."""
        before = list(self._path)
        self._path += [cond for cond in path if cond is not TRUE]
        last = self._ops(op.regions[side].blocks[0])
        self._path = before
        return [self._env.get(value, OTHER) for value in last.operands] if last is not None else []

    # ---- ops

    def _op(self, op) -> None:
        function = getattr(self, "_" + op.name.replace(".", "_"), None)
        if op.name in _FOREIGN and any(_may_be_an_address(value.type) for value in op.operands):
            self._problem(f"{op.name} of what may be an address is not followed", op)
        given = [self._env.get(value, OTHER) for value in op.operands]
        if op.does("divides") and op.name != "math.ipowi" and not self._dry:
            self.divisions.append(
                Division(given[1], (*self._path, *within(_shape_of(op.operands[1]))), _place(op))
            )
        if function is not None:
            results = function(op, *given)
        else:
            results = self._others(op, given)
        if isinstance(results, Value):
            results = [results]
        for value, result in zip(op.results, results or [], strict=True):
            self._env[value] = result

    def _others(self, op, given) -> list[Value]:
        wanted = [value for value in op.results if value in self._wanted]
        if op.does("elementwise") and len(op.results) == 1:
            if not wanted:
                return [OTHER]
            self._shape = _shape_of(op.results[0])
            return [self._computing.compute(op, given, self._why(op))]
        writes = any(op.does(effect) for effect in ("stores", "atomics", "mover", "forks", "buffer_writes"))
        if writes or (op.regions and not op.does("applies")) or not op.effects or op.does("loads"):
            self._problem(f"{op.name} is not followed", op)
        return [unknown(value.type, self._why(op), op.name) for value in op.results]

    def _arith_constant(self, op):
        value, type_ = op.attr("value").value, op.results[0].type
        shape = _shape_of(op.results[0])
        element = type_.element if type_.kind == "tensor" else type_
        if element.kind not in ("integer", "index") or isinstance(value, float) or value is None:
            return OTHER
        if isinstance(value, list):
            return unknown(type_, self._why(op), "constant")
        if element.kind == "integer" and element.width == 1:
            return Value("bool", TRUE if value else FALSE, shape, 1)
        return Value("int", poly(value), shape, 64 if element.kind == "index" else element.width)

    def _arith_select(self, op, cond, a, b):
        return values.selected(cond, a, b, op.results[0].type, self._why(op))

    def _tt_get_program_id(self, op):
        return Value("int", program(op.attr("axis").integer), (), 32)

    def _tt_get_num_programs(self, op):
        return Value("int", programs(op.attr("axis").integer), (), 32)

    def _tt_make_range(self, op):
        (extent,) = op.results[0].type.shape
        start = poly(op.attr("start").value)
        return Value("int", start + axis(0) if extent > 1 else start, (extent,), 32)

    def _tt_splat(self, op, value):
        return moved(value, {}, _shape_of(op.results[0]))

    def _tt_unsplat(self, op, value):
        return moved(value, {}, ())

    def _tt_expand_dims(self, op, value):
        at, shape = op.attr("axis").value, _shape_of(op.results[0])
        by = {axis(i): poly(axis(i + (i >= at))) for i in range(len(shape) - 1)}
        return moved(value, by, shape)

    def _tt_broadcast(self, op, value):
        return moved(value, {}, _shape_of(op.results[0]))

    def _tt_trans(self, op, value):
        order = op.attr("order").value
        by = {axis(old): poly(axis(new)) for new, old in enumerate(order)}
        return moved(value, by, _shape_of(op.results[0]))

    def _tt_reshape(self, op, value):
        shape = _shape_of(op.results[0])
        if op.attr("allow_reorder") is not None:
            return unknown(op.results[0].type, self._why(op), "reshape")
        return OTHER if value.kind in ("other", "desc") else values.reshaped(value, shape)

    def _tt_bitcast(self, op, value):
        same = value.kind == "ptr" and self._size(op.operands[0]) == self._size(op.results[0])
        return value if same else unknown(op.results[0].type, self._why(op), "bitcast")

    @staticmethod
    def _size(value) -> int:
        """The bits that a pointer points to."""
        type_ = value.type.element if value.type.kind == "tensor" else value.type
        element = type_.element if type_.kind == "pointer" else None
        return 0 if element is None else 8 if str(element) == "i1" else element.width

    def _tt_addptr(self, op, pointer, offset):
        if pointer.kind != "ptr" or offset.kind != "int":
            note = pointer.note if pointer.kind == "ptr" else self._why(op)
            result = unknown(op.results[0].type, note, "pointer")
            return dataclasses.replace(result, base=pointer.base) if pointer.kind == "ptr" else result
        self._shape = _shape_of(op.results[0])
        term = self._computing._exact(pointer.term + offset.term, pointer.bits)
        return dataclasses.replace(pointer, term=term, shape=_shape_of(op.results[0]))

    # ---- memory

    def _access(self, op, kind: str, pointer: Value, mask: Value | None, shape: tuple) -> None:
        if self._dry:
            return
        cond = TRUE if mask is None else mask.term if mask.kind == "bool" else None
        if cond is None:
            cond = unknown(op.group("mask")[0].type, "the mask is not followed").term
        base = pointer.base if pointer.kind == "ptr" else None
        offset = pointer.term if base is not None else None
        note = pointer.note or ("" if base else "the address is not followed")
        after = self.whiles[0] if self.whiles else None
        access = Access(kind, base, offset, cond, tuple(self._path), shape, _place(op), op.name, note, after)
        self.accesses.append(access)

    def _optional(self, op, group: str):
        values_ = op.group(group)
        return self._env.get(values_[0], OTHER) if values_ else None

    def _tt_load(self, op, pointer, *_):
        mask = self._optional(op, "mask")
        self._access(op, "loads", pointer, mask, _shape_of(op.operands[0]))
        return self._loaded(op, pointer, mask, self._optional(op, "other"))

    def _loaded(self, op, pointer, mask, other):
        base = pointer.base
        data = Data(f"loaded from {base or 'memory'} at {_place(op)}", base)
        result = unknown(op.results[0].type, data, "loaded")
        if result.kind != "int" or op.results[0] not in self._wanted:
            return result if result.kind != "int" else OTHER
        if base in self._kept and pointer.kind == "ptr":
            atom = result.term.atom
            same = Atom("app", f"in {base}", pointer.term, lo=atom.lo, hi=atom.hi, note=data)
            result = dataclasses.replace(result, term=poly(same))
        if base is not None and not self._dry:
            is_on = TRUE if mask is None else mask.term if mask.kind == "bool" else FALSE
            if (reached := both(*self._path, is_on)) is not TRUE:  # where nothing is loaded, nothing is said
                reached = both(reached, *within(result.shape))
            number = result.term
            if base in self._unsigned:
                number = choice(ge(number, 0), number, number + (1 << result.bits))
            self.loads.append(Loaded(base, number, reached))
            if base in self.declared:
                self._solver.add(self.loads[-1].within(*self.declared[base]))
        if mask is not None and mask.kind == "bool" and other is not None and other.kind == "int":
            return dataclasses.replace(result, term=choice(mask.term, result.term, other.term))
        return result

    def _tt_store(self, op, pointer, value, *_):
        self._access(op, "stores", pointer, self._optional(op, "mask"), _shape_of(op.operands[0]))

    def _tt_atomic_rmw(self, op, pointer, value, *_):
        self._access(op, "atomics", pointer, self._optional(op, "mask"), _shape_of(op.operands[0]))
        return unknown(op.results[0].type, Data(f"read by {op.name} at {_place(op)}"), "loaded")

    def _tt_atomic_cas(self, op, pointer, *_):
        self._access(op, "atomics", pointer, None, _shape_of(op.operands[0]))
        return unknown(op.results[0].type, Data(f"read by {op.name} at {_place(op)}"), "loaded")

    def _tt_make_tensor_descriptor(self, op, base, *_):
        shape = [self._env.get(value, OTHER) for value in op.group("shape")]
        strides = [self._env.get(value, OTHER) for value in op.group("strides")]
        if base.kind != "ptr" or any(one.kind != "int" for one in (*shape, *strides)):
            return Value("desc", note=self._why(op))
        return dataclasses.replace(
            base, kind="desc", parts=(tuple(one.term for one in shape), tuple(one.term for one in strides))
        )

    def _box(self, op, kind: str, descriptor: Value, indices, where: Value | None = None) -> None:
        """An access to a box of a descriptor, at indices, where `where` holds; elements outside of its shape
        are left out."""
        indices = [self._env.get(value, OTHER) for value in indices]
        type_ = op.operands[0].type
        shape = tuple(type_.shape or type_.element.shape)
        is_known = descriptor.parts and all(one.kind == "int" for one in indices)
        if not is_known or not len(shape) == len(indices) == len(descriptor.parts[0]):
            note = descriptor.note or "its descriptor, or where its box begins"
            return self._access(op, kind, Value("ptr", None, shape, 64, None, note), where, shape)
        offset, inside = descriptor.term, []
        for i, (index, extent, stride) in enumerate(zip(indices, *descriptor.parts, strict=True)):
            at = index.term + (axis(i) if shape[i] > 1 else 0)
            offset = offset + at * stride
            inside += [ge(at, 0), lt(at, extent)]
        if where is not None and where.kind == "bool":
            inside.append(where.term)
        mask = Value("bool", both(*inside), shape, 1)
        return self._access(op, kind, dataclasses.replace(descriptor, kind="ptr", term=offset), mask, shape)

    def _tt_descriptor_load(self, op, descriptor, *_):
        self._box(op, "loads", descriptor, op.group("indices"))
        return self._loaded(op, descriptor, None, None)

    def _tt_descriptor_store(self, op, descriptor, *_):
        self._box(op, "stores", descriptor, op.group("indices"))

    def _tt_descriptor_reduce(self, op, descriptor, *_):
        self._box(op, "atomics", descriptor, op.group("indices"))

    def _llvm_intr_assume(self, op, cond, *_):
        if cond.kind == "bool" and not self._dry:
            self.assumes.append(Assumed(cond.term, tuple(self._path), _place(op)))
            self._path.append(cond.term)

    def _tt_assert(self, op, *_):
        return None

    _tt_print = _cf_assert = _tt_assert

    def _tt_call(self, op, *given):
        function = self._module.function(str(op.attr("callee")).strip('@"'))
        if function is None:
            return self._others(op, given)
        results = self._call(function, list(given))
        return (
            results
            if len(results) == len(op.results)
            else [unknown(value.type, self._why(op)) for value in op.results]
        )

    # ---- control

    def _branch(self, op, cond: Cond) -> None:
        if not self._dry:
            self.branches.append(Branch(cond, tuple(self._path), _place(op)))

    def _scf_if(self, op, cond, *_):
        term = cond.term if cond.kind == "bool" else unknown(op.operands[0].type, self._why(op)).term
        self._branch(op, term)
        chosen = Value("bool", term)
        yes = self._region(op, 0, [term]) if term is not FALSE else None
        no = []
        if len(op.regions) > 1 and op.regions[1].blocks and term is not TRUE:
            no = self._region(op, 1, [negated(term)])
        if term is TRUE or term is FALSE:
            return yes if term is TRUE else no
        return (
            [
                values.selected(chosen, a, b, result.type, self._why(op))
                for a, b, result in zip(yes, no, op.results, strict=True)
            ]
            if op.results
            else []
        )

    def _scf_while(self, op, *inits):
        note = f"carried by the while loop at {_place(op)}"
        if not self._dry:
            self.whiles.append(_place(op))
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        for argument in before.args:
            self._env[argument] = unknown(argument.type, note, "carried")
        cond, *passed = self._region(op, 0)
        if cond.kind == "bool":
            self._branch(op, cond.term)
        for argument, value in zip(after.args, passed, strict=True):
            self._env[argument] = value
        self._region(op, 1, [cond.term] if cond.kind == "bool" else [])
        return [unknown(value.type, note, "carried") for value in op.results]

    def _scf_for(self, op, lower, upper, step, *inits):
        block, place = op.regions[0].blocks[0], _place(op)
        is_counted = lower.kind == upper.kind == step.kind == "int" and op.attr("unsignedCmp") is None
        bits = lower.bits if is_counted else 0
        if not self._dry:
            bounds = (lower.term, upper.term, step.term) if is_counted else (None,) * 3
            note = "" if is_counted else "its bounds are not followed"
            self.loops.append(Loop(*bounds, bits, tuple(self._path), place, note))
        start = Atom("sym", values.fresh("start")).number  # what the loop changes is made later than this
        turn = symbol(values.fresh("iteration"), 0, (1 << 63) - 1)
        if is_counted:
            number = Value("int", lower.term + turn * step.term, (), bits)
            path = [lt(number.term, upper.term), ge(number.term, lower.term)]
        else:
            number, path = unknown(block.args[0].type, self._why(op), "iteration"), []
        steps = self._steps(op, number, inits, path, start)
        carried = list(zip(block.args[1:], inits, steps, strict=True))
        if is_counted and any(change is None and one in self._wanted for one, _, change in carried):
            turns = _short(lower.term.const, upper.term.const, step.term.const)
            if turns is not None:
                return self._unrolled(op, turns, bits, inits)
        self._env[block.args[0]] = number
        before, self._path = self._path, [*self._path, *(cond for cond in path if cond is not TRUE)]
        for argument, init, change in carried:
            self._env[argument] = self._carried(argument, init, change, turn, place)
        self._path = before
        first, whiles = len(self.accesses), len(self.whiles)
        self._region(op, 0, path)
        if len(self.whiles) > whiles:  # the next iteration comes after them
            found = [dataclasses.replace(one, after=self.whiles[whiles]) for one in self.accesses[first:]]
            self.accesses[first:] = found
        count = None
        results = []
        for (argument, init, change), result in zip(carried, op.results, strict=True):
            if change is not None and is_counted and result in self._wanted and change.parts:
                if count is None:
                    count = larger(0, quotient(upper.term - lower.term + step.term - 1, step.term))
                results.append(self._carried(argument, init, change, count, place))
            elif change is not None and not change.parts:
                results.append(init)
            else:
                results.append(self._carried(argument, init, None, turn, place))
        return results

    def _unrolled(self, op, turns: range, bits: int, inits) -> list[Value]:
        """The values that a loop of few turns ends with, of which each is done by itself."""
        number, *arguments = op.regions[0].blocks[0].args
        carried = list(inits)
        for turn in turns:
            self._env[number] = Value("int", poly(turn), (), bits)
            self._env.update(zip(arguments, carried, strict=True))
            carried = self._region(op, 0)
        return carried

    def _steps(self, op, number: Value, inits, path, start: int) -> list:
        """How much each carried value changes in an iteration, where it is the same in each; else None."""
        block = op.regions[0].blocks[0]
        self._dry += 1
        symbols = [unknown(argument.type, "", "carried") for argument in block.args[1:]]
        symbols = [
            dataclasses.replace(one, base=init.base) if one.kind == init.kind == "ptr" else one
            for one, init in zip(symbols, inits, strict=True)
        ]
        self._env[block.args[0]] = number
        for argument, value in zip(block.args[1:], symbols, strict=True):
            self._env[argument] = value
        ends = self._region(op, 0, path)
        self._dry -= 1
        steps = []
        for value, end, init in zip(symbols, ends, inits, strict=True):
            steps.append(None)
            if value.kind not in ("int", "ptr") or end.kind != value.kind or init.kind != value.kind:
                continue
            if value.kind == "ptr" and (end.base != init.base or init.base is None):
                continue
            term = end.term
            if (atom := term.atom) is not None and atom.kind == "wrap" and atom.args[1] == value.bits:
                term = atom.args[0]
            change = term - value.term
            inner = {one for one in atoms_of(change) if one.kind in ("sym", "app")}
            if all(one.number < start for one in inner):
                steps[-1] = change
        return steps

    def _carried(self, argument, init: Value, change, turn: Poly, place: Place) -> Value:
        """A carried value in an iteration."""
        if change is None:
            result = unknown(argument.type, f"carried around the loop at {place}", "carried")
            return (
                dataclasses.replace(result, base=init.base)
                if result.kind == init.kind == "ptr" and (self._keeps_base(argument))
                else result
            )
        if not change.parts:
            return dataclasses.replace(init, shape=_shape_of(argument))
        self._shape = _shape_of(argument)
        term = self._computing._exact(init.term + turn * change, init.bits)
        return dataclasses.replace(init, term=term, shape=self._shape)

    def _keeps_base(self, argument) -> bool:
        """Whether a pointer that a loop carries points into one argument in all iterations."""
        loop = argument.block.parent
        end = end_of(loop, 0).operands[argument.index - 1]
        seen = set()
        while end not in seen:
            seen.add(end)
            if end == argument:
                return True
            if end.op is None or end.op.name not in ("tt.addptr", "tt.splat", "tt.broadcast"):
                return False
            end = end.op.operands[0]
        return False

    # ---- words

    def _problem(self, why: str, op, goes_back: bool = False) -> None:
        if not self._dry:
            self.problems.append(Problem(why, _place(op), goes_back))

    def _why(self, op) -> str:
        """Why the result of an op is any value: the data that it is made of, or the op."""
        data = values.data_in(self._env.get(value, OTHER) for value in op.operands)
        return data or f"{op.name} at {_place(op)}"


def _short(first, last, step) -> range | None:
    """The numbers of a loop that has few turns in every launch."""
    if None in (first, last, step) or step <= 0:
        return None
    turns = range(first, last, step)
    return turns if len(turns) <= _SHORT else None


def _may_be_an_address(type_) -> bool:
    element = type_.element if type_.kind == "tensor" else type_
    return element.kind == "pointer" or (element.kind == "integer" and element.width == 64)


def _shape_of(value) -> tuple:
    return tuple(value.type.shape) if value.type.kind == "tensor" else ()


def _place(op) -> Place:
    location = op.location
    return Place(location.file, location.line) if location is not None else Place("", 0)
