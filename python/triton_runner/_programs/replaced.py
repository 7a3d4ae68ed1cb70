"""Keeps names of libraries that measure time or compare results as they were before a program ran:
no right program replaces them."""

from __future__ import annotations

import importlib.util
import os
import sys

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

    def replaced(self) -> list[tuple[str, str]]:
        """(kind, sentence) of those that are others now."""
        found = []
        for kind, before, places in (
            ("clock", self._clocks, _CLOCKS), ("comparison", self._comparisons, _COMPARISONS),
        ):  # fmt: skip
            now = _look(places)
            for name, value in before.items():
                if now.get(name) is not value and not _is_ours(now.get(name)):
                    found.append((kind, f"it replaces {name}"))
        return found


def _is_ours(value) -> bool:
    """Whether code of this package, or of the libraries themselves, is in a name: torch.compile replaces
    some."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    code = getattr(value, "__code__", None)
    file = code.co_filename if code is not None else getattr(module, "__file__", None) or ""
    libraries = [sys.modules.get(name) for name in ("torch", "triton", "numpy", "triton_runner")]
    folders = [os.path.dirname(library.__file__) + os.sep for library in libraries if library is not None]
    return file.startswith(tuple(folders))
