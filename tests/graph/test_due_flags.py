from __future__ import annotations

from typing import Any, LiteralString, cast

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import enqueue_slot
from kg_api.graph.spaces import hold_configurations
from kg_api.graph.vectors import BEGINNING, PendingQuery, count_due, flag, is_noted, list_pending_sources
from kg_api.spaces.plans import read_embedding_state
from tests.support.cypher import STATEMENTS, rows
from tests.support.embedding import configure_in_place, run_jobs, status
from tests.support.records import record

MANY = 160
FEW = 40
"""Number of database hits that are allowed for a read if no source is pending."""
slots = iter(range(1000))


@pytest.fixture
def embedded(graph: Graph) -> Graph:
    for number in range(4):
        store_document(graph, record(f"{number}.md", [f"text {n} of {number}" for n in range(MANY // 4)]))
    run_jobs(graph, batch_size=200)
    tick(graph)
    return graph


def tick(graph: Graph) -> None:
    """Run the tasks that a worker would run when it starts."""
    enqueue_slot(graph, "backfill", str(next(slots)))
    run_jobs(graph)


def wanted(graph: Graph) -> PendingQuery:
    state = read_embedding_state(graph, "notes")
    return state.target.wanted()


def reads(driver: neo4j.Driver, name: str, **parameters: Any) -> int:
    """Return the number of database hits for a statement."""
    text = STATEMENTS[name].replace("CYPHER 25\n", "CYPHER 25 PROFILE\n", 1)
    with driver.session() as session:
        summary = session.run(cast("LiteralString", text), parameters).consume()
    assert summary.profile is not None
    return _hits(summary.profile)


def _hits(plan: dict[str, Any]) -> int:
    own = int(plan["args"].get("DbHits", 0))
    return own + sum(_hits(each) for each in plan.get("children", ()))


def due(graph: Graph) -> set[str]:
    return {
        each.full_text.strip()
        for each in list_pending_sources(graph, wanted(graph), after=BEGINNING, limit=1000)
    }


def test_nothing_pending_needs_few_database_reads(embedded: Graph, driver: neo4j.Driver) -> None:
    assert is_noted(embedded, "notes", wanted(embedded).mark)
    given = {**wanted(embedded).parameters(), "after": "", "after_paragraph": -1, "limit": 64}
    assert reads(driver, "embedding/due", **given) < FEW
    assert reads(driver, "embedding/count_due", **given) < FEW
    plans = [read_embedding_state(embedded, "notes").counted]
    assert reads(driver, "ontologies/list", plans=plans) < FEW


def test_new_text_is_found_without_a_full_scan(embedded: Graph, driver: neo4j.Driver) -> None:
    store_document(embedded, record("new.md", ["one", "two"]))
    assert due(embedded) == {"one", "two"}
    given = {**wanted(embedded).parameters(), "after": "", "after_paragraph": -1, "limit": 64}
    assert reads(driver, "embedding/due", **given) < 2 * FEW
    run_jobs(embedded)
    assert due(embedded) == set()


@pytest.mark.parametrize("noted", [True, False])
def test_flags_and_full_scan_count_the_same(embedded: Graph, driver: neo4j.Driver, *, noted: bool) -> None:
    store_document(embedded, record("new.md", ["one", "two"]))
    refused = wanted(embedded).mark.refused
    rows(driver, "MATCH (s:Source {paragraph: 3}) SET s.embedded_with = 'older', s.unembedded = true")
    rows(
        driver,
        "MATCH (s:Source {paragraph: 4}) SET s.embedded_with = $refused, s.unembedded = true",
        refused=refused,
    )
    if not noted:
        rows(driver, "MATCH (o:Ontology) SET o.flagged_for = null")
    told = status(embedded)
    assert (told.total, told.embedded, told.missing, told.stale, told.refused, told.searchable) == (
        *(MANY + 2, MANY - 8, 2, 4, 4, MANY - 4),
    )
    assert count_due(embedded, wanted(embedded)) == 6
    assert len(due(embedded)) == 6


def test_worker_start_finds_unflagged_source(embedded: Graph, driver: neo4j.Driver) -> None:
    rows(driver, "MATCH (s:Source {paragraph: 7}) SET s.embedded_with = null")
    assert count_due(embedded, wanted(embedded)) == 0
    tick(embedded)
    assert status(embedded).missing == 0
    assert rows(driver, "MATCH (s:Source {paragraph: 7}) RETURN DISTINCT s.embedded_with AS mark") == [
        {"mark": wanted(embedded).mark.value}
    ]


def test_late_batch_of_old_fingerprint_keeps_the_flag(embedded: Graph, driver: neo4j.Driver) -> None:
    store_document(embedded, record("new.md", ["one"]))
    plan = read_embedding_state(embedded, "notes").target
    given = {**plan.mark.parameters(), "property": plan.space.vector_property}
    (source,) = rows(driver, "MATCH (s:Source) WHERE s.unembedded RETURN s.source_id AS id")
    late = {**given, "mark": "older", "rows": [{"source_id": source["id"], "vector": None}]}
    text = STATEMENTS["sources/mark"]
    rows(driver, text, **{name: late.get(name) for name in late.keys() | {"time_property"}})
    assert due(embedded) == {"one"}


def test_outdated_configuration_is_not_noted(embedded: Graph) -> None:
    before = read_embedding_state(embedded, "notes")
    configure_in_place(embedded, "notes", strategy="sentence")
    flag(
        embedded,
        "notes",
        before.target.mark,
        lambda tx: hold_configurations(tx, ["notes"]).get("notes") == before.configured,
    )
    assert not is_noted(embedded, "notes", before.target.mark)
