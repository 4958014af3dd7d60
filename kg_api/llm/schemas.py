"""JSON schemas of what a language model shall answer: all fields are required, and there are no others."""

from __future__ import annotations

from typing import Final

Schema = dict[str, object]

TEXT: Final[Schema] = {"type": "string"}
NUMBER: Final[Schema] = {"type": "number"}


def list_of(entry: Schema) -> Schema:
    """Of a list of such entries."""
    return {"type": "array", "items": entry}


def object_of(**fields: Schema) -> Schema:
    """Of an object with these fields."""
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}
