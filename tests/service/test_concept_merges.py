from __future__ import annotations

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.graph.client import Graph
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.concepts import Text
from kg_api.schemas.base import concept_id
from tests.service.asking import problem
from tests.support.concepts import state
from tests.support.embedding import run_jobs

LEASE, LEASES = (concept_id("notes", each) for each in ("lease", "leases of workers"))


def always(_one: Text, _other: Text) -> bool:
    return True


@pytest.fixture
def merged(kg: KgClient, graph: Graph) -> KgClient:
    kg.ingest_text("A lease ends by itself.", ontology="notes", document="a.md")
    kg.ingest_text("Each lease has a fence; leases of workers are short.", ontology="notes", document="b.md")
    kg.set_extraction_config("notes", extractor="none")
    run_jobs(graph)
    state(graph, "a.md", [("lease", "A lease ends by itself")])
    told = [("lease", "Each lease has a fence"), ("leases of workers", "leases of workers are short")]
    state(graph, "b.md", told)
    assert merge_concepts(graph, (LEASE, LEASES), always, "plural", 0.9123) == LEASE
    return kg


def test_a_merge_is_listed_and_undone(merged: KgClient) -> None:
    (record,) = merged.concept_merges("notes").merges
    assert (record.into, record.merged, record.sources) == ("lease", "leases of workers", 1)
    assert (record.reason, record.similarity, record.undone_at) == ("plural", 0.9123, None)
    assert merged.concept_merges("notes", concept_id=LEASE).total == 1
    assert merged.concept_merges("notes", concept_id=LEASE[:8]).total == 1
    assert "leases of workers" in merged.concept(LEASE).search_terms
    undone = merged.undo_concept_merge("notes", record.merge_id, by="Ada")
    assert (undone.undone_by, undone.undone_at is not None) == ("Ada", True)
    assert merged.undo_concept_merge("notes", record.merge_id, by="Bob").undone_by == "Ada"
    parted = merged.concept(LEASES)
    assert [each.quote for each in parted.evidence] == ["leases of workers are short"]
    assert merged.concept(LEASE).search_terms == []
    assert [each.undone_by for each in merged.concept_merges("notes").merges] == ["Ada"]


def test_unknown_merge_is_not_found(merged: KgClient, graph: Graph, http: httpx.Client) -> None:
    with pytest.raises(NotFound, match=r"concept merge 'nothing' not found.*--ontology notes"):
        merged.undo_concept_merge("notes", "nothing")
    with pytest.raises(NotFound):
        merged.concept_merges("nowhere")
    with pytest.raises(NotFound, match="concept 'xyz' not found"):
        merged.concept_merges("notes", concept_id="xyz")
    merged.ingest_text("A crane.", ontology="birds", document="c.md")
    state(graph, "c.md", ["crane"], ontology="birds")
    crane = concept_id("birds", "crane")
    with pytest.raises(NotFound, match="is of birds, not of notes"):
        merged.concept_merges("notes", concept_id=crane)
    assert merged.concept_merges("birds", concept_id=crane).total == 0
    found = http.post("/ontologies/notes/concept-merges/x/undo", json={"why": "so"})
    assert problem(found, 422)


def test_merge_record_is_deleted_with_its_ontology(merged: KgClient) -> None:
    merged.delete_ontology("notes")
    merged.ingest_text("A lease.", ontology="notes", document="c.md")
    assert merged.concept_merges("notes").total == 0
