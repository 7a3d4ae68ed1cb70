"""Makes JSON of results that are frozen dataclasses, reads it back, and writes its schema.

A field that is None is null; where None is its default, it is left out, unless it is of NULL. A field of FLAT
has its own fields in its place. A name that Python keeps for itself has an underscore (pass_), which JSON
leaves off."""

from __future__ import annotations

import dataclasses
import types
import typing

NULL = {"null": True}
FLAT = {"flat": True}


def as_json(value):
    """Returns a result as json.dumps() takes it."""
    if dataclasses.is_dataclass(value):
        fields: dict = {}
        for field in dataclasses.fields(value):
            item = as_json(getattr(value, field.name))
            if field.metadata.get("flat"):
                fields |= item or {}
            elif item is not None or not _is_optional(field):
                fields[_name(field)] = item
        return fields
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    return [as_json(one) for one in value] if isinstance(value, (list, tuple)) else value


def of_json(kind, data):
    """The result that as_json() gave; fields that it does not have are as they are by default."""
    origin, within = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        kinds = typing.get_type_hints(kind)
        known = [field for field in dataclasses.fields(kind) if _name(field) in data]
        return kind(**{field.name: of_json(kinds[field.name], data[_name(field)]) for field in known})
    if origin is types.UnionType:
        return None if data is None else of_json(next(arg for arg in within if arg is not type(None)), data)
    if origin is list:
        return [of_json(within[0], item) for item in data]
    return {name: of_json(within[1], item) for name, item in data.items()} if origin is dict else data


def schema(kind) -> dict:
    """The JSON schema of a result."""
    if dataclasses.is_dataclass(kind):
        kinds, properties, required = typing.get_type_hints(kind), {}, []
        for field in dataclasses.fields(kind):
            if field.metadata.get("flat"):
                (inner,) = (
                    arg for arg in typing.get_args(kinds[field.name]) if dataclasses.is_dataclass(arg)
                )
                properties |= {n: s for n, s in schema(inner)["properties"].items() if n not in properties}
            else:
                properties[_name(field)] = schema(kinds[field.name])
                required += [_name(field)] * (not _is_optional(field))
        return {
            "type": "object", "properties": properties, "required": required, "additionalProperties": False
        }  # fmt: skip
    origin, within = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        return {"type": "array", "items": schema(within[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(within[1])}
    if origin is types.UnionType:
        return {"anyOf": [schema(kind) for kind in within]}
    simple = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
    return {"type": {**simple, list: "array", dict: "object"}[kind]}


def _is_optional(field) -> bool:
    return field.default is None and not field.metadata.get("null")


def _name(field) -> str:
    return field.name.rstrip("_")
