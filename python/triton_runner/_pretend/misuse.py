"""Says in plain words why Triton refuses the call of a kernel: a grid that is a number, an argument of a type
that it does not take, a parameter that gets no value.

Triton says these from inside of a function that it has made for the kernel's signature, and without the names
of the kernel and the argument."""

from __future__ import annotations

import re

from triton_runner._base.errors import DiagnosticError, fail, number_as_grid, package_folders

_BINDER = "dynamic_func"  # what Triton calls the function that it makes for a signature
_MISSING = re.compile(_BINDER + r"\(\) missing \d+ required positional arguments?: (.*)")
_UNKNOWN = re.compile(r"Keyword argument (\w+) was specified but unrecognised")
# This says how to pass a tensor that Triton does not take.
_INSTEAD = {
    "is_complex": "torch.view_as_real({0}) shows the same memory as real numbers, two for each element",
    "is_quantized": "{0}.int_repr() has its integers",
    "is_sparse": "pass its parts, as {0}.indices() and {0}.values(), or {0}.to_dense()",
}


def misuse_of(error: BaseException) -> DiagnosticError | None:
    """Returns what the program should be told of a call that Triton refuses; None: something else raised the
    error."""
    frames = []
    innermost = error.__traceback__
    while innermost is not None:
        frames.append(innermost.tb_frame)
        innermost = innermost.tb_next
    launch = next((frame for frame in reversed(frames) if _is_launch(frame)), None)
    if launch is None:
        return None
    kernel = launch.f_locals["self"].__name__
    if isinstance(grid := launch.f_locals.get("grid"), int) and isinstance(error, TypeError):
        return number_as_grid(kernel, grid) if frames[-1] is launch else None
    if found := _MISSING.fullmatch(str(error)):
        return fail(
            f"the call of kernel '{kernel}' gives no value to {found[1]}", "every parameter needs a value"
        )
    if isinstance(error, KeyError) and (found := _UNKNOWN.search(str(error))):
        return fail(
            f"the call of kernel '{kernel}' names {found[1]}, which is not one of its parameters",
            "nor is it an option of the compiler, as num_warps is",
        )
    bound = next((frame for frame in frames if frame.f_code.co_name == _BINDER), None)
    names = getattr(launch.f_locals["self"], "arg_names", ())
    return _of_argument(kernel, names, bound.f_locals) if bound is not None else None


def _is_launch(frame) -> bool:
    """Returns whether a frame is Triton's launch of a kernel."""
    is_run = frame.f_code.co_name == "run" and frame.f_code.co_filename.startswith(package_folders())
    return is_run and bool(getattr(frame.f_locals.get("self"), "__name__", ""))


def _of_argument(kernel: str, names, values: dict) -> DiagnosticError | None:
    from triton.runtime.jit import mangle_type

    for name in names:
        value = values.get(name)
        try:
            mangle_type(value, True)
        except Exception:
            return fail(f"argument '{name}' of kernel '{kernel}' {_what(value)}", _instead(name, value))
    return None


def _what(value) -> str:
    if isinstance(value, int):
        return f"is {value}, which has more than 64 bits"
    if hasattr(value, "untyped_storage"):
        layout = str(value.layout).removeprefix("torch.")
        kind = str(value.dtype).removeprefix("torch.") if layout == "strided" else layout
        return f"is a {kind} tensor, which Triton does not take"
    name = type(value).__qualname__
    module = type(value).__module__
    return f"is a {name if module == 'builtins' else f'{module}.{name}'}, which Triton does not take"


def _instead(name: str, value) -> str:
    if isinstance(value, int):
        return "pass it in parts"
    for trait, instead in _INSTEAD.items():
        said = getattr(value, trait, False)
        if said() if callable(said) else said:
            return instead.format(name)
    if hasattr(value, "__array_interface__") and getattr(value, "shape", ()):
        return f"torch.from_numpy({name}) shares its memory"
    if hasattr(value, "item") and not hasattr(value, "untyped_storage"):
        return f"{name}.item() is the same as a number of Python"
    if isinstance(value, list):
        return f"tuple({name}) can be passed; its elements are arguments of their own"
    return "tensors, numbers of Python and tuples are taken; anything else can be a tl.constexpr"
