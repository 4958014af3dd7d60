from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Generator
from typing import Any, cast

from kg_api.client import KgClient
from kg_api.client.call import Call
from kg_api.errors import ServiceUnreachable
from kg_api.schemas.search import SourceHits
from tests.support.bundles import configuration


class Recorder(KgClient):
    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.calls: list[Call[Any]] = []

    def _send(self, call: Call[Any]) -> Any:
        self.calls.append(call)
        return SourceHits.model_construct(sources=[]) if call.answer is SourceHits else None  # the last page

    def _follow(self, call: Call[Any], silence: float = 0.0) -> Generator[Any]:  # noqa: ARG002 - it waits for nothing
        self.calls.append(call)
        yield from ()


def call_of(ask: Callable[[KgClient], object]) -> Call[Any]:
    with Recorder() as kg, contextlib.suppress(ServiceUnreachable):  # an answer that breaks off
        asked = ask(kg)
        if isinstance(asked, Generator):
            list(cast("Generator[Any]", asked))
    (call,) = kg.calls
    return call


VALUES: dict[str, Any] = {
    "configuration": configuration(),
    "documents": [{"text": "t", "ontology": "o", "document": "d"}],
    "fields": ["author"],
    "format": 1,
    "groups": [["k8s", "kubernetes"]],
    "key": "0" * 64,
    "language": "de",
    "merged": ["b"],
    "messages": [{"author": "a", "text": "t"}],
    "page": 1,
    "path": "/f",
    "provider": "openai",
    "relevance": 1,
    "schema_version": 120,
    "stance": "supports",
    "steps": [{"step": "seed", "value": "a"}],
    "where": ["a=1"],
} | dict.fromkeys(("content", "file", "lines"), b"t")
"""Values of the required arguments that are no text."""
OPTIONS: dict[str, dict[str, Any]] = {
    "approve": {"documents": ["d"]},
    "augment": {"text": "a"},
    "change_document": {"title": "t"},
    "reject": {"all": True},
    "search_images": {"query_text": "a"},
    "search_sources": {"query_text": "a"},
    "source_graph": {"ontology": "o"},
}


def ask_method(kg: KgClient, name: str, **options: Any) -> Any:
    """Call a method with its required arguments."""
    method = getattr(kg, name)
    parameters = inspect.signature(method).parameters.values()
    needed = (each.name for each in parameters if each.default is each.empty)
    return method(**{each: VALUES.get(each, "a") for each in needed} | OPTIONS.get(name, {}) | options)
