"""Conversion of the service's responses to models or errors."""

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
from kg_api.schemas.problems import NO_ROUTE

T = TypeVar("T")

_BROKEN = "the answer was cut off. Repeat the request"


FILES = ("image/", "application/x-ndjson", "application/octet-stream")  # content types that are not JSON


def read(call: Call[T], response: httpx.Response) -> T:
    """Read the response to a call as a model."""
    if response.is_error and response.status_code not in call.accepted:
        raise _read_problem(response)
    if call.convert is None:
        return parse_reply(call, response.content, response.url)
    if not response.headers.get("content-type", "").startswith(FILES):
        raise report_foreign_server(response.url)
    return call.convert(response)


def read_page_image(page: int, response: httpx.Response) -> PageImage:
    """Read a page image, using the values from the response headers."""
    pages, boxed = (int(response.headers.get(name, 0)) for name in ("KG-Pages", "KG-Boxed-Words"))
    return PageImage(response.content, page, pages, boxed)


def _read_problem(response: httpx.Response) -> KgError:
    found = parse_problem(response.content, f"kg answered {response.status_code} {response.reason_phrase}")
    # a path without a route, for example because an id contains a slash
    return NotFound(str(found)) if str(found).startswith(NO_ROUTE) else found


def parse_reply(call: Call[T], content: str | bytes, url: httpx.URL) -> T:
    """Parse JSON as the model of a call."""
    try:
        return cast("T", cast("type[BaseModel]", call.answer).model_validate_json(content))
    except ValidationError:
        raise report_foreign_server(url) from None


def report_foreign_server(url: httpx.URL) -> ServiceUnreachable:
    return ServiceUnreachable(f"the server at {redact_url(url)} is not this kg. Check KG_API_URL")


def parse_problem(content: str | bytes, otherwise: str = "kg broke off") -> KgError:
    """Parse the error in a problem document. If this is not possible, use `otherwise`."""
    try:
        body = json.loads(content)
        slug, detail = body["type"].removeprefix("urn:kg:"), body["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return KgError(otherwise)
    return _find_error(KgError, slug)(detail)


def _find_error(tree: type[KgError], slug: str) -> type[KgError]:
    """Find the error class for a slug below `tree`. If a newer service has sent it, use KgError."""
    if tree.slug() == slug:
        return tree
    found = (_find_error(branch, slug) for branch in tree.__subclasses__())
    return next((each for each in found if each is not KgError), KgError)


def unwrap_event(event: AnswerEvent) -> Statement | Answered:
    """Get the content from a streamed event."""
    told = event.statement or event.answer
    if told is None:
        raise ServiceUnreachable(_BROKEN)
    return told


def read_last(call: Call[T], last: object) -> T:
    """Read the last event in a stream as the answer to a call."""
    if not isinstance(last, call.answer):
        raise ServiceUnreachable(_BROKEN)
    return last
