from collections.abc import Sequence
from typing import Any

import neo4j
import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.concepts import merging
from kg_api.errors import Conflict, InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import get_min_neighbour_cosine
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import enqueue_slot
from kg_api.graph.schema import read_index_states
from kg_api.graph.search import ConceptNearness, Filters, Seed, find_sources_by_concepts
from kg_api.graph.similar import NO_VECTORS
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.base import build_concept_id, build_concept_text
from kg_api.schemas.concepts import ExtractedRelation
from kg_api.schemas.documents import VectorCounts
from kg_api.schemas.embedding import Regeneration, SpaceBuild
from kg_api.spaces.open_spaces import OpenSpace
from kg_api.spaces.plans import activate, read_embedding_state, read_embedding_states
from tests.graph.conftest import store_texts
from tests.support.concept_work import DOCUMENT, LABELS, counts, kinds, learn, vectors
from tests.support.concepts import extraction, found, quote, write
from tests.support.cypher import rows
from tests.support.embedders import calibrates
from tests.support.embedding import open_spaces
from tests.support.kg import Kg


def test_concepts_are_embedded_with_their_descriptions(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph, "bees", description="Insects.", search_terms=("apis", "honey makers"))
    learn(kg.graph, *LABELS, paragraph=1)
    assert counts(kg) == (6, 0, 6, 0, 0)
    kg.work()
    assert counts(kg) == (6, 6, 0, 0, 0)
    assert kinds(kg.graph) == [("concept_embedding", "succeeded")]
    text = build_concept_text("bees", "Insects.", ["apis", "honey makers"])
    expected = (
        kg.spaces.get_open(read_embedding_states(kg.graph)["notes"].target.space)
        .get_embedder()
        .embed_passages([text])
    )
    assert np.allclose(vectors(driver)["bees"], expected[0], atol=1e-6)


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


def test_a_switch_takes_concepts_along(kg: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(kg.graph)
    kg.work()
    kg.add("other")
    kg.switch.build("other", SpaceBuild(activate=False))
    merged: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(merging, "merge_near", lambda *given: merged.append(given))
        kg.work()
    assert merged == [], "what is being built does not decide"
    assert {len(each) for each in vectors(driver, "embedding_other").values()} == {64}
    assert len(vectors(driver)) == 5, "what answers stays"
    assert kg.switch.check("other").ok
    kg.switch.activate("other")
    assert kg.states()["other"] == "active"
    assert counts(kg) == (5, 5, 0, 0, 0)


@pytest.mark.plans_anew
def test_dropped_space_deletes_its_concept_vectors(kg: Kg, driver: neo4j.Driver) -> None:
    learn(kg.graph)
    kg.add("other")
    kg.switch.build("other", SpaceBuild(activate=True))
    kg.work()
    assert "concept_embedding_other" in read_index_states(kg.graph)
    kg.switch.drop("default", "notes")
    kg.work()
    (row,) = rows(driver, "MATCH (c:Concept {label: 'paper nest'}) RETURN properties(c) AS map")
    assert {name for name in row["map"] if name.startswith("embed")} == {
        "embedding_other",
        "embedded_with_other",
        "embedded_at_other",
    }
    kg.switch.build("default", SpaceBuild(activate=True))
    kg.work()
    kg.switch.drop("other")
    rows(driver, "MATCH (e:EmbeddingSpace {slug: 'other'}) SET e.dropping = datetime() - duration('PT9S')")
    rows(driver, "MATCH (j:Job {state: 'queued'}) SET j.run_after = datetime()")
    kg.work()
    assert "concept_embedding_other" not in read_index_states(kg.graph)
    assert vectors(driver, "embedding_other") == {}
    assert len(vectors(driver)) == 5


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
    seeds = [Seed(build_concept_id("notes", label), 1.0) for label in labels]
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


def test_links_do_not_depend_on_when_the_model_is_calibrated(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier versions used the defaults if the calibration in the background was slow, and links were
    missing from then on."""
    monkeypatch.setattr(OpenSpace, "calibrate_soon", lambda _: None)
    with store_texts(graph) as kg:
        assert kg.spaces.get().space.calibration is None
        learn(graph)
        learn(graph, WASP, paragraph=1)
        kg.work()
        assert {(one, other) for _, one, other in linked(driver)} == {(NEST, WASP), (WASP, NEST)}


def test_concepts_are_embedded_by_a_model_that_rejects_the_texts_of_the_calibration(graph: Graph) -> None:
    class Uncalibrated(DeterministicEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if calibrates(texts):
                attempts.append(len(texts))
                raise InvalidInput("these texts cannot be embedded")
            return super().embed_passages(texts)

    attempts: list[int] = []
    store_document(graph, DOCUMENT)
    learn(graph)
    kg = Kg(graph, open_spaces(graph, Uncalibrated()))
    kg.work()
    kg.spaces.get().calibrate()
    kg.spaces.close()
    assert len(attempts) == 1, "no further request for each batch"
    assert counts(kg) == (5, 5, 0, 0, 0)
    assert kinds(graph) == [("concept_embedding", "succeeded")]


def test_links_and_index_find_the_same_concepts(learned: Kg, driver: neo4j.Driver) -> None:
    learn(learned.graph, GREY, paragraph=2)
    learned.work()
    by_links = {label: near(learned, driver, label) for label in (NEST, WASP, GREY)}
    assert [len(each) for each in by_links.values()] == [2, 1, 1], "from what was there before, too"
    rows(driver, "MATCH (c:Concept) SET c.linked_at = null")
    assert {label: near(learned, driver, label) for label in by_links} == by_links


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


def edge_counts(kg: Kg) -> VectorCounts:
    told = kg.configure.status("notes").edges
    assert told is not None
    return told


def edge_vectors(driver: neo4j.Driver, name: str = "embedding") -> dict[str, NDArray[np.float32]]:
    edges = f"MATCH ()-[r:RELATED_TO]->() WHERE r.{name} IS NOT NULL RETURN r.statement AS s, r.{name} AS v"
    return {row["s"]: np.asarray(row["v"], dtype=np.float32) for row in rows(driver, edges)}


def types(driver: neo4j.Driver, name: str = "embedding") -> dict[str, bool]:
    found = rows(driver, f"MATCH (t:RelationType) RETURN t.name AS name, t.{name} IS NOT NULL AS there")
    return {row["name"]: row["there"] for row in found}


def total(number: int, *, embedded: int) -> VectorCounts:
    return VectorCounts(total=number, embedded=embedded, missing=number - embedded, stale=0, refused=0)


def test_relationship_is_embedded_with_sentence_and_quote(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "leads_to")
    assert edge_counts(kg) == total(1, embedded=0)
    kg.work()
    assert edge_counts(kg) == total(1, embedded=1)
    statement = f"{ENDS[0]} leads to {ENDS[1]}"
    space = kg.spaces.get_open(read_embedding_state(kg.graph, "notes").target.space)
    expected = space.get_embedder().embed_passages([f"{statement}: {QUOTE}", "leads_to"])
    assert np.allclose(edge_vectors(driver)[statement], expected[0], atol=1e-6)
    (row,) = rows(driver, "MATCH (t:RelationType) RETURN t.embedding AS v, t.ontology AS o, t.name AS n")
    assert np.allclose(row["v"], expected[1], atol=1e-6)
    assert (row["o"], row["n"]) == ("notes", "leads_to")


def test_only_changed_relationships_are_embedded_again(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near", proved=False)
    relate(kg.graph, "is far from", paragraph=1)
    kg.work()
    before = edge_vectors(driver)
    relate(kg.graph, "is near")
    assert (edge_counts(kg).embedded, edge_counts(kg).stale) == (1, 1)
    kg.work()
    after = edge_vectors(driver)
    assert {name for name in before if not np.array_equal(before[name], after[name])} == {
        f"{ENDS[0]} is near {ENDS[1]}"
    }
    assert edge_counts(kg) == total(2, embedded=2)


def test_a_switch_waits_for_them(kg: Kg, driver: neo4j.Driver) -> None:
    relate(kg.graph, "is near")
    kg.work()
    kg.add("other")
    kg.switch.build("other", SpaceBuild(activate=False))
    kg.work()
    assert len(edge_vectors(driver, "embedding_other")) == 1
    assert types(driver, "embedding_other") == {"is near": True}
    rows(driver, "MATCH ()-[r:RELATED_TO]->() SET r.embedded_with_other = null")
    check = kg.switch.check("other")
    assert [each.detail for each in check.findings if not each.ok] == [
        "notes: 1 relationships and types of them are not built yet"
    ]
    state = read_embedding_state(kg.graph, "notes")
    with pytest.raises(Conflict, match="1 relationships and types of them are not"):
        kg.graph.transaction(lambda tx: activate(tx, [state], "text"))
