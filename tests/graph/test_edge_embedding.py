from __future__ import annotations

from typing import Any

import neo4j
import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.concepts.relations import RelationshipSearcher
from kg_api.errors import Conflict
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import forget_evidence
from kg_api.graph.jobs import enqueue_slot
from kg_api.graph.schema import index_states
from kg_api.schemas.concepts import ExtractedRelation, RelationshipSearch
from kg_api.schemas.documents import VectorCounts
from kg_api.schemas.embedding import Regeneration, SpaceBuild
from kg_api.spaces.activation import activate
from kg_api.spaces.plans import read_embedding_state
from tests.support.concept_work import DOCUMENT
from tests.support.concepts import extraction, found, quote, write
from tests.support.cypher import rows
from tests.support.kg import Kg

TEXT = DOCUMENT.sources[0].full_text
ENDS = TEXT.split()[0], TEXT.split()[-1]
QUOTE = TEXT[: TEXT.index(ENDS[1]) + len(ENDS[1])]


def relate(graph: Graph, *kinds: str, paragraph: int = 0, proved: bool = True, **more: Any) -> None:
    """Store a relationship from the first word to the last word of a paragraph."""
    text = DOCUMENT.sources[paragraph].full_text
    ends = (text.split()[0], text.split()[-1])
    concepts = [found(each, *([quote(text, each)] if proved else ()), **more) for each in ends]
    relations = tuple(ExtractedRelation(ends[0], kind, ends[1]) for kind in kinds)
    write(graph, extraction(DOCUMENT, paragraph, *concepts, relations=relations))


def counts(kg: Kg) -> VectorCounts:
    told = kg.configure.status("notes").edges
    assert told is not None
    return told


def vectors(driver: neo4j.Driver, name: str = "embedding") -> dict[str, NDArray[np.float32]]:
    edges = f"MATCH ()-[r:RELATED_TO]->() WHERE r.{name} IS NOT NULL RETURN r.statement AS s, r.{name} AS v"
    return {row["s"]: np.asarray(row["v"], dtype=np.float32) for row in rows(driver, edges)}


def types(driver: neo4j.Driver, name: str = "embedding") -> dict[str, bool]:
    found = rows(driver, f"MATCH (t:RelationType) RETURN t.name AS name, t.{name} IS NOT NULL AS there")
    return {row["name"]: row["there"] for row in found}


def total(number: int, *, embedded: int) -> VectorCounts:
    return VectorCounts(total=number, embedded=embedded, missing=number - embedded, stale=0, refused=0)


def test_relationship_is_embedded_with_sentence_and_quote(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "leads_to")
    assert counts(kg) == total(1, embedded=0)
    kg.work()
    assert counts(kg) == total(1, embedded=1)
    statement = f"{ENDS[0]} leads to {ENDS[1]}"
    space = kg.spaces.of(read_embedding_state(kg.graph, "notes").target.space)
    expected = space.embedder().embed_passages([f"{statement}: {QUOTE}", "leads_to"])
    assert np.allclose(vectors(driver)[statement], expected[0], atol=1e-6)
    (row,) = rows(driver, "MATCH (t:RelationType) RETURN t.embedding AS v, t.ontology AS o, t.name AS n")
    assert np.allclose(row["v"], expected[1], atol=1e-6)
    assert (row["o"], row["n"]) == ("notes", "leads_to")


def test_relationship_without_quote_is_embedded_by_sentence(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near", proved=False)
    (row,) = rows(driver, "MATCH ()-[r:RELATED_TO]->() RETURN r.quote AS q, r.start AS s, r.end AS e")
    assert row == {"q": "", "s": None, "e": None}
    kg.work()
    assert counts(kg) == total(1, embedded=1)


def test_only_changed_relationships_are_embedded_again(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near", proved=False)
    relate(kg.graph, "is far from", paragraph=1)
    kg.work()
    before = vectors(driver)
    relate(kg.graph, "is near")
    assert (counts(kg).embedded, counts(kg).stale) == (1, 1)
    kg.work()
    after = vectors(driver)
    assert {name for name in before if not np.array_equal(before[name], after[name])} == {
        f"{ENDS[0]} is near {ENDS[1]}"
    }
    assert counts(kg) == total(2, embedded=2)


def test_the_same_again_embeds_nothing(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    kg.work()
    relate(kg.graph, "is near")
    assert counts(kg) == total(1, embedded=1)
    assert rows(driver, "MATCH (j:Job {kind: 'edge_embedding', state: 'queued'}) RETURN j") == []


def test_backfill_finds_unrequested_concepts(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near", "is far from")
    kg.work()
    rows(
        driver, "MATCH ()-[r:RELATED_TO {type: 'is near'}]->() SET r.embedding = null, r.embedded_with = null"
    )
    rows(driver, "MATCH (t:RelationType {name: 'is near'}) SET t.embedding = null, t.embedded_with = null")
    enqueue_slot(kg.graph, "backfill")
    kg.work()
    assert counts(kg) == total(2, embedded=2)
    assert types(driver) == {"is near": True, "is far from": True}


def test_relationship_embedding_is_requested_by_type(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    kg.work()
    asked = kg.requests.regenerate(Regeneration(ontology="notes", type="edge", force=True, dry_run=True))
    assert [(each.type, each.due, each.cost is not None) for each in asked.ontologies] == [("edge", 1, True)]
    before = rows(driver, "MATCH ()-[r:RELATED_TO]->() RETURN r.embedded_at AS at")
    kg.requests.regenerate(Regeneration(ontology="notes", type="edge", force=True))
    kg.work()
    assert rows(driver, "MATCH ()-[r:RELATED_TO]->() RETURN r.embedded_at AS at") != before


def test_a_switch_waits_for_them(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    kg.work()
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=False))
    kg.work()
    assert len(vectors(driver, "embedding_small")) == 1
    assert types(driver, "embedding_small") == {"is near": True}
    rows(driver, "MATCH ()-[r:RELATED_TO]->() SET r.embedded_with_small = null")
    check = kg.switch.check("small")
    assert [each.detail for each in check.findings if not each.ok] == [
        "notes: 1 relationships and types of them are not built yet"
    ]
    state = read_embedding_state(kg.graph, "notes")
    with pytest.raises(Conflict, match="1 relationships and types of them are not"):
        kg.graph.transaction(lambda tx: activate(tx, [state], "text"))


def test_a_space_that_is_dropped_takes_them_along(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=True))
    kg.work()
    assert read_embedding_state(kg.graph, "notes").serving is None
    assert "relation_embedding_small" in index_states(kg.graph)
    kg.drop.drop("default", "notes")
    kg.work()
    assert vectors(driver) == {}
    assert types(driver) == {"is near": False}
    assert len(vectors(driver, "embedding_small")) == 1


def test_deleted_source_removes_its_relationships(kg: Kg) -> None:
    relate(kg.graph, "is near")
    kg.work()
    kg.graph.transaction(lambda tx: forget_evidence(tx, [DOCUMENT.sources[0].source_id]))
    assert counts(kg) == total(0, embedded=0)


def test_search_reports_missing_relationship_index(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    kg.work()
    asked = RelationshipSearch(query_text="is near")
    assert len(RelationshipSearcher(kg.graph, kg.spaces).search(asked).relationships) == 1
    rows(driver, "DROP INDEX relation_embedding")
    found = RelationshipSearcher(kg.graph, kg.spaces).search(asked)
    assert found.relationships == []
    assert [each.part for each in found.degraded] == ["vector_index"]
    enqueue_slot(kg.graph, "backfill")
    kg.work()
    assert len(RelationshipSearcher(kg.graph, kg.spaces).search(asked).relationships) == 1
