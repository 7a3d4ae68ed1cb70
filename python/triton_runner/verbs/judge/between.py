"""Tells what is wrong between calls of an answer: with other inputs, with the same ones again, and with
inputs that differ in their last bits alone."""

from __future__ import annotations

import dataclasses

from triton_runner._memory import compared
from triton_runner.verbs.judge import narrow
from triton_runner.verbs.judge.evidence import IN_ITS_TYPE, IN_KERNELS, NUMBER, Call, Name
from triton_runner.verbs.judge.results import Fault

_MOST_SUMMED = 64


def with_others(own: Call, again: Call | None, is_last: bool = False) -> list[Fault]:
    """Returns what is wrong with two calls with different inputs of the same form. is_last: no other call
    follows that could be like the second one."""
    if again is None or "plain" not in (own.replayed or {}) or "plain" not in (again.replayed or {}):
        return []
    is_same_wanted = compared.same(own.own, again.own)
    advice = "compute the result from the inputs of the call, each time"
    found = []
    is_safe = not any(one["severity"] == "fault" for one in own.replayed["findings"])
    if is_safe and not is_same_wanted and own.seen and compared.same(own.seen, again.seen):
        told = "for other inputs it gives the same bytes again"
        return [Fault("cached", told, advice, "again")]
    if is_same_wanted and compared.same(own.result, again.result) and not _moves(own):
        told = "the reference gives the same for other inputs: the task cannot tell a kernel from a constant"
        found.append(Fault("not_judged", told, "choose another task", "again"))
    before = set(own.bytes_of_others())
    for dtype, shape, data in again.bytes_of_others():
        if (dtype, shape, data) not in before:
            if len(data) <= NUMBER:
                continue
            told = f"{len(data)} bytes come from no kernel and no operator, and change with the inputs"
            return [*found, Fault("tampered", told, IN_KERNELS, "again")]
    return [*found, *_numbers_between(own, again, is_last)]


def narrowed(own: Call, other: Call | None) -> list[Fault]:
    """Returns what is wrong with two calls whose inputs differ in their last bits alone."""
    if other is None or own.rule.is_tf32 or not own.result or not other.result:
        return []
    told = narrow.blind((own.result, own.own, own.exact), (other.result, other.own, other.exact))
    return [Fault("wrong", told, IN_ITS_TYPE, other.name)] if told else []


def repeated(before: Call, now: Call) -> list[Fault]:
    """Returns what is wrong with the steps of a call that has the inputs of an earlier one: a result that
    Python keeps may come back as numbers, in the text of a kernel, or as a choice of tensors."""
    if (found := now.refused()) or now.is_like(before):
        found = found or _numbers_between(before, now, True)
    elif (now.kept() and now.replayed.get("needs kept") is not False) or (
        now.without_memory() != before.without_memory()
    ):
        size = sum(one.nbytes for one in now.own.values() if hasattr(one, "nbytes"))
        told = "its steps are others, in a way that was not followed"
        advice = "launch the same kernels in each call"
        is_more = NUMBER * now.novelty(before) > size
        found = [Fault("not_judged", told, advice)] if is_more else []
    return [
        dataclasses.replace(one, message=f"for the same inputs again, {one.message}", call="repeated")
        for one in found
    ]


def _moves(call: Call) -> bool:
    return not call.wanted["operators"]


def _numbers_between(own: Call, again: Call, is_last: bool) -> list[Fault]:
    """Numbers that Python put into steps: they may follow from numbers that it read, and from sizes."""
    x, y = own.skeleton(), again.skeleton()
    size = sum(one.nbytes for one in again.own.values() if hasattr(one, "nbytes"))
    if not own.is_like(again):
        if not is_last or (again.replayed["items"] and NUMBER * again.novelty(own) <= size):
            return []  # such steps are too few to carry the result
        told = "what it does depends on the values of its inputs in a way that was not followed"
        return [Fault("not_judged", told, "launch the same kernels for inputs of one shape", "again")]
    pairs = list(zip(own.replayed["items"], again.replayed["items"], strict=False))
    for (name, before), (_, now) in zip(x, y, strict=True):
        if len(before) != len(now):
            told = f"{name} is given {len(now)} numbers for other inputs and not {len(before)}"
            return [Fault("not_judged", told, "launch the same kernels for inputs of one shape", "again")]
        for a, b in zip(before, now, strict=True):
            if a != b and (isinstance(a, Name) or isinstance(b, Name)):
                told = f"{name} is given another tensor for other inputs than before"
                advice = "choose by values in kernels or with operators of torch"
                return [Fault("not_judged", told, advice, "again")]
            if not _follows(a, b, pairs):
                told = (
                    f"{name} is given the number {b!r}, which changes with the inputs and follows from none"
                )
                advice = "pass sizes and numbers that were read from tensors (.item())"
                return [Fault("not_judged", told, advice, "again")]
    values = [call.small_numbers() for call in (own, again)]
    if len(values[0]) != len(values[1]) or not all(
        _follows(a, b, pairs) for a, b in zip(*values, strict=True)
    ):
        told = "a number of its own comes from no kernel and no operator, and changes with the inputs"
        return [Fault("tampered" if not pairs else "not_judged", told, IN_KERNELS, "again")]
    return []


def _is_sum(a, b, pairs) -> bool:
    """Whether two integers are sums of the same integers that were read one after the other."""
    numbers = [pair for pair in pairs if all(type(one) is int for one in pair)][:_MOST_SUMMED]
    if type(a) is not int or type(b) is not int:
        return False
    sums = [(0, 0)]
    for x, y in numbers:
        sums.append((sums[-1][0] + x, sums[-1][1] + y))
    return any((a, b) == (q[0] - p[0], q[1] - p[1]) for p in sums for q in sums)


def _follows(a, b, pairs) -> bool:
    """Whether two numbers follow in one way from what was read in the two calls: equal, in proportion, or
    sums of integers."""
    if a == b or (a != a and b != b):
        return True
    for x, y in pairs:
        if (a, b) == (x, y):
            return True
        if not all(isinstance(one, (int, float)) for one in (a, b, x, y)):
            continue
        near = lambda p, q: abs(p - q) <= 1e-6 * max(abs(p), abs(q))  # noqa: E731
        if x and y and (near(a / x, b / y) or near(a * x, b * y)):
            return True
        if (
            isinstance(b, int)
            and isinstance(a, int)
            and any(-(-x // n) == a and -(-y // n) == b for n in (2**k for k in range(14)))
        ):
            return True
    return _is_sum(a, b, pairs)
