"""Results as frozen dataclasses, and the JSON that is made of them.

A field that is None is null; where None is its default, it is left out. A name that Python keeps for itself
has an underscore (pass_), which JSON has not.
"""

from __future__ import annotations

import dataclasses
import typing


def as_json(value):
    """What json.dumps() takes for a result."""
    if dataclasses.is_dataclass(value):
        pairs = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
        return {_name(f): as_json(one) for f, one in pairs if one is not None or f.default is not None}
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    return [as_json(one) for one in value] if isinstance(value, (list, tuple)) else value


def schema(kind) -> dict:
    """The JSON schema of a result."""
    if dataclasses.is_dataclass(kind):
        types = typing.get_type_hints(kind)
        fields = dataclasses.fields(kind)
        return {
            "type": "object",
            "properties": {_name(field): schema(types[field.name]) for field in fields},
            "required": [_name(field) for field in fields if field.default is not None],
            "additionalProperties": False,
        }
    origin, within = typing.get_origin(kind), typing.get_args(kind)
    if origin in (list, tuple):
        return {"type": "array", "items": schema(within[0])} if within else {"type": "array"}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(within[1])}
    if within:  # a union
        return {"anyOf": [schema(one) for one in within]}
    known = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    known |= {list: "array", tuple: "array", dict: "object"}
    return {"type": known[kind]} if kind in known else {}


def _name(field) -> str:
    return field.name.rstrip("_")
