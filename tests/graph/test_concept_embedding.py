"""Vectors of concepts: made, kept up, switched with those of sources, and gone with their space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import neo4j
import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.errors import DatabaseUnavailable, InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.jobs import cancel_job, enqueue_slot, page_of_jobs
from kg_api.graph.schema import index_states
from kg_api.graph.targets import Plan, count_embedded
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.base import concept_text
from kg_api.schemas.embedding import Regeneration
from kg_api.spaces.plans import read_embedding_states
from tests.support.concept_work import LABELS, Merging, counts, kinds, learn, vectors, work
from tests.support.cypher import rows
from tests.support.embedding import open_spaces
from tests.support.kg import Kg


def test_concepts_are_embedded_by_what_is_said_of_them(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph, "bees", description="Insects.", search_terms=("apis", "honey makers"))
    learn(kg.graph, *LABELS, paragraph=1)
    assert counts(kg) == (6, 0, 6, 0, 0)
    kg.work()
    assert counts(kg) == (6, 6, 0, 0, 0)
    assert kinds(kg.graph) == [("concept_embedding", "completed")]
    text = concept_text("bees", "Insects.", ["apis", "honey makers"])
    expected = (
        kg.spaces.of(read_embedding_states(kg.graph)["notes"].target.space).embedder().embed_passages([text])
    )
    assert np.allclose(vectors(driver)["bees"], expected[0], atol=1e-6)


def test_they_are_found_by_the_index(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    vector = vectors(driver)["paper nest"].tolist()
    near = rows(
        driver,
        "CYPHER 25 MATCH (c:Concept) SEARCH c IN (VECTOR INDEX concept_embedding FOR $vector "
        "WHERE c.ontology IN ['notes'] LIMIT 1) RETURN c.label AS label",
        vector=vector,
    )
    assert near == [{"label": "paper nest"}]


def test_only_what_has_another_text_is_embedded_again(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    before = vectors(driver)
    learn(kg.graph, "paper nest", description="Of wasps.", paragraph=1)
    assert counts(kg) == (5, 4, 0, 1, 0)
    kg.work()
    assert counts(kg) == (5, 5, 0, 0, 0)
    after = vectors(driver)
    changed = [label for label in before if not np.array_equal(before[label], after[label])]
    assert changed == ["paper nest"]


def test_backfill_finds_what_nobody_asked_for(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    rows(driver, "MATCH (c:Concept) WHERE c.label < 'p' SET c.embedding = null, c.embedded_with = null")
    enqueue_slot(kg.graph, "backfill")
    kg.work()
    assert counts(kg) == (5, 5, 0, 0, 0)


def test_backfill_makes_an_index_again_that_has_gone(kg: Kg, driver: neo4j.Driver) -> None:
    rows(driver, "DROP INDEX concept_embedding")
    enqueue_slot(kg.graph, "backfill")
    kg.work()
    assert "concept_embedding" in index_states(kg.graph)


def test_what_was_cancelled_is_left_alone(kg: Kg) -> None:
    learn(kg.graph)
    found, _ = page_of_jobs(kg.graph, state="queued", kind=None, ontology=None, offset=0, limit=9)
    cancel_job(kg.graph, found[0].job_id)
    learn(kg.graph, "another", paragraph=1)
    enqueue_slot(kg.graph, "backfill")
    kg.work()
    assert counts(kg)[1] == 0
    kg.requests.regenerate(Regeneration(ontology="notes", type="concept"))
    kg.work()
    assert counts(kg) == (6, 6, 0, 0, 0)


def test_every_batch_is_looked_over_for_merging(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    merging = Merging()
    work(kg, merging)
    ids = [row["id"] for row in rows(driver, "MATCH (c:Concept) RETURN c.concept_id AS id ORDER BY id")]
    assert merging.seen == [ids[0:2], ids[2:4], ids[4:]]


def test_what_was_left_before_merging_is_made_good_for(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)

    class Failing(Merging):
        def __call__(self, plan: Plan, concept_ids: Sequence[str]) -> None:
            if len(self.seen) == 1:
                self.seen.append([])
                raise DatabaseUnavailable("Neo4j goes away here")
            super().__call__(plan, concept_ids)

    failing = Failing()
    with pytest.raises(DatabaseUnavailable):
        work(kg, failing)
    rows(driver, "MATCH (j:Job {state: 'running'}) SET j.lease_until = datetime() - duration('PT1H')")
    merging = Merging()
    work(kg, merging)
    ids = {row["id"] for row in rows(driver, "MATCH (c:Concept) RETURN c.concept_id AS id")}
    assert len(failing.seen) == 2
    assert {each for batch in failing.seen + merging.seen for each in batch} == ids
    assert counts(kg) == (5, 5, 0, 0, 0)


class Picky(DeterministicEmbedder):
    """Takes no text that has a word in it."""

    def embed_passages(self, texts: Any) -> NDArray[np.float32]:
        if any("poison" in text for text in texts):
            raise InvalidInput("this text cannot be embedded")
        return super().embed_passages(texts)


def test_one_that_is_refused_stands_in_no_ones_way(graph: Graph, kg: Kg, driver: neo4j.Driver) -> None:
    picky = Kg(graph, open_spaces(graph, Picky(256)))
    learn(graph, *LABELS, "poison ivy")
    picky.work()
    assert counts(picky) == (6, 5, 0, 0, 1)
    assert kinds(graph) == [("concept_embedding", "completed_with_errors")]
    (row,) = rows(
        driver, "MATCH (c:Concept) WHERE c.refused_because IS NOT NULL RETURN c.label, c.refused_because"
    )
    assert row == {"c.label": "poison ivy", "c.refused_because": "this text cannot be embedded"}
    picky.spaces.close()
    found = kg.requests.regenerate(Regeneration(ontology="notes", type="concept"))
    assert found.due == 1
    kg.work()
    assert counts(kg) == (6, 6, 0, 0, 0)


def test_a_long_text_is_embedded_by_its_beginning(kg: Kg) -> None:
    learn(
        kg.graph, "long", description="word " * 199, search_terms=tuple(f"term {n} " * 20 for n in range(20))
    )
    kg.work()
    assert counts(kg) == (1, 1, 0, 0, 0)


def test_regeneration_of_concepts(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    asked = Regeneration(ontology="notes", type="concept", force=True, dry_run=True)
    (quote,) = kg.requests.regenerate(asked).ontologies
    assert (quote.type, quote.due, quote.job_id) == ("concept", 5, None)
    assert quote.cost is not None
    assert (quote.cost.chunks, quote.cost.tokens, quote.cost.price) == (5, 10, 0)
    assert kg.requests.regenerate(Regeneration(type="concept")).due == 0
    both = kg.requests.regenerate(Regeneration(type="all", force=True))
    assert [(each.type, each.due) for each in both.ontologies] == [("source", 12), ("concept", 5)]
    times = "MATCH (c:Concept) RETURN min(c.embedded_at) AS at"
    before = rows(driver, times)[0]["at"]
    kg.work()
    assert rows(driver, times)[0]["at"] > before
    rows(driver, "MATCH (c:Concept) WHERE c.label < 'p' SET c.embedded_with = 'older:x'")
    rows(driver, "MATCH (c:Concept) WHERE c.label = 'waggle dance' SET c.embedded_with = null")
    left = {each: Regeneration(type="concept", selection=each) for each in ("missing", "stale", "due")}
    assert {name: kg.requests.regenerate(asked).due for name, asked in left.items()} == {
        "missing": 1,
        "stale": 1,
        "due": 2,
    }


def test_counts_of_nothing_are_naught(graph: Graph) -> None:
    counted = count_embedded(graph, "concept", [])
    assert {*counted.values()} == {0}
