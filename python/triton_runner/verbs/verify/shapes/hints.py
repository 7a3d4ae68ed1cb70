"""Tricks by which a program looks right or fast without being it: what no right function needs to do."""

from __future__ import annotations

import importlib.util
import os
import sys

from triton_runner.verbs.verify.shapes.calling import Calling, Outcome, tensor_subclasses
from triton_runner.verbs.verify.shapes.cases import Case
from triton_runner.verbs.verify.shapes.results import Hint

# These measure time, and compare results: by module, names that a program has no reason to replace.
_CLOCKS = {
    "time": "time perf_counter perf_counter_ns monotonic monotonic_ns process_time time_ns",
    "torch.cuda": "Event synchronize",
    "torch.cuda.Event": "record elapsed_time synchronize",
    "triton.testing": "do_bench do_bench_cudagraph",
}
_COMPARISONS = {
    "torch": "allclose isclose equal randn rand",
    "torch.testing": "assert_close assert_allclose",
    "numpy": "allclose isclose array_equal",
    "numpy.testing": "assert_allclose assert_array_equal",
}


def _look(places: dict) -> dict:
    found = {}
    for module, names in places.items():
        owner = sys.modules.get(module)
        if owner is None and "." in module:
            above, _, name = module.rpartition(".")
            owner = getattr(sys.modules.get(above), name, None)
        for name in names.split():
            if owner is not None and hasattr(owner, name):
                found[f"{module}.{name}"] = getattr(owner, name)
    return found


class Names:
    """Keeps what clocks and comparisons were before the program ran."""

    def __init__(self):
        for module in ("torch.testing", "triton.testing"):
            if importlib.util.find_spec(module.partition(".")[0]) is not None:
                importlib.import_module(module)
        self._clocks, self._comparisons = _look(_CLOCKS), _look(_COMPARISONS)

    def replaced(self) -> list[Hint]:
        """Those that are others now."""
        hints = []
        for kind, before, places in (
            ("clock", self._clocks, _CLOCKS), ("comparison", self._comparisons, _COMPARISONS),
        ):  # fmt: skip
            now = _look(places)
            for name, value in before.items():
                if now.get(name) is not value and not _is_ours(now.get(name)):
                    hints.append(Hint(kind, f"it replaces {name}"))
        return hints


def _is_ours(value) -> bool:
    """Whether code of this package, or of the libraries themselves, is in a name: torch.compile replaces
    some."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    code = getattr(value, "__code__", None)
    file = code.co_filename if code is not None else getattr(module, "__file__", None) or ""
    libraries = [sys.modules.get(name) for name in ("torch", "triton", "numpy", "triton_runner")]
    folders = [os.path.dirname(library.__file__) + os.sep for library in libraries if library is not None]
    return file.startswith(tuple(folders))


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
    there = [call for call in calls if call.state in ("right", "wrong") and 0 not in call.sizes.values()]
    idle = [call for call in there if not call.launches and not call.huge]
    if not idle or len(idle) == len(there):
        return []
    text = f"{len(idle)} of {len(there)} calls launch no kernel"
    return [Hint("no kernel", text, idle[0].case)]
