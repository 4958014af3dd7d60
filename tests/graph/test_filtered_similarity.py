from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.errors import InvalidInput
from kg_api.graph.client import Graph, Lookup
from kg_api.graph.document_writes import store_documents
from kg_api.graph.fulltext import SCOPES_A_QUERY
from kg_api.schemas.base import digest
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.similarity import GraphRequest, SimilarSearch
from kg_api.search import near as words
from kg_api.search.similar import SimilarityService
from tests.conftest import Stored
from tests.graph.conftest import store_texts
from tests.support.kg import Kg
from tests.support.records import record

DOCUMENTS = 45
WHERE = ["number<10 && parity=even || number>=36", "number!=38"]


def fits(document: str) -> bool:
    if not document.isdigit():
        return False  # what else is there has no number
    number = int(document)
    return ((number < 10 and number % 2 == 0) or number >= 36) and number != 38


def numbered(number: int) -> DocumentRecord:
    texts = [f"the keeper counts ships word{number % 7} number{number} and part{at}" for at in range(2)]
    told = json.dumps({"number": number, "parity": "odd" if number % 2 else "even"})
    new = record(str(number), texts, ontology="harbour")
    return replace(new, metadata=told, content_hash=digest(new.content_hash, told))


@contextmanager
def store_harbour(graph: Graph, *, embedded: bool) -> Generator[Kg]:
    with store_texts(graph) as kg:
        store_documents(graph, [numbered(n) for n in range(DOCUMENTS)])
        if embedded:
            kg.work()
        yield kg


@pytest.fixture
def harbour(stored: Stored, migrated_graph: Graph) -> Kg:
    return stored.give(store_harbour, migrated_graph, embedded=True)


@pytest.fixture
def without_vectors(stored: Stored, migrated_graph: Graph) -> Kg:
    return stored.give(store_harbour, migrated_graph, embedded=False)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("own", [3, 4])
def test_filtered_similar_sources_equal_a_plain_scan(harbour: Kg, own: int, *, exact: bool) -> None:
    service, source = SimilarityService(harbour.graph), numbered(own).sources[0].source_id
    plain = {"limit": 100, "group_duplicates": False, "exact": True}
    every = service.similar(source, SimilarSearch.model_validate(plain)).sources
    wanted = [hit.source_id for hit in every if fits(hit.document)]
    asked = SimilarSearch.model_validate({**plain, "exact": exact, "where": WHERE})
    found = service.similar(source, asked)
    assert {hit.source_id for hit in found.sources} == set(wanted)
    assert len(found.sources) == 2 * sum(fits(str(n)) for n in range(DOCUMENTS) if n != own)
    assert found.degraded == []
    few = service.similar(source, asked.model_copy(update={"limit": 7}))
    assert [round(hit.score, 5) for hit in few.sources] == [
        round(hit.score, 5) for hit in every if fits(hit.document)
    ][:7]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("where", [[], WHERE])
def test_similar_sources_show_ocr(
    harbour: Kg, driver: neo4j.Driver, where: list[str], *, exact: bool
) -> None:
    driver.execute_query("MATCH (s:Source {document: '36'}) SET s.ocr_confidence = 0.75")
    asked = SimilarSearch.model_validate(
        {"limit": 100, "where": where, "exact": exact, "group_duplicates": False}
    )
    found = SimilarityService(harbour.graph).similar(numbered(4).sources[0].source_id, asked)
    read = {(hit.ocr, hit.ocr_confidence) for hit in found.sources if hit.document == "36"}
    assert read == {(True, 0.75)}
    assert not any(hit.ocr for hit in found.sources if hit.document != "36")


def test_own_document_is_included_on_request_and_match(harbour: Kg) -> None:
    service = SimilarityService(harbour.graph)
    for own, comes in ((4, True), (3, False)):
        asked = SimilarSearch.model_validate({"limit": 100, "where": WHERE, "same_document": True})
        found = service.similar(numbered(own).sources[0].source_id, asked)
        documents = {hit.document for hit in found.sources for hit in (hit, *hit.duplicates)}
        assert (str(own) in documents) is comes


@pytest.mark.parametrize(
    ("most", "where", "looked_up"),
    [
        (SCOPES_A_QUERY, WHERE, {"search/by_text"}),
        (1, WHERE, {"search/by_text"}),
        (SCOPES_A_QUERY, ["number>900"], set[str]()),
    ],
)
def test_without_vectors_words_are_filtered_too(
    without_vectors: Kg, monkeypatch: pytest.MonkeyPatch, most: int, where: list[str], looked_up: set[str]
) -> None:
    """If there are few documents, the query can be used to filter them. If not, full text has to return
    all its hits."""
    names, look_up = set[str](), Graph.look_up

    def recorded(graph: Graph, lookups: Sequence[Lookup]) -> list[Any]:
        names.update(each.name for each in lookups)
        return look_up(graph, lookups)

    monkeypatch.setattr(words, "SCOPES_A_QUERY", most)
    monkeypatch.setattr(Graph, "look_up", recorded)
    asked = SimilarSearch.model_validate({"limit": 100, "where": where, "group_duplicates": False})
    found = SimilarityService(without_vectors.graph).similar(numbered(3).sources[0].source_id, asked)
    assert (found.by, names) == ("text", looked_up)
    assert len(found.sources) == (2 * sum(fits(str(n)) for n in range(DOCUMENTS)) if looked_up else 0)
    assert all(fits(hit.document) for hit in found.sources)


@pytest.mark.parametrize("across", [True, False])
def test_graph_contains_only_matching_sources(harbour: Kg, *, across: bool) -> None:
    service, every = SimilarityService(harbour.graph), [str(n) for n in range(DOCUMENTS) if fits(str(n))]
    asked = {"where": WHERE, "across_documents_only": across}
    chosen = service.graph(GraphRequest.model_validate({**asked, "documents": ["harbour/4", "harbour/5"]}))
    assert {node.document for node in chosen.nodes} == {"4"}
    chosen = service.graph(GraphRequest.model_validate(asked))
    assert sorted({node.document for node in chosen.nodes}, key=int) == every
    assert (chosen.total, chosen.degraded) == (2 * len(every), [])
    seeds = [numbered(n).sources[at].source_id for n, at in ((3, 0), (4, 0), (4, 1), (6, 0))]
    around = service.graph(GraphRequest.model_validate({**asked, "source_ids": seeds, "neighbours": 20}))
    assert {node.document for node in around.nodes if node.source_id not in seeds} <= {*every}
    plain = {"limit": 20, "where": WHERE, "group_duplicates": False, "same_document": not across}
    near = {
        hit.source_id
        for seed in seeds
        for hit in service.similar(seed, SimilarSearch.model_validate(plain)).sources
    }
    assert {node.source_id for node in around.nodes} == {*near, *seeds}


def test_note_reports_that_no_source_matches(harbour: Kg) -> None:
    service, one = SimilarityService(harbour.graph), numbered(1)
    nothing = ["number>900"]
    sources = service.similar(one.sources[0].source_id, SimilarSearch.model_validate({"where": nothing}))
    assert sources.sources == []
    assert [each.effect for each in sources.degraded] == ["no document fits the conditions of the filter"]
    with pytest.raises(InvalidInput, match=r"'numbr'. Did you mean 'number'"):
        service.similar(one.sources[0].source_id, SimilarSearch.model_validate({"where": ["numbr=1"]}))
