"""Has tensors of a program with their shapes and strides as terms, from which its numbers come.

The shape of what torch makes of a tensor is followed where it is made of that tensor's (shapes.py). A
gradient has the shape of what it is the gradient of.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import weakref

import torch
from torch.autograd.function import BackwardCFunction, Function
from torch.overrides import TorchFunctionMode

from triton_runner.verbs.prove import shapes, sizes
from triton_runner.verbs.prove.sizes import Size, note, term_of
from triton_runner.verbs.prove.terms import (
    Poly,
    Substitution,
    atoms_of,
    both,
    equal,
    le,
    lt,
    poly,
    quotient,
    symbol,
)

# The results of these may have the shape of their first tensor by chance alone.
_OTHER = {
    "matmul", "mm", "bmm", "__matmul__", "__rmatmul__", "einsum", "linear", "addmm", "baddbmm",
    "tensordot", "outer", "inner", "kron", "t", "transpose", "permute", "movedim", "swapaxes",
    "swapdims", "__get__", "narrow", "select", "__getitem__", "chunk", "split", "expand", "view",
    "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "as_strided", "gather", "index_select",
    "repeat", "tile", "cat", "stack", "conv1d", "conv2d", "embedding", "new_empty", "new_zeros",
    "new_ones", "new_full", "set_", "resize_", "sum", "mean", "amax", "max", "min", "concat", "unbind",
    "amin", "prod", "logsumexp", "norm", "std", "var", "argmax", "argmin", "all", "any", "median",
    "view_as_real", "view_as_complex",
}  # fmt: skip
_LIKE = {
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "clone", "contiguous",
}  # fmt: skip
_TURNED = {"t", "transpose", "permute", "movedim", "swapaxes", "swapdims"}
_STRANGE = TypeError, ValueError, AttributeError, IndexError, RuntimeError  # of tensors without plain sizes
_SIZED = {"empty", "zeros", "ones", "full", "rand", "randn", "randint"}
_NEW = {"new_empty", "new_zeros", "new_ones", "new_full"}


class Watch(TorchFunctionMode):
    """Gives sizes with their terms. described(tensor): (shape, strides, elements) as terms."""

    def __init__(self):
        super().__init__()
        self._known: dict = {}
        self._numels: dict = {}  # by shape
        self._dense: set = set()  # the strides of contiguous tensors
        self._living: dict = {}  # by memory: those of tensors that live, so that no other takes their place
        self._numbers: dict = {}  # of sizes, in this run
        self._results: dict = {}  # by the node of a Function: of what it gave
        self._unfollowed: dict = {}  # by tensor: what made it, whose shape is not followed
        self.made_by: dict = {}  # the same by size
        self._count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        result = function(*args, **kwargs)
        if name == "contiguous" and args and result is args[0]:
            result = result.view_as(result)  # for other sizes it is another tensor
        with contextlib.suppress(*_STRANGE):
            return self._seen(function, name, args, kwargs, result)
        return result

    def _seen(self, function, name: str, args, kwargs, result):
        first = args[0] if args else None
        is_tensor = isinstance(first, torch.Tensor)
        if name == "__get__" and is_tensor and function == torch.Tensor.shape.__get__:
            return self._sizes(first, result)
        if is_tensor and name == "size":
            index = args[1] if len(args) > 1 else kwargs.get("dim")
            whole = self._sizes(first, first.shape)
            return whole if index is None else whole[index]
        if is_tensor and name == "stride":
            index = args[1] if len(args) > 1 else kwargs.get("dim")
            whole = tuple(
                Size.of(a, b) for a, b in zip(_plain(first.stride), self._of(first)[1], strict=True)
            )
            return whole if index is None else whole[index]
        if is_tensor and name == "__len__":  # Python makes a plain number of it
            note(equal(self._of(first)[0][0], result), 3)
        if is_tensor and name == "is_contiguous" and result is True and len(args) == 1 and not kwargs:
            shape, strides, _ = self._of(first)
            for stride, product in zip(strides, _products(shape), strict=True):
                note(equal(stride, product), 3)
        if is_tensor and name in ("numel", "nelement"):
            return Size.of(result, self._of(first)[2])
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, torch.Tensor):
                self._made(name, args, kwargs, first if is_tensor else None, one)
        return result

    def _sizes(self, tensor, shape):
        return torch.Size([Size.of(int(a), b) for a, b in zip(shape, self._of(tensor)[0], strict=True)])

    def _made(self, name: str, args, kwargs, first, result) -> None:
        if name not in _OTHER and first is not None:
            if result is not first and _shape(first) == _shape(result):
                shape, _, numel = self._of(first)
                self._put(result, shape, numel, None, self._is_dense(name, args, kwargs, first, result))
            elif result is not first:
                self._leave(name, result)
        elif name in _SIZED or name in _NEW:
            given = args[1:] if name in _NEW else args
            given = given[-1:] if name == "randint" else given
            extents = kwargs.get("size", given[0] if given and isinstance(given[0], (tuple, list)) else given)
            extents = [one for one in extents if isinstance(one, int)]
            if len(extents) == result.dim() and any(isinstance(one, Size) for one in extents):
                shape = [term_of(one) for one in extents]
                self._put(result, shape, None, None, self._is_dense(name, args, kwargs, None, result))
        elif name in ("reshape", "view") and first is not None:
            sizes = args[1] if len(args) > 1 and isinstance(args[1], (tuple, list)) else args[1:]
            self._viewed(first, sizes, result)
        elif name in _TURNED and first is not None:
            self._turned(first, result)
        else:
            shape = shapes.derived(name, args, kwargs, result, lambda one: self._of(one)[0])
            if self._is_shape(shape, result):
                self._put(result, shape)
            elif name in _OTHER:
                self._leave(name, result)

    def _leave(self, name: str, result) -> None:
        """The shape of a result has to do with others in a way that is not followed."""
        self._unfollowed[id(result)] = name
        weakref.finalize(result, self._unfollowed.pop, id(result), None)

    def _is_shape(self, shape, tensor) -> bool:
        """Whether terms have the numbers of a tensor's sizes."""
        if shape is None:
            return False
        numbers = {atom: poly(self._numbers[atom]) for atom in atoms_of(*shape) & self._numbers.keys()}
        change = Substitution(numbers)
        return tuple(change.poly(one).const for one in shape) == _shape(tensor)

    @staticmethod
    def _is_dense(name: str, args, kwargs, first, result) -> bool:
        """Whether a result is new memory, and contiguous for other strides of its model too."""
        steps = _plain(result.stride)
        is_ordered = first is None or all(a > b for a, b in itertools.pairwise(_plain(first.stride)))
        chosen = {"memory_format", "out"} & {*kwargs} or (name == "contiguous" and len(args) > 1)
        is_dense = steps == tuple(math.prod(_shape(result)[i + 1 :]) for i in range(len(steps)))
        return name in _LIKE | _SIZED | _NEW and not chosen and is_ordered and is_dense

    def is_contiguous(self, strides) -> bool:
        """Whether these are strides of a tensor that is contiguous always."""
        return tuple(strides) in self._dense

    def _viewed(self, first, sizes, result) -> None:
        shape, strides, numel = self._of(first)
        if len(sizes) == 1 and isinstance(sizes[0], torch.dtype) and _shape(first) == _shape(result):
            return self._put(result, shape, numel, strides)
        if not all(isinstance(one, int) for one in sizes) or len(sizes) != result.dim():
            return
        terms = [term_of(one) for one in sizes]
        if list(sizes) == [-1]:
            return self._put(result, [numel], numel, None, self.is_contiguous(strides))
        if -1 in [int(one) for one in sizes]:
            at = [int(one) for one in sizes].index(-1)
            others = poly(1)
            for i, term in enumerate(terms):
                others = others * (term if i != at else 1)
            product = poly(1)
            for term in shape:
                product = product * term
            terms[at] = quotient(product, others)
        return self._put(result, terms, None, None, self.is_contiguous(strides))

    def _turned(self, first, result) -> None:
        """The terms of a tensor with its dimensions in another order, where that is certain."""
        shape, strides, numel = self._of(first)
        own = list(zip(_shape(first), _plain(first.stride), strict=True))
        if len(set(own)) != len(own):
            return
        order = [own.index(pair) for pair in zip(_shape(result), _plain(result.stride), strict=True)]
        self._put(result, [shape[i] for i in order], numel, [strides[i] for i in order])

    def _put(self, tensor, shape, numel=None, strides=None, is_dense: bool = False) -> None:
        name = f"tensor{self._next()}"
        shape = [poly(one) for one in shape]
        strides = strides or [_symbol(f"{name}.stride[{i}]") for i in range(len(shape))]
        if is_dense:
            self._dense.add(tuple(strides))
        own = _shape(tensor), _plain(tensor.stride)
        if numel is None:
            numel = self._numels.get(tuple(shape), math.prod(shape, start=poly(1)))
        self._numels.setdefault(tuple(shape), numel)
        self._known[id(tensor)] = (shape, strides, numel), own
        weakref.finalize(tensor, self._known.pop, id(tensor), None)
        if place := _place(tensor):
            own = shape, strides, numel
            self._living.setdefault(place, []).append(own)
            weakref.finalize(tensor, self._ended, place, own)

    def _ended(self, place: tuple, own: tuple) -> None:
        """A tensor is gone; others may show the same memory."""
        left = [one for one in self._living.pop(place, ()) if one is not own]
        if left:
            self._living[place] = left

    def _of(self, tensor) -> tuple:
        known = self._known.get(id(tensor))
        if known is None or known[1] != (_shape(tensor), _plain(tensor.stride)):  # new, or changed in place
            if living := self._living.get(_place(tensor)):
                shape, strides, numel = living[0]
                self._put(tensor, shape, numel, strides)
                return living[0]
            name, rank = f"tensor{self._count + 1}", len(_shape(tensor))
            numel = _symbol(f"{name}.numel")  # which is the only size of a vector
            shape = [numel] if rank == 1 else [_symbol(f"{name}.shape[{i}]") for i in range(rank)]
            self._put(tensor, shape, numel if rank else None)
            pairs = zip([*shape, numel], [*_shape(tensor), math.prod(_shape(tensor))], strict=True)
            self._numbers |= {term.atom: number for term, number in pairs}
            if name := self._unfollowed.get(id(tensor)):
                self.made_by |= {term.atom: name for term in (*shape, numel)}
        return self._known[id(tensor)][0]

    def kept(self, tensor) -> tuple:
        """Returns what torch keeps: later it gives another object of the same memory."""
        with torch._C.DisableTorchFunction():
            same = tensor.detach()
            if id(tensor) in self._known or _place(tensor) in self._living:
                shape, strides, numel = self._of(tensor)
                self._put(same, shape, numel, strides)
        return same

    def returned(self, result) -> None:
        """Keeps the shapes of what a Function gives, which are those of the gradients that it gets."""
        with torch._C.DisableTorchFunction(), contextlib.suppress(*_STRANGE):
            for one in result if isinstance(result, tuple) else (result,):
                node = one.grad_fn if isinstance(one, torch.Tensor) else None
                if isinstance(node, BackwardCFunction):
                    self._results.setdefault(id(node), {})[one.output_nr] = self._of(one)
                    if len(self._results[id(node)]) == 1:
                        weakref.finalize(node, self._results.pop, id(node), None)

    def gradients(self, node, given) -> None:
        """Gives the gradients of what a Function gave their shapes."""
        with torch._C.DisableTorchFunction(), contextlib.suppress(*_STRANGE):
            for number, one in enumerate(given):
                shape, _, numel = self._results.get(id(node), {}).get(number, (None,) * 3)
                if shape is not None and isinstance(one, torch.Tensor) and len(shape) == one.dim():
                    self._put(one, shape, numel, self._of(one)[1])

    def number(self, atom) -> int | None:
        """Returns the number that a size is in this run."""
        return self._numbers.get(atom)

    def described(self, tensor) -> tuple | None:
        """(shape, strides, numel) as terms."""
        with torch._C.DisableTorchFunction():
            return self._of(tensor)

    def _next(self) -> int:
        self._count += 1
        return self._count


def _products(shape) -> list[Poly]:
    """The strides of a contiguous tensor."""
    return [math.prod(shape[i + 1 :], start=poly(1)) for i in range(len(shape))]


def _symbol(name: str) -> Poly:
    return symbol(name, 0, 1 << 47)


def _plain(method):
    with torch._C.DisableTorchFunction():
        return tuple(int(one) for one in method())


def _place(tensor) -> tuple | None:
    """The memory that a tensor shows; None: it has none."""
    with torch._C.DisableTorchFunction(), contextlib.suppress(RuntimeError):  # one that torch.compile traces
        start = tensor.data_ptr() if tensor.layout == torch.strided else 0
        return (start, tensor.dtype, _shape(tensor), _plain(tensor.stride)) if start else None
    return None


def _shape(tensor) -> tuple:
    with torch._C.DisableTorchFunction():
        return tuple(int(one) for one in tensor.shape)


@contextlib.contextmanager
def watching():
    """Sizes of tensors have terms inside of the block; triton's helpers keep them."""
    import triton

    own = triton.next_power_of_2

    def next_power_of_2(n):
        number = own(int(n))
        if isinstance(n, Size):
            sizes.keep(both(le(n.term, number), lt(number // 2, n.term)), _caller())
        return number

    sizes.forget()
    triton.next_power_of_2 = next_power_of_2
    watch = Watch()
    try:
        with watch, _gradients(watch), sizes.functions():
            yield watch
    finally:
        triton.next_power_of_2 = own


@contextlib.contextmanager
def _gradients(watch: Watch):
    """torch leaves a mode while it computes gradients, and a program's own backward() asks for sizes too."""
    engine = getattr(torch.autograd, "_engine_run_backward", None)
    forward, backward = Function.__dict__["apply"], BackwardCFunction.apply

    def run(*args, **kwargs):
        with watch:
            return engine(*args, **kwargs)

    def apply(cls, *args, **kwargs):
        result = forward.__func__(cls, *args, **kwargs)
        watch.returned(result)
        return result

    def apply_backward(node, *given):
        watch.gradients(node, given)
        return backward(node, *given)

    if engine is not None:
        torch.autograd._engine_run_backward = run
    Function.apply, BackwardCFunction.apply = classmethod(apply), apply_backward
    try:
        with torch.autograd.graph.saved_tensors_hooks(watch.kept, lambda tensor: tensor):
            yield
    finally:
        Function.apply, BackwardCFunction.apply = forward, backward
        if engine is not None:
            torch.autograd._engine_run_backward = engine


def _caller() -> str:
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
