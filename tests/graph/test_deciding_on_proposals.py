from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, LiteralString, cast

import neo4j
import pytest
from neo4j.exceptions import IncompleteCommit

from kg_api.errors import TookTooLong
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.proposals import (
    DueNode,
    drop_weakest,
    find_unconnected_pairs,
    write_proposals,
)
from kg_api.schemas.base import concept_id
from kg_api.schemas.vocabulary import LINKED, ProposalState
from tests.support.concepts import extraction, found, labelled, quote, write
from tests.support.cypher import STATEMENTS, explain, explained_with, rows
from tests.support.proposals import EARS, LEASE, OWLS, RENT, Proposing
from tests.support.records import record

LINKS = "MATCH ()-[l:LINKED_TO]->() RETURN l.proposal_id AS id"
WAITED_SECONDS = 0.3


@pytest.fixture
def notes(graph: Graph) -> Proposing:
    made = Proposing(graph)
    for name, text in (("owls.md", OWLS), ("ears.md", EARS), ("rent.md", RENT), ("lease.md", LEASE)):
        made.add(name, text)
    made.work()
    return made


@contextmanager
def deciding(graph: Graph, proposal_id: str, state: ProposalState) -> Generator[None]:
    """Commit a decision shortly after the body has started."""
    decided, go_on = threading.Event(), threading.Event()

    def decide(tx: Transaction) -> None:
        tx.run("proposals/hold", proposal_id=proposal_id, ontologies=None)
        tx.run("proposals/decide", proposal_id=proposal_id, state=state, by="Ada", type=LINKED, decision="x")
        decided.set()
        go_on.wait(30)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(graph.transaction, decide)
        assert decided.wait(30)
        try:
            yield
        finally:
            go_on.set()
            done.result(30)


def meanwhile(
    graph: Graph, proposal_id: str, state: ProposalState, work: Callable[[Transaction], None]
) -> None:
    with ThreadPoolExecutor(1) as threads:
        with deciding(graph, proposal_id, state):
            dropped = threads.submit(graph.transaction, work)
            time.sleep(WAITED_SECONDS)
        dropped.result(30)


@pytest.mark.parametrize("state", ["accepted", "rejected"])
@pytest.mark.parametrize("how", ["too many", "looked at again"])
def test_decided_proposal_is_not_dropped(
    notes: Proposing, driver: neo4j.Driver, state: ProposalState, how: str
) -> None:
    weakest = notes.all()[-1]
    ids = [end.source.source_id for end in weakest.ends]
    hashes = {
        row["id"]: row["hash"]
        for row in rows(driver, "MATCH (s:Source) RETURN s.source_id AS id, s.content_hash AS hash")
    }
    seen = [DueNode(each, hashes[each], None) for each in ids[:1]]

    def drop(tx: Transaction) -> None:
        if how == "too many":
            drop_weakest(tx, "notes", 1)
        else:
            write_proposals(tx, "source", "notes", seen, [], most=9)

    meanwhile(notes.graph, weakest.proposal_id, state, drop)
    assert {each.proposal_id: each.state for each in notes.all()}[weakest.proposal_id] == state
    assert rows(driver, LINKS) == ([{"id": weakest.proposal_id}] if state == "accepted" else [])


@contextmanager
def losing_an_answer(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Drop the response to the next commit, so that the transaction has to be run twice."""
    real, left = neo4j.Session.execute_write, [True]

    def lose(self: neo4j.Session, work: Callable[[neo4j.ManagedTransaction], object]) -> object:
        done = real(self, work)
        if left and left.pop():
            raise IncompleteCommit
        return done

    with monkeypatch.context() as patched:
        patched.setattr(neo4j.Session, "execute_write", lose)
        yield
    assert not left


def test_repeated_decision_after_lost_response_reports_current_state(
    notes: Proposing, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found, *_) = notes.all()

    def decide(state: ProposalState, by: str) -> tuple[str | None, list[str]]:
        with losing_an_answer(monkeypatch):
            told = notes.service.decide(found.proposal_id, state, by)
        assert told.state == state
        return told.decided_by, told.notes

    assert decide("accepted", "Ada") == ("Ada", [])
    assert rows(driver, LINKS) == [{"id": found.proposal_id}]
    assert decide("accepted", "Bob") == (
        "Ada",
        ["the proposal was accepted by Ada already: nothing has changed"],
    )
    assert decide("rejected", "Bob") == (
        "Bob",
        ["the proposal was accepted by Ada before. Its link no longer exists"],
    )
    assert rows(driver, LINKS) == []


def test_slow_reads_do_not_fail_a_stored_decision(notes: Proposing, monkeypatch: pytest.MonkeyPatch) -> None:
    (found, *_) = notes.all()
    real = Graph.search

    def read(self: Graph, name: LiteralString, *space: str, **parameters: Any) -> list[Row]:
        if name == "proposals/page":
            raise TookTooLong
        return real(self, name, *space, **parameters)

    monkeypatch.setattr(Graph, "search", read)
    assert notes.service.decide(found.proposal_id, "accepted", "Ada").state == "accepted"


def test_a_frequent_concept_connects_nothing_on_any_step(graph: Graph, driver: neo4j.Driver) -> None:
    notes = Proposing(graph)
    fillers = [f"filler number {n} says owls." for n in range(60)]
    for name, texts in (("owls.md", [OWLS]), ("ears.md", [EARS]), ("many.md", fillers)):
        notes.add(name, *texts)
    owls, ears, many = record("owls.md", [OWLS]), record("ears.md", [EARS]), record("many.md", fillers)
    write(graph, labelled(owls, 0, "owls"), extraction(ears, 0, found("prey", quote(EARS, "prey"))))
    pair = (owls.sources[0].source_id, ears.sources[0].source_id)
    rows(
        driver,
        "MATCH (a:Concept {concept_id: $a}), (b:Concept {concept_id: $b})"
        "CREATE (a)-[:RELATED_TO {relation_id: 'x', source_id: 's', type: 'eats'}]->(b)",
        a=concept_id("notes", "owls"),
        b=concept_id("notes", "prey"),
    )
    assert find_unconnected_pairs(graph, "source", [pair], hops=2, most_sources=50) == set()
    write(graph, *(labelled(many, n, "owls") for n in range(60)))
    assert find_unconnected_pairs(graph, "source", [pair], hops=2, most_sources=50) == {pair}
    assert find_unconnected_pairs(graph, "source", [pair], hops=3, most_sources=50) == {pair}


@pytest.mark.parametrize("name", ["count_due", "due"])
def test_pending_counts_use_the_ontology_index(name: str, graph: Graph, driver: neo4j.Driver) -> None:
    assert graph
    text = STATEMENTS[f"proposals/{name}"]
    with driver.session() as session:
        planned = session.run(cast("LiteralString", explain(text)), explained_with(text))
        assert ":Unlinked(ontology)" in str(planned.consume().plan)
