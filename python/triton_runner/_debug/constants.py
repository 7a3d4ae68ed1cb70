"""Constexprs of a launch: names of Python that the IR has no values for."""

from __future__ import annotations


def constants_of(call) -> dict:
    """The constexprs of a kernel of Triton by name: what the launch gave, and what it folded."""
    src = getattr(call.kernel, "src", None)
    names = list(getattr(getattr(src, "fn", None), "arg_names", ()))
    out = {}
    for key, value in (getattr(src, "constants", None) or {}).items():
        if isinstance(key, tuple):  # of 3.3 and later: a path into arguments
            key = key[0] if len(key) == 1 else None
        name = names[key] if isinstance(key, int) and key < len(names) else key
        if isinstance(name, str):
            out[name] = getattr(value, "value", value)
    return out
