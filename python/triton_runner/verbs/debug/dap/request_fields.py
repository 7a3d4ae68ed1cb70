"""Reads the fields of a request of the Debug Adapter Protocol, each as the type that the protocol gives."""

from __future__ import annotations

from triton_runner._base.errors import fail
from triton_runner._kernel.dumps.axes import program_of

_MISSING = object()


class RequestFields:
    """The fields of one request. Raises DiagnosticError for one that is missing or of another type."""

    def __init__(self, command: str, values: dict | None):
        self.command, self._values = command, values or {}

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def _get(self, name: str, types: tuple, called: str, default):
        value = self._values.get(name)
        if value is None:
            if default is _MISSING:
                raise fail(f"the request '{self.command}' has no '{name}'")
            return default
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise fail(f"'{name}' of the request '{self.command}' is not {called}")
        return value

    def text(self, name: str, default=_MISSING) -> str:
        return self._get(name, (str,), "a text", default)

    def number(self, name: str, default=_MISSING, least: int | None = None) -> int:
        value = self._get(name, (int,), "a whole number", default)
        if least is not None and value is not None and value < least:
            raise fail(f"'{name}' of the request '{self.command}' is {value}, at least {least} is expected")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        return self._get(name, (bool,), "true or false", default)

    def within(self, name: str, default=_MISSING) -> RequestFields:
        """Returns the fields of an object."""
        return RequestFields(self.command, self._get(name, (dict,), "an object", default))

    def each(self, name: str, default=_MISSING) -> list[RequestFields]:
        """Returns the fields of each object in a list."""
        values = self._get(name, (list,), "a list", default)
        if not all(isinstance(value, dict) for value in values):
            raise fail(f"'{name}' of the request '{self.command}' is not a list of objects")
        return [RequestFields(self.command, value) for value in values]

    def texts(self, name: str, default=_MISSING) -> list[str]:
        values = self._get(name, (list,), "a list", default)
        if not all(isinstance(value, str) for value in values):
            raise fail(f"'{name}' of the request '{self.command}' is not a list of texts")
        return values

    def environment(self, name: str) -> dict[str, str | None]:
        """Names and values; None takes a variable away."""
        values = self._get(name, (dict,), "an object", {})
        if not all(value is None or isinstance(value, (str, int, float)) for value in values.values()):
            raise fail(f"'{name}' of the request '{self.command}' has a value that is not a text")
        return {key: None if value is None else str(value) for key, value in values.items()}

    def program(self, name: str) -> list[int] | None:
        """A program of the grid: 3, "3,0" or [3, 0]."""
        value = self._get(name, (int, str, list), "a program of the grid", None)
        return None if value in (None, "", []) else [*program_of(value, f"'{name}'")]
