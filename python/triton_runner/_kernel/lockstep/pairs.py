"""Pairs the values that lockstep() compares.

Between runs of one text (TTGIR on the CPU and on a GPU, TTGIR and the registers of its PTX), a value's
counterpart is the same result of the same op in the same regions. Between TTIR and TTGIR, it is a value of
the same kind of op with the same source location. Passes that unroll or pipeline a loop turn one value into
several, whose records are then compared in the order of execution."""

from __future__ import annotations

import re

from triton_runner._kernel.dumps.records import Values

# Ops of TTGIR and the op of TTIR that they correspond to.
_SAME = {
    "ttng.warp_group_dot": "tt.dot", "ttng.warp_group_dot_wait": "tt.dot", "ttng.tc_gen5_mma": "tt.dot",
    "ttg.local_load": "tt.load", "ttg.convert_layout": "",
}  # fmt: skip


def _key(values: Values):
    op = _SAME.get(values.op, values.op).replace("triton_gpu.", "ttg.")
    depth = values.loops if op.startswith("scf.") else 0  # a loop-carried value is not the loop's result
    return values.stack, op, values.shape, values.type, depth


def counterparts(a, b, across_releases: bool = False):
    """[(values of a, values of b)] that correspond: by definition if both run the same text, else by location
    and op. Values inside loops that wait are left out, because their iterations differ from run to run."""
    if across_releases:
        return _across_releases(a, b)
    if a.level != "ttir" and b.level != "ttir":
        theirs = {v.name: v for v in b.dump if takes_part(v, b.polled)}
        pairs = [(v, theirs.get(v.name)) for v in a.dump if takes_part(v, a.polled) and comparable(v)]
        return [([v], [w]) for v, w in pairs if w is not None and _definition(v) == _definition(w)]
    mine, theirs = {}, {}
    for groups, run in ((mine, a), (theirs, b)):
        for values in run.dump:
            if takes_part(values, run.polled) and values.file and _key(values)[1] and values.type != "ptr":
                groups.setdefault(_key(values), []).append(values)
    pairs = []
    for key, group in mine.items():
        for some, others in by_result(group, theirs.get(key, [])):
            if len(some) == 1 and all(len(v) == len(some[0]) for v in others):
                pairs += [(some, [v]) for v in others]  # the same value in several layouts
            else:
                pairs.append((some, others))
    return pairs


def _across_releases(a, b):
    """Columns, and lines of Triton's own library, differ from release to release. Values of one op on one
    line of the program correspond, where both have equally many of these; of the others the last of a line,
    shape and type, whichever op it is of: a sum may have become a product."""
    pairs = []
    mine, theirs = (
        [v for v in run.dump if takes_part(v, run.polled) and v.file and comparable(v)] for run in (a, b)
    )
    for key, is_last in ((_key_of_line, False), (lambda v: _key_of_line(v)[:-1], True)):
        groups: list[dict] = [{}, {}]
        for held, values in zip(groups, (mine, theirs), strict=True):
            for v in values:
                held.setdefault(key(v), []).append(v)
        for name in groups[0].keys() & groups[1].keys():
            some, others = (held[name][-1:] if is_last else held[name] for held in groups)
            if len(some) == len(others):
                pairs += [([v], [w]) for v, w in zip(some, others, strict=True)]
        known = {id(v) for pair in pairs for side in pair for v in side}
        mine, theirs = ([v for v in values if id(v) not in known] for values in (mine, theirs))
    return pairs


def _key_of_line(values: Values):
    lines = [re.sub(r":\d+$", "", place) for place in values.stack.split(" < ")]
    own = [line for line in lines if line.startswith(f"{values.file.rpartition('/')[2]}:")]
    return tuple(own or lines), values.shape, values.type, values.loops, _SAME.get(values.op) or values.op


def takes_part(values: Values, polled: set) -> bool:
    """Returns whether a value is compared: neither a statement's, nor inside a loop that waits."""
    return not values.site.marker and values.name not in polled


def _definition(values: Values):
    """A key that is equal for the same value in two runs: op, type, location, enclosing regions, and the
    number of the result."""
    regions = re.sub(r"@\d+", "", values.site.path)
    return values.op, values.type, values.shape, values.stack, regions, values.site.result


def by_result(group: list[Values], others: list[Values]) -> list:
    """[(values, others)] of values that share a key. All results of a loop or branch have one source
    location; they are matched by variable, or by position if both sides have equally many."""
    if not group or not others:
        return []
    sides = [_of_each_op(group), _of_each_op(others)]
    if all(len(values) == 1 for side in sides for values in side):
        return [(group, others)]
    groups = []
    names = {v.variable for side in sides for values in side for v in values} - {""}
    for name in sorted(names):
        some = [[[v for v in values if v.variable == name] for values in side] for side in sides]
        if all(len(values) == 1 for side in some for values in side):
            groups.append(tuple([values[0] for values in side] for side in some))
            for side in sides:
                side[:] = [[v for v in values if v.variable != name] for values in side]
    counts = {len(values) for side in sides for values in side}
    for rank in range(counts.pop() if len(counts) == 1 else 0):
        some = tuple([values[rank] for values in side] for side in sides)
        if len({v.variable for side in some for v in side} - {""}) < 2:
            groups.append(some)
    return groups


def _of_each_op(group: list[Values]) -> list[list[Values]]:
    """The values of a group by the op that defines them, in the order of its results."""
    ops: dict = {}
    for values in group:
        ops.setdefault(values.site.path, []).append(values)
    return [sorted(values, key=lambda v: v.site.result) for values in ops.values()]


def comparable(values: Values) -> bool:
    """Returns whether a value can be compared: not an address, nor a buffer, to which copies arrive at other
    times."""
    return values.type != "ptr" and "memdesc" not in values.site.type_text
