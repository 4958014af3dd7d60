"""Concepts that became one are parted again, to the letter, and never merged again."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.concept_merges import read_concept_merges, unmerge_concepts
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.schemas.base import concept_id
from kg_api.schemas.concepts import ConceptMerge
from kg_api.schemas.documents import DocumentRecord
from tests.support.concepts import check_invariants, concepts, extraction, found, labelled, quote, write
from tests.support.cypher import rows
from tests.support.records import record
from tests.support.two_concepts import MANY, ONE, TEXTS, both, merged


@pytest.fixture
def texts(graph: Graph) -> DocumentRecord:
    made = record("texts.md", TEXTS)
    store_document(graph, made)
    return made


def undone(graph: Graph, by: str = "Ada") -> ConceptMerge:
    (last, *_), _ = read_concept_merges(graph, "notes", 0, 10)
    return unmerge_concepts(graph, "notes", last.merge_id, by)


def test_a_merge_is_recorded_and_undone_to_the_letter(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    before = evidence(driver)
    merged(graph, MANY, ONE)
    (record,), total = read_concept_merges(graph, "notes", 0, 10)
    assert (record.into, record.merged, record.sources, total) == (ONE, MANY, 1, 1)
    assert record.concept_id == concept_id("notes", ONE)
    parted = undone(graph)
    assert (parted.undone_by, parted.undone_at is not None) == ("Ada", True)
    assert evidence(driver) == before
    check_invariants(driver)
    again = unmerge_concepts(graph, "notes", record.merge_id, "Bob")
    assert again.undone_by == "Ada", "the first one counts"
    assert evidence(driver) == before


def test_what_was_parted_is_never_merged_again(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    merged(graph, MANY, ONE)
    undone(graph)
    assert merged(graph, ONE, MANY) is None
    delete_document(graph, texts.document_id)
    assert concepts(driver) == {}
    store_document(graph, texts)
    write(graph, *both(texts))
    assert merged(graph, ONE, MANY) is None, "concepts that come again are the same ones"


def test_evidence_that_went_meanwhile_does_not_come_back(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    other = record("other.md", [f"{MANY} are lazy, too."])
    store_document(graph, other)
    write(graph, *both(texts), labelled(other, 0, MANY))
    merged(graph, MANY, ONE)
    delete_document(graph, texts.document_id)
    assert concepts(driver) == {ONE: 1}
    undone(graph)
    check_invariants(driver)
    assert concepts(driver) == {MANY: 1}
    write(graph, labelled(other, 0, ONE))
    assert concepts(driver) == {ONE: 1}


def test_a_concept_whose_evidence_has_gone_is_not_made(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    other = record("other.md", [f"One {ONE} more.", f"And one {ONE} more."])
    store_document(graph, other)
    write(graph, labelled(texts, 1, MANY), labelled(other, 0, ONE), labelled(other, 1, ONE))
    merged(graph, MANY, ONE)
    delete_document(graph, texts.document_id)
    undone(graph)
    check_invariants(driver)
    assert concepts(driver) == {ONE: 2}


def test_what_is_read_since_is_read_again(graph: Graph, driver: neo4j.Driver, texts: DocumentRecord) -> None:
    write(graph, *both(texts))
    merged(graph, MANY, ONE)
    write(graph, *both(texts)[1:2])
    undone(graph)
    check_invariants(driver)
    due = rows(driver, "MATCH (s:Source) WHERE s.unread RETURN s.paragraph AS p")
    assert [row["p"] for row in due] == [1]
    write(graph, *both(texts))
    assert concepts(driver) == {ONE: 3, MANY: 1, "list": 1, "iterators": 1}
    check_invariants(driver)


def test_a_later_merge_is_undone_before(graph: Graph, driver: neo4j.Driver, texts: DocumentRecord) -> None:
    write(graph, *both(texts))
    before = evidence(driver)
    merged(graph, MANY, "iterators")
    (first,), _ = read_concept_merges(graph, "notes", 0, 10)
    merged(graph, first.into, ONE)
    (second, _), _ = read_concept_merges(graph, "notes", 0, 10)
    assert (second.merged, second.into) == (first.into, ONE)
    with pytest.raises(Conflict, match=second.merge_id):
        unmerge_concepts(graph, "notes", first.merge_id, None)
    unmerge_concepts(graph, "notes", second.merge_id, None)
    unmerge_concepts(graph, "notes", first.merge_id, None)
    assert evidence(driver) == before
    check_invariants(driver)


def test_text_that_was_deleted_is_not_in_the_record(graph: Graph, driver: neo4j.Driver) -> None:
    other = record("other.md", [f"One {ONE} more.", f"And one {ONE} more."])
    private = record("private.md", [f"The {MANY} of Mr. X live here."])
    for each in (other, private):
        store_document(graph, each)
    quoted = quote(private.sources[0].full_text, f"{MANY} of Mr. X")
    told = extraction(private, 0, found(MANY, quoted, description="Private to Mr. X."))
    write(graph, labelled(other, 0, ONE), labelled(other, 1, ONE), told)
    merged(graph, MANY, ONE)
    delete_document(graph, private.document_id)
    kept = rows(
        driver, "MATCH (m:ConceptMerge) OPTIONAL MATCH (m)-[r]-() RETURN properties(m) AS m, r.row AS r"
    )
    assert "Mr. X" not in str(kept)
    undone(graph)
    check_invariants(driver)
    assert concepts(driver) == {ONE: 2}


def test_an_unknown_merge_is_said(graph: Graph, texts: DocumentRecord) -> None:
    del texts
    with pytest.raises(NotFound, match="no merge of concepts 'x'"):
        unmerge_concepts(graph, "notes", "x", None)


def evidence(driver: neo4j.Driver) -> list[str]:
    """All but the records, what is due and when, and the order of what is not ordered."""
    found = rows(
        driver,
        "MATCH (c:Concept) "
        "RETURN ['c', c.concept_id, c.label, c.description, c.search_terms, c.text_hash] AS x "
        "UNION ALL MATCH (n:ConceptName)-[:NAMES]->(c) RETURN ['n', n.name, c.label] AS x "
        "UNION ALL MATCH (c)-[a:APPEARS_IN]->(s) "
        "RETURN ['a', c.label, s.source_id, a.confidence, a.verified, "
        "a.extracted_with, a.description, a.terms, a.unverified] AS x "
        "UNION ALL MATCH (c)-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) RETURN ['q', c.label, s.source_id, "
        "i.instance_id, i.quote, i.start, i.end, i.score, i.said, i.extracted_with, i.ontology] AS x "
        "UNION ALL MATCH (a)-[r:RELATED_TO]->(b) RETURN ['r', a.label, b.label, r.relation_id, r.type, "
        "r.source_id, r.confidence, r.statement, r.quote] AS x",
    )
    return sorted(str(row["x"]) for row in found)
