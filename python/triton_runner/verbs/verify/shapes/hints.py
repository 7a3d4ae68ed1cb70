"""Finds tricks by which a program looks right or fast without being it: what no right function needs to
do."""

from __future__ import annotations

from triton_runner.verbs.verify.shapes.calling import Calling, Outcome, tensor_subclasses
from triton_runner.verbs.verify.shapes.cases import Case
from triton_runner.verbs.verify.shapes.results import JUDGED, Hint


def of_usual(calling: Calling, case: Case, outcome: Outcome) -> list[Hint]:
    """The hints that the usual call gives."""
    if outcome.ran is None:
        return []
    hints, ran = [], outcome.ran
    has_results = any(array.size for array in ran.results.values())
    for path in dict.fromkeys(ran.shared):
        if path not in ran.written and not _shares_too(calling, case, path):
            hints.append(
                Hint("returns its input", f"it returns the memory of its argument {path!r}", str(case))
            )
    odd = [path for path in ran.written if path not in calling.inout(case)]
    is_silent = ran.returns and not {*ran.written} & {*ran.shared}
    if calling.reference is None and odd and is_silent:
        hints.append(Hint("writes", f"it writes to its argument {odd[0]!r}", str(case)))
    for path in tensor_subclasses(ran):
        hints.append(Hint("lazy result", f"{path} is a tensor of a class of its own", str(case)))
    if has_results and not outcome.watch.launches:
        hints.append(Hint("no kernel", "it launches no kernel", str(case)))
    elif has_results and _is_idle(calling, case, ran.results):
        hints.append(Hint("idle kernels", "its result is the same where its kernels do nothing", str(case)))
    return hints


def _shares_too(calling: Calling, case: Case, path: str) -> bool:
    """Whether the reference returns the memory of an argument too."""
    if calling.reference is None:
        return False
    return path in calling.reference_ran(case).shared


def _is_idle(calling: Calling, case: Case, results: dict) -> bool:
    """Whether the results are the same without what the kernels do."""
    again = calling.without_kernels(case)
    if again is None or again.keys() != results.keys():
        return False
    return all(again[path].tobytes() == array.tobytes() for path, array in results.items())


def without_launch(calls) -> list[Hint]:
    """A function that launches kernels for some sizes alone: it may hand the others to torch."""
    there = [call for call in calls if call.state in JUDGED and 0 not in call.sizes.values()]
    idle = [call for call in there if not call.launches and not call.huge]
    if not idle or len(idle) == len(there):
        return []
    text = f"{len(idle)} of {len(there)} calls launch no kernel"
    return [Hint("no kernel", text, idle[0].case)]
