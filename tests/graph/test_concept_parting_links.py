from __future__ import annotations

import neo4j
import pytest

from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_merges import read_concept_merges, unmerge_concepts
from kg_api.graph.document_writes import store_document
from kg_api.graph.proposals import LinkEnd, NewProposal, write_proposals
from kg_api.schemas.base import proposal_id
from kg_api.schemas.vocabulary import LINKED, ProposalState
from tests.support.concepts import check_invariants, labelled, write
from tests.support.cypher import rows
from tests.support.records import record
from tests.support.two_concepts import ids, merged

HASHES = "MATCH (c:Concept) RETURN c.concept_id AS id, c.text_hash AS hash"
LINKS = """MATCH (a)-[l:LINKED_TO]-(b) WHERE a.label < b.label
           RETURN a.label AS one, b.label AS other, l.proposal_id AS id, l.by AS by ORDER BY one, other"""
ACCEPTED = "MATCH (p:Proposal {state: 'accepted'}) RETURN p.proposal_id AS id, COUNT { (p)-->() } AS ends"


@pytest.fixture(autouse=True)
def learned(graph: Graph) -> None:
    """Store `Alpha` in three sources and two other concepts in one source each, all in different
    documents."""
    a = record("a.md", ["alpha one.", "alpha two.", "alpha three."])
    b, c = record("b.md", ["beta here."]), record("c.md", ["gamma here."])
    for each in (a, b, c):
        store_document(graph, each)
    write(
        graph, *(labelled(a, n, "alpha") for n in range(3)), labelled(b, 0, "beta"), labelled(c, 0, "gamma")
    )


def identity(one: str, other: str) -> str:
    return proposal_id("notes", "concept", *ids(one, other))


def link(graph: Graph, driver: neo4j.Driver, one: str, other: str) -> dict[str, str]:
    hashes = {row["id"]: row["hash"] for row in rows(driver, HASHES)}
    first, second = (LinkEnd(each, hashes[each]) for each in ids(one, other))
    proposed = NewProposal("concept", first, second, 0.9, 0.8, "near")
    graph.transaction(lambda tx: write_proposals(tx, "concept", "notes", [], [proposed], most=9))
    decide(graph, one, other, "accepted")
    return told(one, other)


def told(one: str, other: str) -> dict[str, str]:
    return {"one": one, "other": other, "id": identity(one, other), "by": "Ada"}


def decide(graph: Graph, one: str, other: str, state: ProposalState) -> None:
    given = {"proposal_id": identity(one, other), "state": state, "by": "Ada", "type": LINKED}

    def work(tx: Transaction) -> None:
        tx.run("proposals/decide", **given, decision="x")

    graph.transaction(work)


def undo(graph: Graph, label: str) -> None:
    (found,) = [each for each in read_concept_merges(graph, "notes", 0, 9)[0] if each.merged == label]
    unmerge_concepts(graph, "notes", found.merge_id, None)


def test_a_link_goes_over_and_back(graph: Graph, driver: neo4j.Driver) -> None:
    before = link(graph, driver, "beta", "gamma")
    merged(graph, "alpha", "beta")
    assert rows(driver, LINKS) == [told("alpha", "gamma")]
    assert rows(driver, ACCEPTED) == [{"id": identity("alpha", "gamma"), "ends": 2}]
    undo(graph, "beta")
    assert rows(driver, LINKS) == [before]
    assert rows(driver, ACCEPTED) == [{"id": before["id"], "ends": 2}]
    check_invariants(driver)


def test_a_link_that_was_rejected_is_not_made(graph: Graph, driver: neo4j.Driver) -> None:
    link(graph, driver, "alpha", "gamma")
    decide(graph, "alpha", "gamma", "rejected")
    link(graph, driver, "beta", "gamma")
    merged(graph, "alpha", "beta")
    assert rows(driver, LINKS) == []
    assert rows(driver, ACCEPTED) == [{"id": identity("beta", "gamma"), "ends": 0}]
