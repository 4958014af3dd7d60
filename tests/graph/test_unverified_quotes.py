"""A language model that invents its quotes: they are kept, marked, counted and shown, and prove nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import neo4j
import pytest

from kg_api.concepts.search import ConceptService
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.document_writes import store_document
from kg_api.schemas.answers import HybridSearch
from kg_api.schemas.concepts import ExtractedConcept, Extraction, Quote
from kg_api.schemas.search import SourceSearch
from kg_api.search.service import HybridService, SearchService
from kg_api.settings import Settings
from tests.support.concepts import check_invariants, count
from tests.support.cypher import rows
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import PARAGRAPHS, entry_of, evidence, labels, run_extraction, service_of
from tests.support.kg import Kg
from tests.support.llm import asked
from tests.support.records import record

INVENTED = "a sentence about the matter that nobody has ever written down"


def inventing(body: dict[str, Any]) -> str:
    """A model that names what is there, and makes all its quotes up or repeats the name."""
    entries = [entry_of(each) for each in asked(body)["passages"]]
    for entry in entries:
        for each in entry["concepts"]:
            each["quotes"] = [f"{each['label']}: {INVENTED}", each["label"]]
    return json.dumps({"passages": entries})


@pytest.fixture
def invented(graph: Graph, writer: EmbeddingServer, settings: Settings) -> Settings:
    """Five sources, read by it."""
    writer.chat = inventing
    store_document(graph, record("a.md", PARAGRAPHS[:5]))
    run_extraction(graph, settings)
    return settings


@pytest.fixture
def kg(graph: Graph) -> Iterator[Kg]:
    made = Kg(graph)
    yield made
    made.spaces.close()


@pytest.mark.usefixtures("invented")
def test_a_model_that_invents_all_its_quotes_proves_nothing(driver: neo4j.Driver) -> None:
    assert evidence(driver) == []
    assert labels(driver) == ["Ada", *(f"Person{n}" for n in range(5))]
    said = rows(driver, "MATCH ()-[a:APPEARS_IN]->() RETURN a.verified AS verified, a.unverified AS said")
    assert len(said) == 10
    assert all(not each["verified"] and len(each["said"]) == 2 for each in said)
    assert all(INVENTED in each["said"][0] for each in said)
    assert count(driver, "()-[:RELATED_TO]->()") == 0, "what relates them is not proved either"
    check_invariants(driver)


def test_it_is_counted_and_advised_in_the_status(graph: Graph, invented: Settings) -> None:
    told = service_of(graph, invented).show("notes")
    assert (told.extracted, told.refused, told.quotes) == (5, 0, 0)
    assert (told.unverified_quotes, told.unverified_concepts) == (20, 6)
    assert "another language model" in told.notes[0]


@pytest.mark.usefixtures("invented")
def test_it_is_shown_with_its_concept_and_where_that_stands(graph: Graph, kg: Kg) -> None:
    service = ConceptService(graph, kg.spaces)
    ada = next(each for each in service.page("notes", 0, 10).concepts if each.label == "Ada")
    assert not ada.verified
    details = service.details(ada.concept_id, 4)
    assert (details.verified, details.evidence, len(details.unverified)) == (False, [], 4)
    assert details.more_unverified == 6
    assert details.unverified[0].quote in {"Ada", f"Ada: {INVENTED}"}
    (passage,) = service.context(ada.concept_id, 1, 10).passages
    assert (passage.quotes, len(passage.unverified), len(passage.carried_by)) == ([], 10, 5)


def test_reading_anew_by_an_honest_model_takes_it_away(
    graph: Graph, driver: neo4j.Driver, invented: Settings, writer: EmbeddingServer
) -> None:
    writer.chat = lambda body: json.dumps({"passages": [entry_of(each) for each in asked(body)["passages"]]})
    settings = invented.model_copy(update={"llm": invented.llm.model_copy(update={"model": "honest"})})
    run_extraction(graph, settings)
    assert evidence(driver) == [], "another model costs: it reads anew when somebody asks"
    service_of(graph, settings).extract("notes", stale=True)
    run_extraction(graph, settings)
    assert len(evidence(driver)) == 10
    assert count(driver, "()-[a:APPEARS_IN]->() WHERE a.unverified IS NOT NULL OR NOT a.verified") == 0
    told = service_of(graph, settings).show("notes")
    assert (told.unverified_quotes, told.unverified_concepts, told.notes) == (0, 0, [])
    check_invariants(driver)


def test_what_nothing_proves_leads_no_search_to_its_passage(graph: Graph, kg: Kg) -> None:
    """The same graph with a quote, without one, and imported without one."""
    named = record("named.md", ["The Gazette of Lanterns is a paper."])
    other = record("other.md", ["It has a circulation of nine."])
    for each in (named, other, record("filler.md", [f"Filler {n} on weather." for n in range(8)])):
        store_document(graph, each)
    first, second = named.sources[0], other.sources[0]
    label = "Gazette of Lanterns"
    proved = Extraction(
        first.source_id,
        first.content_hash,
        (ExtractedConcept(label, (Quote("Gazette of Lanterns", 4, 23),)),),
    )

    def through(quotes: tuple[Quote, ...], mark: str = "m", *, imported: bool = False) -> list[str]:
        said = ExtractedConcept(label, quotes, unverified=() if quotes else (INVENTED,))
        found = [proved, Extraction(second.source_id, second.content_hash, (said,))]
        graph.transaction(lambda tx: write_extractions(tx, "notes", found, mark, imported=imported))
        kg.work()
        service = SearchService(graph, kg.spaces)
        try:
            request = HybridSearch.model_validate({"query_text": label, "mode": "concept"})
            hits = HybridService(graph, service).search(request).sources
            beside = service.search(SourceSearch(query_text=label, concepts=True, limit=20)).sources
        finally:
            service.close()
        assert {hit.document for hit in beside if hit.through} == {hit.document for hit in hits}
        assert all(
            each.verified != imported or hit.document == "named.md" for hit in hits for each in hit.through
        )
        return sorted(hit.document for hit in hits)

    assert through((Quote("It has a circulation", 0, 20),)) == ["named.md", "other.md"]
    assert through(()) == ["named.md"]
    assert through((), "import", imported=True) == ["named.md", "other.md"]
