"""Names the arguments of a launch, of a Python kernel's and of the artifact itself; has the options that a
kernel was made with."""

from __future__ import annotations

import inspect

from triton_runner import _core
from triton_runner._base.errors import fail
from triton_runner._base.releases import installed


def bind(function, args, kwargs) -> dict:
    """A launch's arguments by parameter name, defaults applied, options left out; constexprs may be left out,
    as the artifact holds them."""
    params = {name: value for name, value in kwargs.items() if name in function.arg_names}
    try:
        bound = function.signature.bind_partial(*args, **params)
    except TypeError as error:
        raise fail(
            f"kernel '{function.__name__}': {error}", f"its parameters: {', '.join(function.arg_names)}"
        ) from None
    bound.apply_defaults()
    missing = [p.name for p in function.params if p.name not in bound.arguments and not p.is_constexpr]
    if missing:
        raise fail(
            f"kernel '{function.__name__}': missing argument {missing[0]!r}",
            f"its parameters: {', '.join(function.arg_names)}",
        )
    return dict(bound.arguments)


def own_options(function) -> dict:
    """The options of triton.jit that made a kernel."""
    from triton.runtime.jit import JITFunction  # with Triton, which artifacts do without

    kept = {
        name: getattr(function, name)
        for name in inspect.signature(JITFunction.__init__).parameters
        if name not in ("self", "fn", "repr") and hasattr(function, name)
    }
    return {**kept, "repr": getattr(function, "_repr", function.repr)}


def name_values(kernel, is_native: bool, args, kwargs) -> list:
    """(name, value) of what kernel[grid](*args, **kwargs) of an artifact is given; is_native: some of its
    parameters are Triton's own."""
    names = [param.name for param in kernel.params]
    values = [value for value in (*args, *kwargs.values()) if value is not None]
    several = any(map(_core.is_descriptor, values))
    if kernel.python_params is None and (several or is_native):
        # Descriptors take several parameters: the launch settles which.
        values = [(names[i] if i < len(names) else f"#{i}", value) for i, value in enumerate(args)]
        order = {name: i for i, name in enumerate(names)}
        return values + sorted(kwargs.items(), key=lambda pair: order.get(pair[0], len(order)))
    if kernel.python_params is not None and (is_native or len(args) + len(kwargs) != len(names)):
        # As Triton's launches pass them: with the constexprs, with some of the trailing ones, or without.
        names = [name for name, is_constexpr in kernel.python_params if not is_constexpr]
        needed = max(
            (i for i, (_, constexpr) in enumerate(kernel.python_params, 1) if not constexpr), default=0
        )
        if len(args) >= needed and (len(args) <= len(kernel.python_params) or installed().loose_launches):
            values = zip(kernel.python_params, args, strict=False)
            return [(name, value) for (name, is_constexpr), value in values if not is_constexpr]
    unknown = [name for name in kwargs if name not in names]
    if unknown:
        raise fail(
            f"kernel '{kernel.name}' has no parameter {unknown[0]!r}", f"its parameters: {', '.join(names)}"
        )
    if len(args) + len(kwargs) != len(names):
        raise fail(
            f"kernel '{kernel.name}' takes {len(names)} arguments, and {len(args) + len(kwargs)} were given",
            f"its parameters: {', '.join(f'{p.name}: {p.type}' for p in kernel.params)}",
        )
    rest = names[len(args) :]
    missing = [name for name in rest if name not in kwargs]
    if missing:
        raise fail(f"kernel '{kernel.name}': argument {missing[0]!r} is missing, another is given twice")
    return [*zip(names, args, strict=False), *((name, kwargs[name]) for name in rest)]
