"""Ran is a call that ended. Here is also decided which results of two calls are the same thing: a function
may return what its reference writes to an argument, or write to its arguments what the reference returns."""

from __future__ import annotations

import dataclasses
import functools

import numpy

from triton_runner._memory.arguments import host
from triton_runner._memory.difference import same_bits
from triton_runner.verbs.verify.shapes import compared, inputs
from triton_runner.verbs.verify.shapes.cases import Tried


@dataclasses.dataclass
class Ran:
    """A call: its arguments, the contents of these before and after, what it returned, and the arrays in that
    as they were then."""

    made: inputs.Made
    before: dict
    returned: object
    returns: dict
    after: dict

    @functools.cached_property
    def written(self) -> list[str]:
        """The arguments that it changed."""
        return [path for path, array in self.before.items() if not same(array, self.after[path])]

    @property
    def results(self) -> dict:
        """The results: what it returned, else the arguments that it changed."""
        return self.returns or {argument(path): self.after[path] for path in self.written}

    @property
    def everything(self) -> dict:
        """All that it returned, and all arguments."""
        return self.returns | {argument(path): array for path, array in self.after.items()}

    @functools.cached_property
    def shared(self) -> list[str]:
        """The arguments whose memory it returned."""
        starts = {}
        for path, tensor in self.made.tensors.items():
            if hasattr(tensor, "untyped_storage"):
                starts[tensor.untyped_storage().data_ptr()] = path
        found = []
        for value in compared.results(self.returned).values():
            if hasattr(value, "untyped_storage") and value.numel():
                path = starts.get(value.untyped_storage().data_ptr())
                found += [path] if path is not None else []
        return found


def same(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    return bool(same_bits(a, b).all()) if a.size else True


def argument(path: str) -> str:
    return f"argument {path!r}"


def contents(made: inputs.Made) -> dict:
    return {path: numpy.array(host(tensor)) for path, tensor in made.tensors.items()}


def perform(function, made: inputs.Made) -> Ran:
    import torch

    before = contents(made)
    returned = function(*made.positional, **made.named)
    with torch._C.DisableTorchFunction():  # to look at a result is no use of it
        returns = compared.arrays(compared.results(returned))
    return Ran(made, before, returned, returns, contents(made))


def paired(want: Ran, got: Ran, inout, tried: Tried) -> list[tuple[str, str]] | str:
    """Returns which of `everything` is to be equal: (path of the reference's, path of the function's); a text
    where the numbers of results do not fit. inout: arguments that the function is meant to write to; tried:
    what earlier calls wrote counts too, as what is written may be what was there."""
    theirs = [path for path in want.after if path in want.written or path in tried.written_by_reference]
    ours = [path for path in got.after if path in got.written or path in tried.written]
    if not want.returns and not got.returns:
        changed = {*theirs, *ours}
        return [(argument(path), argument(path)) for path in got.after if path in changed]
    if not got.returns:
        for paths in (got.written, ours, [path for path in got.after if path in inout]):
            if len(paths) == len(want.returns):
                return [*zip(want.returns, map(argument, paths), strict=True)]
        return _numbers(want.returns, ours)
    if not want.returns:
        for paths in (want.written, theirs):
            if len(paths) == len(got.returns):
                return [*zip(map(argument, paths), got.returns, strict=True)]
        return _numbers(theirs, got.returns)
    gave = [*got.returns]
    if len(gave) < len(want.returns):
        gave += [argument(path) for path in ours if path not in got.shared]
    if len(gave) != len(want.returns):
        return _numbers(want.returns, got.returns)
    pairs = [*zip(want.returns, gave, strict=True)]
    both = [path for path in theirs if (path in ours or path in inout) and path not in want.shared]
    return pairs + [(argument(path), argument(path)) for path in both]


def _numbers(want, got) -> str:
    return f"the reference gives {len(want)} results, and the function {len(got)}"
