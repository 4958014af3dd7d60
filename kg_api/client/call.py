"""A call of the REST service, and what it is made of. Pure."""

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
from kg_api.schemas.documents import DocumentText, DocumentUpload
from kg_api.schemas.problems import valid

T = TypeVar("T")

MAX_SILENCE_SECONDS = 45.0
"""After so long without a sign a stream counts as broken; the service gives one every ten."""
MAX_THINKING_SECONDS = 120.0
"""The same of an answer: before its first event a language model may be asked for what to search by."""


class Unset(Enum):
    """That an option was not given, where None says something too."""

    UNSET = "unset"


UNSET = Unset.UNSET
_QUOTED = "%/?#:@!$&'()*+,;=[]~"
"""Stays in a reference to a picture, which may be quoted already: nothing is quoted twice."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    json: Any = None
    content: bytes | None = None
    """A body that is JSON already."""
    data: Mapping[str, str | list[str]] | None = None
    files: dict[str, tuple[str, bytes]] | Sequence[tuple[str, tuple[str, bytes]]] | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    accepted: frozenset[int] = frozenset()
    """Error statuses whose body is the answer all the same."""
    convert: Callable[[httpx.Response], T] | None = None
    """Makes the answer, where that is a file; None: it is JSON."""
    events: Events[Any] | None = None
    """Where the answer is the last of these."""


@dataclass(frozen=True, slots=True)
class Events(Generic[T]):
    """A request whose answer comes bit by bit."""

    call: Call[Any]
    convert: Callable[[Any], T] = lambda event: event
    is_last: Callable[[T], bool] = lambda _: False
    silence: float = MAX_SILENCE_SECONDS


def path_of(*parts: str) -> str:
    """A path of these parts, each quoted.

    Raises:
        InvalidInput: one is blank, or no text, such as the job of a change that needed none.
    """
    if absent := [part for part in parts if not isinstance(part, str)]:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"an id or a name was expected, not {absent[0]!r}; `job_id` is None where nothing was to be done"
        )
    if not all(map(str.strip, parts)):
        raise InvalidInput("an id or a name was expected, but it is blank")
    return "".join(f"/{_quote(part)}" for part in parts)


def _quote(part: str) -> str:
    dots = part in {".", ".."}  # they would lead up, whoever reads the path
    return part.replace(".", "%2E") if dots else quote(part, safe="", errors="replace")


def get(answer: type[T], *path: str, **params: Any) -> Call[T]:
    """Read what is at a path of these parts; a parameter that is None is left to the service."""
    return Call("GET", path_of(*path), answer, params=params_of(**params))


def get_file(*path: str, **params: Any) -> Call[bytes]:
    """Read the file at a path of these parts."""
    return Call("GET", path_of(*path), bytes, params=params_of(**params), convert=lambda file: file.content)


def delete(answer: type[T], *path: str, **params: Any) -> Call[T]:
    """Delete what is at a path of these parts."""
    return Call("DELETE", path_of(*path), answer, params=params_of(**params))


def post(answer: type[T], *path: str, **parts: Any) -> Call[T]:
    """Send the parts of a request, such as `json`, to a path of these parts."""
    return Call("POST", path_of(*path), answer, **parts)


def put(answer: type[T], *path: str, json: Any, dry_run: bool) -> Call[T]:
    """Change what is at a path of these parts."""
    return Call("PUT", path_of(*path), answer, params=params_of(dry_run=dry_run or None), json=json)


def patch(answer: type[T], *path: str, json: Any, **params: Any) -> Call[T]:
    """Change some of what is at a path of these parts."""
    return Call("PATCH", path_of(*path), answer, params=params_of(**params), json=json)


def params_of(**params: Any) -> dict[str, Any]:
    """Query parameters; what is no Unicode is replaced and so not found, like any other name."""
    return {name: _unicode(value) for name, value in params.items() if value is not None}


def _unicode(value: Any) -> Any:
    if isinstance(value, list):
        return [_unicode(each) for each in cast("list[Any]", value)]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def body_of(request: type[BaseModel], options: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A request as JSON: what is not as the service has it by itself.

    None leaves a field to the service too, unless the field can be None.

    Args:
        request: what is asked.
        options: the fields by their names; a method that has an option for each gives its `locals()`.
        more: fields that the method has no option for, or by another name.
    """
    given = {**options, **more}
    asked = {
        name: given[name]
        for name, field_ in request.model_fields.items()
        if name in given and (given[name] is not None or NoneType in get_args(field_.annotation))
    }
    return valid(request, asked).model_dump(mode="json", exclude_defaults=True)


def change_of(request: type[BaseModel], options: Mapping[str, Any]) -> dict[str, Any]:
    """A change as JSON: all of a method's options that were given, None too."""
    given = {name: options[name] for name in request.model_fields if options[name] is not UNSET}
    return valid(request, given).model_dump(mode="json", exclude_unset=True)


def batch_of(documents: Sequence[DocumentText | Mapping[str, Any]]) -> dict[str, Any]:
    """A batch as parts of a call; nothing is checked here, for the service refuses each document alone."""
    given = [
        each.model_dump(mode="json", exclude_defaults=True) if isinstance(each, DocumentText) else dict(each)
        for each in documents
    ]
    body = {"documents": given}
    try:
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # one has half of a surrogate pair, which JSON can say
        content = json.dumps(body).encode()
    return {"content": content, "headers": {"Content-Type": "application/json"}}


def fields_of(request: type[BaseModel], options: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """A request as fields of a form, beside a file; a list as a field that stands several times."""
    fields = body_of(request, options).items()
    return {
        name: [_field(each) for each in cast("list[Any]", value)]
        if isinstance(value, list)
        else _field(value)
        for name, value in fields
    }


def _field(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def form_of(options: Mapping[str, Any]) -> dict[str, str]:
    """What is said of a file, as fields of a form."""
    fields = body_of(DocumentUpload, options)
    return {name: _field(value) for name, value in fields.items()}


def files_of(content: bytes, images: Mapping[str, bytes] | None) -> list[tuple[str, tuple[str, bytes]]]:
    """A file and the pictures that it names, by its references to them, as parts of a form."""
    named = (("images", (quote(name, safe=_QUOTED), image)) for name, image in (images or {}).items())
    return [("file", ("file", content)), *named]
