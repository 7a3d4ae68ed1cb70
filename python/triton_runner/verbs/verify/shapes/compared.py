"""Decides whether what a function gave is what its reference gives.

The one table of tolerances decides, by the coarsest type of arguments and results. What is beyond it is
right all the same where it is as near to what the reference computes in f64 as the reference itself, or
where roundings in another order move it as far: the noise that `verify` measures. The latter excuses no
kernel that adds in 16 bits."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy

from triton_runner._kernel.cases.noise import Noise
from triton_runner._memory.arguments import host
from triton_runner._memory.contents import Pair
from triton_runner._memory.difference import difference, tolerance
from triton_runner._memory.files import kind_of

_AS_NEAR = 4.0  # times the reference's own distance from f64
_COARSEST = ("f8E4M3FN", "f8E5M2", "f8", "bf16", "f16", "tf32", "f32", "f64")


def results(value, path: str = "the result") -> dict:
    """The tensors, arrays and numbers of what a function returned, by path."""
    if value is None:
        return {}
    if isinstance(value, (tuple, list)):
        named = value._fields if hasattr(value, "_fields") else range(len(value))
        parts = [results(item, f"{path}[{name}]") for name, item in zip(named, value, strict=True)]
        return {key: item for part in parts for key, item in part.items()}
    if isinstance(value, dict):
        parts = [results(item, f"{path}[{name!r}]") for name, item in value.items()]
        return {key: item for part in parts for key, item in part.items()}
    if hasattr(value, "detach") or isinstance(value, (numpy.ndarray, numpy.generic, int, float)):
        return {path: value}
    return {}


def arrays(values: dict) -> dict[str, numpy.ndarray]:
    """The same as NumPy arrays, copied."""
    return {path: numpy.array(_host(value)) for path, value in values.items()}


def _host(value) -> numpy.ndarray:
    if getattr(getattr(value, "dtype", None), "is_complex", False):
        import torch

        return torch.view_as_real(value.detach().resolve_conj()).cpu().numpy()
    return host(value) if hasattr(value, "detach") else numpy.asarray(value)


@dataclasses.dataclass
class Opinions:
    """The opinions decide where the table does not: exact(): the reference's results in f64, or None;
    moved(): the results of runs whose roundings are off, or none where sums are narrow. narrow: kernels add
    up in 16 bits."""

    kinds: set
    exact: object
    moved: object
    narrow: bool = False

    def coarsest(self, *arrays: numpy.ndarray) -> str:
        kinds = self.kinds | {kind_of(array.dtype) for array in arrays}
        floats = [kind for kind in kinds if _is_float(kind)]
        return min(floats, key=_rank, default="f32")


def _is_float(kind: str) -> bool:
    return kind.startswith(("f", "bf", "tf"))


def _rank(kind: str) -> int:
    return next(i for i, name in enumerate(_COARSEST) if kind.startswith(name))


@dataclasses.dataclass(frozen=True)
class Different:
    """How a result differs from the reference's. theirs, ours: the paths of the two; element: the first that
    differs, None where the shapes or the number of results do."""

    text: str
    theirs: str = ""
    element: tuple | None = None
    ours: str = ""


def compare(want: dict, got: dict, opinions: Opinions) -> Different | None:
    """How results differ, by the paths of those that are wanted; None: they do not."""
    for path, wanted in want.items():
        if different := _differs(path, wanted, got[path], opinions):
            return different
    return None


def _differs(path: str, want: numpy.ndarray, got: numpy.ndarray, opinions: Opinions) -> Different | None:
    if want.shape != got.shape:
        if want.size == got.size == 1:
            want, got = want.reshape(()), got.reshape(())
        else:
            return Different(f"{path} has the shape {got.shape}, and the reference's {want.shape}", path)
    kind = opinions.coarsest(want, got)
    is_float = _is_float(kind_of(want.dtype)) or _is_float(kind_of(got.dtype))
    distance = difference(want, got, tolerance(kind) if is_float else 0.0)
    if not distance:
        return _coarse(path, want, got, opinions) if opinions.narrow and is_float else None
    beyond = distance.where & ~_as_near(path, want, got, kind, opinions)
    if beyond.any():
        beyond &= ~_as_moved(path, want, got, beyond, opinions)
    if not beyond.any():
        return None
    return _shown(path, dataclasses.replace(distance, where=beyond))


def _shown(path: str, shown, more: str = "") -> Different:
    wanted, gotten = shown.numbers
    text = (
        f"{path}: {shown.elements} of {shown.of} elements differ from the reference, element "
        f"{list(shown.element)} is {_number(gotten)} and should be {_number(wanted)}{more}"
    )
    return Different(text, path, tuple(shown.element))


def _coarse(path: str, want, got, opinions: Opinions) -> Different | None:
    """How results of sums in 16 bits are much further from f64 than the reference's; None: they are not."""
    exact = (opinions.exact() or {}).get(path)
    if exact is None or exact.shape != got.shape:
        return None
    theirs, ours = difference(exact, want), difference(exact, got)
    step = float(ml_dtypes.finfo(got.dtype).eps) * ours.largest
    room = max(_AS_NEAR * float(numpy.nan_to_num(theirs.error, posinf=0.0).max(initial=0.0)), 2 * step)
    beyond = numpy.isfinite(ours.error) & (ours.error > room)
    if not beyond.any():
        return None
    shown = dataclasses.replace(difference(want, got), where=beyond)
    return _shown(path, shown, ": it adds up in 16 bits, and is further from f64 than the reference")


def _as_near(path: str, want, got, kind: str, opinions: Opinions) -> numpy.ndarray:
    """Returns which elements are as near to the reference in f64 as the reference is."""
    exact = (opinions.exact() or {}).get(path)
    if exact is None or exact.shape != want.shape or not _is_float(kind_of(want.dtype)):
        return numpy.zeros(want.shape, bool)
    theirs, ours = difference(exact, want), difference(exact, got)
    finite = theirs.error[numpy.isfinite(theirs.error)]
    room = max(tolerance(kind) * ours.largest, _AS_NEAR * float(finite.max(initial=0.0)))
    limit = float(numpy.finfo(numpy.float32).max) if kind in ("f32", "tf32", "bf16") else 65504.0
    with numpy.errstate(invalid="ignore"):
        beyond = numpy.isfinite(exact) & (numpy.abs(exact) > limit)
        overflowed = beyond & ~numpy.isnan(got.astype(numpy.float64))
    return (ours.error <= room) | (overflowed & (kind != "f64"))


def _as_moved(path: str, want, got, beyond, opinions: Opinions) -> numpy.ndarray:
    """Returns which elements differ as far as roundings move them. A function whose decisions roundings
    change may decide a few otherwise than its reference."""
    moved = [run[path] for run in opinions.moved() if path in run and run[path].shape == got.shape]
    if not moved:
        return numpy.zeros(want.shape, bool)
    noise = Noise()
    for run in moved:
        noise.add(path, Pair.of_arrays(got, run))
    bits = noise.compare(path, Pair.of_arrays(want.astype(got.dtype), got), False)
    return numpy.full(want.shape, bits.agrees)


def _number(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
