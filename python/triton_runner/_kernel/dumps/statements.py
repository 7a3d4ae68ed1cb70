"""Reads dump statements in a kernel's source (triton_runner.language has them for users): what each leaves
in Triton's IR, and which kernels use one."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import types

import triton.language as tl
from triton.language import core
from triton.runtime.jit import JITFunction as TritonJITFunction

from triton_runner import _settings
from triton_runner._base.errors import fail
from triton_runner._base.levels import MLIR
from triton_runner._base.markers import BREAKPOINT, EVERY, MARKER, UNSIGNED
from triton_runner._base.releases import installed
from triton_runner._settings import devices

# Whether the kernel that is being compiled keeps its dump statements; None: nothing that records launches it.
_kept: contextvars.ContextVar[bool | None] = contextvars.ContextVar("triton_runner_dumps_kept", default=None)


@contextlib.contextmanager
def keeping(keep: bool):
    """Kernels that are compiled inside of the block keep their dump statements, or lose them."""
    token = _kept.set(keep)
    try:
        yield
    finally:
        _kept.reset(token)


def _builtin(function):
    """A builtin of the language, as every release looks for one."""
    inner = core.builtin(function)

    @functools.wraps(inner)
    def statement(*args, **kwargs):
        if kwargs.get("_semantic") is None and kwargs.get("_builder") is None:
            raise fail(
                f"dl.{function.__name__} was called by Python itself, and not compiled",
                "it is for kernels of triton.jit and triton_runner.jit; TRITON_INTERPRET=1 compiles none",
            )
        return inner(*args, **kwargs)

    statement.__gluon_builtin__ = True
    statement.__module__ = "triton.language"  # what 3.0 to 3.3 ask of a function that a kernel calls
    return statement


def _wanted() -> bool:
    keep = _kept.get()
    if keep is not None:
        return keep
    if devices.resolved_device() == "cpu" and devices.cpu_target()[1] in MLIR:
        return True  # the tile engine passes over markers that nobody records
    raise fail(
        "dl.dump in a kernel that Triton's jit does not launch works on the CPU at ttir and ttgir only",
        "launch the kernel itself, as kernel[grid](...)",
    )


def _plain(value):
    return value.value if isinstance(value, tl.constexpr) else value


def _items(value):
    """The items of a tuple of the language or of Python; None for anything else."""
    if isinstance(value, (tuple, list)):
        return list(value)
    if hasattr(tl, "tuple") and isinstance(value, tl.tuple):
        return list(value.values)
    return None


class _Context:
    """The object that the compiler hands to a builtin: a builder up to 3.3, a semantic after."""

    def __init__(self, builder, semantic):
        self.builder = semantic.builder if semantic is not None else builder
        self.keywords = {"_semantic": semantic} if semantic is not None else {"_builder": builder}

    def tensor(self, value, what: str):
        value = _plain(value)
        if isinstance(value, tl.tensor):
            return value
        if isinstance(value, (bool, int, float)):
            return core.to_tensor(value, **self.keywords)
        raise fail(
            f"{what} is {_named(value)}, and should be a tensor or a number",
            "load what is in shared memory or behind a descriptor first, and dump the loaded value",
        )

    def integer(self, value, what: str):
        """A scalar of i32."""
        plain = _plain(value)
        if isinstance(plain, int) and not -(2**31) <= plain < 2**31:
            raise fail(f"{what} is {plain}, which does not fit into 32 bits")
        value = self.tensor(value, what)
        if value.type.is_block() or not value.dtype.is_int():
            raise fail(f"{what} is {_named(value)}, and should be one whole number")
        return value if value.dtype == tl.int32 else value.to(tl.int32, **self.keywords)

    def mark(self, statement: str, value, numbers) -> None:
        handles = [value.handle, *(number.handle for number in numbers)]
        kind = value.dtype
        signed = kind.is_int() and kind.is_int_signed()
        unsigned = UNSIGNED if kind.is_int() and not signed and kind.primitive_bitwidth > 1 else ""
        more = [[signed, *[True] * len(numbers)]] if installed().print_takes_signs else []
        self.builder.create_print(f"{MARKER}.{statement}{unsigned}", False, handles, *more)


def _named(value) -> str:
    kind = getattr(value, "type", None)
    return f"a value of type {kind}" if kind is not None else repr(value)


def _dump(statement: str, val, offset, grid, context: _Context) -> None:
    """Markers for a value, or for the items of a tuple one after the other."""
    items = _items(val)
    values = [context.tensor(v, "the dumped value") for v in (items if items is not None else [val])]
    offset = context.integer(offset, "offset")
    axes = [context.integer(axis, f"dump_grid[{i}]") for i, axis in enumerate(grid)]
    done = 0
    for value in values:
        at = offset
        if done:
            at = offset.__add__(done, **context.keywords)
        context.mark(statement, value, [at, *axes])
        done += _elements(value)


def _elements(value) -> int:
    count = 1
    if value.type.is_block():
        for extent in value.shape:
            count *= _plain(extent)
    return count


@_builtin
def dump(val, offset=0, dump_grid=None, _builder=None, _semantic=None):
    """Records val (a tensor of any shape and type, a scalar, or a tuple of them) in one program. offset is
    the element of dump_tensor at which it is written. dump_grid selects the program, as a number or a tuple
    of one to three, which may be computed in the kernel; axes that are missing or None are 0. If the launch
    has no dump_tensor=, the record is in triton_runner.dumps()."""
    if not _wanted():
        return
    grid = _plain(dump_grid)
    grid = [0] if grid is None else _items(grid) or [grid]
    if len(grid) > 3:
        raise fail(f"dump_grid has {len(grid)} axes, and a grid has 3")
    _dump("dump", val, offset, [*grid, 0, 0][:3], _Context(_builder, _semantic))


@_builtin
def dump_boundary(val, offset=0, _builder=None, _semantic=None):
    """Records val in the last program on every axis; see dump."""
    if not _wanted():
        return
    context = _Context(_builder, _semantic)
    last = [core.num_programs(axis, **context.keywords).__sub__(1, **context.keywords) for axis in range(3)]
    _dump("dump_boundary", val, offset, last, context)


@_builtin
def dump_grids(val, offset=0, _builder=None, _semantic=None):
    """Records val in every program. The programs follow each other in dump_tensor, x slowest: in a grid of X
    by Y by Z, program (x, y, z) begins at offset + ((x * Y + y) * Z + z) * elements, so that the block of
    program (x, y) is dump_tensor.reshape(X, Y, *block)[x, y]."""
    if not _wanted():
        return
    _dump("dump_grids", val, offset, [EVERY] * 3, _Context(_builder, _semantic))


@_builtin
def breakpoint(condition=True, _builder=None, _semantic=None):
    """Stops here under a debugger (triton-runner debug), at ttir and ttgir on the CPU, in programs where the
    condition, or any element of it, is not 0. Other launches ignore it, and the code of other levels does not
    contain it."""
    if devices.resolved_device() != "cpu" or devices.cpu_target()[1] not in MLIR:
        return
    context = _Context(_builder, _semantic)
    value = context.tensor(condition, "the condition")
    more = [[False]] if installed().print_takes_signs else []
    context.builder.create_print(BREAKPOINT, False, [value.handle], *more)


def switched_off() -> bool:
    """Whether dump statements leave nothing: TRITON_RUNNER_DUMP=0, using(dump=False) or
    TRITON_RUNNER_PROD=1."""
    return not _settings.current().dump or _settings.prod()


_STATEMENTS = (dump, dump_boundary, dump_grids)


def uses_statements(function) -> bool:
    """Whether a kernel, or a function of Triton that it calls, has a dl.dump statement. Found once a kernel,
    in what its code names."""
    dumps = function.__dict__.get("_runner_dumps")
    if dumps is None:
        dumps = function.__dict__["_runner_dumps"] = _search(function, set())
    return dumps


def _search(function, seen: set) -> bool:
    if id(function) in seen:
        return False
    seen.add(id(function))
    body = function.fn
    cells = zip(body.__code__.co_freevars, body.__closure__ or (), strict=True)
    free = {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}
    names = _names(body.__code__)
    values = [free.get(name, body.__globals__.get(name)) for name in names]
    for module in [value for value in values if isinstance(value, types.ModuleType)]:
        values += [module.__dict__.get(name) for name in names]
    return any(
        value in _STATEMENTS if isinstance(value, types.FunctionType) else _search(value, seen)
        for value in values
        if isinstance(value, (types.FunctionType, TritonJITFunction))
    )


def _names(code) -> set:
    inner = [_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names) | set(code.co_freevars) | set().union(*inner)
