from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import neo4j
import pytest

from kg_api.discovery.communities import CommunityDetection
from kg_api.graph.client import Graph
from kg_api.graph.communities import (
    Generation,
    begin_generation,
    discard_portion,
    publish,
    write_communities,
    write_members,
)
from kg_api.graph.document_writes import delete_ontology
from kg_api.graph.jobs import find_job, request_job
from kg_api.jobs.runner import Runner
from kg_api.schemas.operations import FINISHED
from kg_api.settings import WorkerSettings
from tests.support.communities import BAKERY, HARBOUR, Detecting
from tests.support.cypher import rows

GENERATIONS = "MATCH (c:Community) RETURN DISTINCT c.generation AS generation"
ONE, OTHER = ({"ontology": "notes", "generation": name} for name in ("one", "other"))
NOW = datetime.now(UTC)
SUMMARY = '{"mark":"m","grouped":1,"left_out":0,"concepts":1,"relationships":0,"sources":1}'


@pytest.fixture
def notes(graph: Graph) -> Detecting:
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


def test_incomplete_generation_is_invisible(notes: Detecting, driver: neo4j.Driver) -> None:
    graph, before = notes.graph, notes.page()
    assert graph.transaction(lambda tx: begin_generation(tx, ONE))
    assert graph.transaction(lambda tx: write_communities(tx, ONE, [community("c"), community("d", 1)]))
    assert notes.page() == before
    (first, *_) = before.communities
    assert notes.service.find("notes", first.community_id, concepts=9, passages=1).size == first.size
    assert written(graph, ONE, driver) == [True, True, True]
    (only,) = notes.page().communities
    assert (only.community_id, only.size) == ("c" * 32, 10)


def test_of_two_jobs_at_once_the_later_counts(notes: Detecting, driver: neo4j.Driver) -> None:
    graph, before = notes.graph, notes.page()
    graph.transaction(lambda tx: begin_generation(tx, ONE))
    graph.transaction(lambda tx: begin_generation(tx, OTHER))
    assert written(graph, ONE, driver) == [False, False, False]
    assert notes.page() == before
    assert written(graph, OTHER, driver) == [True, True, True]
    assert notes.page().total == 1


def test_generation_of_deleted_ontology_is_never_shown(notes: Detecting, driver: neo4j.Driver) -> None:
    graph = notes.graph
    graph.transaction(lambda tx: begin_generation(tx, ONE))
    graph.transaction(lambda tx: write_communities(tx, ONE, [community("c")]))
    delete_ontology(graph, "notes")
    assert rows(driver, GENERATIONS) == []
    assert not graph.transaction(lambda tx: begin_generation(tx, ONE))
    assert written(graph, ONE, driver) == [False, False, False]
    notes.add_topics()
    assert written(graph, ONE, driver) == [False, False, False], "another ontology of that name"
    assert rows(driver, GENERATIONS) == []


def test_next_detection_discards_interrupted_generation(notes: Detecting, driver: neo4j.Driver) -> None:
    graph, before = notes.graph, notes.page()
    graph.transaction(lambda tx: begin_generation(tx, ONE))
    written_by_then = [member("gone", 0)]
    graph.transaction(lambda tx: write_communities(tx, ONE, [community("c"), community("d", 1)]))
    graph.transaction(lambda tx: write_members(tx, ONE, written_by_then))
    assert graph.transaction(lambda tx: discard_portion(tx, "notes")) == 0, "it is being made"
    notes.service.detect("notes")
    assert notes.work() == 1
    assert {row["generation"] for row in rows(driver, GENERATIONS)}.isdisjoint({"one"})
    assert [each.labels for each in notes.page().communities] == [each.labels for each in before.communities]
    assert notes.labels() == [set(BAKERY), set(HARBOUR)]


def test_stopped_worker_keeps_old_generation_and_job_restarts(
    notes: Detecting, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, stopping = notes.page(), threading.Event()

    def write(tx: Any, made: Generation, communities: Any) -> bool:
        stopping.set()
        return write_communities(tx, made, communities)

    monkeypatch.setattr("kg_api.discovery.communities.write_communities", write)
    job_id = notes.graph.transaction(lambda tx: request_job(tx, "community_detection", "notes", added=1))
    handlers = [CommunityDetection(notes.graph, notes.settings)]
    Runner(notes.graph, handlers, WorkerSettings(), worker="one", stopping=stopping).run_one()
    assert len(rows(driver, GENERATIONS)) == 2
    assert notes.page() == before
    assert find_job(notes.graph, job_id).state not in FINISHED
    monkeypatch.undo()
    Runner(notes.graph, handlers, WorkerSettings(), worker="two", stopping=threading.Event()).run_one()
    assert find_job(notes.graph, job_id).state in FINISHED
    assert notes.page().computed_at != before.computed_at
    assert [each.labels for each in notes.page().communities] == [each.labels for each in before.communities]
