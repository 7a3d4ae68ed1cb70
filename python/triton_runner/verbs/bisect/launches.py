"""Watches the launches of a program in a worker: their inputs, and the contents of their arrays afterwards.

Fingerprints of all launches are kept, and the full contents of one selected launch. With these, the runs of
two releases or two levels are compared: only as long as their inputs are the same."""

from __future__ import annotations

import hashlib

from triton_runner._launch import launchers
from triton_runner._memory.arguments import Arguments, packed
from triton_runner.verbs.bisect.trial import Seen

seen: list[Seen] = []
kept: dict = {}  # what the launch that is asked for left, by position


def install(kept_number: int | None = None) -> None:
    """Watches every launch from now on. kept_number: the number of the launch whose contents are kept."""

    def watch(call: launchers.Call, go) -> None:
        number = len(seen)
        arguments = Arguments(_arrays(call))
        seen.append(Seen(call.name, list(call.grid), {}))
        before = _fingerprints(arguments)
        go()
        seen[number].arrays.update(_fingerprints(arguments))
        seen[number].inputs.update(_inputs(call, before, seen[number].arrays))
        if number == kept_number:
            after = arguments.arrays(arguments.live())
            kept.update((name, packed(array)) for name, array in after.items())

    launchers.observe(watch)
    _fill_new_memory()


def _fingerprints(arguments: Arguments) -> dict:
    arrays = arguments.arrays(arguments.live())
    return {
        name: hashlib.blake2b(array.tobytes(), digest_size=12).hexdigest() for name, array in arrays.items()
    }


def _inputs(call: launchers.Call, before: dict, after: dict) -> dict:
    """The inputs of a launch by the names of its parameters: numbers, and fingerprints of arrays. An array of
    NumPy that the launch writes may hold what nobody initialised, which is no input; torch's memory is
    filled."""
    inputs = {}
    for i, (name, value) in enumerate(call.named):
        array = getattr(value, "base", value)
        if str(i) in before and (before[str(i)] == after[str(i)] or hasattr(array, "untyped_storage")):
            inputs[name] = before[str(i)]
        elif isinstance(value, (bool, int, float)):
            inputs[name] = repr(value)
    return inputs


def _fill_new_memory() -> None:
    """Gives uninitialised memory of torch the same contents in every run."""
    import sys

    if "torch" in sys.modules:  # torch.use_deterministic_algorithms imports Inductor besides: a second
        sys.modules["torch"]._C._set_deterministic_algorithms(True, warn_only=True)


def _arrays(call: launchers.Call) -> list:
    """The arrays among a launch's arguments, by their positions."""
    arrays = []
    for i, (_, value) in enumerate(call.named):
        value = getattr(value, "base", value) if hasattr(value, "block_shape") else value
        if hasattr(value, "shape") and hasattr(value, "dtype") and len(value.shape):
            arrays.append((str(i), getattr(value, "base", value)))
    return arrays
