"""Has sizes of a program's tensors as numbers that remember where they come from.

While a program runs, x.shape, x.size(), x.stride() and x.numel() give such numbers, and so does arithmetic on
them. A launch then tells that n is x.numel() and that its grid is cdiv(x.numel(), 1024): by what the program
computes, and not by values that happen to be equal. Comparisons of the program are noted, as what follows one
holds for such sizes alone.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import os
import sys
import weakref

import torch
from torch.overrides import TorchFunctionMode

from triton_runner._base.errors import package_folders
from triton_runner.verbs.prove.terms import (
    Poly,
    atoms_of,
    both,
    equal,
    ge,
    le,
    lt,
    negated,
    poly,
    quotient,
    remainder,
    symbol,
)

_noted: list = []  # (condition, file:line) of the program's comparisons
# The results of these may have the shape of their first tensor by chance alone.
_OTHER = {
    "matmul", "mm", "bmm", "__matmul__", "__rmatmul__", "einsum", "linear", "addmm", "baddbmm",
    "tensordot", "outer", "inner", "kron", "t", "transpose", "permute", "movedim", "swapaxes",
    "swapdims", "__get__", "narrow", "select", "__getitem__", "chunk", "split", "expand", "view",
    "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "as_strided", "gather", "index_select",
    "repeat", "tile", "cat", "stack", "conv1d", "conv2d", "embedding", "new_empty", "new_zeros",
    "new_ones", "new_full", "set_", "resize_", "sum", "mean", "amax", "max", "min",
}  # fmt: skip
_WRAPPERS = (f"torch{os.sep}overrides.py", f"torch{os.sep}_tensor.py")  # between a program and what it calls
_LIKE = {
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "clone", "contiguous",
}  # fmt: skip
_SIZED = {"empty", "zeros", "ones", "full", "rand", "randn", "randint"}
_NEW = {"new_empty", "new_zeros", "new_ones", "new_full"}


class Size(int):
    """An integer with the term that it is the value of."""

    term: Poly

    @staticmethod
    def of(number: int, term: Poly):
        if term.const is not None:
            return int(number)
        made = Size(number)
        made.term = term
        return made

    def __reduce__(self):
        return int, (int(self),)


def term_of(value) -> Poly:
    return value.term if isinstance(value, Size) else poly(int(value))


def _arithmetic(name: str, make, swapped: bool = False):
    plain = getattr(operator, name)

    def method(self, other):
        if not isinstance(other, int) or isinstance(other, bool):
            pair = (other, int(self)) if swapped else (int(self), other)
            return plain(*pair)
        a, b = (other, self) if swapped else (self, other)
        term = make(term_of(a), term_of(b))
        number = plain(int(a), int(b))
        return number if term is None else Size.of(number, term)

    return method


def _divided(a: Poly, b: Poly) -> Poly | None:
    """The quotient; of -(n // -128), which rounds up, the inner one."""
    if b.const is not None and b.const <= 0:
        return quotient(-a, -b) if b.const else None
    return quotient(a, b)


def _left(a: Poly, b: Poly) -> Poly | None:
    return remainder(a, b) if b.const is None or b.const > 0 else None


for _name, _make in (
    ("add", operator.add), ("sub", operator.sub), ("mul", operator.mul), ("floordiv", _divided),
    ("mod", _left),
):  # fmt: skip
    setattr(Size, f"__{_name}__", _arithmetic(_name, _make))
    setattr(Size, f"__r{_name}__", _arithmetic(_name, _make, True))
Size.__neg__ = lambda self: Size.of(-int.__int__(self), -self.term)
Size.__pos__ = lambda self: self
Size.__divmod__ = lambda self, other: (self // other, self % other)


def _bits(name: str):
    """Operations on bits: to mask or shift by a constant is arithmetic; else the number stays."""
    plain = getattr(operator, name)
    make = {
        "and_": lambda a, b: remainder(a, b + 1) if b >= 0 and b & (b + 1) == 0 else None,
        "lshift": lambda a, b: a * (1 << b), "rshift": lambda a, b: quotient(a, 1 << b),
    }.get(name)  # fmt: skip

    def method(self, other):
        number = plain(int.__int__(self), other if not isinstance(other, Size) else int.__int__(other))
        term = make(self.term, other) if make and type(other) is int and isinstance(number, int) else None
        return number if term is None and _stays(self, other) else Size.of(number, term)

    return method


def _stays(*values) -> bool:
    """Notes that sizes stay as they are: the program makes something of them that is not followed."""
    for value in values:
        if isinstance(value, Size):
            _note(equal(value.term, int.__int__(value)), 3)
    return True


for _name in ("and_", "or_", "xor", "lshift", "rshift"):
    setattr(Size, f"__{_name.rstrip('_')}__", _bits(_name))
Size.__rand__, Size.__ror__, Size.__rxor__ = Size.__and__, Size.__or__, Size.__xor__


def _truth(self) -> bool:
    _note(negated(equal(self.term, 0)) if int.__int__(self) else equal(self.term, 0))
    return int.__int__(self) != 0


def _length(self) -> int:
    _stays(self)
    return int.bit_length(self)


Size.__bool__, Size.bit_length = _truth, _length


class Ratio(float):
    """A quotient of sizes, which math.ceil and math.floor turn into one; where it is compared, or rounded
    otherwise, the sizes stay as they are."""

    of: tuple

    def __ceil__(self):
        a, b = self.of
        return -(-a // b)

    def __floor__(self):
        a, b = self.of
        return a // b


def _power(self, other):
    if type(other) is int and 0 <= other <= 4:
        term = poly(1)
        for _ in range(other):
            term = term * self.term
        return Size.of(int.__int__(self) ** other, term)
    return int.__int__(self) ** other


def _ratio(self, other):
    number = int.__int__(self) / other
    if not isinstance(other, int) or isinstance(other, bool) or other <= 0:
        return number
    made = Ratio(number)
    made.of = (self, other)
    return made


def _settled(name: str):
    plain = getattr(float, name)

    def method(self, *others):
        _stays(*self.of)
        return plain(self, *others)

    return method


Size.__truediv__, Size.__pow__ = _ratio, _power
for _name in ("mod", "lt", "le", "eq", "ne", "gt", "ge", "int", "trunc", "round", "floordiv", "bool"):
    setattr(Ratio, f"__{_name}__", _settled(f"__{_name}__"))
Ratio.is_integer, Ratio.__hash__ = _settled("is_integer"), float.__hash__


def _comparison(name: str, make):
    plain = getattr(operator, name)

    def method(self, other):
        if isinstance(other, float) and math.isfinite(other) and not isinstance(other, Ratio):
            number = (math.ceil if name in ("lt", "ge") else math.floor)(other)  # n < 2.5 is n < 3
            if number == other or name not in ("eq", "ne"):
                other = number
        if not isinstance(other, int) or isinstance(other, bool):
            return plain(int(self), other)
        holds = plain(int(self), int(other))
        cond = make(self.term, term_of(other))
        _note(cond if holds else negated(cond))
        return holds

    return method


for _name, _make in (
    ("lt", lt), ("le", le), ("eq", equal), ("ne", lambda a, b: negated(equal(a, b))), ("ge", ge),
    ("gt", lambda a, b: lt(b, a)),
):  # fmt: skip
    setattr(Size, f"__{_name}__", _comparison(_name, _make))
Size.__hash__ = int.__hash__


def _note(cond, depth: int = 2) -> None:
    """Notes a comparison of the program itself; those inside of libraries are theirs."""
    frame = sys._getframe(depth)
    while frame.f_code.co_filename.endswith(_WRAPPERS):
        frame = frame.f_back
    file = frame.f_code.co_filename
    if file.startswith(_libraries()) or file.startswith("<"):
        return
    _noted.append((cond, f"{file}:{frame.f_lineno}"))


def _libraries() -> tuple:
    return (*package_folders(), torch.__path__[0])


class Watch(TorchFunctionMode):
    """Gives sizes with their terms. described(tensor): (shape, strides, elements) as terms."""

    def __init__(self):
        super().__init__()
        self._known: dict = {}
        self._numels: dict = {}  # by shape
        self._dense: set = set()  # the strides of contiguous tensors
        self._living: dict = {}  # by memory: of a tensor that lives, so that no other takes its place
        self._count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        result = function(*args, **kwargs)
        if name == "contiguous" and args and result is args[0]:
            result = result.view_as(result)  # for other sizes it is another tensor
        try:
            return self._seen(function, name, args, kwargs, result)
        except (TypeError, ValueError, AttributeError, IndexError, RuntimeError):
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
            _note(equal(self._of(first)[0][0], result), 3)
        if is_tensor and name == "is_contiguous" and result is True and len(args) == 1 and not kwargs:
            shape, strides, _ = self._of(first)
            for stride, product in zip(strides, _products(shape), strict=True):
                _note(equal(stride, product), 3)
        if is_tensor and name in ("numel", "nelement"):
            return Size.of(result, self._of(first)[2])
        if isinstance(result, torch.Tensor):
            self._made(name, args, kwargs, first if is_tensor else None, result)
        return result

    def _sizes(self, tensor, shape):
        return torch.Size([Size.of(int(a), b) for a, b in zip(shape, self._of(tensor)[0], strict=True)])

    def _made(self, name: str, args, kwargs, first, result) -> None:
        if name not in _OTHER and first is not None:
            if result is not first and _shape(first) == _shape(result):
                shape, _, numel = self._of(first)
                self._put(result, shape, numel, None, self._is_dense(name, args, kwargs, first, result))
        elif name in _SIZED or name in _NEW:
            given = args[1:] if name in _NEW else args
            given = given[-1:] if name == "randint" else given
            sizes = kwargs.get("size", given[0] if given and isinstance(given[0], (tuple, list)) else given)
            sizes = [one for one in sizes if isinstance(one, int)]
            if len(sizes) == result.dim() and any(isinstance(one, Size) for one in sizes):
                shape = [term_of(one) for one in sizes]
                self._put(result, shape, None, None, self._is_dense(name, args, kwargs, None, result))
        elif name in ("reshape", "view") and first is not None:
            sizes = args[1] if len(args) > 1 and isinstance(args[1], (tuple, list)) else args[1:]
            self._viewed(first, sizes, result)
        elif name in ("t", "transpose", "permute") and first is not None:
            self._turned(first, result)

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
        if (place := _place(tensor)) and place not in self._living:
            self._living[place] = shape, strides, numel
            weakref.finalize(tensor, self._living.pop, place, None)

    def _of(self, tensor) -> tuple:
        known = self._known.get(id(tensor))
        if known is None or known[1] != (_shape(tensor), _plain(tensor.stride)):  # new, or changed in place
            if living := self._living.get(_place(tensor)):
                self._put(tensor, living[0], living[2], living[1])
                return living
            name, rank = f"tensor{self._count + 1}", len(_shape(tensor))
            numel = _symbol(f"{name}.numel")  # which is the only size of a vector
            shape = [numel] if rank == 1 else [_symbol(f"{name}.shape[{i}]") for i in range(rank)]
            self._put(tensor, shape, numel if rank else None)
        return self._known[id(tensor)][0]

    def kept(self, tensor) -> tuple:
        """Returns what torch keeps: later it gives another object of the same memory."""
        with torch._C.DisableTorchFunction():
            same = tensor.detach()
            if id(tensor) in self._known:
                shape, strides, numel = self._of(tensor)
                self._living.pop(_place(tensor), None)
                self._put(same, shape, numel, strides)
        return same

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
    with torch._C.DisableTorchFunction():
        start = tensor.data_ptr() if tensor.layout == torch.strided else 0
        return (start, tensor.dtype, _shape(tensor), _plain(tensor.stride)) if start else None


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
            _noted.append((both(le(n.term, number), lt(number // 2, n.term)), _caller()))
        return number

    _noted.clear()
    triton.next_power_of_2 = next_power_of_2
    watch = Watch()
    try:
        with watch, _gradients(watch):
            yield watch
    finally:
        triton.next_power_of_2 = own


@contextlib.contextmanager
def _gradients(watch: Watch):
    """torch leaves a mode while it computes gradients, and a program's own backward() asks for sizes too."""
    own = getattr(torch.autograd, "_engine_run_backward", None)

    def run(*args, **kwargs):
        with watch:
            return own(*args, **kwargs)

    if own is not None:
        torch.autograd._engine_run_backward = run
    try:
        with torch.autograd.graph.saved_tensors_hooks(watch.kept, lambda tensor: tensor):
            yield
    finally:
        if own is not None:
            torch.autograd._engine_run_backward = own


def _caller() -> str:
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def noted(terms) -> list:
    """(condition, place) of the comparisons that are about atoms of these terms alone."""
    known = {atom for atom in atoms_of(*terms) if atom.kind == "sym"}
    return [
        (cond, place)
        for cond, place in dict.fromkeys(_noted)
        if {atom for atom in atoms_of(cond) if atom.kind == "sym"} <= known
    ]


def plain(value):
    """A value of a launch without terms."""
    if isinstance(value, Size):
        return int(value)
    if type(value) in (tuple, list):
        return type(value)(plain(one) for one in value)
    return value
