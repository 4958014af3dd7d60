from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import neo4j
import pytest

from kg_api.discovery.communities import CommunityDetection, read_concept_graph
from kg_api.errors import NotFound
from kg_api.graph.client import Graph
from kg_api.graph.communities import (
    Generation,
    begin_generation,
    discard_portion,
    get_min_ties,
    publish,
    write_communities,
    write_members,
)
from kg_api.graph.concept_merges import merge_concepts
from kg_api.graph.document_writes import delete_document, delete_ontology, store_document
from kg_api.graph.jobs import COMMUNITY_DETECTION, find_job, page_of_jobs, request_job
from kg_api.jobs.runner import Runner
from kg_api.schemas.base import document_id
from kg_api.schemas.concepts import ExtractedRelation
from kg_api.schemas.operations import FINISHED
from kg_api.settings import WorkerSettings
from tests.support.communities import BAKERY, HARBOUR, Detecting
from tests.support.concepts import extraction, found, labelled, quote, write
from tests.support.cypher import rows
from tests.support.embedding import run_jobs
from tests.support.records import record

STORED = "MATCH (c:Community) RETURN c.generation AS generation, count(*) AS communities"
IDS = "MATCH (c:Concept) RETURN c.label AS label, c.concept_id AS id"


@pytest.fixture
def notes(graph: Graph) -> Detecting:
    made = Detecting(graph)
    made.add_topics()
    return made


def test_concepts_of_same_passages_form_a_named_community(notes: Detecting) -> None:
    notes.work()
    page = notes.page()
    assert notes.labels() == [set(BAKERY), set(HARBOUR)]
    assert [each.size for each in page.communities] == [5, 4]
    assert all(set(each.name.split(", ")) < set(each.labels) for each in page.communities)
    assert (page.total, page.grouped, page.left_out) == (2, 9, 1)
    assert page.concepts == 10, "the hub is left out"
    assert (page.changed, page.notes) == (0, [])
    assert page.computed_at is not None


def test_detection_repeats_only_after_enough_changes(notes: Detecting, driver: neo4j.Driver) -> None:
    assert notes.work() == 1
    before = notes.page()
    assert notes.work() == 0, "nothing has changed"
    notes.add("harbour.md", ("quay", "crane", "container", "ferry"))
    changed = notes.page()
    assert changed.changed > 0.3
    assert {each.name for each in changed.communities} <= {each.name for each in before.communities}
    assert notes.work() == 1
    assert notes.labels() == [set(BAKERY), {"quay", "crane", "container", "ferry"}]
    assert notes.page().communities[0].community_id == before.communities[0].community_id
    assert len(rows(driver, STORED)) == 2, "the generation before stays until the next one, for who reads it"
    assert Detecting(notes.graph, min_size=5).work() == 1, "other settings"
    assert len(rows(driver, STORED)) == 2
    assert notes.labels() == [set(BAKERY)]


def test_small_change_is_counted_but_not_detected(graph: Graph) -> None:
    notes = Detecting(graph, changed_share=1.0)
    notes.add_topics()
    notes.work()
    notes.add("more.md", ("quay", "crane", "container"))
    assert notes.work() == 0
    assert 0 < notes.page().changed < 1
    off = Detecting(graph, enabled=False)
    assert off.work() == 0
    notes.service.detect("notes")
    assert notes.work() == 1
    assert notes.page().changed == 0


def test_deleted_concept_leaves_its_community_at_once(notes: Detecting, driver: neo4j.Driver) -> None:
    notes.work()
    ids = {row["label"]: row["id"] for row in rows(driver, IDS)}
    kept = merge_concepts(notes.graph, (ids["oven"], ids["crust"]), lambda *_: True)
    page = notes.page()
    gone = "oven" if kept == ids["crust"] else "crust"
    assert [each.size for each in page.communities] == [4, 4]
    assert all(gone not in each.labels and gone not in each.name for each in page.communities)
    delete_document(notes.graph, document_id("notes", "harbour.md"))
    (left,) = notes.page().communities
    assert set(left.labels) == {*BAKERY} - {gone}
    assert notes.page().total == 1


def test_relationships_tie_concepts_of_a_single_source(graph: Graph) -> None:
    notes = Detecting(graph)
    texts = ["Ada met Bob and Cleo.", "Dan met Eve and Finn.", "Nothing else."]
    made = record("people.md", texts)
    store_document(graph, made)
    people = [("Ada", "Bob", "Cleo"), ("Dan", "Eve", "Finn")]
    several = [
        extraction(
            made,
            at,
            *(found(each, quote(texts[at], each)) for each in names),
            relations=tuple(ExtractedRelation(names[0], "met", each, 1.0) for each in names[1:]),
        )
        for at, names in enumerate(people)
    ]
    write(graph, *several)
    notes.work()
    assert sorted(map(sorted, notes.labels())) == [[*each] for each in people]
    assert notes.page().left_out == 0


def test_an_ontology_with_little_or_nothing_has_none(graph: Graph) -> None:
    notes = Detecting(graph)
    made = record("a.md", ["One lighthouse."])
    store_document(graph, made)
    assert notes.work() == 0, "there are no concepts"
    assert "not been detected yet" in notes.page().notes[0]
    write(graph, labelled(made, 0, "lighthouse"))
    assert notes.work() == 1
    page = notes.page()
    assert (page.communities, page.concepts, page.notes) == ([], 1, [])
    assert notes.work() == 0
    with pytest.raises(NotFound, match="note"):
        notes.page(ontology="note")
    with pytest.raises(NotFound, match="note"):
        notes.service.detect("note")


def test_detection_limits_the_number_of_concepts(notes: Detecting) -> None:
    assert get_min_ties(notes.graph, "notes", 1000) == 2
    least = get_min_ties(notes.graph, "notes", 3)
    read = read_concept_graph(notes.graph, "notes", most=3, between=lambda: None)
    assert least == 9, "those of the bakery are in eight sources, the hub in more"
    assert len(read.concept_ids) == 1
    assert read.incidence.shape == (18, 1)


def test_detection_waits_for_running_extraction(notes: Detecting, driver: neo4j.Driver) -> None:
    run_jobs(notes.graph)
    rows(driver, "CREATE (:Job {job_id: 'x', unique_key: 'concept_extraction:notes', state: 'queued'})")
    notes.service.start_pending_detections()
    assert jobs_of(notes) == 0
    rows(driver, "MATCH (j:Job {job_id: 'x'}) DETACH DELETE j")
    notes.service.start_pending_detections()
    assert jobs_of(notes) == 1


def jobs_of(notes: Detecting) -> int:
    kind = COMMUNITY_DETECTION
    return len(page_of_jobs(notes.graph, state=None, kind=kind, ontology="notes", offset=0, limit=9)[0])


GENERATIONS = "MATCH (c:Community) RETURN DISTINCT c.generation AS generation"
ONE, OTHER = ({"ontology": "notes", "generation": name} for name in ("one", "other"))
NOW = datetime.now(UTC)
SUMMARY = '{"mark":"m","grouped":1,"left_out":0,"concepts":1,"relationships":0,"sources":1}'


@pytest.fixture
def detected(graph: Graph) -> Detecting:
    made = Detecting(graph)
    made.add_topics()
    made.work()
    return made


def community(name: str, place: int = 0) -> dict[str, Any]:
    return {"community_id": name * 32, "place": place, "inside": 1.0}


def member(concept_id: str, place: int) -> dict[str, Any]:
    own = {"community_id": "c" * 32, "place": place, "weight": 1.0}
    return {"concept_id": concept_id, "communities": [own]}


def written(graph: Graph, made: Generation, driver: neo4j.Driver) -> list[bool]:
    """Write a generation with a single community, using each step twice. Return whether this was
    successful."""
    ids = sorted(row["id"] for row in rows(driver, "MATCH (c:Concept) RETURN c.concept_id AS id"))
    members = [member(each, at) for at, each in enumerate(ids)]
    steps: list[Callable[[Any], bool]] = [
        lambda tx: write_communities(tx, made, [community("c")]),
        lambda tx: write_members(tx, made, members),
        lambda tx: publish(tx, made, SUMMARY, NOW),
    ]
    return [graph.transaction(step) and graph.transaction(step) for step in steps]


def test_incomplete_generation_is_invisible(detected: Detecting, driver: neo4j.Driver) -> None:
    graph, before = detected.graph, detected.page()
    assert graph.transaction(lambda tx: begin_generation(tx, ONE))
    assert graph.transaction(lambda tx: write_communities(tx, ONE, [community("c"), community("d", 1)]))
    assert detected.page() == before
    (first, *_) = before.communities
    assert detected.service.find("notes", first.community_id, concepts=9, passages=1).size == first.size
    assert written(graph, ONE, driver) == [True, True, True]
    (only,) = detected.page().communities
    assert (only.community_id, only.size) == ("c" * 32, 10)


def test_of_two_jobs_at_once_the_later_counts(detected: Detecting, driver: neo4j.Driver) -> None:
    graph, before = detected.graph, detected.page()
    graph.transaction(lambda tx: begin_generation(tx, ONE))
    graph.transaction(lambda tx: begin_generation(tx, OTHER))
    assert written(graph, ONE, driver) == [False, False, False]
    assert detected.page() == before
    assert written(graph, OTHER, driver) == [True, True, True]
    assert detected.page().total == 1


def test_generation_of_deleted_ontology_is_never_shown(detected: Detecting, driver: neo4j.Driver) -> None:
    graph = detected.graph
    graph.transaction(lambda tx: begin_generation(tx, ONE))
    graph.transaction(lambda tx: write_communities(tx, ONE, [community("c")]))
    delete_ontology(graph, "notes")
    assert rows(driver, GENERATIONS) == []
    assert not graph.transaction(lambda tx: begin_generation(tx, ONE))
    assert written(graph, ONE, driver) == [False, False, False]
    detected.add_topics()
    assert written(graph, ONE, driver) == [False, False, False], "another ontology of that name"
    assert rows(driver, GENERATIONS) == []


def test_next_detection_discards_interrupted_generation(detected: Detecting, driver: neo4j.Driver) -> None:
    graph, before = detected.graph, detected.page()
    graph.transaction(lambda tx: begin_generation(tx, ONE))
    written_by_then = [member("gone", 0)]
    graph.transaction(lambda tx: write_communities(tx, ONE, [community("c"), community("d", 1)]))
    graph.transaction(lambda tx: write_members(tx, ONE, written_by_then))
    assert graph.transaction(lambda tx: discard_portion(tx, "notes")) == 0, "it is being made"
    detected.service.detect("notes")
    assert detected.work() == 1
    assert {row["generation"] for row in rows(driver, GENERATIONS)}.isdisjoint({"one"})
    assert [each.labels for each in detected.page().communities] == [
        each.labels for each in before.communities
    ]
    assert detected.labels() == [set(BAKERY), set(HARBOUR)]


def test_stopped_worker_keeps_old_generation_and_job_restarts(
    detected: Detecting, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, stopping = detected.page(), threading.Event()

    def write(tx: Any, made: Generation, communities: Any) -> bool:
        stopping.set()
        return write_communities(tx, made, communities)

    monkeypatch.setattr("kg_api.discovery.communities.write_communities", write)
    job_id = detected.graph.transaction(lambda tx: request_job(tx, "community_detection", "notes", added=1))
    handlers = [CommunityDetection(detected.graph, detected.settings)]
    Runner(detected.graph, handlers, WorkerSettings(), worker="one", stopping=stopping).run_one()
    assert len(rows(driver, GENERATIONS)) == 2
    assert detected.page() == before
    assert find_job(detected.graph, job_id).state not in FINISHED
    monkeypatch.undo()
    Runner(detected.graph, handlers, WorkerSettings(), worker="two", stopping=threading.Event()).run_one()
    assert find_job(detected.graph, job_id).state in FINISHED
    assert detected.page().computed_at != before.computed_at
    assert [each.labels for each in detected.page().communities] == [
        each.labels for each in before.communities
    ]
