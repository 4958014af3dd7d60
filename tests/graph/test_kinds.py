from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.images import hold_blobs
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.images import StoredImage
from kg_api.schemas.search import SourceSearch
from kg_api.search.service import SearchService
from tests.conftest import Stored
from tests.support.kg import Kg
from tests.support.records import record

MANY = 120
"""Number of items of the other kind. They are nearer to the question, and there are more than a retriever
can return."""
Kind = Literal["passage", "image"]


def pictured(made: DocumentRecord, *numbers: int) -> DocumentRecord:
    key = "0" * 64
    image = StoredImage(key, key, "image/png", 4, 3, 100, "0" * 16)
    sources = [replace(each, image=image) if at in numbers else each for at, each in enumerate(made.sources)]
    return replace(made, sources=tuple(sources))


@pytest.fixture(params=["image", "passage"])
def rare(request: pytest.FixtureRequest) -> Kind:
    """Store many items of one kind and a single item of the other, and return the rare kind."""
    return request.param


@contextmanager
def store_boats(graph: Graph, rare: Kind) -> Generator[Kg]:
    hold_blobs(graph, ["0" * 64])
    made = Kg(graph)
    texts = [f"The red boat of the harbour, number{n}." for n in range(MANY)]
    texts.append(
        "A boat is somewhere else, with many other words around it that say nothing of a port at all."
    )
    numbers = [MANY] if rare == "image" else range(MANY)
    store_document(graph, pictured(record("boats.md", texts), *numbers))
    made.work()
    yield made
    made.spaces.close()


@pytest.fixture
def harbour(stored: Stored, migrated_graph: Graph, rare: Kind) -> Kg:
    return stored.give(store_boats, migrated_graph, rare)


def found(kg: Kg, **options: Any) -> list[tuple[str, int]]:
    service = SearchService(kg.graph, kg.spaces)
    try:
        answer = service.search(SourceSearch(query_text="red boat of the harbour", **options))
    finally:
        service.close()
    return [(each.kind, each.paragraph) for each in answer.sources]


@pytest.mark.parametrize("mode", ["vector", "text", "hybrid"])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("narrow", [{}, {"ontology": "notes"}, {"documents": ["boats.md"]}])
def test_the_rare_kind_is_found_in_every_lane(
    harbour: Kg, rare: Kind, mode: str, exact: bool, narrow: dict[str, Any]
) -> None:
    assert found(harbour, kinds=[rare], mode=mode, exact=exact, **narrow) == [(rare, MANY)]


def test_the_other_kind_has_none_of_it(harbour: Kg, rare: Kind) -> None:
    other: Kind = "passage" if rare == "image" else "image"
    for mode in ("vector", "text", "hybrid"):
        hits = found(harbour, kinds=[other], mode=mode, limit=50)
        assert {kind for kind, _ in hits} == {other}
        assert len(hits) == 50


def test_both_kinds_are_all(harbour: Kg) -> None:
    assert found(harbour, kinds=["passage", "image"]) == found(harbour)
