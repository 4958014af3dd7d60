from functools import partial
from typing import Any

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import request_job
from kg_api.graph.search import MAX_SOURCES, read_concepts_of_sources
from kg_api.schemas.answers import HybridHits
from kg_api.schemas.base import build_concept_id
from kg_api.schemas.search import SourceHits
from tests.graph.conftest import sharing
from tests.support.concepts import extraction, quote, write
from tests.support.concepts import found as concept
from tests.support.cypher import rows
from tests.support.kg import Kg
from tests.support.lanterns import GUILD, add_lanterns, carried
from tests.support.records import record

kg = sharing(add_lanterns)


def search(
    kg: Kg, text: str = "Who leads what prints the Gazette of Lanterns?", limit: int = 5, **more: Any
) -> SourceHits:
    return kg.find(text, limit=limit, **more)


def hybrid(kg: Kg, text: str = "Gazette of Lanterns", **more: Any) -> HybridHits:
    return kg.find_both(text, **more)


def documents(hits: SourceHits | HybridHits) -> list[str]:
    return [hit.document for hit in hits.sources]


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_concept_of_best_hit_adds_continuing_passage(kg: Kg, mode: str) -> None:
    hits = search(kg, mode=mode, concepts=True)
    assert documents(hits)[0] == "journal.md"
    (guild,) = [hit for hit in hits.sources[:3] if hit.document == "guild.md"]
    assert "Guild of Keepers" in {each.label for each in guild.through}
    assert guild.ranks.concepts is not None


def test_one_hop_finds_source_of_related_concept(kg: Kg) -> None:
    hits = hybrid(kg, "Guild of Keepers", mode="concept")
    assert "town.md" in documents(hits)
    town = next(hit for hit in hits.sources if hit.document == "town.md")
    assert [each.label for each in town.through] == ["Maren Holt"]


def test_a_source_is_explained_by_the_concept(kg: Kg) -> None:
    hit = next(each for each in search(kg, concepts=True, explain=True).sources if each.through)
    assert hit.explanation is not None
    (lane,) = [part for part in hit.explanation.lanes if part.lane == "concepts"]
    assert lane.contribution == pytest.approx(1 / (60 + (lane.rank or 0)))
    assert hit.explanation.fusion.endswith("rrf with concepts")


def test_filters_apply_to_concept_hits(kg: Kg) -> None:
    other = record("guild.md", [f"{GUILD} Otherwise."], ontology="other")
    store_document(kg.graph, other)
    kg.graph.transaction(
        lambda tx: write_extractions(tx, "other", [carried(other, 0, "Guild of Keepers", "Maren Holt")], "m")
    )
    assert documents(search(kg, concepts=True, documents=["journal.md"], ontology="notes")) == ["journal.md"]
    assert {hit.ontology for hit in search(kg, concepts=True, ontology="notes").sources} == {"notes"}
    assert {
        hit.ontology for hit in hybrid(kg, mode="concept", ontology="other", text="Maren Holt").sources
    } == {"other"}


def test_search_reports_ontology_without_concepts(kg: Kg) -> None:
    store_document(kg.graph, record("a.md", ["Nothing but weather here."], ontology="bare"))
    told = search(kg, "weather", ontology="bare", concepts=True).degraded
    assert any(each.part == "concepts" and "no concepts yet" in each.effect for each in told)


def test_hits_name_the_concepts_that_they_carry(kg: Kg) -> None:
    (hit,) = search(kg, "Gazette of Lanterns", limit=1, include_concepts=True).sources
    assert {each.label for each in hit.concepts} == {"Gazette of Lanterns", "Guild of Keepers"}
    assert search(kg, "Gazette of Lanterns", limit=1).sources[0].concepts == []


def test_best_proven_and_rarest_concepts_of_a_source_come_first(graph: Graph) -> None:
    made = record("owls.md", ["Owls hear voles in tall grass.", "Owls."])
    store_document(graph, made)
    whole = quote(made.sources[0].full_text, made.sources[0].full_text)
    common, rare = sorted(("ears", "voles"), key=partial(build_concept_id, "notes"))
    proven = [concept(each, whole, confidence=0.5) for each in (common, rare)]
    best, claimed = concept("Owls", whole, confidence=0.9), concept("mice", confidence=1.0)
    write(graph, extraction(made, 0, claimed, *proven, best), extraction(made, 1, best, *proven[:1]))
    source_id = made.sources[0].source_id
    found = read_concepts_of_sources(graph, [source_id])[source_id]
    assert [each.label for each in found] == ["Owls", rare, common, "mice"]


def test_hybrid_returns_concepts_and_sources(kg: Kg) -> None:
    hits = hybrid(kg)
    assert hits.concepts[0].label == "Gazette of Lanterns"
    assert documents(hits)[0] == "journal.md"
    assert {each.label for each in hits.sources[0].concepts} == {"Gazette of Lanterns", "Guild of Keepers"}
    assert len(hybrid(kg, concept_limit=1, source_limit=2).sources) == 2
    assert hybrid(kg, concept_limit=0).concepts == []


def test_a_concept_that_is_everywhere_leads_nowhere(kg: Kg, driver: neo4j.Driver) -> None:
    rows(
        driver,
        "MATCH (c:Concept {label: 'Guild of Keepers'}), (s:Source {document: 'filler.md'}) "
        "WITH c, s LIMIT 1 UNWIND range(1, $n) AS _ CREATE (c)-[:APPEARS_IN]->(s)",
        n=MAX_SOURCES,
    )
    through = {each.label for hit in search(kg, mode="text", concepts=True).sources for each in hit.through}
    assert "Guild of Keepers" not in through


def test_search_reports_running_extraction(kg: Kg) -> None:
    kg.graph.transaction(lambda tx: request_job(tx, "concept_extraction", "notes", added=7))
    for told in (
        search(kg, concepts=True).degraded,
        hybrid(kg).degraded,
        hybrid(kg, mode="concept").degraded,
    ):
        assert [each.effect for each in told if "0 of the 7" in each.effect] != []
    assert all("0 of the 7" not in each.effect for each in search(kg).degraded)
