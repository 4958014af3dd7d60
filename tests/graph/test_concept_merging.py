import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import neo4j
import numpy as np
import pytest

from kg_api.concepts.merging import merge_near
from kg_api.errors import Conflict
from kg_api.graph.client import Graph, Transaction
from kg_api.graph.concept_merges import list_concept_merges, unmerge_concepts
from kg_api.graph.document_writes import delete_document, store_document
from kg_api.graph.proposals import LinkEnd, NewProposal, write_proposals
from kg_api.graph.spaces import Space
from kg_api.schemas.base import build_concept_id, build_proposal_id, hash_concept_text
from kg_api.schemas.concepts import ConceptMerge
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.schemas.vocabulary import LINKED, ProposalState
from tests.support.concepts import (
    check_invariants,
    concepts,
    count,
    extraction,
    found,
    labelled,
    picture,
    quote,
    write,
)
from tests.support.cypher import rows
from tests.support.embedding import open_spaces
from tests.support.records import record
from tests.support.two_concepts import MANY, ONE, TEXTS, both, ids, merged


@pytest.fixture
def texts(graph: Graph) -> DocumentRecord:
    made = record("texts.md", TEXTS)
    store_document(graph, made)
    return made


def one(driver: neo4j.Driver, label: str) -> dict[str, Any]:
    (row,) = rows(driver, "MATCH (c:Concept {label: $label}) RETURN properties(c) AS map", label=label)
    return row["map"]


def test_merge_moves_all_evidence_without_duplicates(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    assert merged(graph, MANY, ONE) == build_concept_id("notes", ONE)
    check_invariants(driver)
    assert concepts(driver) == {ONE: 3, "list": 1, "iterators": 1}
    quotes = rows(
        driver,
        "MATCH (:Concept {label: $label})-[:EVIDENCED_BY]->(i)-[:FROM_SOURCE]->(s) "
        "RETURN s.paragraph AS p, i.quote AS q, i.score AS score ORDER BY p",
        label=ONE,
    )
    assert [tuple(row.values()) for row in quotes] == [(0, ONE, 1.0), (1, MANY, 1.0), (2, ONE, 1.0)]
    told = rows(driver, "MATCH (a)-[r:RELATED_TO]->(b) RETURN a.label + ' ' + r.type + ' ' + b.label AS t")
    assert {row["t"] for row in told} == {
        f"{ONE} is not list",
        f"list contrasts {ONE}",
        f"{ONE} are iterators",
    }
    seen = rows(
        driver,
        "MATCH (:Concept {label: $l})-[a:APPEARS_IN]->(s) RETURN a.confidence AS c ORDER BY s.paragraph",
        l=ONE,
    )
    assert [row["c"] for row in seen] == [0.5, 1.0, 1.0], "the stronger counts"


def test_quote_of_either_concept_verifies_a_common_source(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    proven = found(MANY, quote(TEXTS[1], MANY))
    write(graph, labelled(texts, 0, ONE), extraction(texts, 1, proven, found(ONE)), labelled(texts, 2, ONE))
    assert merged(graph, ONE, MANY) == build_concept_id("notes", ONE)
    seen = "MATCH (:Concept)-[a:APPEARS_IN]->(s) RETURN a.verified AS verified ORDER BY s.paragraph"
    assert [row["verified"] for row in rows(driver, seen)] == [True] * 3


def test_surviving_concept_has_both_names_and_becomes_pending(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    before = one(driver, ONE)["text_hash"]
    merged(graph, ONE, MANY)
    kept = one(driver, ONE)
    assert kept["search_terms"] == [MANY, "genexp"]
    assert kept["description"] == "Lazy."
    assert kept["text_hash"] != before
    assert kept["text_hash"] == hash_concept_text(ONE, "Lazy.", [MANY, "genexp"])
    names = rows(driver, "MATCH (n:ConceptName)-[:NAMES]->(:Concept {label: $l}) RETURN n.name AS n", l=ONE)
    assert {row["n"] for row in names} == {ONE, MANY}


def test_repeated_merge_and_extraction_change_nothing(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    merged(graph, ONE, MANY)
    write(graph, *both(texts))
    after = picture(driver)
    assert merged(graph, ONE, MANY) is None
    write(graph, *both(texts))
    assert picture(driver) == after
    assert concepts(driver) == {ONE: 3, "list": 1, "iterators": 1}
    check_invariants(driver)


def test_deleted_document_removes_its_evidence_after_merge(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    more = record("more.md", [f"More of {MANY}."])
    store_document(graph, more)
    write(graph, *both(texts), labelled(more, 0, MANY))
    merged(graph, ONE, MANY)
    delete_document(graph, texts.document_id)
    check_invariants(driver)
    assert concepts(driver) == {ONE: 1}
    delete_document(graph, more.document_id)
    assert count(driver, "(n) WHERE n:Concept OR n:ConceptName OR n:Instance") == 0


def test_evidence_stored_before_the_lock_is_merged(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, labelled(texts, 0, ONE), labelled(texts, 2, ONE))
    more = record("more.md", [f"More of {MANY}."])
    store_document(graph, more)
    write(graph, labelled(texts, 1, MANY))
    holding, go = threading.Event(), threading.Event()

    def hold_and_write() -> None:
        def work(tx: Any) -> None:
            tx.run("concepts/hold", ontology="notes", ids=[build_concept_id("notes", MANY)])
            holding.set()
            go.wait(10)

        graph.transaction(work)
        write(graph, labelled(more, 0, MANY))

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(hold_and_write)
        holding.wait(10)
        merging = pool.submit(merged, graph, ONE, MANY)
        threading.Event().wait(0.3)
        assert not merging.done(), "it waits for the lock"
        go.set()
        writing.result()
        merging.result()
    check_invariants(driver)
    assert concepts(driver) == {ONE: 4}


def undone(graph: Graph, by: str = "Ada") -> ConceptMerge:
    last, *_ = list_concept_merges(graph, "notes", 0, 10).merges
    return unmerge_concepts(graph, "notes", last.merge_id, by)


def test_merge_is_recorded_and_undone_exactly(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    before = evidence(driver)
    merged(graph, MANY, ONE)
    page = list_concept_merges(graph, "notes", 0, 10)
    (record,) = page.merges
    assert (record.into, record.merged, record.sources, page.total) == (ONE, MANY, 1, 1)
    assert record.concept_id == build_concept_id("notes", ONE)
    parted = undone(graph)
    assert (parted.undone_by, parted.undone_at is not None) == ("Ada", True)
    assert evidence(driver) == before
    check_invariants(driver)
    again = unmerge_concepts(graph, "notes", record.merge_id, "Bob")
    assert again.undone_by == "Ada", "the first one counts"
    assert evidence(driver) == before


def test_unmerged_concepts_are_never_merged_again(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    write(graph, *both(texts))
    merged(graph, MANY, ONE)
    undone(graph)
    assert merged(graph, ONE, MANY) is merged(graph, MANY, ONE) is None
    delete_document(graph, texts.document_id)
    assert concepts(driver) == {}
    store_document(graph, texts)
    write(graph, *both(texts))
    assert merged(graph, ONE, MANY) is None, "concepts that come again are the same ones"


def test_undo_does_not_restore_deleted_evidence(
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


def test_undo_leaves_sources_extracted_since_pending(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord
) -> None:
    more = record("more.md", [f"More of {MANY}."])
    store_document(graph, more)
    write(graph, *both(texts), labelled(more, 0, MANY))
    merged(graph, MANY, ONE)
    write(graph, labelled(texts, 1, MANY))
    undone(graph)
    assert concepts(driver) == {ONE: 3, MANY: 1, "list": 1}
    pending = "MATCH (s:Source) WHERE s.unread RETURN s.paragraph AS paragraph, s.extracted_with AS mark"
    assert rows(driver, pending) == [{"paragraph": 1, "mark": None}]


def test_deletion_removes_text_from_the_merge_record(graph: Graph, driver: neo4j.Driver) -> None:
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


def evidence(driver: neo4j.Driver) -> list[str]:
    """Return all evidence, but do not include merge records, pending flags, or the order of lists."""
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


APART = {"alpha": 3, "beta": 1, "gamma": 1}


@pytest.fixture
def other(graph: Graph) -> DocumentRecord:
    alpha = record("a.md", ["alpha one.", "alpha two.", "alpha three."])
    made = record("s.md", ["beta and gamma live here.", "gamma here."])
    for each in (alpha, made):
        store_document(graph, each)
    write(graph, *(labelled(alpha, place, "alpha") for place in range(3)))
    return made


def merge_of(graph: Graph, label: str) -> ConceptMerge:
    merges = list_concept_merges(graph, "notes", 0, 50).merges
    return next(each for each in merges if each.merged == label and each.undone_at is None)


def undo(graph: Graph, label: str) -> None:
    unmerge_concepts(graph, "notes", merge_of(graph, label).merge_id, None)


@pytest.mark.parametrize("quoted", [True, False])
def test_merges_into_one_concept_are_undone_in_reverse(
    graph: Graph, driver: neo4j.Driver, other: DocumentRecord, *, quoted: bool
) -> None:
    bare = extraction(other, 0, found("beta"), found("gamma"))
    write(graph, labelled(other, 0, "beta", "gamma") if quoted else bare)
    merged(graph, "alpha", "beta")
    merged(graph, "alpha", "gamma")
    with pytest.raises(Conflict, match=merge_of(graph, "gamma").merge_id):
        undo(graph, "beta")
    assert concepts(driver) == {"alpha": 4}
    assert [each.merged for each in list_concept_merges(graph, "notes", 0, 5).merges] == ["gamma", "beta"]
    undo(graph, "gamma")
    undo(graph, "beta")
    assert concepts(driver) == APART
    check_invariants(driver)


def test_unmerged_pair_stays_separate_from_a_third(
    graph: Graph, driver: neo4j.Driver, other: DocumentRecord
) -> None:
    write(graph, labelled(other, 0, "beta"), labelled(other, 1, "gamma"))
    merged(graph, "beta", "gamma")
    merges = list_concept_merges(graph, "notes", 0, 5).merges
    unmerge_concepts(graph, "notes", merges[0].merge_id, None)
    assert merged(graph, "alpha", "beta") is not None
    assert merged(graph, "alpha", "gamma") is None
    assert concepts(driver) == {"alpha": 4, "gamma": 1}
    undo(graph, "beta")
    assert merged(graph, "alpha", "gamma") is not None, "alpha without beta"


@pytest.fixture
def space(graph: Graph) -> Space:
    spaces = open_spaces(graph)
    made = replace(spaces.get().space, calibration=SimilarityCalibration(related=0.6, unrelated=0.2))
    spaces.close()
    return made


def embed(driver: neo4j.Driver, vectors: dict[str, list[float]]) -> None:
    for label, numbers in vectors.items():
        vector = np.zeros(256)
        vector[: len(numbers)] = numbers
        rows(
            driver,
            "MATCH (c:Concept {label: $label}) SET c.embedding = $vector",
            label=label,
            vector=(vector / np.linalg.norm(vector)).tolist(),
        )


def near(graph: Graph, space: Space, *labels: str) -> int:
    return merge_near(graph, space, "notes", [build_concept_id("notes", label) for label in labels])


def test_near_concepts_with_similar_names_merge(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord, space: Space
) -> None:
    write(graph, *both(texts))
    embed(driver, {ONE: [1, 0], MANY: [1, 0.1], "list": [1, 0.05], "iterators": [1, 0.02]})
    assert near(graph, space, ONE, MANY, "list", "iterators") == 1
    assert concepts(driver) == {ONE: 3, "list": 1, "iterators": 1}
    assert near(graph, space, ONE, MANY, "list", "iterators") == 0
    check_invariants(driver)


def test_merging_ignores_other_ontologies(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord, space: Space
) -> None:
    other = record("texts.md", TEXTS, "other")
    store_document(graph, other)
    write(graph, labelled(texts, 0, ONE))
    write(graph, labelled(other, 1, MANY), ontology="other")
    embed(driver, {ONE: [1, 0], MANY: [1, 0]})
    assert near(graph, space, ONE) == 0
    assert count(driver, "(:Concept)") == 2


HASHES = "MATCH (c:Concept) RETURN c.concept_id AS id, c.text_hash AS hash"
LINKS = """MATCH (a)-[l:LINKED_TO]-(b) WHERE a.label < b.label
           RETURN a.label AS one, b.label AS other, l.proposal_id AS id, l.by AS by ORDER BY one, other"""
ACCEPTED = "MATCH (p:Proposal {state: 'accepted'}) RETURN p.proposal_id AS id, COUNT { (p)-->() } AS ends"


@pytest.fixture
def learned(graph: Graph, other: DocumentRecord) -> None:
    write(graph, labelled(other, 0, "beta"), labelled(other, 1, "gamma"))


def identity(one: str, other: str) -> str:
    return build_proposal_id("notes", "concept", *ids(one, other))


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


@pytest.mark.usefixtures("learned")
def test_a_link_goes_over_and_back(graph: Graph, driver: neo4j.Driver) -> None:
    before = link(graph, driver, "beta", "gamma")
    merged(graph, "alpha", "beta")
    assert rows(driver, LINKS) == [told("alpha", "gamma")]
    assert rows(driver, ACCEPTED) == [{"id": identity("alpha", "gamma"), "ends": 2}]
    undo(graph, "beta")
    assert rows(driver, LINKS) == [before]
    assert rows(driver, ACCEPTED) == [{"id": before["id"], "ends": 2}]
    check_invariants(driver)
