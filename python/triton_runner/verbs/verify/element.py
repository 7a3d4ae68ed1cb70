"""Reports what a launch does to one element of an argument: which store writes it, which reductions and
products its value is made of, and which elements of the arguments the loads before them read."""

from __future__ import annotations

import numpy

from triton_runner._base.ci_files import shown_path
from triton_runner._code.chain import DOTS, REDUCTIONS, Node, sources
from triton_runner._code.walk import reached
from triton_runner._kernel.dumps import accesses, boxes
from triton_runner._kernel.dumps.accesses import Access, Elements, Launched

_SHOWN = 4  # steps of a computation
_LOADS = 8  # that are listed
_FEW = 4  # numbers that are listed in place of a range
_NARROW = ("f16", "bf16")
_MADE_BY = {"arith.truncf", "arith.sitofp", "arith.uitofp"}  # conversions that may round
_CONVERSIONS = {*_MADE_BY, "arith.extf", "arith.extsi", "arith.extui", "tt.fp_to_fp", "tt.bitcast"}
_ADDS = ("tt.atomic_rmw", "tt.descriptor_reduce")
_LOOPS = ("scf.for", "scf.while")


class Report:
    """The lines on one launch. elements: of its arguments by name."""

    def __init__(self, launch: Launched, elements: dict[str, Elements]):
        self._launch, self._elements = launch, elements
        self._writes = [one for one in launch.accesses if one.writes]
        self._reads = [one for one in launch.accesses if one.reads]

    def lines(self, output: Elements, number: int) -> list[str]:
        """Follows the element with this number of an argument, and names elements that nothing reads."""
        address = output.addresses[number]
        mine = [one for one in self._writes if (one.addresses[one.active] == address).any()]
        if not mine:
            share = self._share(output, self._writes)
            return [
                f"no program of {self._launch.kernel} writes it; {share}".removesuffix("; "),
                *self._unread(output),
            ]
        last = mine[-1]
        adding = [one for one in mine if one.op == last.op] if last.op.name in _ADDS else [last]
        nodes = [(one, _nodes(one, address)) for one in adding]
        lines = [f"{last.place}, writes it{_steps(nodes[-1][1])}"]
        if len(adding) > 1:
            lines.append(f"{len(adding)} programs add to it")
        by_op: dict = {}  # the executions of loads, by op and program
        for read in self._reads:
            by_op.setdefault((read.op, read.program), []).append(read)
        lines += [f"  {line}" for line in self._loaded(nodes, by_op)]
        lines += [f"  {line}" for line in self._multiplied(*nodes[-1], by_op)]
        return [*lines, *self._unread(output)]

    def _multiplied(self, write: Access, nodes: list[Node], by_op: dict):
        """A line for each product of two loads: the first elements of theirs that it multiplies, and the
        last in the same turn of its loop."""
        for node in nodes:
            if node.op is None or node.op.name not in DOTS or len(node.part) != 2 or None in node.part:
                continue
            loads = [_load_of(value) for value in node.op.operands[:2]]
            if any(op is None for op in loads):
                continue
            carrying = {_loop_of(one.value) for one in nodes} - {None}
            sides = [
                [read for read in by_op.get((op, write.program), []) if _is_before(read, write, carrying)]
                for op in loads
            ]
            pairs = [(a, b) for a in sides[0][:1] for b in sides[1] if a.turn == b.turn]
            for left, right in pairs[:1]:
                row, column = numpy.s_[node.part[0], :], numpy.s_[:, node.part[1]]
                both = numpy.flatnonzero(left.active[row] & right.active[column])
                a, b = left.addresses[row], right.addresses[column]
                texts = [
                    f"{self._called(a[[k]])} by {self._called(b[[k]])}"
                    for k in dict.fromkeys([*both[:1], *both[-1:]])
                ]
                if texts:
                    yield f"{node.op.name} at {_place(node.op)} multiplies {', ..., '.join(texts)}"

    def _loaded(self, nodes, by_op: dict):
        """A line for each load that the value is made of: which elements it reads."""
        found: dict = {}  # the parts of executions, by op
        for write, those in nodes:
            carrying = {_loop_of(one.value) for one in those} - {None}
            for op in {one.op for one in those if one.op is not None}:
                parts = [one.part for one in those if one.op is not None and one.op == op]
                for read in by_op.get((op, write.program), []):
                    if _is_before(read, write, carrying):
                        found.setdefault(op, []).append((read, _selected(read, parts), write))
        ops = sorted(found, key=lambda op: op.location.line)
        for op in ops[:_LOADS]:
            yield self._of_load(op, found[op])
        if len(ops) > _LOADS:
            yield f"and what {len(ops) - _LOADS} other loads read"

    def _of_load(self, op, parts) -> str:
        read = [one.addresses[one.active & selected] for one, selected, _ in parts]
        masked = sum(int((selected & ~one.active).sum()) for one, selected, _ in parts)
        there, counts = numpy.unique(numpy.concatenate(read), return_counts=True)
        text = self._called(there) or "nothing"
        often = int((counts > counts.min()).sum()) if counts.size else 0
        if often:
            text += f" ({often} of them {'twice' if counts.max() == 2 else 'more often'})"
        if masked:
            text += f" and {masked} masked, {_of_masked(op)}"
        return f"{text}: {op.name} at {_place(op)}{_turns(op, parts)}"

    def _called(self, addresses: numpy.ndarray) -> str:
        names = []
        for of in self._elements.values():
            mine = (addresses >= of.start) & (addresses < of.end)
            if mine.any():
                names += [_named(of, addresses[mine])]
                addresses = addresses[~mine]
        if addresses.size:
            names.append(f"{addresses.size} elements that no argument holds")
        return ", ".join(names)

    def _touched(self, of: Elements, those: list[Access]) -> numpy.ndarray:
        parts = [one.addresses[one.active].reshape(-1) for one in those]
        return (
            numpy.isin(of.addresses, numpy.concatenate(parts))
            if parts
            else numpy.zeros(of.addresses.shape, bool)
        )

    def _share(self, of: Elements, writes: list[Access]) -> str:
        touched = self._touched(of, writes)
        mine = [one for one in writes if numpy.isin(one.addresses[one.active], of.addresses).any()]
        places = accesses.places(one.op for one in mine)
        return (
            f"{int(touched.sum()):,} of {touched.size:,} elements of {of.name} are written, by {places}"
            * bool(mine)
        )

    def _unread(self, output: Elements):
        """A line for each argument that is read in part."""
        for of in self._elements.values():
            touched = self._touched(of, self._reads)
            if of is output or touched.all() or not touched.any():
                continue
            first = of.called(of.addresses[int(numpy.argmin(touched))])
            mine = [one for one in self._reads if numpy.isin(one.addresses[one.active], of.addresses).any()]
            yield (
                f"{int((~touched).sum()):,} of {touched.size:,} elements of {of.name} are read by no "
                f"program, the first is {first}: {accesses.places(one.op for one in mine)}"
            )


def _nodes(write: Access, address: int) -> list[Node]:
    """Finds the values that one element that a program writes is made of."""
    value = boxes.stored_by(write.op)
    at = numpy.argwhere(write.active & (write.addresses == address))
    part = tuple(at[-1].tolist()) if len(at) else ()
    shape = tuple(value.type.shape or ())
    return _chain(value, part if len(part) == len(shape) else (None,) * len(shape))


def made_of(op) -> str:
    """The steps by which what a store writes is made."""
    value = boxes.stored_by(op)
    return _steps(_chain(value, (None,) * len(value.type.shape or ())))


def _chain(value, part: tuple) -> list[Node]:
    """Returns the values that a part of a value is made of."""
    return [*reached([Node(value, part)], sources)]


def _load_of(value):
    """The load whose elements a value has at the same places, in whatever type; None: it is another value."""
    while value.op is not None and value.op.name in _CONVERSIONS:
        value = value.op.operands[0]
    return value.op if value.op is not None and value.op.name in ("tt.load", *boxes.LOADS) else None


def _selected(read: Access, parts: list[tuple]) -> numpy.ndarray:
    """The elements of a load that a value is made of."""
    selected = numpy.zeros(read.addresses.shape, bool)
    for part in parts:
        fits = len(part) == selected.ndim
        selected[tuple(slice(None) if i is None else i for i in part) if fits else ...] = True
    return selected


def _is_before(read: Access, write: Access, carrying: set) -> bool:
    """Returns whether a load is part of what a store writes: in loops around both in the same turn, or in one
    before if the loop carries the value."""
    both = [one for one in _loops(read.op) if one in _loops(write.op)]
    turns = zip(both, read.turn, write.turn, strict=False)
    return all(mine == its or (loop in carrying and mine < its) for loop, mine, its in turns)


def _turns(op, parts) -> str:
    """Says in how many turns of which loops a load is part of what one program stores."""
    _, _, write = parts[-1]
    turns = [one.turn for one, _, other in parts if other.program == write.program]
    texts = []
    for depth, loop in enumerate(_loops(op)):
        count = len({turn[depth] for turn in turns if len(turn) > depth})
        if loop not in _loops(write.op) or count > 1:
            texts.append(f"{count} turn{'s' * (count != 1)} of the loop at {_place(loop)}")
    return f", in {' and '.join(texts)}" if texts else ""


def _loops(op) -> list:
    """The loops around an op, the outermost first."""
    found = []
    while (op := op.parent) is not None:
        if op.name in _LOOPS:
            found.insert(0, op)
    return found


def _loop_of(value):
    """The loop whose body has a value as an argument that it carries."""
    if value.op is not None or value.block.parent is None or value.block.parent.name not in _LOOPS:
        return None
    return value.block.parent


def _named(of: Elements, addresses: numpy.ndarray) -> str:
    """Names elements of an argument by their ranges along each axis."""
    numbers = of.numbers(addresses)
    outside = int((numbers < 0).sum())
    numbers = numbers[numbers >= 0]
    if not numbers.size:
        return f"{outside} elements of the storage of {of.name} outside of it"
    text = of.name
    if of.shape:
        sides = [numpy.unique(one) for one in numpy.unravel_index(numbers, of.shape)]
        text += f"[{', '.join(map(_range, sides))}]"
        if numpy.prod([side.size for side in sides]) != numbers.size:
            text = f"{numbers.size} elements of {text}"
    return text + (f", {outside} elements of its storage outside of it" if outside else "")


def _range(numbers: numpy.ndarray) -> str:
    first, last = int(numbers[0]), int(numbers[-1])
    if numbers.size == 1:
        return str(first)
    steps = numpy.unique(numpy.diff(numbers))
    if numbers.size <= _FEW and steps.max() > 1:
        return " and ".join(map(str, numbers))
    if steps.size == 1:
        return f"{first}:{last + 1}" + (f":{steps[0]}" if steps[0] > 1 else "")
    return f"{numbers.size} of {first}:{last + 1}"


def _of_masked(op) -> str:
    """Says what the elements that a mask leaves out are."""
    if op.name in boxes.LOADS:
        return "which are 0 as they are outside of the descriptor"
    other = op.group("other") if op.name == "tt.load" else []
    if not other:
        return "without other="
    made = other[0].op
    while made is not None and made.name in ("tt.splat", "arith.truncf", "arith.sitofp") and made.operands:
        made = made.operands[0].op
    if made is None or made.name != "arith.constant":
        return "which other= gives"
    text = str(made.attr("value")).partition(":")[0].strip()
    return f"which are {_number(text.removeprefix('dense<').removesuffix('>'))}"


def _number(text: str) -> str:
    """A constant of the IR as people write it."""
    if text.startswith("0x"):
        bits = int(text, 16)
        kinds = {4: numpy.float16, 8: numpy.float32, 16: numpy.float64}
        kind = kinds.get(len(text) - 2)
        if kind is not None:
            return f"{numpy.frombuffer(bits.to_bytes(len(text) // 2 - 1, 'little'), kind)[0]:g}"
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _steps(nodes: list[Node]) -> str:
    """The reductions and products that a value is made of, the last first."""
    ops = {one.op for one in nodes if one.op is not None}
    steps = dict.fromkeys(map(_step, sorted(ops, key=lambda op: -op.location.line)))
    steps.pop("", None)
    return f"; it is made of {', '.join([*steps][:_SHOWN])}" if steps else ""


def _step(op) -> str:
    kind = str(op.results[0].type.element or op.results[0].type) if op.results else ""
    narrow = f", in {kind}" if kind in _NARROW else ""
    if op.name in REDUCTIONS:
        return f"{op.name} along axis {op.attr('axis').value} at {_place(op)}{narrow}"
    if op.name in DOTS or (narrow and op.name == "arith.addf" and _is_carried(op)):
        return f"{op.name} at {_place(op)}{narrow}"
    if narrow and op.name in _MADE_BY and _is_narrowing(op):
        return f"a number in {kind} at {_place(op)}"
    return ""


def _is_carried(op) -> bool:
    """Returns whether an op adds to what a loop carries."""
    return any(one.op is None and one.block.parent.name in _LOOPS for one in op.operands)


def _is_narrowing(op) -> bool:
    """Returns whether what an op rounds to 16 bits becomes something wider or an integer again."""
    return any(
        other.name in ("arith.extf", "arith.fptosi", "arith.fptoui")
        for other in op.block.ops
        if op.results[0] in other.operands
    )


def _place(op) -> str:
    return f"{shown_path(op.location.file)}:{op.location.line}"
