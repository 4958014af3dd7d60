"""Answers of the service, turned into models or into the errors they stand for."""

from __future__ import annotations

import json
from typing import TypeVar, cast

import httpx
from pydantic import BaseModel, ValidationError

from kg_api.client.call import Call
from kg_api.client.connection import redact_url
from kg_api.errors import KgError, NotFound, ServiceUnreachable
from kg_api.schemas.answers import Answered, AnswerEvent, Statement
from kg_api.schemas.images import PageImage

T = TypeVar("T")

_BROKEN = "the answer broke off before its end; ask again"


FILES = ("image/", "application/x-ndjson", "application/octet-stream")
"""What answers are that are no JSON."""


def read(call: Call[T], response: httpx.Response) -> T:
    """Give the answer as its model.

    Raises:
        KgError: the subclass that the service named, with its message.
        ServiceUnreachable: what answers there is not kg.
    """
    if response.is_error and response.status_code not in call.accepted:
        raise _problem_of(response)
    if call.convert is None:
        return parse_reply(call, response.content, response.url)
    if not response.headers.get("content-type", "").startswith(FILES):
        raise not_kg(response.url)
    return call.convert(response)


def page_of(page: int, response: httpx.Response) -> PageImage:
    """A page, and what the service tells of it."""
    pages, boxed = (int(response.headers.get(name, 0)) for name in ("KG-Pages", "KG-Boxed-Words"))
    return PageImage(response.content, page, pages, boxed)


def _problem_of(response: httpx.Response) -> KgError:
    found = parse_problem(response.content, f"kg answered {response.status_code} {response.reason_phrase}")
    # no route of kg has the path (kg_api/web/shared/problems.py), such as an id with a slash
    return NotFound(str(found)) if str(found).startswith("there is nothing at ") else found


def parse_reply(call: Call[T], content: str | bytes, url: httpx.URL) -> T:
    """Turn JSON into the call's model.

    Raises:
        ServiceUnreachable: what answers there is not kg.
    """
    try:
        return cast("T", cast("type[BaseModel]", call.answer).model_validate_json(content))
    except ValidationError:
        raise not_kg(url) from None


def not_kg(url: httpx.URL) -> ServiceUnreachable:
    """Something else has answered."""
    return ServiceUnreachable(f"what answers at {redact_url(url)} is not this kg; check KG_API_URL")


def parse_problem(content: str | bytes, otherwise: str = "kg broke off") -> KgError:
    """The error that a problem document stands for; of one that is none, an error that says `otherwise`."""
    try:
        body = json.loads(content)
        slug, detail = body["type"].removeprefix("urn:kg:"), body["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return KgError(otherwise)
    return _find_error(KgError, slug)(detail)


def _find_error(tree: type[KgError], slug: str) -> type[KgError]:
    """The error class of that slug, searched below `tree`; KgError itself for one of a newer service."""
    if tree.slug() == slug:
        return tree
    found = (_find_error(branch, slug) for branch in tree.__subclasses__())
    return next((each for each in found if each is not KgError), KgError)


def unwrap_event(event: AnswerEvent) -> Statement | Answered:
    """What a streamed answer says.

    Raises:
        ServiceUnreachable: nothing.
    """
    told = event.statement or event.answer
    if told is None:
        raise ServiceUnreachable(_BROKEN)
    return told


def read_last(call: Call[T], last: object) -> T:
    """Return the last of a stream as the call's answer.

    Raises:
        ServiceUnreachable: it is not the whole answer.
    """
    if not isinstance(last, call.answer):
        raise ServiceUnreachable(_BROKEN)
    return last
