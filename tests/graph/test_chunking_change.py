"""Another chunking: the old chunks answer until the new ones are complete."""

from __future__ import annotations

import neo4j

from kg_api.graph.document_writes import store_document
from kg_api.schemas.embedding import EmbeddingConfig, SpaceBuild
from kg_api.spaces.plans import read_embedding_state
from tests.support.cypher import rows
from tests.support.embedding import status
from tests.support.kg import TEXTS, Kg, first, matched
from tests.support.records import record


def test_another_chunking_is_built_beside_and_answers_when_it_is_complete(kg: Kg) -> None:
    told = kg.configure.set("notes", EmbeddingConfig(strategy="sentence", chunk_size=8), dry_run=False)
    assert (told.config.strategy, told.stale, told.embedded) == ("sentence", 12, 0)
    assert told.answering is not None
    assert told.answering.strategy == "paragraph"
    before = kg.search()
    assert first(before) == TEXTS[7]
    assert matched(before) == TEXTS[7], "the old vectors answer"
    found = status(kg.graph, "notes")
    assert (found.searchable, found.stale, found.building) == (12, 12, True)
    kg.work()
    after = kg.search()
    assert first(after) == TEXTS[7]
    assert matched(after) == "This is the passage about topic7."
    assert after.space == "default", "the model is the same"
    told = kg.configure.show("notes")
    assert (told.embedded, told.answering) == (12, None)
    assert told.previous is not None
    assert told.previous.strategy == "paragraph"


def test_chunking_can_be_changed_again_and_again(kg: Kg, driver: neo4j.Driver) -> None:
    for strategy in ("sentence", "count", "hierarchical", "paragraph"):
        kg.configure.set("notes", EmbeddingConfig(strategy=strategy), dry_run=False)
        kg.work()
        found = status(kg.graph, "notes")
        assert (found.embedded, found.searchable, found.building) == (12, 12, False)
        assert "topic7" in matched(kg.search())
    slots = read_embedding_state(kg.graph, "notes").configured.texts
    kept = {slots.target.key, slots.previous.key if slots.previous else ""}
    used = {row["space"] for row in rows(driver, "MATCH (c:Chunk) RETURN DISTINCT c.space AS space")}
    assert used <= kept, "no chunks but those of the two that are kept"


def test_a_build_that_is_given_up_changes_nothing(kg: Kg) -> None:
    kg.configure.set("notes", EmbeddingConfig(strategy="sentence"), dry_run=False)
    kg.configure.set("notes", EmbeddingConfig(), dry_run=False)
    found = status(kg.graph, "notes")
    assert (found.embedded, found.building) == (12, False)
    assert first(kg.search()) == TEXTS[7]


def test_a_dry_run_changes_nothing(kg: Kg) -> None:
    before = read_embedding_state(kg.graph, "notes").configured
    told = kg.configure.set("notes", EmbeddingConfig(strategy="sentence"), dry_run=True)
    assert (told.applied, told.stale) == (False, 12)
    kg.add("other")
    quoted = kg.switch.build("other", SpaceBuild(dry_run=True))
    assert [(each.ontology, each.due, each.job_id) for each in quoted.builds] == [("notes", 12, None)]
    assert read_embedding_state(kg.graph, "notes").configured == before


def test_an_empty_ontology_is_configured_at_once(kg: Kg) -> None:
    kg.add("other")
    kg.configure.set("new", EmbeddingConfig(space="other"), dry_run=False)
    assert read_embedding_state(kg.graph, "new").serving is None


def test_both_slots_of_one_model_are_compared_by_similarity(kg: Kg) -> None:
    store_document(kg.graph, record("x.md", ["All about topic7 and nothing else."], ontology="second"))
    kg.work()
    kg.configure.set("second", EmbeddingConfig(strategy="sentence", chunk_size=8), dry_run=False)
    kg.work()
    assert read_embedding_state(kg.graph, "second").target.space.slot != ""
    hits = kg.search(limit=13)
    assert hits.spaces == ["default"]
    similarities = [each.similarity or 0 for each in hits.sources]
    assert similarities == sorted(similarities, reverse=True), "one lane, one measure"
    assert {each.ontology for each in hits.sources} == {"notes", "second"}


def test_only_one_ontologys_leftovers_go(kg: Kg, driver: neo4j.Driver) -> None:
    store_document(kg.graph, record("x.md", ["Something about topic5."], ontology="second"))
    kg.work()
    kg.configure.set("notes", EmbeddingConfig(strategy="sentence"), dry_run=False)
    kg.work()
    kg.drop.drop("default", "notes")
    kg.work()
    left = rows(
        driver,
        "MATCH (s:Source) WHERE s.embedding IS NOT NULL RETURN collect(DISTINCT s.ontology) AS names",
    )
    assert left[0]["names"] == ["second"]
    assert first(kg.search()) == TEXTS[7]
    assert kg.configure.show("notes").previous is None
