"""Description of a REST call: path, parameters, body, and response type."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType
from typing import Any, Generic, TypeVar, cast, get_args
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from kg_api.errors import InvalidInput
from kg_api.schemas.documents import DocumentText
from kg_api.schemas.problems import validate

T = TypeVar("T")

# a stream without events for this long is broken: the service sends a heartbeat every 10 s
MAX_SILENCE_SECONDS = 45.0
MAX_THINKING_SECONDS = 120.0  # limit for the first event of an answer, which may wait for a language model


class Unset(Enum):
    """Marks an option that you have not used, if you can also set it to None."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """Request, and the type to use for the response."""

    method: str
    path: str
    answer: type[T]
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    json: Any = None
    content: bytes | None = None  # JSON body as bytes
    data: Mapping[str, str | list[str]] | None = None
    files: dict[str, tuple[str, bytes]] | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    accepted: frozenset[int] = frozenset()  # error statuses with a valid response body
    convert: Callable[[httpx.Response], T] | None = None  # converts a file response (default: JSON)
    events: Events[Any] | None = None  # events of a streamed response, the last of which is the answer


@dataclass(frozen=True, slots=True)
class Events(Generic[T]):
    """Request with a streamed response."""

    call: Call[Any]
    convert: Callable[[Any], T] = lambda event: event
    is_last: Callable[[T], bool] = lambda _: False
    silence: float = MAX_SILENCE_SECONDS


def build_path(*parts: str) -> str:
    """Build a path with each part quoted."""
    if absent := [part for part in parts if not isinstance(part, str)]:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"an id or a name was expected, not {absent[0]!r}. `job_id` is None if there was no work"
        )
    if not all(map(str.strip, parts)):
        raise InvalidInput("an id or a name was expected, but the value is blank")
    return "".join(f"/{_quote(part)}" for part in parts)


def _quote(part: str) -> str:
    dots = part in {".", ".."}  # clients and servers would resolve them
    return part.replace(".", "%2E") if dots else quote(part, safe="", errors="replace")


def get(answer: type[T], *path: str, **params: Any) -> Call[T]:
    """Describe a GET request. To omit a parameter, use None."""
    return Call("GET", build_path(*path), answer, params=build_params(**params))


def get_file(*path: str, **params: Any) -> Call[bytes]:
    """Describe a request for a file."""
    return Call(
        "GET", build_path(*path), bytes, params=build_params(**params), convert=lambda file: file.content
    )


def delete(answer: type[T], *path: str, **params: Any) -> Call[T]:
    """Describe a DELETE request. To omit a parameter, use None."""
    return Call("DELETE", build_path(*path), answer, params=build_params(**params))


def post(answer: type[T], *path: str, **parts: Any) -> Call[T]:
    """Describe a POST request, using parts such as `json`."""
    return Call("POST", build_path(*path), answer, **parts)


def put(answer: type[T], *path: str, json: Any, dry_run: bool) -> Call[T]:
    return Call("PUT", build_path(*path), answer, params=build_params(dry_run=dry_run or None), json=json)


def patch(answer: type[T], *path: str, json: Any, **params: Any) -> Call[T]:
    """Describe a PATCH request. To omit a parameter, use None."""
    return Call("PATCH", build_path(*path), answer, params=build_params(**params), json=json)


def build_params(**params: Any) -> dict[str, Any]:
    """Build query parameters, omitting None.

    Invalid Unicode will be replaced, so that a lookup finds nothing.
    """
    return {name: _unicode(value) for name, value in params.items() if value is not None}


def _unicode(value: Any) -> Any:
    if isinstance(value, list):
        return [_unicode(each) for each in cast("list[Any]", value)]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def build_body(request: type[BaseModel], options: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Build the JSON body for a request. Fields that have the default value are not sent.

    To omit a field, use None. This is not possible for a field that can be None.

    Args:
        request: Model to use for the request.
        options: Fields by name. If a method has an option for each field, pass `locals()`.
        more: Fields that are not options, or that have another name as an option.
    """
    given = {**options, **more}
    asked = {
        name: given[name]
        for name, field_ in request.model_fields.items()
        if name in given and (given[name] is not None or NoneType in get_args(field_.annotation))
    }
    return validate(request, asked).model_dump(mode="json", exclude_defaults=True)


def build_change_body(request: type[BaseModel], options: Mapping[str, Any]) -> dict[str, Any]:
    """Build the JSON body for a change from the options that are set, including None."""
    given = {name: options[name] for name in request.model_fields if options[name] is not UNSET}
    return validate(request, given).model_dump(mode="json", exclude_unset=True)


def build_batch_body(documents: Sequence[DocumentText | Mapping[str, Any]]) -> dict[str, Any]:
    """Build the body for a batch.

    This does not check it, since the service checks each document separately.
    """
    given = [
        each.model_dump(mode="json", exclude_defaults=True) if isinstance(each, DocumentText) else dict(each)
        for each in documents
    ]
    body = {"documents": given}
    try:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can escape
        content = json.dumps(body).encode()
    return {"content": content, "headers": {"Content-Type": "application/json"}}


def fields_of(request: type[BaseModel], options: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """Build form fields to upload with a file. A list is sent as a repeated field."""
    fields = build_body(request, options).items()
    return {
        name: [_field(each) for each in cast("list[Any]", value)]
        if isinstance(value, list)
        else _field(value)
        for name, value in fields
    }


def _field(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
