from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import neo4j
import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.errors import Conflict, DatabaseUnavailable, InvalidInput
from kg_api.graph import search
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import get_min_neighbour_cosine, want_concepts
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import cancel_job, enqueue_slot, page_of_jobs
from kg_api.graph.schema import index_states
from kg_api.graph.search import ConceptNearness, Filters, Seed, find_sources_by_concepts
from kg_api.graph.targets import Plan, count_embedded
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.base import build_concept_text, concept_id
from kg_api.schemas.embedding import Regeneration, SpaceBuild
from kg_api.search.near import NO_VECTORS
from kg_api.spaces.plans import read_embedding_state, read_embedding_states
from tests.support.concept_work import LABELS, Merging, counts, kinds, learn, vectors, work
from tests.support.concepts import labelled, write
from tests.support.cypher import rows
from tests.support.embedding import open_spaces
from tests.support.kg import Kg
from tests.support.records import record


def test_concepts_are_embedded_with_their_descriptions(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph, "bees", description="Insects.", search_terms=("apis", "honey makers"))
    learn(kg.graph, *LABELS, paragraph=1)
    assert counts(kg) == (6, 0, 6, 0, 0)
    kg.work()
    assert counts(kg) == (6, 6, 0, 0, 0)
    assert kinds(kg.graph) == [("concept_embedding", "succeeded")]
    text = build_concept_text("bees", "Insects.", ["apis", "honey makers"])
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


def test_only_concepts_with_changed_text_are_embedded(kg: Kg, driver: neo4j.Driver) -> None:
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


def test_backfill_finds_unrequested_concepts(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    rows(driver, "MATCH (c:Concept) WHERE c.label < 'p' SET c.embedding = null, c.embedded_with = null")
    enqueue_slot(kg.graph, "backfill")
    kg.work()
    assert counts(kg) == (5, 5, 0, 0, 0)


def test_cancelled_concept_embedding_stays_paused(kg: Kg) -> None:
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


def test_concepts_embedded_before_merging_are_merged_later(kg: Kg, driver: neo4j.Driver) -> None:
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
    """Embedder that rejects any text with the given word."""

    def embed_passages(self, texts: Any) -> NDArray[np.float32]:
        if any("poison" in text for text in texts):
            raise InvalidInput("this text cannot be embedded")
        return super().embed_passages(texts)


def test_rejected_concept_does_not_block_others(graph: Graph, kg: Kg, driver: neo4j.Driver) -> None:
    picky = Kg(graph, open_spaces(graph, Picky(256)))
    learn(graph, *LABELS, "poison ivy")
    picky.work()
    assert counts(picky) == (6, 5, 0, 0, 1)
    assert kinds(graph) == [("concept_embedding", "succeeded_with_errors")]
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


def test_a_switch_takes_concepts_along(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=False))
    merging = Merging()
    work(kg, merging)
    assert merging.seen == [], "what is being built does not decide"
    kg.work()
    assert {len(each) for each in vectors(driver, "embedding_small").values()} == {64}
    assert len(vectors(driver)) == 5, "what answers stays"
    assert kg.switch.check("small").ok
    kg.switch.activate("small")
    assert kg.states()["small"] == "active"
    assert counts(kg) == (5, 5, 0, 0, 0)


def test_a_switch_waits_for_concepts(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=False))
    kg.work()
    rows(
        driver,
        "MATCH (c:Concept {label: 'paper nest'}) SET c.embedding_small = null, c.embedded_with_small = null",
    )
    found = kg.switch.check("small")
    assert [each.detail for each in found.findings if not each.ok] == ["notes: 1 concepts are not built yet"]
    with pytest.raises(Conflict, match="1 concepts"):
        kg.switch.activate("small")


def test_dropped_space_deletes_its_concept_vectors(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.add("small")
    kg.switch.build("small", SpaceBuild(activate=True))
    kg.work()
    assert "concept_embedding_small" in index_states(kg.graph)
    kg.drop.drop("default", "notes")
    kg.work()
    (row,) = rows(driver, "MATCH (c:Concept {label: 'paper nest'}) RETURN properties(c) AS map")
    assert {name for name in row["map"] if name.startswith("embed")} == {
        "embedding_small",
        "embedded_with_small",
        "embedded_at_small",
    }
    kg.switch.build("default", SpaceBuild(activate=True))
    kg.work()
    kg.drop.drop("small")
    rows(driver, "MATCH (e:EmbeddingSpace {slug: 'small'}) SET e.dropping = datetime() - duration('PT9S')")
    rows(driver, "MATCH (j:Job {state: 'queued'}) SET j.run_after = datetime()")
    kg.work()
    assert "concept_embedding_small" not in index_states(kg.graph)
    assert vectors(driver, "embedding_small") == {}
    assert len(vectors(driver)) == 5


def test_changed_chunking_keeps_concept_vectors(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.work()
    before = rows(driver, "MATCH (c:Concept) RETURN c.label AS l, c.embedded_at AS at ORDER BY l")
    config = kg.configure.show("notes").config.model_copy(update={"strategy": "sentence", "chunk_size": None})
    kg.configure.set("notes", config, dry_run=False)
    kg.work()
    assert rows(driver, "MATCH (c:Concept) RETURN c.label AS l, c.embedded_at AS at ORDER BY l") == before


NEST, WASP, GREY = "paper nest", "paper nest wasp", "grey paper nest"
LINKS = """MATCH (a:Concept)-[r:NEAR_TO]->(b:Concept)
           RETURN r.space AS space, a.label AS one, b.label AS other, r.cosine AS cosine
           ORDER BY space, one, other"""


@pytest.fixture
def learned(kg: Kg) -> Kg:
    learn(kg.graph)
    learn(kg.graph, WASP, paragraph=1)
    kg.work()
    return kg


def linked(driver: neo4j.Driver) -> list[tuple[str, str, str]]:
    return [(row["space"], row["one"], row["other"]) for row in rows(driver, LINKS)]


def near(kg: Kg, driver: neo4j.Driver, *labels: str) -> set[tuple[str, float]]:
    """Return the concepts that would be used to expand a search, with their scores."""
    rows(driver, "MATCH (:Concept)-[a:APPEARS_IN]->() SET a.verified = true")  # no text says these names
    space = read_embedding_state(kg.graph, "notes").answering.space
    seeds = [Seed(concept_id("notes", label), 1.0) for label in labels]
    within = ConceptNearness(space, ["notes"], get_min_neighbour_cosine(space))
    filters = Filters(["notes"])
    hits = find_sources_by_concepts(kg.graph, seeds, [], filters, NO_VECTORS, limit=10, nearness=[within])
    every = {(each.label, round(hit.score, 6)) for hit in hits for each in hit.through}
    return {(name, score) for name, score in every if name not in labels}


def test_embedded_concepts_are_linked_to_near_concepts(learned: Kg, driver: neo4j.Driver) -> None:
    assert {(one, other) for _, one, other in linked(driver)} == {(NEST, WASP), (WASP, NEST)}
    found = vectors(driver)
    one, other = (found[each] / np.linalg.norm(found[each]) for each in (NEST, WASP))
    assert [row["cosine"] for row in rows(driver, LINKS)] == pytest.approx([one @ other] * 2, abs=1e-4)
    assert {name for name, _ in near(learned, driver, NEST)} == {WASP}
    assert near(learned, driver, "river delta") == set()


def test_links_and_index_find_the_same_concepts(learned: Kg, driver: neo4j.Driver) -> None:
    learn(learned.graph, GREY, paragraph=2)
    learned.work()
    by_links = {label: near(learned, driver, label) for label in (NEST, WASP, GREY)}
    assert [len(each) for each in by_links.values()] == [2, 1, 1], "from what was there before, too"
    rows(driver, "MATCH (c:Concept) SET c.linked_at = null")
    assert {label: near(learned, driver, label) for label in by_links} == by_links


def test_search_uses_index_only_for_unlinked_concepts(learned: Kg, driver: neo4j.Driver) -> None:
    every = near(learned, driver, NEST, "river delta")
    assert {name for name, _ in every} == {WASP}
    rows(driver, "MATCH (c:Concept {label: 'river delta'}) SET c.linked_at = null")
    assert near(learned, driver, NEST, "river delta") == every
    rows(driver, "MATCH (:Concept)-[r:NEAR_TO]->() DELETE r")
    assert near(learned, driver, NEST, "river delta") == set(), (
        "no index is asked for what is linked with nothing"
    )
    rows(driver, "MATCH (c:Concept {label: $l}) SET c.linked_at = null", l=NEST)
    assert near(learned, driver, NEST, "river delta") == every


def test_each_space_expands_equally_many_concepts(
    learned: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "NEAR_TO", 1)
    made = record("b.md", [f"A {NEST}.", f"A {WASP}."], "other")
    store_document(learned.graph, made)
    learned.graph.transaction(lambda tx: want_concepts(tx, "other"))
    write(learned.graph, labelled(made, 0, NEST), labelled(made, 1, WASP), ontology="other")
    learned.add("small")
    learned.switch.build("small", SpaceBuild(activate=False))
    learned.work()
    rows(driver, "MATCH (:Concept)-[a:APPEARS_IN]->() SET a.verified = true")
    within = [
        ConceptNearness(learned.spaces.get(slug).space, [name], 0.2)
        for slug, name in (("default", "notes"), ("small", "other"))
    ]
    seeds = [Seed(concept_id("notes", NEST), 9.0), Seed(concept_id("other", NEST), 1.0)]

    def found() -> set[tuple[str, str]]:
        hits = find_sources_by_concepts(
            learned.graph, seeds, [], Filters(["notes", "other"]), NO_VECTORS, limit=10, nearness=within
        )
        return {(hit.source.ontology, each.label) for hit in hits for each in hit.through}

    linked_with = {(name, label) for name in ("notes", "other") for label in (NEST, WASP)}
    assert found() == linked_with
    rows(driver, "MATCH (c:Concept {ontology: 'other'}) SET c.linked_at_small = null")
    assert found() == linked_with


def test_link_to_a_changed_concept_is_ignored(learned: Kg, driver: neo4j.Driver) -> None:
    rows(
        driver,
        "MATCH (d:Concept {label: 'river delta'}), (w:Concept {label: $l}) SET w.embedding = d.embedding",
        l=WASP,
    )
    assert near(learned, driver, NEST) == set()


def test_dropped_space_deletes_its_links(learned: Kg, driver: neo4j.Driver) -> None:
    learned.add("small")
    learned.switch.build("small", SpaceBuild(activate=False))
    learned.work()
    assert {space for space, *_ in linked(driver)} == {"default", "small"}
    learned.switch.activate("small")
    assert {name for name, _ in near(learned, driver, NEST)} == {WASP}
    learned.drop.drop("default", "notes")
    learned.work()
    assert {space for space, *_ in linked(driver)} == {"small"}
    assert rows(driver, "MATCH (c:Concept) WHERE c.linked_at IS NOT NULL RETURN c") == []
