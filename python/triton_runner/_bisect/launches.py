"""The launches of a program in a worker: what each leaves in the arrays it is given.

Fingerprints of all of them, and the contents of one that is asked for: by them the runs of two releases, or
of two levels, are compared.
"""

from __future__ import annotations

import hashlib

import numpy

from triton_runner import _launch, _lockstep

wanted: int | None = None  # the launch whose contents are kept, by its number
seen: list[dict] = []
kept: dict = {}  # of the launch wanted: what it was given, and what it left


def install(number: int | None = None) -> None:
    """Watches the launches of every kernel that is compiled from here on."""
    global wanted
    wanted = number
    _launch.wraps.append(_watched)
    _fill_new_memory()


def _fill_new_memory() -> None:
    """Elements that nobody wrote are the same in every run."""
    import sys

    if "torch" in sys.modules:  # torch.use_deterministic_algorithms imports Inductor besides: a second
        sys.modules["torch"]._C._set_deterministic_algorithms(True, warn_only=True)


def _arrays(values) -> dict:
    """Copies of the arrays among a launch's arguments, by their positions."""
    found = {}
    for i, value in enumerate(values):
        value = getattr(value, "base", value) if hasattr(value, "block_shape") else value
        if hasattr(value, "shape") and hasattr(value, "dtype") and len(value.shape):
            found[i] = numpy.array(_lockstep._numpy(getattr(value, "base", value)))
    return found


def _watched(run, name: str):
    def launch(*args):
        number = len(seen)
        given = args[_launch.ARGUMENTS :]
        if number == wanted:
            kept["before"] = _packed(_arrays(given))
            kept["scalars"] = {i: v for i, v in enumerate(given) if isinstance(v, (int, float))}
        seen.append({"kernel": name, "grid": list(args[:3]), "arrays": {}})
        run(*args)
        after = _arrays(given)
        seen[-1]["arrays"] = {str(i): _fingerprint(value) for i, value in after.items()}
        if number == wanted:
            kept["after"] = _packed(after)

    return launch


def _fingerprint(value) -> str:
    return hashlib.blake2b(value.tobytes(), digest_size=12).hexdigest()


def _packed(arrays: dict) -> dict:
    return {str(i): [str(v.dtype), list(v.shape), v.tobytes()] for i, v in arrays.items()}
