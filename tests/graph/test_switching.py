import threading

import neo4j
import pytest

from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.graph.jobs import enqueue_slot, find_job
from kg_api.graph.schema import read_index_states
from kg_api.graph.spaces import (
    get_previous_default_space,
    is_still_wanted,
    list_unused_vectors,
    set_default_space,
)
from kg_api.schemas.base import build_document_id
from kg_api.schemas.embedding import EmbeddingConfigChange, Regeneration, SpaceBuild
from kg_api.schemas.vocabulary import JobState
from kg_api.spaces.estimate import Estimator
from kg_api.spaces.plans import find_searchable, read_embedding_state
from tests.support.cypher import rows
from tests.support.embedding import status
from tests.support.kg import TEXTS, Kg, first, matched
from tests.support.records import record


def test_search_during_a_rebuild_reports_that_previous_vectors_answer(kg: Kg) -> None:
    expected = f"notes: kg replaces the vectors (0 of {len(TEXTS)} sources), and uses the previous ones"
    kg.requests.regenerate(Regeneration(ontology="notes", force=True))
    assert [each.effect.partition(".")[0] for each in kg.search().degraded] == [expected]
    kg.work()
    assert kg.search().degraded == []
    kg.configure.change("notes", EmbeddingConfigChange(strategy="sentence"), dry_run=False)
    assert [each.effect.partition(".")[0] for each in kg.search().degraded] == [expected]


@pytest.mark.plans_anew
def test_space_is_built_checked_activated_restored_and_dropped(kg: Kg, driver: neo4j.Driver) -> None:
    kg.add("other")
    assert kg.states() == {"default": "active", "other": "idle"}
    kg.switch.build("other", SpaceBuild())
    assert kg.states() == {"default": "active", "other": "building"}
    with pytest.raises(Conflict, match="not built yet"):
        kg.switch.activate("other")
    assert kg.search().space == "default"
    kg.work()
    assert kg.search().space == "default", "it waits to be activated"
    checked = kg.switch.check("other")
    assert checked.ok, checked
    assert {each.name for each in checked.findings} == {"model", "index", "complete", "vectors", "found"}
    told = kg.switch.activate("other")
    assert [(each.ontology, each.before, each.now) for each in told.ontologies] == [
        ("notes", "default", "other")
    ]
    assert told.space_of_new == "other"
    kg.graph.transaction(lambda tx: set_default_space(tx, "other"))
    assert get_previous_default_space(kg.graph, "other") == "default", "not itself"
    assert kg.states() == {"default": "retiring", "other": "active"}
    hits = kg.search()
    assert (hits.space, first(hits)) == ("other", TEXTS[7])
    back = kg.switch.rollback("other")
    assert not any("cancelled" in each for each in back.notes), "its build was complete"
    assert (kg.search().space, kg.states()["other"]) == ("default", "retiring")
    kg.switch.rollback("default")
    assert kg.search().space == "other", "there and back again"
    job_id = kg.switch.drop("default").job_id
    assert kg.states()["default"] == "dropping"
    assert get_previous_default_space(kg.graph, "other") is None, "no new ontology may use it"
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.dropping = e.dropping - duration({seconds: 60})")
    kg.work()
    assert find_job(kg.graph, job_id).state is JobState.SUCCEEDED
    assert kg.states() == {"other": "active"}
    left = rows(driver, "MATCH (s:Source) UNWIND keys(s) AS key RETURN collect(DISTINCT key) AS keys")[0][
        "keys"
    ]
    assert {key for key in left if key.startswith(("embed", "refused"))} == {
        *("embedding_other", "embedded_with_other", "embedded_at_other")
    }
    assert "passage_embedding" not in read_index_states(kg.graph)
    assert first(kg.search()) == TEXTS[7]
    kg.add("default", 256)
    assert get_previous_default_space(kg.graph, "other") is None, "the one of that name was another"


def test_documents_ingested_during_build_have_both_vectors(kg: Kg) -> None:
    kg.add("other")
    kg.switch.build("other", SpaceBuild())
    store_document(kg.graph, record("b.md", ["A new passage about penguins."]))
    store_document(kg.graph, record("a.md", ["The first one is about walruses now.", *TEXTS[1:]]))
    delete = record("c.md", ["An old passage about seals."])
    store_document(kg.graph, delete)
    kg.work()
    delete_document(kg.graph, build_document_id("notes", "c.md"))
    assert first(kg.search("penguins")) == "A new passage about penguins."
    assert kg.search("penguins").space == "default"
    kg.switch.activate("other")
    for word in ("penguins", "walruses"):
        hits = kg.search(word)
        assert (hits.space, word in first(hits)) == ("other", True)
    assert not any("seals" in each.full_text for each in kg.search("seals").sources)
    found = status(kg.graph, "notes")
    assert (found.embedded, found.total, found.missing) == (13, 13, 0)


def test_one_ontology_can_be_switched(kg: Kg) -> None:
    kg.add("other")
    store_document(kg.graph, record("x.md", ["Something about topic7 elsewhere."], ontology="second"))
    kg.work()
    ids = [build_document_id("notes", "a.md"), build_document_id("second", "x.md")]
    assert find_searchable(kg.graph, "second", ids) == ids[1:]
    kg.switch.build("other", SpaceBuild(ontologies=["second"], activate=True))
    kg.work()
    assert read_embedding_state(kg.graph, "second").answering.space.slug == "other", "it answers by itself"
    assert read_embedding_state(kg.graph, "notes").answering.space.slug == "default"
    hits = kg.search()
    assert sorted(hits.spaces) == ["default", "other"]
    assert {each.ontology for each in hits.sources[:2]} == {"notes", "second"}
    spaces = {each.ontology: each.space for each in hits.sources}
    assert spaces == {"notes": "default", "second": "other"}
    kg.switch.rollback("other", ["second"])
    kg.switch.build("other", SpaceBuild(ontologies=["second"]))
    assert kg.switch.activate("other", ["second"]).space_of_new == "default"


@pytest.mark.plans_anew
def test_check_searches_for_passages_of_its_ontology(kg: Kg) -> None:
    for at in range(20):
        store_document(kg.graph, record(f"{at}.md", TEXTS[:1], ontology="second"))
    kg.add("other")
    kg.switch.build("other", SpaceBuild())
    kg.work()
    checked = kg.switch.check("other")
    assert checked.ok, checked


@pytest.mark.plans_anew
def test_check_finds_a_missing_vector_or_index(kg: Kg, driver: neo4j.Driver) -> None:
    kg.add("other")
    kg.switch.build("other", SpaceBuild())
    kg.work()
    for wrong in ([1.0, 2.0], [0.0] * 64, None):
        rows(
            driver,
            "MATCH (s:Source {paragraph: 3}) SET s.was = s.embedding_other, s.embedding_other = $wrong",
            wrong=wrong,
        )
        checked = kg.switch.check("other")
        assert [each.name for each in checked.findings if not each.ok] == ["vectors"]
        with pytest.raises(Conflict, match="cannot be activated yet"):
            kg.switch.activate("other")
        rows(driver, "MATCH (s:Source {paragraph: 3}) SET s.embedding_other = s.was, s.was = null")
    assert kg.switch.check("other").ok
    rows(driver, "DROP INDEX passage_embedding_other")
    assert "index" in [each.name for each in kg.switch.check("other").findings if not each.ok]


@pytest.mark.plans_anew
def test_invalid_switches_are_rejected_with_advice(kg: Kg) -> None:
    kg.add("other")
    kg.add("third")
    with pytest.raises(NotFound):
        kg.switch.build("nowhere", SpaceBuild())
    with pytest.raises(NotFound, match="'nothing'"):
        kg.switch.build("other", SpaceBuild(ontologies=["nothing"]))
    with pytest.raises(Conflict, match="kg admin spaces build other"):
        kg.switch.activate("other")
    with pytest.raises(Conflict, match="previous space to roll back to"):
        kg.switch.rollback("default")
    with pytest.raises(Conflict, match="is used by notes"):
        kg.switch.drop("default")
    kg.switch.build("other", SpaceBuild())
    with pytest.raises(Conflict, match="is being built in other already"):
        kg.switch.build("third", SpaceBuild())
    with pytest.raises(Conflict, match="is used by notes"):
        kg.switch.drop("other")
    kg.switch.rollback("other")
    kg.switch.drop("other")
    with pytest.raises(InvalidInput, match="is being deleted"):
        kg.configure.change("notes", EmbeddingConfigChange(space="other"), dry_run=False)
    with pytest.raises(Conflict, match="is being deleted"):
        kg.add("other")


def test_activation_rejects_unconfirmed_loss_of_rejected_texts(kg: Kg, driver: neo4j.Driver) -> None:
    kg.add("other")
    kg.switch.build("other", SpaceBuild(activate=True))
    embedding_state = read_embedding_state(kg.graph, "notes")
    names = {"key": embedding_state.target.mark.key, "refused": embedding_state.target.mark.refused}
    rows(driver, "MATCH (s:Source {paragraph: 3}) SET s[$key] = $refused", **names)
    kg.work()
    assert kg.search().space == "default", "it does not answer by itself"
    assert [each.name for each in kg.switch.check("other").findings if not each.ok] == ["refused"]
    with pytest.raises(Conflict, match="--accept-rejected"):
        kg.switch.activate("other")
    kg.switch.activate("other", accept_rejected=True)
    assert kg.search().space == "other"


def test_chunking_change_does_not_affect_spaces(kg: Kg) -> None:
    kg.configure.change("notes", EmbeddingConfigChange(strategy="sentence"), dry_run=False)
    told = kg.switch.build("default", SpaceBuild())
    assert (told.builds, told.notes) == ([], ["notes: answered by default already"])
    with pytest.raises(Conflict, match="roll back to"):
        kg.switch.rollback("default")
    kg.work()
    assert kg.configure.show("notes").config.strategy == "sentence", "it was not given up"
    kg.switch.rollback("default", ["notes"])
    assert kg.configure.show("notes").config.strategy == "paragraph"


@pytest.mark.plans_anew
def test_backfill_recreates_missing_indexes(kg: Kg, driver: neo4j.Driver) -> None:
    names = {"passage_embedding", "concept_embedding", "relation_embedding"}
    for name in names:
        rows(driver, "DROP INDEX $name", name=name)
    enqueue_slot(kg.graph, "backfill", "1")
    kg.work()
    assert names <= read_index_states(kg.graph).keys()


def test_chunking_change_activates_when_complete(kg: Kg) -> None:
    told = kg.configure.change(
        "notes", EmbeddingConfigChange(strategy="sentence", chunk_size=8), dry_run=False
    )
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


@pytest.mark.plans_anew
def test_frozen_worker_does_not_drop_a_recreated_space(kg: Kg, driver: neo4j.Driver) -> None:
    kg.add("other")
    kg.switch.drop("other")
    (known,) = list_unused_vectors(kg.graph)
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.dropping = e.dropping - duration({seconds: 60})")
    kg.work()
    kg.add("other")
    assert not kg.graph.transaction(lambda tx: is_still_wanted(tx, known))
    kg.switch.drop("other")
    assert not kg.graph.transaction(lambda tx: is_still_wanted(tx, known)), "that was another wish"


def test_activation_waits_while_a_configuration_is_decided(kg: Kg, monkeypatch: pytest.MonkeyPatch) -> None:
    kg.add("other")
    kg.switch.build("other", SpaceBuild())
    kg.work()
    refused = list[Conflict]()

    def activate() -> None:
        try:
            kg.switch.activate("other")
        except Conflict as error:
            refused.append(error)

    activation = threading.Thread(target=activate)

    def activate_meanwhile(_: object) -> None:
        if not activation.ident:
            activation.start()
            activation.join(1)

    monkeypatch.setattr(Estimator, "require_usable", lambda _, plan: activate_meanwhile(plan))
    kg.configure.change("notes", EmbeddingConfigChange(strategy="sentence"), dry_run=False)
    activation.join()
    assert "notes was reconfigured in the meantime" in str(refused), "it waited for the change"
    state = read_embedding_state(kg.graph, "notes")
    assert (state.target.config.space, state.target.config.strategy) == ("other", "sentence")
    assert state.answering.space.slug == "default"
