"""Follows, for uninit.py, what torch does: a dispatch mode sees each operator below autograd, wherever it is
called from; what torch.compile traces passes it by, and what compiled code runs does not.

    out = torch.empty(8); kernel writes 6 of it     ->  2 elements have marks
    out[6:] = 0                                     ->  the region of the view is written
    out[:6].sum()                                   ->  reads what is written
    out.clone(), out * mask, out[index], ...        ->  run again with other numbers where marks are:
                                                        elements that come out otherwise have marks
    float(out.sum()), print(out), out.tolist(), ... ->  uses a number that depends on marks: a fault"""

from __future__ import annotations

import contextlib
import functools

import numpy

from triton_runner._memory import uninit, uninit_arrays
from triton_runner._memory.marks import Place
from triton_runner._memory.registry import storage_of
from triton_runner._memory.torch_modes import sees_higher_order, skip_untraced, untraced

_NUMBERS = 3  # that stand for an element that nobody has written: 0, a large one, a small one
_TRIED_MOST = 1 << 24  # elements of an operator that is run again: what larger ones give counts as written
_MAKE = "empty empty_like empty_strided empty_permuted new_empty new_empty_strided"
# They write all of their first argument and read nothing of it.
_OVERWRITE = "fill_ zero_ normal_ uniform_ random_ exponential_ geometric_ cauchy_ log_normal_ bernoulli_"
# Another number may give the same answer; it depends on the number all the same.
_COMPARE = "eq ne lt le gt ge isclose equal allclose isnan isinf isfinite isposinf isneginf"
_MAKE, _OVERWRITE, _COMPARE = set(_MAKE.split()), set(_OVERWRITE.split()), set(_COMPARE.split())
_OWN = ("aten", "prim", "prims")


def _name(func) -> str:
    return func._schema.name.partition("::")[2]


class _View:
    """A tensor's elements in a block, and which of them nobody has written."""

    def __init__(self, tensor, block):
        size = tensor.element_size()
        steps = tuple(step * size for step in tensor.stride())
        self.place = Place(tuple(tensor.shape), steps, size, tensor.data_ptr() - block.address)
        self.tensor, self.block = tensor, block
        self.undefined = block.marks.elements(self.place)

    @property
    def any(self) -> bool:
        return bool(self.undefined.any())

    def set(self, flags) -> None:
        self.block.marks.set(self.place, flags)


def view_of(tensor) -> _View | None:
    """Returns the view of a tensor with elements that nobody has written. None: it has none."""
    if not uninit.is_known() or (storage := storage_of(tensor)) is None or not tensor.numel():
        return None
    block = uninit.find(storage.data_ptr())
    if block is None:
        return None
    view = _View(tensor, block)
    return view if view.any and uninit.settled(block) is not None else None


def record(tensor) -> None:
    """A tensor that was just made and holds nothing."""
    if (storage := storage_of(tensor)) is not None and tensor.numel():
        size = tensor.element_size()
        steps = [step * size for step in tensor.stride()]
        uninit.add(storage, tensor.shape, steps, size, tensor.storage_offset() * size)


def _is_plain(value) -> bool:
    import torch

    return type(value) in (torch.Tensor, torch.nn.Parameter)


def _tensors(values) -> list:
    """The tensors among arguments or results, and in lists of them."""
    found = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += _tensors(value)
        elif _is_plain(value):
            found.append(value)
    return found


@functools.cache
def _is_view(func) -> bool:
    import torch

    returned = [it.alias_info for it in func._schema.returns]
    return torch.Tag.inplace_view in func.tags or any(it is not None and not it.is_write for it in returned)


@functools.cache
def _written(func) -> tuple:
    """(number, name, whether it is an out=) of the arguments that an operator writes to."""
    return tuple(
        (number, it.name, it.kwarg_only)
        for number, it in enumerate(func._schema.arguments)
        if it.alias_info is not None and it.alias_info.is_write
    )


class _Call:
    """A call of an operator some of whose tensors hold elements that nobody has written."""

    def __init__(self, func, args, kwargs, views: list[_View]):
        self._func, self._args, self._kwargs = func, args, kwargs
        self._views = {id(view.tensor): view for view in views}
        self._changed, self._overwritten = [], set()
        for number, name, is_out in _written(func):
            value = kwargs.get(name) if name in kwargs else args[number] if number < len(args) else None
            changed = _tensors([value])
            self._changed += changed
            if is_out or _name(func) in _OVERWRITE or (number == 0 and _name(func) == "copy_"):
                self._overwritten |= {id(tensor) for tensor in changed}

    def run(self):
        if all(key in self._overwritten for key in self._views):
            return self._overwriting()
        if sum(tensor.numel() for tensor in self._all()) > _TRIED_MOST:
            result = self._func(*self._args, **self._kwargs)
            self._is_unknown(result)
            return result
        return self._tried()

    def _all(self) -> list:
        return _tensors([*self._args, *self._kwargs.values()])

    def _is_written(self) -> None:
        for tensor in self._changed:
            if (view := self._views.get(id(tensor))) is not None and uninit.find(
                view.block.address
            ) is view.block:
                view.set(False)

    def _is_unknown(self, result) -> None:
        """Takes what comes of it as written, or, for who follows what depends on marks, as never written."""
        if not uninit.is_following():
            return self._is_written()
        for tensor in _tensors([*_flat(result), *self._changed]):
            if (storage := storage_of(tensor)) is not None and tensor.numel():
                block = uninit.add_copied(storage, self._source())
                _View(tensor, block).set(True)
                block.hold()

    def _overwriting(self):
        result = self._func(*self._args, **self._kwargs)
        self._is_written()
        return result

    # --- with other numbers

    def _tried(self):
        import torch

        others = [self._with(number) for number in range(_NUMBERS)]
        is_random = torch.Tag.nondeterministic_seeded in self._func.tags
        random = torch.get_rng_state() if is_random else None
        result = self._func(*self._args, **self._kwargs)
        after = torch.get_rng_state() if is_random else None
        try:
            ends = []
            for args, kwargs, _ in others:
                if is_random:
                    torch.set_rng_state(random)
                ends.append(self._func(*args, **kwargs))
            self._results(result, ends)
            self._arguments([copies for *_, copies in others])
        except (
            RuntimeError,
            IndexError,
            TypeError,
            ValueError,
        ):  # a number of ours is an index, a type has no comparison, ...
            self._is_unknown(result)
        finally:
            if is_random:
                torch.set_rng_state(after)
        return result

    def _with(self, number: int) -> tuple:
        """(args, kwargs, copies) with a number where nobody has written, and copies of what is written to."""
        copies: dict[int, object] = {}
        changed = {id(tensor) for tensor in self._changed}

        def other(value):
            if isinstance(value, (list, tuple)):
                return type(value)(other(item) for item in value) if type(value) in (list, tuple) else value
            if not _is_plain(value) or not (id(value) in self._views or id(value) in changed):
                return value
            if id(value) not in copies:
                copies[id(value)] = _copied(value, self._views.get(id(value)), number)
            return copies[id(value)]

        return (
            [other(it) for it in self._args],
            {name: other(it) for name, it in self._kwargs.items()},
            copies,
        )

    def _source(self):
        return next(iter(self._views.values())).block

    def _results(self, result, ends) -> None:
        """Marks what came out otherwise, in tensors of its own."""
        first, others = _flat(result), [_flat(end) for end in ends]
        if any(len(other) != len(first) for other in others):
            return
        inside = {storage.data_ptr() for tensor in self._all() if (storage := storage_of(tensor)) is not None}
        for number, value in enumerate(first):
            values = [other[number] for other in others]
            if not _is_plain(value):
                if not _same(value, *values) or (isinstance(value, bool) and _name(self._func) in _COMPARE):
                    uninit.use(self._source(), _called(self._func))
                continue
            if any(other.shape != value.shape for other in values):
                uninit.use(self._source(), _called(self._func))
                continue
            storage = storage_of(value)
            if storage is None or storage.data_ptr() in inside or not value.numel():
                continue
            flags = _differs(value, values)
            if _name(self._func) in _COMPARE:
                flags = flags | self._touched(value.shape)
            if flags.any():
                block = uninit.add_copied(storage, self._source())
                _View(value, block).set(flags)
                block.hold()

    def _touched(self, shape) -> numpy.ndarray:
        flags = numpy.zeros(tuple(shape), bool)
        for view in self._views.values():
            with contextlib.suppress(ValueError):
                flags |= numpy.broadcast_to(view.undefined, flags.shape)
        return flags

    def _arguments(self, copies: list[dict]) -> None:
        """Marks what was written otherwise, and takes the marks from the rest."""
        for tensor in self._changed:
            storage = storage_of(tensor)
            if storage is None or not tensor.numel():
                continue
            flags = _differs(tensor, [those[id(tensor)] for those in copies])
            if id(tensor) not in self._views and not flags.any():
                continue
            block = uninit.add_copied(storage, self._source())
            _View(tensor, block).set(flags)
            block.hold()


def _numbers(dtype) -> tuple:
    """Returns what stands for an element that nobody has written: far from others, and no product with 0 of
    it is NaN."""
    import torch

    if dtype == torch.bool:
        return False, True, False
    if not (dtype.is_floating_point or dtype.is_complex):
        large = torch.iinfo(dtype).max // 4
        return 0, large, -large if dtype.is_signed else 1
    large = (
        2.0**30
        if dtype.itemsize > 2 or dtype == torch.bfloat16
        else 2.0**14
        if dtype.itemsize == 2
        else 224.0
    )
    return 0, large, -large


def _copied(tensor, view: _View | None, number: int):
    """A copy, with a number where nobody has written."""
    import torch

    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    copy.copy_(tensor)
    if view is not None:
        numbers = torch.full(tensor.shape, _numbers(tensor.dtype)[number]).to(tensor.dtype)
        where = torch.from_numpy(view.undefined)
        size = tensor.element_size()
        if size == 1:  # types of 8 bits have no where()
            copy.view(torch.uint8).copy_(
                torch.where(where, numbers.view(torch.uint8), copy.view(torch.uint8))
            )
        else:
            copy.copy_(torch.where(where, numbers, copy))
    return copy


def _flat(result) -> list:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _same(value, *others) -> bool:
    return all(other == value or (other != other and value != value) for other in others)


def _differs(value, others) -> numpy.ndarray:
    flags = numpy.zeros(tuple(value.shape), bool)
    if value.element_size() == 1 and value.dtype.is_floating_point:  # which have no comparison
        value, others = value.float(), [other.float() for other in others]
    for other in others:
        flags |= ((value != other) & ~((value != value) & (other != other))).numpy()
    return flags


def _called(func) -> str:
    return "item()" if _name(func) == "_local_scalar_dense" else f"torch's {_name(func)}"


def _mode():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    @sees_higher_order
    class Mode(TorchDispatchMode):
        watches_memory = True  # --pretend-cuda asks whether others are on

        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # it would load Dynamo for every program; untraced() does the same for those that have it
            return False

        @untraced
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if any(kind.__module__.startswith("torch._subclasses.") for kind in types):
                return func(*args, **kwargs)  # fake tensors belong to another mode, below this one
            if any(kind not in (torch.Tensor, torch.nn.Parameter) for kind in types):
                return NotImplemented  # a class of its own, which calls operators in its turn
            if func.namespace not in _OWN:
                return func(*args, **kwargs)
            name = _name(func)
            if name in _MAKE:
                result = func(*args, **kwargs)
                if _is_plain(result):
                    record(result)
                return result
            if name == "resize_":
                return _resized(func, args, kwargs)
            if not uninit.is_known() or _is_view(func):
                return func(*args, **kwargs)
            tensors = _tensors([*args, *kwargs.values()])
            views = [view for tensor in tensors if (view := view_of(tensor)) is not None]
            if not views:
                return func(*args, **kwargs)
            if name == "_local_scalar_dense":
                uninit.use(views[0].block, _called(func))
                return func(*args, **kwargs)
            return _Call(func, args, kwargs, views).run()

    return Mode()


def _resized(func, args, kwargs):
    storage = storage_of(args[0])
    before = 0 if storage is None else storage.nbytes()
    block = uninit.find(storage.data_ptr()) if storage is not None and before else None
    marks = block.marks if block is not None else None
    result = func(*args, **kwargs)
    if storage is not None and storage.nbytes() > before and _is_plain(result):
        size = result.element_size()
        steps = [step * size for step in result.stride()]
        uninit.add_grown(storage, before, marks, result.shape, steps, size, result.storage_offset() * size)
    return result


def _handed_out(own):
    """A method that gives a tensor's memory to NumPy: nothing is used yet."""

    @untraced
    @functools.wraps(own)
    def give(tensor, *args, **kwargs):
        array = own(tensor, *args, **kwargs)
        is_known = _is_plain(tensor) and view_of(tensor) is not None
        return uninit_arrays.view_of(array) if is_known else array

    return give


def _listed(own):
    """tolist(), whose numbers that nobody has written say when they are used."""

    @untraced
    @functools.wraps(own)
    def give(tensor):
        values = own(tensor)
        view = view_of(tensor) if _is_plain(tensor) else None
        if view is None:
            return values
        return uninit_arrays.numbers(values, view.undefined, lambda: uninit.use(view.block, "tolist()"))

    return give


def _printed(own):
    """A method that gives a tensor as text."""

    @untraced
    @functools.wraps(own)
    def give(tensor, *args, **kwargs):
        if _is_plain(tensor) and (view := view_of(tensor)) is not None and _is_shown(view):
            uninit.use(view.block, "print")
        return own(tensor, *args, **kwargs)

    return give


def _is_shown(view: _View) -> bool:
    """Returns whether one of the elements that printing shows was never written: of a large tensor those at
    its ends."""
    import torch
    from torch import _tensor_str

    flags = torch.from_numpy(view.undefined)
    if flags.numel() > _tensor_str.PRINT_OPTS.threshold:
        flags = _tensor_str.get_summarized_data(flags)
    return bool(flags.any())


@contextlib.contextmanager
def followed():
    """Inside, the tensors of torch.empty and its relatives are known."""
    import torch

    guards = torch._C._dynamo.guards
    places = [
        (torch.Tensor, "numpy", _handed_out),
        (torch.Tensor, "__array__", _handed_out),
        (torch.Tensor, "tolist", _listed),
        (torch.Tensor, "__repr__", _printed),
        *(
            (guards, name, _compiled)
            for name in ("_empty_strided_cpu", "_empty_strided_cuda")
            if hasattr(guards, name)
        ),
    ]
    own = [(place, name, getattr(place, name)) for place, name, _ in places]
    for place, name, change in places:
        setattr(place, name, change(getattr(place, name)))
    skip_untraced()
    try:
        with _mode():
            yield
    finally:
        for place, name, value in own:
            setattr(place, name, value)


def _compiled(own):
    """Wraps the function that code of Inductor calls for a buffer."""

    @untraced
    def make(*args):
        result = own(*args)
        if uninit.is_tracking():
            record(result)
        return result

    return make
