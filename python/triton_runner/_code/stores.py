"""Finds which op of a kernel writes to an array, and which parameter a pointer comes from: by the effects of
the op table, and of inline assembly by its text."""

from __future__ import annotations

from triton_runner._code.carried import carried_to

POINTERS = ("ptr", "desc", "dst")  # the groups of operands that say where memory is written
_WRITES = ("stores", "atomics")


def is_atomic(op) -> bool:
    """Returns whether the order of its executions can decide what memory holds. A reduction by TMA stores."""
    if op.does("atomics"):
        return True
    assembly = op.attr("asm_string")
    if assembly is not None:
        return any(word in str(assembly.value) for word in ("atom.", "red."))
    return op.does("stores") and op.attr("kind") is not None


def pointer(op):
    """The operand that says where an op writes; None where it does not write memory."""
    if not any(op.does(effect) for effect in _WRITES):
        return None
    for name in POINTERS:
        try:
            return op.group(name)[0]
        except KeyError:
            continue
    return None


def parameters(module) -> tuple[list, object]:
    """(the arrays among the parameters of a module's kernel, the kernel)."""
    kernel = next((op for op in module.walk() if op.name == "tt.func" and _is_public(op)), None)
    if kernel is None or not kernel.regions or not kernel.regions[0].blocks:
        return [], None
    return [arg for arg in kernel.regions[0].blocks[0].args if _is_array(arg)], kernel


def store(module, position: int, arrays: int) -> tuple:
    """(the name of the parameter of an array, the first op that writes to it); position: among the arrays."""
    parameters_, _ = parameters(module)
    if len(parameters_) != arrays:
        return None, None
    parameter = parameters_[position]
    return name_of(parameter), _first_store(module, parameter)


def store_to(module, name: str):
    """Returns the first op that writes to the array of the parameter that Python calls so, or None."""
    parameter = next((one for one in parameters(module)[0] if name_of(one) == name), None)
    return None if parameter is None else _first_store(module, parameter)


def _first_store(module, parameter):
    writers = (op for op in module.walk() if (at := pointer(op)) is not None and root(at) == parameter)
    return next(writers, None)


def name_of(parameter) -> str:
    """Returns the name that Python has for a parameter."""
    return getattr(parameter.location, "name", "") or parameter.name.removeprefix("%")


def root(value):
    """The value that a pointer comes from, through what computes addresses, loops that carry it, choices and
    calls of functions."""
    for _ in range(200):
        before = _before(value)
        if before is None:
            return value
        value = before
    return value


def _before(value):
    """Returns what a pointer is computed from, None where that is all."""
    op = value.op
    holder = op or (value.block.parent if value.block else None)
    if holder is None:
        return None
    if (carried := next(carried_to(value), None)) is not None:
        return carried
    if op is None:
        return _argument(holder, value.index) if holder.name == "tt.func" else None
    pointers = [operand for operand in op.operands if _is_array(operand)]
    # A descriptor is made of a pointer, a pointer loaded from memory of another.
    return (pointers or op.operands or [None])[0]


def _argument(function, index: int):
    """Returns what a function that the kernel calls is given."""
    name = function.attr("sym_name")
    module = function.parent
    if name is None or module is None or _is_public(function):
        return None
    calls = (op for op in module.walk() if op.name == "tt.call")
    for call in calls:
        callee = call.attr("callee")
        if callee is not None and str(callee.value).removeprefix("@") == str(name.value):
            return call.operands[index] if index < len(call.operands) else None
    return None


def _is_public(op) -> bool:
    return "private" not in str(op.attr("sym_visibility") or "")


def _is_array(value) -> bool:
    kind = value.type
    while kind is not None and kind.kind == "tensor":
        kind = kind.element
    return kind is not None and kind.kind in ("pointer", "tensordesc")
