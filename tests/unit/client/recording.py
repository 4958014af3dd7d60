"""A client that sends nothing, and what it was to send."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any, cast

import httpx

from kg_api.client import KgClient
from kg_api.client.call import Call
from kg_api.errors import ServiceUnreachable
from kg_api.models.queries.search import SourceHits


class Recorder(KgClient):
    """Keeps what it is to send."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.calls: list[Call[Any]] = []

    def _send(self, call: Call[Any]) -> Any:
        self.calls.append(call)
        return SourceHits.model_construct(sources=[]) if call.answer is SourceHits else None  # the last page

    def _fetch(self, call: Call[Any]) -> httpx.Response:
        self.calls.append(call)
        return httpx.Response(200)

    def _follow(self, call: Call[Any], silence: float = 0.0) -> Generator[Any]:  # noqa: ARG002 - it waits for nothing
        self.calls.append(call)
        yield from ()


def call_of(ask: Callable[[KgClient], object]) -> Call[Any]:
    """The one call that is sent for it."""
    with Recorder() as kg, contextlib.suppress(ServiceUnreachable):  # an answer that breaks off
        asked = ask(kg)
        if isinstance(asked, Generator):
            list(cast("Generator[Any]", asked))
    (call,) = kg.calls
    return call
