"""Tells where the functions of a kernel stand, as part of the key of Triton's cache on the CPU.

    cp a.py b.py; triton-runner run a.py; triton-runner run b.py

Triton's key holds the text of a kernel and the line it begins at, and no path: the second program would get
the first one's code, whose faults and breakpoints name a.py. A kernel for the CPU has its files in its key,
so that each copy is compiled once. The kernel's own `cache_key`, and every key of a GPU, stay as Triton makes
them."""

from __future__ import annotations

import hashlib
import inspect
import threading

from triton.runtime.jit import JITFunction

_CALLED = "runner_called"  # of a function: those whose keys Triton asked for while it made this one's
_active = threading.local()


class _Key:
    """JITFunction.cache_key, which also notes which functions this one calls: Triton asks for their keys
    while it makes this one's."""

    def __init__(self, own: property):
        self.own = own

    def __get__(self, function, owner=None):
        if function is None:
            return self
        if calls := getattr(_active, "calls", None):
            calls[-1].append(function)
        if function.hash is not None:
            return self.own.__get__(function)
        _active.calls = [*(calls or ()), []]
        try:
            key = self.own.__get__(function)
            function.__dict__[_CALLED] = _active.calls[-1]
            return key
        finally:
            _active.calls = calls


def install() -> None:
    """Wraps cache_key; once."""
    owner = next(cls for cls in JITFunction.__mro__ if "cache_key" in vars(cls))
    if not isinstance(vars(owner)["cache_key"], _Key):
        owner.cache_key = _Key(vars(owner)["cache_key"])


def digest(source) -> str:
    """A hash of the file and the first line of every function that a source of Triton's compile() consists
    of; "" for a source that is no function."""
    if not hasattr(source, "fn"):
        return ""
    constants = (getattr(source, "constants", None) or {}).values()
    found: dict[int, JITFunction] = {}
    left = [source.fn, *constants]
    while left:
        function = left.pop()
        if isinstance(function, tuple):
            left += function
        elif hasattr(function, "cache_key") and hasattr(function, "hash") and id(function) not in found:
            found[id(function)] = function
            left += _called(function)
    places = sorted({_place(function) for function in found.values()})
    return hashlib.sha256(repr(places).encode()).hexdigest()


def _called(function) -> list:
    if _CALLED not in vars(function):  # its key was made before install(), or given
        kept = {name: vars(function)[name] for name in ("hash", "used_global_vals") if name in vars(function)}
        function.hash = None
        try:
            function.cache_key  # noqa: B018 (asking is what notes them)
        finally:
            if kept.get("hash") is not None:
                vars(function).update(kept)
    return vars(function).get(_CALLED, [])


def _place(function) -> tuple[str, int]:
    """The file as locations name it, and the line of `def`: decorators above it are not in Triton's key."""
    first = function.starting_line_number
    lines = getattr(function, "raw_src", None) or inspect.getsourcelines(function.fn)[0]
    above = next((i for i, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return function.fn.__code__.co_filename, first + above
