"""Links are proposed between what is near and not connected, and what was decided is remembered."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.graph.database import Graph
from kg_api.graph.documents.library import delete_document
from kg_api.models.identity import document_id
from tests.support.cypher import rows
from tests.support.proposals import EARS, LICENCE, OWLS, TAXES, Proposing


@pytest.fixture
def notes(graph: Graph) -> Proposing:
    made = Proposing(graph)
    made.add("owls.md", OWLS)
    made.add("ears.md", EARS)
    made.add("taxes.md", TAXES)
    return made


def test_near_passages_of_two_documents_are_proposed_with_reason_and_quotes(notes: Proposing) -> None:
    notes.work()
    (found,) = notes.all()
    assert (found.kind, found.state, found.ontology) == ("source", "open", "notes")
    assert {end.quote.strip() for end in found.ends} == {OWLS, EARS}
    assert {end.source.document for end in found.ends} == {"owls.md", "ears.md"}
    assert all(end.quote_end - end.quote_start == len(end.quote) for end in found.ends)
    assert 0.5 <= found.similarity <= 1
    assert "the nearest passage of another document" in found.reason
    assert "voles" in found.reason


def test_what_is_rejected_is_never_proposed_again(notes: Proposing, driver: neo4j.Driver) -> None:
    notes.work()
    (found,) = notes.all()
    notes.service.decide(found.proposal_id, "rejected", "Ada")
    rows(driver, "MATCH (s:Source) SET s.embedded_with = 'old', s.unembedded = true")
    notes.work()
    assert notes.all("open") == []
    delete_document(notes.graph, document_id("notes", "owls.md"))
    assert notes.all() == [], "it went with its text"
    notes.add("owls.md", OWLS)
    notes.work()
    (again,) = notes.all()
    assert (again.proposal_id, again.state, again.decided_by) == (found.proposal_id, "rejected", "Ada")


def test_what_is_accepted_is_an_edge_until_it_is_undone(notes: Proposing, driver: neo4j.Driver) -> None:
    notes.work()
    (found,) = notes.all()
    links = "MATCH (:Source)-[l:LINKED_TO]->(:Source) RETURN l.proposal_id AS id, l.by AS by"
    for _ in range(2):
        notes.service.decide(found.proposal_id, "accepted", "Ada")
        assert rows(driver, links) == [{"id": found.proposal_id, "by": "Ada"}]
    notes.service.search("notes", anew=True)
    notes.work()
    assert [each.state for each in notes.all()] == ["accepted"]
    assert notes.service.decide(found.proposal_id, "open", None).state == "open"
    assert rows(driver, links) == []


def test_what_many_documents_repeat_is_no_proposal(graph: Graph) -> None:
    notes = Proposing(graph)
    for number in range(4):
        notes.add(f"{number}.md", f"{LICENCE} Number {number}.", f"{'abcd'[number] * 5} stands alone.")
    notes.work()
    assert notes.all() == []


def test_a_proposal_goes_with_its_text_and_another_text_is_looked_at_again(
    notes: Proposing, driver: neo4j.Driver
) -> None:
    notes.work()
    assert len(notes.all()) == 1
    notes.add("ears.md", TAXES.replace("May", "June"))
    assert notes.all() == []
    assert rows(driver, "MATCH (p:Proposal) RETURN p") == []
    notes.work()
    assert notes.all() == [], "a copy is no finding"
