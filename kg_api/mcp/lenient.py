"""Arguments of clients that are not strict, read as the types that the tool declares.

Models and clients send lists, numbers and booleans as text, one name for a list of one, and `""`, `[]` or
null for every optional argument that they leave out. The schema that agents see stays strict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel

_NOTHING = frozenset({"", "null", "none", "undefined", "[]", "{}", '""', "''"})
"""Texts that stand for an argument that was not given, in lower case."""
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NUMBER = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?")
_WHOLE = re.compile(r"[+-]?\d{1,18}(?:\.0+)?")


def read_arguments(model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    """Read arguments as their fields declare them; leave out optional ones that are empty.

    A value that is not clearly meant as its field's type stays as it is, for the model to reject.
    """
    read = dict[str, Any]()
    for name, value in given.items():
        field = model.model_fields.get(name)
        if field is None:
            read[name] = value
        elif field.is_required() or not _is_nothing(value):
            read[name] = _as_declared(_plain(field.annotation), value)
    return read


def _is_nothing(value: object) -> bool:
    if isinstance(value, str):
        text = value.strip()
        if text.casefold() in _NOTHING:
            return True
        value = _from_json(text) if text.startswith("[") else value
        if value is None:  # no JSON
            return False
    if isinstance(value, list):
        items = cast("list[object]", value)
        return all(each is None or (isinstance(each, str) and not each.strip()) for each in items)
    return value is None or value == {}


def _plain(annotation: Any) -> Any:
    """A type without its bounds and without null."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        kinds = [each for each in get_args(annotation) if each is not NoneType]
        return _plain(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


def _as_declared(kind: Any, value: object) -> object:
    if get_origin(kind) is list:
        item = _plain(get_args(kind)[0])
        return [_as_declared(item, each) for each in _as_list(value)] if _is_listable(value) else value
    if kind is str or get_origin(kind) is Literal:
        return _as_text(value)
    if kind is bool and isinstance(value, str | int | float):
        return _BOOLEANS.get(str(_as_text(value)).strip().casefold(), value)
    return _as_number(kind, value) if isinstance(value, str) else value


def _as_number(kind: Any, value: str) -> object:
    """Text as the number that it spells."""
    text = value.strip()
    if kind is int and _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    return float(text) if kind is float and _NUMBER.fullmatch(text) else value


def _is_listable(value: object) -> bool:
    """Whether a value is a list, is one as JSON, or is the only item of one."""
    if isinstance(value, str) and re.fullmatch(r"\s*\[.*\]\s*", value, re.DOTALL):
        return isinstance(_from_json(value), list)
    return isinstance(value, str | int | float | list) and not isinstance(value, bool)


def _as_list(value: object) -> list[object]:
    if isinstance(value, list):
        return cast("list[object]", value)
    parsed = _from_json(value) if isinstance(value, str) else value
    if isinstance(parsed, list):
        return cast("list[object]", parsed)
    return [parsed if isinstance(parsed, str) else value]


def _as_text(value: object) -> object:
    """A number or a boolean as the text that JSON has for it; the only text of a list."""
    match value:
        case float() if value.is_integer():
            return str(int(value))
        case bool() | int() | float():
            return json.dumps(value)
        case [str(only)]:
            return only
        case _:
            return value


def _from_json(text: str) -> object:
    """Read JSON, or a list as Python prints it, `['a']`; None if it is neither."""
    for written in (text, "" if '"' in text else text.replace("'", '"')):
        try:
            return json.loads(written)
        except (ValueError, RecursionError):
            continue
    return None
